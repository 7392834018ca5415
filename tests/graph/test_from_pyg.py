"""PyG objects against PyG's own view of them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from torch.utils.data import Subset
from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset
from torch_geometric.data.dataset import Dataset
from torch_geometric.transforms import BaseTransform

from gpnn.errors import InputError
from gpnn.graph.convert import as_graphs
from gpnn.graph.graphs import Graphs


def random_data(seed: int, told: str) -> Data:
    """A random graph whose number of vertices is told by ``num_nodes``, ``x`` or the edges."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    edges = torch.from_numpy(rng.integers(0, n, (2, int(rng.integers(0, 9)))))
    if told == "num_nodes":
        return Data(edge_index=edges, num_nodes=n + 1)
    if told == "x":
        return Data(x=torch.zeros(n + 2, 3), edge_index=edges)
    if told == "node_mark":
        return Data(edge_index=edges, node_mark=torch.zeros(n + 1))
    return Data(edge_index=edges, y=torch.tensor([seed]))


class Memory(InMemoryDataset):
    def __init__(self, items: list[Data], transform: BaseTransform | None = None) -> None:
        super().__init__(None, transform)
        self.data, self.slices = self.collate(items)


class OneByOne(Dataset):
    """A dataset that is not in memory."""

    def __init__(self, items: list[Data]) -> None:
        self.items = items
        super().__init__(None)

    def len(self) -> int:
        return len(self.items)

    def get(self, idx: int) -> Data:
        return self.items[idx]


def reference(items: list[Data]) -> Graphs:
    """Every graph by itself, in PyG's own count of vertices."""
    parts = []
    for item in items:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            n = item.num_nodes
        parts.append(Graphs.from_edges(item.edge_index[0].numpy(), item.edge_index[1].numpy(), n))
    return Graphs.concatenate(parts)


def same(left: Graphs, right: Graphs) -> bool:
    return (
        all(
            np.array_equal(getattr(left, name), getattr(right, name))
            for name in ("ptr", "indptr", "indices")
        )
        and left.normalised == right.normalised
    )


TOLD = pytest.mark.parametrize("told", ["num_nodes", "x", "node_mark", "edges"])


@TOLD
def test_in_memory_dataset_and_its_subsets(told: str) -> None:
    items = [random_data(seed, told) for seed in range(30)]
    dataset = Memory(items)
    assert same(as_graphs(dataset), reference(items))
    assert same(as_graphs(dataset[10:20]), reference(items[10:20]))
    assert same(as_graphs(dataset[[5, 3, 3, 29]]), reference([items[i] for i in (5, 3, 3, 29)]))
    assert same(as_graphs(dataset[::-2]), reference(items[::-2]))
    assert same(as_graphs(dataset[10:20][[1, 0]]), reference([items[11], items[10]]))
    assert same(as_graphs(Subset(dataset[10:], [4, 2])), reference([items[14], items[12]]))
    assert len(as_graphs(dataset[0:0])) == 0
    assert dataset._data_list is None, "no graph was taken apart"


@TOLD
def test_lists_batches_and_datasets_on_demand(told: str) -> None:
    items = [random_data(seed, told) for seed in range(12)]
    expected = reference(items)
    assert same(as_graphs(items), expected)
    assert same(as_graphs(tuple(items)), expected)
    assert same(as_graphs(OneByOne(items)), expected)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        batch = Batch.from_data_list(items)
    assert same(as_graphs(batch), expected)
    assert same(as_graphs([batch, batch]), Graphs.concatenate([expected, expected]))


def test_saved_and_loaded_dataset(tmp_path) -> None:
    items = [random_data(seed, "num_nodes") for seed in range(5)]
    Memory.save(items, str(tmp_path / "set.pt"))
    dataset = Memory(items[:2])
    dataset.load(str(tmp_path / "set.pt"))
    assert same(as_graphs(dataset), reference(items))


def test_dataset_of_one_graph() -> None:
    item = random_data(3, "x")
    assert same(as_graphs(Memory([item])), reference([item]))


