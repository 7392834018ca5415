"""The model: promises a user relies on."""

from __future__ import annotations

from dataclasses import fields, replace

import networkx as nx
import numpy as np
import pytest
import torch

from gpnn.data.datasets import load_graphs
from gpnn.errors import InputError
from gpnn.graph.convert import as_graphs
from gpnn.graph.graphs import Graphs
from gpnn.graph.vocabulary import UnseenColours
from gpnn.nn.bases import BASES
from gpnn.nn.batch import AlphaRound, Edges, GraphBatch, PairRows
from gpnn.nn.check import check_model_invariance
from gpnn.nn.config import GPNNConfig
from gpnn.nn.model import GPNN
from gpnn.nn.part_weights import forget_parts
from gpnn.nn.prepare import Prepared, prepare
from gpnn.nn.segments import Segments
from gpnn.train.stack import stack

MUTAG = load_graphs("MUTAG")


def ready(**options) -> Prepared:
    codes = torch.from_numpy(MUTAG.node_labels)[:, None]
    return prepare(MUTAG, x=codes, edge_labels=MUTAG.edge_labels, layers=2, **options)


def model(prepared: Prepared, **options) -> GPNN:
    """Parts are a number here: those of the options are tried below."""
    torch.manual_seed(0)
    options = {"outputs": 2, "codes": (7,), "edge_labels": 4, "layers": 2, "hidden": 8, **options}
    return GPNN(GPNNConfig.make(parts=prepared.parts, **options))


@pytest.mark.parametrize("kind", ["cross", "edges", "pairs"])
@pytest.mark.parametrize("level", ["graph", "node"])
def test_eval_is_invariant_to_relabelling_and_rebatching(kind, level):
    prepared = ready(interactions=kind)
    small = prepare(
        as_graphs([nx.karate_club_graph(), nx.path_graph(5), nx.empty_graph(3)]),
        interactions=kind,
        layers=2,
    )
    net = GPNN(
        GPNNConfig.make(
            outputs=3,
            parts=small.vocabulary.size + 1,
            interactions=kind,
            layers=2,
            hidden=8,
            level=level,
        )
    ).double()
    for _ in range(3):
        net(small.batch().to("cpu", torch.float64))
    outcome = check_model_invariance(net, small)
    assert outcome, outcome
    assert outcome.repeated == 0
    assert net.training
    if level == "graph":
        assert check_model_invariance(model(prepared, interactions=kind), prepared)


def test_the_check_catches_a_model_that_reads_positions():
    prepared = prepare(as_graphs([nx.karate_club_graph()]), layers=2)
    net = GPNN(
        GPNNConfig.make(outputs=1, parts=prepared.vocabulary.size + 1, layers=2, hidden=8)
    ).double()
    plain = net.encoder.forward
    net.encoder.forward = lambda x: plain(x) + torch.arange(len(x))[:, None]
    assert not check_model_invariance(net, prepared)


@pytest.mark.parametrize("base", [None, *BASES])
def test_every_base_by_name(base):
    prepared = ready()
    net = model(prepared, base=base)
    out = net(prepared.batch(range(10)))
    assert out.shape == (10, 2)
    out.sum().backward()
    assert all(parameter.grad is not None for parameter in net.parameters())


def test_a_base_of_ones_own_and_the_baseline():
    prepared = ready()

    class Mine(torch.nn.Module):
        out_channels = 5

        def __init__(self):
            super().__init__()
            self.map = torch.nn.Linear(8, 5)

        def forward(self, x, edge_index):
            return self.map(x) + 0 * edge_index.sum()

    torch.manual_seed(0)
    config = GPNNConfig.make(
        outputs=2,
        parts=prepared.vocabulary.size + 1,
        codes=(7,),
        edge_labels=4,
        layers=2,
        hidden=8,
        base="custom",
    )
    assert GPNN(config, Mine())(prepared.batch([0, 1])).shape == (2, 2)
    with pytest.raises(InputError, match=r"needs config.base='custom'"):
        GPNN(config)
    with pytest.raises(InputError, match="out_channels"):
        GPNN(config, torch.nn.Linear(8, 5))

    class Listed(Mine):
        def forward(self, x, edge_index):
            return [super().forward(x, edge_index)]

    with pytest.raises(InputError, match=r"must give one tensor .* = \[\d+, 5\]; it gave list"):
        GPNN(config, Listed())(prepared.batch([0, 1]))
    alone = model(prepared, gpnn=False)
    assert not any("convs" in name and "base" not in name for name, _ in alone.named_parameters())
    assert alone(prepared.batch([0])).shape == (1, 2)


