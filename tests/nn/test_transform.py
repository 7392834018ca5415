"""AddPartition in every place PyG puts a transform."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from torch.utils.data.datapipes.iter import IterableWrapper
from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset
from torch_geometric.loader import DataLoader
from torch_geometric.transforms import Compose

from gpnn.errors import InputError
from gpnn.graph.partition import partition
from gpnn.graph.vocabulary import Vocabulary
from gpnn.nn.transform import AddPartition

WITHOUT = ("part_colour", "part_border", "part_cross")
WITH = (*WITHOUT, "part_id", "part_components")


def graph(edges: list[tuple[int, int]], n: int, features: bool = True) -> Data:
    both = edges + [(v, u) for u, v in edges]
    edge_index = torch.tensor(both, dtype=torch.long).reshape(-1, 2).t().contiguous()
    data = Data(edge_index=edge_index, num_nodes=n)
    if features:
        data.x = torch.arange(n).float().unsqueeze(1)
    return data


TRIANGLE_TAIL = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)]
SAMPLES = [
    (TRIANGLE_TAIL, 5),
    ([], 3),
    ([(0, 1)], 4),
    ([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], 4),
    ([], 0),
    ([(0, 1), (1, 2)], 3),
]


class Memory(InMemoryDataset):
    """A small in-memory dataset written to disk and read back like any other."""

    def __init__(self, root, features=True, **kwargs):
        self.features = features
        super().__init__(root, **kwargs)
        self.load(self.processed_paths[0])

    @property
    def processed_file_names(self):
        return ["data.pt"]

    def process(self):
        graphs = [graph(edges, n, self.features) for edges, n in SAMPLES]
        if self.pre_transform is not None:
            graphs = [self.pre_transform(data) for data in graphs]
        self.save(graphs, self.processed_paths[0])


def everything() -> Vocabulary:
    return Vocabulary.fit(partition([graph(e, n) for e, n in SAMPLES], "core-degree"))


def test_attributes_of_one_graph():
    data = AddPartition("core-degree", everything())(graph(TRIANGLE_TAIL, 5))
    assert data.part_colour.dtype == torch.int64 and data.part_colour.shape == (5, 2)
    assert data.part_colour.tolist() == [[2, 1], [2, 1], [2, 1], [1, 0], [1, 0]]
    assert data.part_border.tolist() == [False, False, True, True, False]
    assert data.part_cross.dtype == torch.bool
    assert data.part_cross.tolist() == [False, False, False, True, False] * 2
    assert data.part_id.tolist() == [3, 3, 3, 1, 1]
    assert data.part_components.tolist() == [[0, 1, 0, 1, 0]]
    assert data.is_node_attr("part_colour") and data.is_edge_attr("part_cross")
    data.validate()


def test_edge_index_is_left_as_it_is():
    data = Data(edge_index=torch.tensor([[0, 1, 1, 1], [1, 1, 2, 2]]), num_nodes=3)
    before = data.edge_index.clone()
    cut = AddPartition("degree")(data)
    assert torch.equal(cut.edge_index, before)
    assert cut.part_colour.flatten().tolist() == [1, 2, 1]
    assert cut.part_cross.tolist() == [True, False, True, True]


@pytest.mark.parametrize("vocabulary", [False, True])
def test_batching_equals_the_single_graphs(vocabulary):
    fitted = everything() if vocabulary else None
    transform = AddPartition("core-degree", fitted)
    graphs = [transform(graph(edges, n)) for edges, n in SAMPLES]
    batch = Batch.from_data_list(graphs)
    for name in WITH if vocabulary else WITHOUT:
        assert torch.equal(batch[name], torch.cat([data[name] for data in graphs])), name
    for before, after in zip(graphs, batch.to_data_list(), strict=True):
        for name in WITH if vocabulary else WITHOUT:
            assert torch.equal(before[name], after[name])
    whole = transform(Batch.from_data_list([graph(e, n) for e, n in SAMPLES]))
    assert torch.equal(whole.part_colour, batch.part_colour)
    loader = DataLoader(graphs, batch_size=3)
    colours = torch.cat([batch.part_colour for batch in loader])
    assert torch.equal(colours, whole.part_colour)


@pytest.mark.parametrize("features", [True, False])
def test_as_transform_pre_transform_and_on_the_whole_dataset(tmp_path, features):
    vocabulary = everything()
    transform = AddPartition("core-degree", vocabulary)
    plain = Memory(tmp_path / "plain", features)
    lazily = Memory(tmp_path / "plain", features, transform=Compose([transform]))
    early = Memory(tmp_path / "early", features, pre_transform=transform)
    at_once = transform.on_dataset(plain)
    assert "part_id" not in plain[0]
    for i, (edges, n) in enumerate(SAMPLES):
        expected = transform(graph(edges, n, features))
        for found in (lazily[i], early[i], at_once[i]):
            for name in WITH:
                assert torch.equal(found[name], expected[name]), (i, name)
            assert torch.equal(found.edge_index, expected.edge_index)
    picked = early[[5, 0, 3]]
    assert [data.num_nodes for data in picked] == [3, 5, 4]
    half = transform.on_dataset(plain[torch.tensor([3, 0])])
    assert [len(data.part_id) for data in half] == [4, 5]
    assert half[0].part_id.tolist() == early[3].part_id.tolist()
    batches = list(DataLoader(at_once, batch_size=4))
    assert torch.equal(
        torch.cat([batch.part_id for batch in batches]),
        torch.cat([data.part_id for data in early]),
    )


def test_subsets_are_partitioned_as_subsets(tmp_path):
    dataset = Memory(tmp_path)
    picked = partition(dataset[[3, 0]], "core")
    assert picked.colours.flatten().tolist() == [2, 2, 2, 2, 2, 2, 2, 1, 1]
    assert np.array_equal(partition(dataset[1:4], "core").graphs.ptr, [0, 3, 7, 11])


def test_functional_name_and_repr():
    data = graph(TRIANGLE_TAIL, 5)
    assert repr(AddPartition("core")) == "AddPartition(core)"
    assert repr(AddPartition("core-degree", everything())).startswith(
        "AddPartition(core-degree, voc"
    )
    pipe = IterableWrapper([data]).add_partition("core")
    assert [found.part_colour.flatten().tolist() for found in pipe] == [[2, 2, 2, 1, 1]]


def test_unseen_colours_warn_and_are_reserved():
    vocabulary = Vocabulary.fit(partition(graph([(0, 1)], 2), "degree"))
    with pytest.warns(UserWarning, match="1 of 3 vertices"):
        data = AddPartition("degree", vocabulary)(graph([(0, 1), (1, 2)], 3))
    assert data.part_id.tolist() == [0, 1, 0]
    assert data.part_components.tolist() == [[2, 1]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AddPartition("degree", vocabulary)(graph([(0, 1)], 2))


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="no scheme 'k-core'"):
        AddPartition("k-core")
    with pytest.raises(InputError, match="vocabulary is for scheme 'core-degree', not 'core'"):
        AddPartition("core", everything())
    with pytest.raises(InputError, match="to_homogeneous"):
        AddPartition("core")(HeteroData())
    with pytest.raises(InputError, match="no edge_index"):
        AddPartition("core")(Data(x=torch.zeros(3, 1)))
    with pytest.raises(InputError, match="joins 0 and 7"):
        AddPartition("core")(Data(edge_index=torch.tensor([[0], [7]]), num_nodes=2))
