"""``AddPartition``: the parts of a graph as attributes of PyG data."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data, HeteroData, InMemoryDataset
from torch_geometric.data.datapipes import functional_transform
from torch_geometric.transforms import BaseTransform

from ..errors import InputError
from ..graph.convert import as_graphs
from ..graph.partition import Partition, partition
from ..graph.schemes import Scheme, get_scheme
from ..graph.vocabulary import Vocabulary

__all__ = ["AddPartition"]


@functional_transform("add_partition")
class AddPartition(BaseTransform):
    r"""Partitions a graph and adds its parts to the data (functional name: :obj:`add_partition`).

    ============================ ================ ================================================
    attribute                    dtype, shape     meaning
    ============================ ================ ================================================
    :obj:`part_colour`           int64 [n, width] the scheme's colour of every vertex
    :obj:`part_border`           bool [n]         whether the vertex has a cross edge
    :obj:`part_cross`            bool [m]         whether ``edge_index[:, e]`` joins two parts
    :obj:`part_scheme`           int64 [1]        a number that stands for the scheme
    :obj:`part_id`               int64 [n]        index in the vocabulary, its size where unseen
    :obj:`part_components`       int64 [1, k + 1] connected components of every part, unseen last
    ============================ ================ ================================================

    The last two need a vocabulary, because otherwise part numbers of different graphs are not
    comparable. No name contains ``index`` or ``batch``, so PyG concatenates all of them without a
    shift. Colours are those of the simple undirected graph given by ``edge_index``; ``edge_index``
    itself is not changed, and a self-loop counts as within a part.

    A :class:`~gpnn.nn.model.GPNN` reads batches of this data directly from PyG's ``DataLoader``:

    >>> dataset = TUDataset("data", "MUTAG", transform=AddPartition())  # doctest: +SKIP
    >>> model = GPNN.for_data(dataset[:150], outputs=2)  # doctest: +SKIP
    >>> for data in DataLoader(dataset[:150], batch_size=32, shuffle=True):  # doctest: +SKIP
    ...     loss = cross_entropy(model(data), data.y)

    Args:
        scheme: a name such as ``"core-degree"`` or ``"core+triangle"``, or a :class:`Scheme`.
        vocabulary: a fitted :class:`~gpnn.graph.vocabulary.Vocabulary`.
    """

    def __init__(
        self, scheme: str | Scheme = "core-degree", vocabulary: Vocabulary | None = None
    ) -> None:
        self.scheme = get_scheme(scheme)
        self.vocabulary = vocabulary
        if vocabulary is not None and vocabulary.scheme != self.scheme.name:
            raise InputError(
                f"The vocabulary is for scheme '{vocabulary.scheme}', not '{self.scheme.name}'. "
                "Give both the same scheme."
            )

    def forward(self, data: Data) -> Data:
        if not isinstance(data, Data | HeteroData):
            raise InputError(
                f"AddPartition takes PyG's Data; got a {type(data).__name__}. Convert it first, or "
                "use gpnn.partition."
            )
        if isinstance(data, HeteroData):
            raise InputError(
                "AddPartition works on homogeneous Data. Use HeteroData.to_homogeneous()."
            )
        if data.edge_index is None:
            raise InputError(
                "The data has no edge_index. AddPartition needs one ([2, 0] if edgeless)."
            )
        cut = partition(as_graphs(data), self.scheme)
        for name, value in self._attributes(cut, data.edge_index).items():
            data[name] = value.to(data.edge_index.device)
        return data

    def on_dataset(self, dataset: InMemoryDataset) -> InMemoryDataset:
        """A copy of an in-memory dataset with the attributes added to its collated storage,
        computed for all stored graphs in one call. A subset stays a subset; tensors are shared, not
        copied."""
        whole = copy.copy(dataset)
        whole._indices = None
        graphs = as_graphs(whole)
        data, slices = copy.copy(dataset._data), dict(dataset.slices or {})
        bounds = slices.get("edge_index", torch.tensor([0, data.edge_index.size(1)]))
        shift = torch.from_numpy(np.repeat(graphs.ptr[:-1], bounds.diff().numpy()))
        each = torch.arange(len(graphs) + 1)
        rows = {"part_cross": bounds, "part_components": each, "part_scheme": each}
        vertices = torch.from_numpy(graphs.ptr)
        cut = partition(graphs, self.scheme)
        for name, value in self._attributes(cut, data.edge_index + shift).items():
            data[name] = value
            slices[name] = rows.get(name, vertices)
        result = copy.copy(dataset)
        result._data, result.slices, result._data_list = data, slices, None
        return result

    def _attributes(self, cut: Partition, edge_index: torch.Tensor) -> dict[str, torch.Tensor]:
        part = torch.from_numpy(cut.part)
        ends = part[edge_index.cpu()]
        out: dict[str, Any] = {
            "part_colour": torch.from_numpy(cut.colours),
            "part_border": torch.from_numpy(cut.border),
            "part_cross": ends[0] != ends[1],
            "part_scheme": torch.full((len(cut.graphs),), self.scheme.key),
        }
        if self.vocabulary is not None:
            index = self.vocabulary.encode(cut).index
            known = np.full(cut.num_parts, self.vocabulary.size)
            known[cut.part] = index
            components = np.zeros((len(cut.graphs), self.vocabulary.size + 1), np.int64)
            np.add.at(components.T, known, cut.components().T)
            out["part_id"] = torch.from_numpy(index)
            out["part_components"] = torch.from_numpy(components)
        return out

    def __repr__(self) -> str:
        fitted = "" if self.vocabulary is None else f", vocabulary of {self.vocabulary.size}"
        return f"{self.__class__.__name__}({self.scheme.name}{fitted})"