def test_counts_of_components_stay_whole_in_half_precision() -> None:
    """A base may return half precision; 301 is not a number there."""

    class Half(torch.nn.Linear):
        out_channels = 8

        def forward(self, x, edge_index):  # noqa: ARG002
            return super().forward(x).to(torch.bfloat16)

    prepared = ready()
    parts = prepared.vocabulary.size + 1
    shape = {"outputs": 2, "parts": parts, "codes": (7,), "layers": 2, "hidden": 8}
    net = GPNN(GPNNConfig.make(base="custom", gpnn=False, **shape), base=Half(8, 8))
    batch = prepared.batch([0, 1])
    batch = replace(batch, components=torch.full_like(batch.components, 301))
    seen = []
    net.head.count_norm.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    net(batch)
    assert bool((seen[0] == 301).all())


def test_node_outputs_come_in_the_order_of_the_input():
    graphs = as_graphs([nx.lollipop_graph(4, 3), nx.path_graph(4)])
    marks = torch.arange(graphs.num_nodes, dtype=torch.float32)[:, None]
    prepared = prepare(graphs, x=marks, layers=1, y=torch.arange(graphs.num_nodes), node_level=True)
    net = GPNN(
        GPNNConfig.make(
            outputs=1, parts=prepared.vocabulary.size + 1, features=1, layers=1, level="node"
        )
    )
    batch = prepared.batch([1, 0])
    assert batch.x.flatten().tolist() == [7, 8, 9, 10, 0, 1, 2, 3, 4, 5, 6]
    assert batch.y.tolist() == [7, 8, 9, 10, 0, 1, 2, 3, 4, 5, 6]
    assert net(batch).shape == (11, 1)
    assert prepared[[1, 0]].y.tolist() == batch.y.tolist()
    assert prepared[1:].y.tolist() == [7, 8, 9, 10] and prepared[2:].y.tolist() == []


def test_component_feature_counts_components():
    two = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    prepared = prepare(as_graphs([two, nx.cycle_graph(6)]), scheme="trivial")
    assert prepared.batch().components.tolist() == [[2, 0], [1, 0]]


def test_unseen_colours_at_prediction_time():
    fitted = prepare(as_graphs([nx.cycle_graph(5)]), scheme="degree", layers=2)
    net = GPNN(
        GPNNConfig.make(
            outputs=1, parts=fitted.vocabulary.size + 1, scheme="degree", layers=2, hidden=8
        )
    ).eval()
    with pytest.warns(UnseenColours, match="5 of 6 vertices"):
        new = prepare(as_graphs([nx.lollipop_graph(4, 2)]), like=fitted)
    assert torch.isfinite(net(new.batch())).all()


def test_empty_and_tiny_graphs_pass():
    graphs = as_graphs([nx.empty_graph(0), nx.empty_graph(1), nx.empty_graph(4), nx.path_graph(2)])
    for kind in ("cross", "edges", "pairs"):
        prepared = prepare(graphs, interactions=kind, layers=2)
        net = GPNN(
            GPNNConfig.make(
                outputs=2, parts=prepared.vocabulary.size + 1, interactions=kind, layers=2, hidden=8
            )
        )
        out = net(prepared.batch())
        assert out.shape == (4, 2) and torch.isfinite(out).all()
        assert net(prepared.batch([1])).shape == (1, 2)