def test_batch_with_shuffled_edges_or_without_ptr() -> None:
    items = [random_data(seed, "x") for seed in range(8)]
    batch = Batch.from_data_list(items)
    expected = as_graphs(batch)
    order = torch.randperm(batch.edge_index.size(1), generator=torch.Generator().manual_seed(0))
    batch.edge_index = batch.edge_index[:, order]
    del batch.ptr
    assert same(as_graphs(batch), expected)
    plain = Data(edge_index=batch.edge_index, batch=batch.batch)
    assert len(as_graphs(plain)) == 8


class DropEdges(BaseTransform):
    def forward(self, data: Data) -> Data:
        data.edge_index = data.edge_index[:, :0]
        return data


def test_transform_on_access_is_respected() -> None:
    items = [random_data(seed, "x") for seed in range(4)]
    assert as_graphs(Memory(items, DropEdges())).num_edges == 0


def test_data_without_edges_and_with_num_nodes() -> None:
    assert as_graphs(Data(x=torch.zeros(4, 1))).num_nodes == 4
    assert as_graphs(Data(edge_index=torch.tensor([[0], [1]])), num_nodes=6).num_nodes == 6
    assert as_graphs(torch.tensor([[0, 1], [1, 2]])).num_nodes == 3
    assert as_graphs((torch.tensor([0, 1]), torch.tensor([1, 2]))).num_edges == 2


def test_int64_tensors_are_not_copied() -> None:
    from gpnn.graph.convert import split_rows, to_numpy

    edges = torch.tensor([[0, 1], [1, 2]])
    src, _ = split_rows(to_numpy(edges))
    edges[0, 0] = 2
    assert src[0] == 2


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (HeteroData(), "to_homogeneous"),
        (Data(adj_t=torch.eye(3).to_sparse()), "no edge_index but adj_t"),
        (torch.eye(3).to_sparse(), "sparse torch tensor"),
        (Data(), "Set data.num_nodes"),
        (Data(edge_index=torch.zeros(3, 4, dtype=torch.long)), r"shape \[2, m\]; got \[3, 4\]"),
        (Data(edge_index=torch.tensor([[0.5], [1.0]]), num_nodes=2), "not whole numbers"),
        (Data(edge_index=torch.tensor([[0], [4]]), num_nodes=2), "joins 0 and 4"),
        (Data(edge_index=torch.tensor([[0], [-2]]), num_nodes=2), "joins 0 and -2"),
        (Data(edge_index=torch.tensor([[0], [10**15]])), "with only 1 edges"),
        (Data(x=torch.zeros(2, 1), batch=torch.tensor([1, 0])), "must rise from 0"),
        (Data(edge_index=torch.tensor([[0], [9]]), batch=torch.tensor([0, 1])), "name 0 to 9"),
    ],
)
def test_refusals(source: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_graphs(source)


def test_edge_between_graphs_of_a_batch() -> None:
    batch = Batch.from_data_list(
        [Data(x=torch.zeros(2, 1), edge_index=torch.tensor([[0], [1]]))] * 2
    )
    batch.edge_index = torch.tensor([[0], [3]])
    with pytest.raises(InputError, match="joins 0 and 3"):
        as_graphs(batch)


@pytest.mark.data
def test_tu_dataset_of_pyg(data_dir, tmp_path) -> None:
    import zipfile

    from torch_geometric.datasets import TUDataset

    from gpnn.data.datasets import load_graphs

    with zipfile.ZipFile(data_dir / "TU" / "PTC_MR.zip") as archive:
        archive.extractall(tmp_path)
    dataset = TUDataset(str(tmp_path), "PTC_MR")
    ours = load_graphs("PTC_MR", data_dir)
    for mine, theirs in ((as_graphs(dataset), ours), (as_graphs(dataset[7:9]), [ours[7], ours[8]])):
        theirs = Graphs.concatenate(list(theirs)) if isinstance(theirs, list) else theirs
        assert np.array_equal(mine.ptr, theirs.ptr)
        assert np.array_equal(mine.indices, theirs.indices)
