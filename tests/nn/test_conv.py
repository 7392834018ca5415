"""GPNNConv against the formula by loops, and the look-up against the direct path."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch

from gpnn.data.datasets import load_graphs
from gpnn.errors import InputError
from gpnn.graph.convert import as_graphs
from gpnn.nn import memory
from gpnn.nn.config import GPNNConfig
from gpnn.nn.conv import GPNNConv
from gpnn.nn.model import GPNN
from gpnn.nn.parts import FACTOR_ABOVE, PairEmbedding, PartLinear
from gpnn.nn.prepare import prepare
from nn.literal import literal_gpnn

KINDS = ("cross", "edges", "pairs")


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
def test_layers_equal_the_formula(kind, d, update, direct):
    graphs = samples(d)
    ready = prepare(as_graphs(graphs), interactions=kind, d=d, layers=2, direct=direct)
    torch.manual_seed(1)
    parts = ready.vocabulary.size + 1
    convs = [GPNNConv(5, parts, update) for _ in range(2)]
    pair = PairEmbedding(parts, 5)
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
    )
    batch = ready.batch()
    order = torch.argsort(batch.order.source)
    state, start = gamma[order], pair(batch.start)
    alpha = start
    for layer, conv in enumerate(convs):
        state, alpha = conv(state, alpha, start, batch, layer)
    assert torch.allclose(state[batch.order.source], torch.cat(expected), atol=1e-10, rtol=1e-10)


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
            config = GPNNConfig(
                outputs=3,
                parts=ready.vocabulary.size + 1,
                codes=(int(codes.max()) + 1,),
                interactions=kind,
                d=d,
                distances=distances,
                edge_labels=0 if labels is None else 4,
                hidden=8,
                base=None,
            )
            model = GPNN(config)
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
    config = GPNNConfig(
        outputs=1, parts=ready.vocabulary.size + 1, edge_features=1, base="gine", hidden=8
    )
    model = GPNN(config).eval()
    out = model(ready.batch([0, 1, 2]))
    more = prepare(graphs, edge_features=features + 1)
    assert not torch.allclose(out, model(more.batch([0, 1, 2])))


def test_the_reserved_part_starts_at_zero():
    layer = PartLinear(4, 3, bias=True)
    x = torch.ones(2, 3)
    part = torch.tensor([3, 3])
    assert not layer(x, part, ((0, 2, 3),), torch.ones(4)).any()
    pair = PairEmbedding(4, 3)
    assert not pair(torch.tensor([[3, 1, 3, 0, 0], [3, 2, 0, 0, 0], [1, 2, 3, 0, 0]])).any()
    assert pair(torch.tensor([[1, 2, 0, 0, 0]])).all()


def test_many_parts_share_a_basis():
    few, many = PartLinear(FACTOR_ABOVE, 4), PartLinear(FACTOR_ABOVE + 1, 4, bias=True)
    assert few.weight.shape[0] == FACTOR_ABOVE and many.weight.shape[0] == 8
    x = torch.randn(5, 4)
    part = torch.tensor([0, 1, 1, 7, FACTOR_ABOVE])
    scale = torch.randn(FACTOR_ABOVE + 1)
    out = many(x, part, (), scale)
    for row in range(5):
        j = int(part[row])
        weight = torch.einsum("b,bfo->fo", many.mixture[j], many.weight)
        assert torch.allclose(out[row], scale[j] * (x[row] @ weight + many.bias[j]))
    pair = PairEmbedding(FACTOR_ABOVE + 1, 4)
    assert sum(p.numel() for p in pair.parameters()) == 4 * (2 * (FACTOR_ABOVE + 1) + 4)


def test_what_does_not_fit_is_said_in_advance(monkeypatch):
    monkeypatch.setattr(memory, "UNCHECKED", 0)
    monkeypatch.setattr(memory, "free_bytes", lambda _: 2**20)
    graphs = as_graphs([nx.complete_graph(20)])
    ready = prepare(graphs, layers=1, direct=True)
    model = GPNN(base=None, outputs=1, parts=ready.parts, layers=1)
    with pytest.raises(InputError, match=r"make 7,600 tuples, which need about .* GiB are free"):
        model(ready.batch())


def test_repr_reset_and_bad_options():
    conv = GPNNConv(4, 3)
    assert repr(conv) == "GPNNConv(4, parts=3, pair_update='tuple')"
    conv.reset_parameters()
    with pytest.raises(InputError, match=r"Unknown pair_update 'mean'. Choose one of tuple, sum"):
        GPNNConv(4, 3, "mean")