def one_for_all(batch: GraphBatch, replicas: int) -> GraphBatch:
    """The same graphs for every replica, one after another."""

    def repeat(one: Segments) -> Segments:
        rows, columns = len(one.ptr) - 1, len(one.back_ptr) - 1
        shifts = torch.arange(replicas)[:, None]

        def bounds(ptr):
            return torch.cat([(ptr[:-1] + shifts * ptr[-1]).flatten(), replicas * ptr[-1:]])

        def weight(values):
            return None if values is None else values.repeat(replicas)

        return Segments(
            (one.source + shifts * columns).flatten(), bounds(one.ptr),
            (one.back_source + shifts * rows).flatten(), bounds(one.back_ptr),
            weight(one.weight), weight(one.back_weight),
        )  # fmt: skip

    def grow(value):
        if isinstance(value, Segments):
            return repeat(value)
        if isinstance(value, torch.Tensor):
            return value.expand(replicas, *value.shape)
        if isinstance(value, AlphaRound | Edges | PairRows):
            return replace(value, **changes(value))
        return tuple(map(grow, value)) if isinstance(value, tuple) else value

    def changes(value):
        names = [f.name for f in fields(value) if f.name not in ("part", "groups", "terms", "more")]
        return {name: grow(getattr(value, name)) for name in names}

    n, graphs = batch.part.shape[0], batch.num_graphs
    ones = {"vertex_weight": torch.ones(replicas, n), "graph_weight": torch.ones(replicas, graphs)}
    ids = {"vertex_id": torch.arange(n), "graph_id": torch.arange(graphs)}
    ids = {name: value.expand(replicas, -1) for name, value in ids.items()}
    return replace(batch, **{**changes(batch), **ones, **ids})


@pytest.mark.parametrize("kind", ["cross", "edges", "pairs"])
@pytest.mark.parametrize("base", ["gin", "gine", "sage", "gcn", "gat"])
def test_stacked_replicas_give_what_each_gives_alone(kind, base):
    """Parameters with a leading dimension, gradients included."""
    prepared = ready(interactions=kind)
    batch = prepared.batch(range(12)).to("cpu", torch.float64)
    nets = [model(prepared, interactions=kind, base=base).double() for _ in range(3)]
    for seed, net in enumerate(nets):
        torch.manual_seed(seed)
        for parameter in net.parameters():
            parameter.data.add_(0.1 * torch.randn_like(parameter))
    step = torch.zeros(1, dtype=torch.int64)
    together = stack(nets, torch.arange(3), torch.zeros(3), step)
    values = together(one_for_all(batch, 3)).sin().sum((1, 2))
    values.sum().backward()
    slopes = {name: parameter.grad for name, parameter in together.named_parameters()}
    for replica, net in enumerate(nets):
        alone = net(batch).sin().sum()
        alone.backward()
        assert torch.allclose(values[replica], alone, atol=1e-9)
        for name, parameter in net.named_parameters():
            assert torch.allclose(slopes[name][replica], parameter.grad, atol=1e-8), name


def test_the_model_compiles():
    prepared = ready()
    net = model(prepared, base=None).eval()
    batch = prepared.batch(range(6))
    compiled = torch.compile(net, backend="eager")
    assert torch.allclose(compiled(batch), net(batch), atol=1e-6)


def test_the_model_compiles_once_for_batches_of_all_sizes():
    prepared = ready()
    net = model(prepared).eval()
    made = []

    def counting(graph, _):
        made.append(graph)
        return graph.forward

    compiled = torch.compile(net, backend=counting, dynamic=True)
    with torch.no_grad():
        compiled(prepared.batch(range(60)))  # so many that no two sizes are equal by chance
        first = len(made)
        for ids in (range(90), range(20, 53), range(50, 120)):
            batch = prepared.batch(ids)
            assert torch.allclose(compiled(batch), net(batch), atol=1e-5)
    assert first > 0 and len(made) == first


