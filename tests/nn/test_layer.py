"""Equations 1 to 3 against the formula by loops, and the look-up against the direct path."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch

from gpnn.data.datasets import load_graphs
from gpnn.errors import InputError
from gpnn.graph.convert import as_graphs
from gpnn.nn.batch import PairRows
from gpnn.nn.layer import InteractionLayer
from gpnn.nn.model import GPNN
from gpnn.nn.parts import PairEmbedding, PartLinear
from gpnn.nn.prepare import prepare
from nn.literal import literal_gpnn
from strategies import hub_graph

KINDS = ("cross", "edges", "pairs")
SCHEME = "core-degree"


@pytest.fixture(autouse=True)
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def samples(seed: int) -> list[nx.Graph]:
    return [
        nx.gnm_random_graph(9, 13, seed=seed),
        nx.lollipop_graph(4, 2),
        nx.disjoint_union(nx.cycle_graph(4), nx.empty_graph(2)),
        nx.path_graph(2),
        nx.empty_graph(1),
    ]


@pytest.mark.parametrize("update", ["tuple", "sum"])
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("combine", ["pairwise", "linear"])
def test_layers_equal_the_formula(kind, d, update, direct, combine):
    """The linear variant also with labels of vertices in the first α."""
    check_formula(samples(d), kind, d, update, direct, combine)


@pytest.mark.parametrize("kind", ["cross", "edges"])
def test_shared_sums_of_hubs_equal_the_formula(kind):
    ready = check_formula([hub_graph(), *samples(3)], kind, 1, "tuple", False, "pairwise", layers=3)
    assert ready.classes.shares
    direct = prepare(ready.graphs, interactions=kind, layers=3, scheme=SCHEME, direct=True)
    assert not direct.classes.shares


def check_formula(graphs, kind, d, update, direct, combine, layers=2):
    whole, labelled = as_graphs(graphs), combine == "linear"
    labels = torch.arange(whole.num_nodes) * 5 % 3
    ready = prepare(
        whole, interactions=kind, d=d, layers=layers, direct=direct, labels=labelled, x=labels,
        scheme=SCHEME,
    )  # fmt: skip
    torch.manual_seed(1)
    keys = torch.arange(ready.parts)
    convs = [InteractionLayer(5, keys, update, combine=combine) for _ in range(layers)]
    pair = PairEmbedding(keys, 5, vertex_labels=3 * labelled)
    gamma = torch.randn(ready.graphs.num_nodes, 5)
    cuts = np.split(ready.part, ready.graphs.ptr[1:-1])
    expected = literal_gpnn(
        convs,
        pair,
        graphs,
        [cut.tolist() for cut in cuts],
        list(gamma.split(np.diff(ready.graphs.ptr).tolist())),
        kind,
        d,
        [own.tolist() for own in labels.split(np.diff(ready.graphs.ptr).tolist())]
        if labelled
        else None,
    )
    batch = ready.batch()
    order = torch.argsort(batch.order.source)
    state, start = gamma[order], pair(batch.start)
    alpha = start
    for layer, conv in enumerate(convs):
        state, alpha = conv(state, alpha, start, batch, layer)
    found, expected = state[batch.order.source], torch.cat(expected)
    assert torch.allclose(found, expected, atol=1e-10, rtol=1e-10)
    weights = [p for conv in convs for p in conv.parameters()] + list(pair.parameters())
    slope = torch.randn(found.shape)
    slopes = [
        torch.autograd.grad((one * slope).sum(), weights, retain_graph=True, allow_unused=True)
        for one in (found, expected)
    ]
    for ours, theirs in zip(*slopes, strict=True):
        assert (
            (ours is None or not ours.any())
            if theirs is None
            else torch.allclose(ours, theirs, atol=1e-8, rtol=1e-8)
        )
    return ready


def test_only_the_pairwise_message_sees_which_beta_came_with_which_alpha():
    """Two vertices with equal multisets of β and of α, but not of pairs (β, α)."""
    from gpnn.nn.segments import Segments

    torch.manual_seed(0)
    layer = InteractionLayer(4, torch.arange(2))
    beta, alpha = torch.randn(2, 4), torch.randn(2, 4)
    centre = np.array([0, 0, 1, 1])
    other, own = np.array([0, 1, 0, 1]), np.array([0, 1, 1, 0])
    number = np.arange(4)
    near = Segments.build(centre, other, 2, 2)
    pairs = PairRows(Segments.build(number, other, 4, 2), Segments.build(centre, number, 2, 4))
    linear = near.sum(beta) + Segments.build(centre, own, 2, 2).sum(alpha)
    assert torch.allclose(linear[0], linear[1])
    identity = torch.nn.Linear(4, 4)
    torch.nn.init.eye_(identity.weight), torch.nn.init.zeros_(identity.bias)
    message = layer.message(
        beta, identity, layer.message.of_alpha(alpha), Segments.build(number, own, 4, 2), pairs
    )
    assert (message[0] - message[1]).abs().max() > 1e-3


def molecules():
    graphs = load_graphs("MUTAG")
    ids = np.arange(0, 188, 11)
    return graphs, ids, torch.from_numpy(graphs.node_labels)[:, None], graphs.edge_labels


def dense():
    rng = np.random.default_rng(3)
    graphs = as_graphs(
        [nx.gnp_random_graph(int(n), 0.6, seed=int(n)) for n in rng.integers(5, 14, 6)]
    )
    return graphs, np.arange(6), graphs.degree[:, None], None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("d", "distances"), [(1, False), (2, True), (3, False)])
@pytest.mark.parametrize("source", [molecules, dense])
def test_look_up_equals_direct_forward_and_backward(kind, d, distances, source):
    graphs, ids, codes, labels = source()
    torch.manual_seed(0)
    outcomes = []
    model = None
    for direct in (False, True):
        ready = prepare(
            graphs,
            interactions=kind,
            d=d,
            distances=distances,
            x=torch.as_tensor(codes),
            edge_labels=labels,
            direct=direct,
        )
        if model is None:
            model = GPNN(outputs=3, hidden=8, base=None, **ready.options)
        state = {name: value.clone() for name, value in model.state_dict().items()}
        model.zero_grad()
        out = model(ready.batch(ids))
        (out.sin() * torch.arange(3.0)).sum().backward()
        grads = [parameter.grad for parameter in model.parameters()]
        outcomes.append((out.detach(), grads, dict(model.named_buffers())))
        model.load_state_dict(state)
    (out, grads, buffers), (again, grads_again, buffers_again) = outcomes
    assert torch.allclose(out, again, atol=1e-10, rtol=1e-10)
    for name, a, b in zip(dict(model.named_parameters()), grads, grads_again, strict=True):
        assert a is not None, f"{name} gets no gradient"
        assert torch.allclose(a, b, atol=1e-10, rtol=1e-9), name
    for name, value in buffers.items():
        assert torch.allclose(value, buffers_again[name], atol=1e-10, rtol=1e-10), name


def test_continuous_edge_features_take_the_direct_path():
    graphs = load_graphs("MUTAG")
    features = torch.from_numpy(graphs.edge_labels).double()[:, None] * 0.1
    ready = prepare(graphs, edge_features=features)
    assert not ready.classes.merged
    model = GPNN(outputs=1, base="gine", hidden=8, **ready.options).eval()
    out = model(ready.batch([0, 1, 2]))
    more = prepare(graphs, edge_features=features + 1)
    assert not torch.allclose(out, model(more.batch([0, 1, 2])))


def test_the_reserved_part_starts_at_zero():
    layer = PartLinear(torch.arange(4), 3, bias=True)
    x = torch.ones(2, 3)
    part = torch.tensor([3, 3])
    assert not layer(x, part, torch.tensor([[0, 2, 3]]), torch.ones(4)).any()
    pair = PairEmbedding(torch.arange(4), 3)
    unseen = [[3, 1, 3, 0, 0, 0, 0], [3, 2, 0, 0, 0, 0, 0], [1, 2, 3, 0, 0, 0, 0]]
    assert not pair(torch.tensor(unseen)).any()
    assert pair(torch.tensor([[1, 2, 0, 0, 0, 0, 0]])).all()


def test_scaled_maps_are_one_matrix_with_a_scale_and_shift_per_part():
    torch.manual_seed(0)
    layer = PartLinear(torch.arange(4), 3, "scaled", bias=True)
    with torch.no_grad():
        layer.gain[:3] = torch.randn(3, 3)
    x, part, scale = torch.randn(5, 3), torch.tensor([0, 0, 1, 2, 2]), torch.randn(4)
    found = layer(x, part, torch.tensor([[0, 2, 0], [2, 3, 1], [3, 5, 2]]), scale)
    shifted = (x @ layer.weight[0]) * layer.gain[part] + layer.bias[part]
    torch.testing.assert_close(found, scale[part, None] * shifted)
    assert not layer(x[:1], part[:1], torch.tensor([[0, 1, 3]]), torch.ones(4)).any()


@pytest.mark.parametrize("weights", ["own", "basis", "scaled"])
def test_a_map_before_the_maps_of_parts_is_joined_with_them(weights):
    layer = PartLinear(torch.arange(4), 3, weights, bias=True)
    first = torch.nn.Linear(3, 3)
    x, part, scale = torch.randn(6, 3), torch.tensor([0, 0, 1, 2, 2, 3]), torch.randn(4)
    groups = torch.tensor([[0, 2, 0], [2, 3, 1], [3, 5, 2], [5, 6, 3]])
    one = layer(x, part, groups, scale, before=first)
    two = layer(first(x), part, groups, scale)
    assert torch.allclose(one, two, atol=1e-12)


def test_many_parts_share_a_basis():
    parts = 33
    few = PartLinear(torch.arange(parts), 4)
    many = PartLinear(torch.arange(parts), 4, "basis", bias=True)
    assert few.weight.shape[0] == parts and many.weight.shape[0] == 8
    x = torch.randn(5, 4)
    part = torch.tensor([0, 1, 1, 7, parts - 1])
    scale = torch.randn(parts)
    out = many(x, part, torch.zeros(0, 3), scale)
    for row in range(5):
        j = int(part[row])
        weight = torch.einsum("b,bfo->fo", many.mixture[j], many.weight)
        assert torch.allclose(out[row], scale[j] * (x[row] @ weight + many.bias[j]))
    pair = PairEmbedding(torch.arange(parts), 4, factored=True)
    assert sum(p.numel() for p in pair.parameters()) == 4 * (2 * parts + 4)


def test_repr_reset_and_bad_options():
    layer = InteractionLayer(4, torch.arange(3))
    assert repr(layer) == "InteractionLayer(4, parts=3, pair_update='tuple', combine='pairwise')"
    layer.reset_parameters()
    with pytest.raises(InputError, match=r"pair_update cannot be 'mean'. Choose one of tuple, sum"):
        InteractionLayer(4, torch.arange(3), "mean")
