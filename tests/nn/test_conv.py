"""``GPNNConv`` in a model of one's own: against the layer inside GPNN, and its promises."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data

from gpnn.errors import InputError
from gpnn.graph.partition import partition
from gpnn.graph.vocabulary import Vocabulary
from gpnn.nn.conv import GPNNConv
from gpnn.nn.transform import AddPartition
from nn.literal import literal_gpnn


def karate() -> tuple[nx.Graph, torch.Tensor, torch.Tensor]:
    graph = nx.karate_club_graph()
    ends = torch.tensor(list(graph.edges)).T
    found = partition(graph, "core-degree")
    return graph, torch.cat([ends, ends.flip(0)], 1), torch.from_numpy(found.part).long()


@pytest.mark.parametrize("kind", ["cross", "edges", "pairs"])
@pytest.mark.parametrize("d", [1, 2])
def test_it_is_the_formula(kind: str, d: int) -> None:
    graph, edge_index, part = karate()
    torch.manual_seed(0)
    conv = GPNNConv(3, 5, parts=int(part.max()) + 1, interactions=kind, d=d).double()
    x = torch.randn(len(graph), 3, dtype=torch.float64)
    torch.set_default_dtype(torch.float64)
    try:
        gamma = [conv.linear(x)]
        expected = literal_gpnn([conv.layer], conv.pair, [graph], [part.tolist()], gamma, kind, d)
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.allclose(conv(x, edge_index, part), expected[0], atol=1e-10)


def test_order_relabelling_and_batching() -> None:
    """Vertices stay where they are, names do not matter, and graphs of a batch do not meet."""
    graph, edge_index, part = karate()
    torch.manual_seed(0)
    conv = GPNNConv(3, 4, parts=int(part.max()) + 1).double().eval()
    x = torch.randn(len(graph), 3, dtype=torch.float64)
    out = conv(x, edge_index, part)
    order = torch.from_numpy(np.random.default_rng(0).permutation(len(graph)))
    back = torch.argsort(order)
    moved = conv(x[order], back[edge_index], part[order])
    assert torch.allclose(moved, out[order], atol=1e-12)
    one = Data(x=x, edge_index=edge_index, part=part)
    two = Batch.from_data_list([one, one])
    both = conv(two.x, two.edge_index, two.part)
    assert torch.allclose(both, torch.cat([out, out]), atol=1e-12)


def test_gradients_labels_cache_and_unseen_parts() -> None:
    graph, edge_index, part = karate()
    labels = torch.arange(edge_index.shape[1] // 2).repeat(2) % 3
    conv = GPNNConv(3, 4, parts=int(part.max()) + 1, edge_labels=3, cached=True)
    x = torch.randn(len(graph), 3, requires_grad=True)
    conv(x, edge_index, part, labels).sum().backward()
    assert x.grad is not None and all(p.grad is not None for p in conv.parameters())
    kept = conv._kept
    conv(x, edge_index, part, labels)
    assert conv._kept is kept is not None
    conv.reset_parameters()
    assert conv._kept is None
    unseen = torch.full_like(part, conv.parts)
    assert torch.isfinite(conv(x, edge_index, unseen, labels)).all()
    assert repr(conv) == "GPNNConv(3, 4, parts=6, interactions=edges, d=1)"


def test_with_the_parts_of_the_transform() -> None:
    graph, edge_index, _ = karate()
    vocabulary = Vocabulary.fit(partition(graph, "core"))
    data = AddPartition("core", vocabulary)(Data(edge_index=edge_index, num_nodes=len(graph)))
    conv = GPNNConv(1, 4, parts=vocabulary.size)
    assert conv(torch.ones(len(graph), 1), data.edge_index, data.part_id).shape == (34, 4)


def test_what_is_refused() -> None:
    _, edge_index, part = karate()
    x, conv = torch.randn(34, 3), GPNNConv(3, 4, parts=6)
    with pytest.raises(InputError, match=r"Parts are numbered 0 to 5, and 6 is one .*got 0 to 9"):
        conv(x, edge_index, torch.where(part == 5, 9, part))
    with pytest.raises(InputError, match="part must hold a whole number per vertex, 34 in all"):
        conv(x, edge_index, part[:5])
    with pytest.raises(InputError, match="edge_label is needed if edge_labels"):
        conv(x, edge_index, part, torch.zeros(edge_index.shape[1], dtype=torch.long))
    with pytest.raises(InputError, match="parts must be a whole number of at least 1; got 0"):
        GPNNConv(3, 4, parts=0)
    with pytest.raises(InputError, match="Unknown interactions 'all'"):
        GPNNConv(3, 4, parts=2, interactions="all")