def test_moving_a_batch():
    batch = ready().batch([0, 1])
    moved = batch.to("cpu", torch.float64)
    assert isinstance(moved, GraphBatch)
    assert moved.vertices.dtype == torch.float64 and moved.part.dtype == torch.int64
    assert moved.groups is batch.groups


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hidden": 0}, "hidden must be a whole number of at least 1"),
        ({"distances": "no"}, "distances must be True or False; got 'no'"),
        ({"d": 6}, "d must be a whole number from 1 to 5"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1"),
        ({"readout": "max"}, "Choose one of sum, mean"),
        ({"interactions": "all"}, "Unknown interactions 'all'"),
        ({"base": "gine"}, "needs edge labels or features"),
        ({"base": "mlp"}, "Unknown base 'mlp'"),
        ({"base": None, "gpnn": False}, "must be a base GNN"),
    ],
)
def test_bad_configurations(options, message):
    with pytest.raises(InputError, match=message):
        GPNN(GPNNConfig.make(**{"outputs": 1, "parts": 2, **options}))


def test_graphs_prepared_for_fewer_layers_are_refused():
    prepared = ready()
    with pytest.raises(InputError, match=r"prepared for 2 layers and the model has 3. Prepare"):
        model(prepared, layers=3)(prepared.batch())


@pytest.mark.parametrize(
    "other",
    [{"d": 2}, {"distances": True}, {"interactions": "pairs"}, {"scheme": "core + triangle"}],
)
def test_graphs_prepared_for_another_model_are_refused(other):
    prepared = ready(**other)
    model(prepared, **other)(prepared.batch())
    with pytest.raises(InputError, match=r"prepared with .*, and the model has .*Give both"):
        model(prepared)(prepared.batch())


def test_the_options_of_prepared_graphs_make_a_model_that_reads_them():
    for options in ({"scheme": "degree", "d": 2}, {"interactions": "pairs", "distances": True}):
        prepared = ready(**options)
        made = GPNN(outputs=3, hidden=8, base="gine", **prepared.options)
        assert made(prepared.batch()).shape == (188, 3)
        assert (made.config.codes, made.config.edge_labels) == ((7,), 4)
        assert {k: getattr(made.config.structure, k) for k in options} == options
    nothing = prepare(as_graphs([nx.path_graph(4)]), layers=1, node_level=True)
    made = GPNN(outputs=1, base=None, **nothing.options)
    assert made(nothing.batch()).shape == (4, 1)
    floats = prepare(as_graphs([nx.path_graph(4)]), x=torch.ones(4, 2), layers=1)
    assert GPNN(outputs=1, **floats.options).config.features == 2


def test_graphs_cut_into_other_parts_are_refused():
    """As many parts, but others: core 3 and 4 would be read as core 1 and 2."""
    first = prepare(as_graphs([nx.cycle_graph(5), nx.path_graph(4)]), scheme="core", layers=1)
    other = as_graphs([nx.complete_graph(5), nx.complete_graph(4)])
    apart = prepare(other, scheme="core", layers=1)
    made = GPNN(outputs=1, **first.options)
    refused = r"prepared with colours=\w+, and the model has colours="
    with pytest.raises(InputError, match=refused):  # before it has met any graph
        made(apart.batch())
    assert first.parts == apart.parts and made(first.batch()).shape == (2, 1)
    with pytest.raises(InputError, match=refused):
        made(apart.batch())
    for like in (first, made):
        with pytest.warns(UserWarning, match="9 of 9 vertices are in parts that were not seen"):
            joined = prepare(other, like=like)
        assert made(joined.batch()).shape == (2, 1)
    fewer = prepare(as_graphs([nx.path_graph(4)]), scheme="core", layers=1)
    with pytest.raises(InputError, match=r"prepared with parts=2, .*, and the model has parts=3"):
        made(fewer.batch())


def test_a_model_knows_its_parts_from_its_state():
    first = prepare(as_graphs([nx.cycle_graph(5), nx.path_graph(4)]), scheme="core", layers=1)
    apart = prepare(as_graphs([nx.complete_graph(5), nx.complete_graph(4)]), like=None,
                    scheme="core", layers=1)  # fmt: skip
    made, other = GPNN(outputs=1, **first.options), GPNN(outputs=1, **apart.options)
    bare = GPNN(outputs=1, parts=3, scheme="core", layers=1)
    for net in (other, bare):
        net.load_state_dict(made.state_dict())
        assert net.vocabulary.digest == first.vocabulary.digest
        assert torch.equal(net.eval()(first.batch()), made.eval()(first.batch()))
        with pytest.raises(InputError, match="the model has colours="):
            net(apart.batch())
    with pytest.raises(InputError, match="holds 2 parts of scheme 'core', and the model has 4"):
        GPNN(outputs=1, **{**first.options, "parts": 5})


