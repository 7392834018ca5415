"""Blocks, virtual nodes and what joins them, against the formulas written with PyTorch's parts."""

from __future__ import annotations

import networkx as nx
import pytest
import torch
from torch import Tensor

from gpnn.errors import InputError
from gpnn.graph.convert import as_graphs
from gpnn.nn.block import Block, VirtualNode
from gpnn.nn.model import GPNN
from gpnn.nn.norm import WeightedBatchNorm
from gpnn.nn.prepare import prepare
from gpnn.options import RULES

SIZES = (5, 1, 4)


def batch():
    graphs = [nx.cycle_graph(5), nx.empty_graph(1), nx.path_graph(4)]
    return prepare(as_graphs(graphs), layers=1).batch()


def normed(x: Tensor, norm: WeightedBatchNorm) -> Tensor:
    return torch.nn.functional.batch_norm(
        x, None, None, norm.weight, norm.bias, training=True, eps=norm.eps
    )


@pytest.mark.parametrize("kind", RULES["block"].values)
def test_a_block_is_its_formula(kind: str) -> None:
    torch.manual_seed(0)
    block = Block(6, kind, dropout=0.0).double()
    x, y = torch.randn(10, 6).double(), torch.randn(10, 6).double()
    expected = torch.relu(normed(y, block.norm))
    if kind != "plain":
        expected = x + expected
    if kind == "feed-forward":
        inner = block.feed_forward
        assert inner is not None
        hidden = torch.relu(inner.first(normed(expected, inner.norm)))
        expected = expected + inner.second(hidden)
    torch.testing.assert_close(block(x, y, batch()), expected)


def test_a_virtual_node_sums_its_graph_and_adds_to_it() -> None:
    torch.manual_seed(0)
    node, graphs = VirtualNode(6).double(), batch()
    x, before = torch.randn(10, 6).double(), torch.randn(3, 6).double()
    found, after = node(x, before, graphs)
    back = graphs.order.source.long()
    sums = torch.stack([part.sum(0) for part in x[back].split(SIZES)])
    hidden = normed((before + sums) @ node.mlp.first.weight.T, node.mlp.norm)
    expected = before + node.mlp.second(torch.relu(hidden))
    torch.testing.assert_close(after, expected)
    torch.testing.assert_close(
        found[back], x[back] + expected.repeat_interleave(torch.tensor(SIZES), 0)
    )


def test_inside_both_read_the_same_features() -> None:
    """One layer: γ' = γ + interactions(γ) + convolution(γ), each behind its normalisation."""
    torch.manual_seed(0)
    graphs = as_graphs([nx.lollipop_graph(4, 2), nx.cycle_graph(5)])
    ready = prepare(graphs, layers=1, x=torch.randn(11, 3))
    net = GPNN(base="gin", outputs=2, hidden=8, join="inside", **ready.options).double()
    one = ready.batch().to("cpu", torch.float64)
    gamma = net.encoder(one.features) + net.colour[one.part]
    alpha = net.pair(one.start)
    layer = net.layers[0]
    _, of_alpha = layer.interactions(alpha, alpha, one.rounds[0])
    made = layer.combine(gamma, of_alpha, one, one.rounds[0].own)
    conv = net.base.convs[0](gamma, one, None)
    expected = gamma + torch.relu(normed(made, net.blocks[0].norm))
    expected = expected + torch.relu(normed(conv, net.base.blocks[0].norm))
    torch.testing.assert_close(net.embed(one), expected)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"join": "inside", "base": None}, "needs a built-in base"),
        ({"join": "inside", "block": "plain"}, "needs block='residual' or 'feed-forward'"),
        ({"join": "within"}, "join cannot be 'within'. Choose one of beside, inside"),
        ({"block": "dense"}, "block cannot be 'dense'"),
        ({"walks": 65}, "walks must be a whole number from 0 to 64"),
        ({"virtual_node": 1}, "virtual_node must be True or False"),
        ({"virtual_node": True, "layers": 1}, "it needs two layers or more"),
        ({"virtual_node": True, "level": "node"}, "no use where outputs belong to vertices"),
        ({"join": "inside", "norm": None}, "needs norm='batch'"),
    ],
)
def test_what_does_not_go_together_is_refused(options: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        GPNN(**{"base": "gin", "outputs": 1, "parts": 2, "features": 3, **options})


def test_labels_need_labels() -> None:
    graphs = as_graphs([nx.path_graph(3)])
    with pytest.raises(InputError, match="these graphs have none"):
        prepare(graphs, labels=True)
    with pytest.raises(InputError, match="whole numbers or one-hot rows"):
        prepare(graphs, labels=True, x=torch.randn(3, 2))
    none = prepare(graphs, labels=True, x=torch.tensor([[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]]))
    assert set(none.classes.start[:, 5]) == {0, 1, 2}  # no label is the reserved one
    hot = prepare(graphs, labels=True, x=torch.eye(3)[[0, 2, 0]])
    codes = prepare(graphs, labels=True, x=torch.tensor([[0, 7], [2, 7], [0, 8]]))
    assert (hot.classes.start == codes.classes.start).all()
    assert set(hot.classes.start[:, 5]) == {0, 2}


def test_graphs_without_walks_are_refused() -> None:
    graphs = as_graphs([nx.path_graph(3)])
    with_walks = prepare(graphs, walks=4)
    net = GPNN(outputs=1, **with_walks.options)
    assert net(with_walks.batch()).shape == (1, 1)
    with pytest.raises(InputError, match="prepared without them or with another number"):
        net(prepare(graphs, walks=0).batch())
