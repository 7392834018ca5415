"""The convolutions of the bases against PyG's, with copied weights."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GAT as PyGGAT
from torch_geometric.nn import GCN as PyGGCN
from torch_geometric.nn import GIN as PyGGIN
from torch_geometric.nn import GATConv, GCNConv, GINConv, GINEConv, SAGEConv
from torch_geometric.nn import GraphSAGE as PyGSAGE

from gpnn.errors import InputError
from gpnn.graph.convert import as_graphs
from gpnn.nn import bases
from gpnn.nn.bases import (
    BASES,
    GAT,
    GCN,
    GIN,
    GINE,
    SAGE,
    StackedGNN,
    known_bases,
    make_base,
    register_base,
)
from gpnn.nn.batch import GraphBatch
from gpnn.nn.prepare import prepare

WIDTH = 5


def batch(kind: str) -> GraphBatch:
    """Vertices without edges, several components; or no edge at all."""
    ring = nx.disjoint_union(nx.lollipop_graph(5, 3), nx.empty_graph(2))
    graphs = [nx.empty_graph(3), nx.empty_graph(1)] if kind == "bare" else [ring, nx.star_graph(4)]
    return prepare(as_graphs(graphs), layers=1).batch().to("cpu", torch.float64)


def two_layers(inputs: int) -> nn.Sequential:
    """The same two-layer perceptron of PyTorch's own parts."""
    return nn.Sequential(nn.Linear(inputs, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH))


def gin(ours: GIN) -> nn.Module:
    kind = GINEConv if isinstance(ours, GINE) else GINConv
    made = kind(two_layers(ours.mlp.first.in_features), train_eps=True).double()
    made.eps.data.copy_(ours.epsilon)
    for place, part in ((0, ours.mlp.first), (2, ours.mlp.second)):
        made.nn[place].load_state_dict(part.state_dict())
    return made


def gcn(ours: GCN) -> nn.Module:
    made = GCNConv(ours.linear.in_features, WIDTH).double()
    made.lin.weight.data.copy_(ours.linear.weight)
    made.bias.data.copy_(ours.bias)
    return made


def gat(ours: GAT) -> nn.Module:
    made = GATConv(ours.linear.in_features, WIDTH, heads=1).double()
    made.lin.weight.data.copy_(ours.linear.weight)
    made.att_src.data.copy_(ours.source.view(1, 1, WIDTH))
    made.att_dst.data.copy_(ours.target.view(1, 1, WIDTH))
    made.bias.data.copy_(ours.bias)
    return made


def sage(ours: SAGE) -> nn.Module:
    made = SAGEConv(ours.own.in_features, WIDTH).double()
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
    ours = BASES[name](WIDTH, WIDTH, norm=False).double()
    for parameter in ours.parameters():
        parameter.data.add_(0.3 * torch.randn_like(parameter))
    return ours, PEERS[name](ours)


def results(name: str, kind: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Outputs and gradients of x, ours and PyG's."""
    ours, theirs = pair(name)
    data = batch(kind)
    assert data.edges is not None
    x = torch.randn(data.num_nodes, WIDTH, dtype=torch.float64, requires_grad=True)
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
    x = 1e4 * torch.randn(data.num_nodes, WIDTH, dtype=torch.float64)
    out = ours(x, data, None)
    assert torch.isfinite(out).all()
    assert torch.allclose(out, theirs(x, data.edges.index), rtol=1e-9)


@pytest.mark.parametrize("name", PEERS)
def test_a_stack_has_the_width_it_says(name: str) -> None:
    data = batch("plain")
    assert data.edges is not None
    x = torch.randn(data.num_nodes, WIDTH, dtype=torch.float64)
    edges = torch.randn(len(data.edges.label), WIDTH, dtype=torch.float64)
    net = StackedGNN(name, WIDTH, WIDTH, 3).double()
    out = net(x, data, edges)
    assert out.shape == (len(x), net.out_channels) and bool((out >= 0).all())
    assert repr(net) == f"StackedGNN({name}, {WIDTH}, layers=3)"
    assert np.isfinite(out.detach().numpy()).all()


@pytest.mark.parametrize("name", ["gin", "gcn", "gat", "sage"])
def test_without_normalisation_a_stack_is_that_of_pyg(name: str) -> None:
    """``torch_geometric.nn.GCN(inputs, width, layers)`` and its like, with copied weights."""
    kinds = {"gin": PyGGIN, "gcn": PyGGCN, "gat": PyGGAT, "sage": PyGSAGE}
    torch.manual_seed(0)
    data, inputs, layers = batch("plain"), 3, 3
    ours = StackedGNN(name, inputs, WIDTH, layers, dropout=0.3, norm=False).double().eval()
    more = {"train_eps": True} if name == "gin" else {}
    theirs = kinds[name](inputs, WIDTH, layers, dropout=0.3, norm=None, **more).double().eval()
    for own, other in zip(ours.convs, theirs.convs, strict=True):
        for parameter in own.parameters():
            parameter.data.add_(0.3 * torch.randn_like(parameter))
        copy(name, own, other)
    x = torch.randn(data.num_nodes, inputs, dtype=torch.float64)
    assert data.edges is not None
    found, expected = ours(x, data), theirs(x, data.edges.index)
    assert torch.allclose(found, expected, atol=1e-10, rtol=1e-10)
    assert bool((found < 0).any())  # nothing follows the last layer


def copy(name: str, own: nn.Module, other: nn.Module) -> None:
    made = PEERS[name](own)
    state = made.state_dict()
    if name == "gin":  # PyG's MLP names its linear maps otherwise
        names = {"nn.0": "nn.lins.0", "nn.2": "nn.lins.1"}
        state = {
            next((key.replace(a, b) for a, b in names.items() if key.startswith(a)), key): value
            for key, value in state.items()
        }
    other.load_state_dict(state)


def test_registered_bases() -> None:
    class Mine(nn.Module):
        def __init__(self, inputs: int, hidden: int) -> None:
            super().__init__()
            self.map, self.out_channels = nn.Linear(inputs, hidden), hidden

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return self.map(x) + 0 * edge_index.sum()

    def make(inputs: int, hidden: int, layers: int, dropout: float) -> nn.Module:
        assert (layers, dropout) == (2, 0.1)
        return Mine(inputs, hidden)

    register_base("mine", make)
    try:
        register_base("mine", make)  # again, as in a notebook
        assert "mine" in known_bases()
        assert make_base("mine", 3, 4, 2, 0.1, norm=True).out_channels == 4
        register_base("mine", lambda *_: nn.Linear(2, 2))
        with pytest.raises(InputError, match="does not give the width"):
            make_base("mine", 3, 4, 2, 0.1, norm=True)
    finally:
        bases._REGISTERED.pop("mine")
    with pytest.raises(
        InputError, match=r"Unknown base 'mine'. Did you mean gine. Choose one of gin, .*--plugin"
    ):
        make_base("mine", 3, 4, 2, 0.1, norm=True)
    with pytest.raises(InputError, match="'gin' is a built-in base"):
        register_base("gin", make)
    with pytest.raises(InputError, match="needs a name of letters"):
        register_base("my base", make)
