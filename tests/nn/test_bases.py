"""The convolutions of the bases against PyG's, with copied weights."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, GINConv, GINEConv, SAGEConv

from gpnn.graph.convert import as_graphs
from gpnn.nn.bases import BASES, GAT, GCN, GIN, GINE, SAGE, StackedGNN
from gpnn.nn.batch import GraphBatch
from gpnn.nn.prepare import prepare

WIDTH = 5


def batch(kind: str) -> GraphBatch:
    """Vertices without edges, several components; or no edge at all."""
    ring = nx.disjoint_union(nx.lollipop_graph(5, 3), nx.empty_graph(2))
    graphs = [nx.empty_graph(3), nx.empty_graph(1)] if kind == "bare" else [ring, nx.star_graph(4)]
    return prepare(as_graphs(graphs), layers=1).batch().to("cpu", torch.float64)


def two_layers() -> nn.Sequential:
    """The same two-layer perceptron of PyTorch's own parts."""
    first, second = nn.Linear(WIDTH, WIDTH, bias=False), nn.Linear(WIDTH, WIDTH)
    return nn.Sequential(first, nn.BatchNorm1d(WIDTH), nn.ReLU(), second)


def gin(ours: GIN) -> nn.Module:
    kind = GINEConv if isinstance(ours, GINE) else GINConv
    made = kind(two_layers(), train_eps=True).double()
    made.eps.data.copy_(ours.epsilon)
    for place, part in ((0, ours.mlp.first), (1, ours.mlp.norm), (3, ours.mlp.second)):
        made.nn[place].load_state_dict(part.state_dict(), strict=place != 1)
    return made


def gcn(ours: GCN) -> nn.Module:
    made = GCNConv(WIDTH, WIDTH).double()
    made.lin.weight.data.copy_(ours.linear.weight)
    made.bias.data.copy_(ours.bias)
    return made


def gat(ours: GAT) -> nn.Module:
    made = GATConv(WIDTH, WIDTH, heads=1).double()
    made.lin.weight.data.copy_(ours.linear.weight)
    made.att_src.data.copy_(ours.source.view(1, 1, WIDTH))
    made.att_dst.data.copy_(ours.target.view(1, 1, WIDTH))
    made.bias.data.copy_(ours.bias)
    return made


def sage(ours: SAGE) -> nn.Module:
    made = SAGEConv(WIDTH, WIDTH).double()
    made.lin_l.weight.data.copy_(ours.others.weight)
    made.lin_l.bias.data.copy_(ours.others.bias)
    made.lin_r.weight.data.copy_(ours.own.weight)
    return made


PEERS: dict[str, Callable[..., nn.Module]] = {
    "gin": gin,
    "gine": gin,
    "gcn": gcn,
    "gat": gat,
    "sage": sage,
}


def pair(name: str) -> tuple[nn.Module, nn.Module]:
    torch.manual_seed(0)
    ours = BASES[name](WIDTH).double()
    for parameter in ours.parameters():
        parameter.data.add_(0.3 * torch.randn_like(parameter))
    return ours, PEERS[name](ours)


def results(name: str, kind: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Outputs and gradients of x, ours and PyG's."""
    ours, theirs = pair(name)
    data = batch(kind)
    assert data.edges is not None
    x = torch.randn(data.x.shape[0], WIDTH, dtype=torch.float64, requires_grad=True)
    edges = torch.randn(len(data.edges.label), WIDTH, dtype=torch.float64)
    given = (x, data.edges.index, edges) if name == "gine" else (x, data.edges.index)
    one, two = ours(x, data, edges), theirs(*given)
    slopes = [torch.autograd.grad(out.sin().sum(), x)[0] for out in (one, two)]
    return one, two, *slopes


def test_every_base_has_a_peer() -> None:
    assert set(PEERS) == set(BASES)


@pytest.mark.parametrize("kind", ["plain", "bare"])
@pytest.mark.parametrize("name", PEERS)
def test_outputs_and_gradients_equal_those_of_pyg(name: str, kind: str) -> None:
    one, two, slope, expected = results(name, kind)
    assert torch.allclose(one, two, atol=1e-10, rtol=1e-10)
    assert torch.allclose(slope, expected, atol=1e-8, rtol=1e-8)


def test_attention_does_not_overflow() -> None:
    """Softmax subtracts the largest of the logits that meet, as PyG's does."""
    ours, theirs = pair("gat")
    data = batch("plain")
    assert data.edges is not None
    x = 1e4 * torch.randn(data.x.shape[0], WIDTH, dtype=torch.float64)
    out = ours(x, data, None)
    assert torch.isfinite(out).all()
    assert torch.allclose(out, theirs(x, data.edges.index), rtol=1e-9)


@pytest.mark.parametrize("name", PEERS)
def test_a_stack_has_the_width_it_says(name: str) -> None:
    data = batch("plain")
    assert data.edges is not None
    x = torch.randn(data.x.shape[0], WIDTH, dtype=torch.float64)
    edges = torch.randn(len(data.edges.label), WIDTH, dtype=torch.float64)
    net = StackedGNN(name, WIDTH, 3).double()
    out = net(x, data, edges)
    assert out.shape == (len(x), net.out_channels) and bool((out >= 0).all())
    assert repr(net) == f"StackedGNN({name}, {WIDTH}, layers=3)"
    assert np.isfinite(out.detach().numpy()).all()