def test_parts_can_be_dropped():
    """What is left says the same; what is dropped is unseen, and says nothing."""
    prepared = ready(scheme="degree")
    made = GPNN(outputs=2, hidden=8, base="gine", **prepared.options).double().eval()
    unseen = torch.zeros(prepared.parts, dtype=torch.bool)
    unseen[[1, prepared.parts - 1]] = True
    forget_parts(made, unseen)
    batch = prepared.batch(range(20)).to("cpu", torch.float64)
    before = made(batch)
    kept = [*(~unseen).nonzero().flatten().tolist(), prepared.parts - 1]
    made.keep_parts(torch.tensor(kept))
    assert made.config.parts == prepared.parts - 1
    assert made.vocabulary.colours.tolist() == prepared.vocabulary.colours[kept[:-1]].tolist()
    labels = MUTAG.edge_labels
    with pytest.warns(UnseenColours):
        again = prepare(MUTAG, like=made, x=prepared.x, edge_labels=labels)
    after = made(again.batch(range(20)).to("cpu", torch.float64))
    assert torch.allclose(before, after, atol=1e-12)


def test_first_weights_of_a_part_follow_from_seed_and_colour():
    """Whatever other parts there are; and other colours, or another seed, give others."""
    wide = prepare(MUTAG, scheme="degree", layers=2)
    few = prepare(Graphs.concatenate([MUTAG[0], MUTAG[4]]), scheme="degree", layers=2)
    assert few.parts < wide.parts

    def state(prepared, seed):
        torch.manual_seed(seed)
        net = GPNN(outputs=2, hidden=8, **prepared.options, part_weights="own")
        return net, dict(net.state_dict())

    (large, all_of_it), (_, some) = state(wide, 1), state(few, 1)
    known = wide.vocabulary.colours[:, None] == few.vocabulary.colours[None]
    place = torch.tensor([*np.nonzero(known.all(2).T)[1], wide.parts - 1])
    large.keep_parts(place)
    for name, value in large.state_dict().items():
        assert torch.equal(value, some[name]), name
    _, other = state(few, 2)
    assert not torch.equal(other["colour"], some["colour"])
    assert len(set(all_of_it["colour"][:-1, 0].tolist())) == wide.parts - 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"codes": (7, 2)},
            "have 1 columns of codes per vertex or edge, and the model reads 2 columns",
        ),
        (
            {"codes": (), "features": 7},
            "have 1 columns of codes per vertex or edge, and the model reads 7 feat",
        ),
        ({"codes": ()}, "have 1 columns of codes per vertex or edge, and the model reads none"),
    ],
)
def test_features_that_the_model_does_not_read_are_refused(options, message):
    prepared = ready()
    with pytest.raises(InputError, match=message):
        model(prepared, **options)(prepared.batch())


def test_configuration_round_trip():
    config = GPNNConfig.make(outputs=2, parts=3, codes=(4, 5), interactions="star")
    assert config.structure.interactions == "cross"
    assert GPNNConfig.from_dict(config.to_dict()) == config
    with pytest.raises(InputError, match="unknown to this version"):
        GPNNConfig.from_dict({**config.to_dict(), "flux": 1})
    with pytest.raises(InputError, match="Not a model configuration"):
        GPNNConfig.from_dict({"parts": 2})


def test_features_must_fit_and_be_finite():
    with pytest.raises(InputError, match="x has 3 rows where 3,371 are needed"):
        prepare(MUTAG, x=torch.zeros(3, 1))
    with pytest.raises(InputError, match="whole numbers from 0; x holds -1"):
        prepare(MUTAG, x=torch.full((3371, 1), -1))
    with pytest.raises(InputError, match="NaN or infinity"):
        prepare(MUTAG, x=torch.full((3371, 1), np.nan))
