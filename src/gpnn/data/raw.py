"""Graphs with their features and targets as read from a source, before encoding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..graph.graphs import Graphs
from .tasks import Task

__all__ = ["DEGREE", "FEATURES", "LABELS", "MOLECULE", "Raw", "Skipped", "vertex_table"]

IntArray = NDArray[np.int64]

MOLECULE, LABELS, DEGREE, FEATURES = "molecule", "labels", "degree", "features"
KINDS = (MOLECULE, LABELS, DEGREE, FEATURES)
"""Kinds of rows in ``Raw.nodes``: atom columns, integer labels, degrees, floats."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A row of the input that gave no graph: its number from 0, its text, and the reason."""

    row: int
    id: str
    reason: str


@dataclass(frozen=True, eq=False)
class Raw:
    """The content of one source.

    Attributes:
        graphs: the graphs, with the edge labels of the source, if any.
        kind, nodes: kind and values of the vertex data, int [n, columns] or float [n, features].
        targets: name → one value per graph (or vertex): float64, NaN if missing, or text, "" if
            missing.
        ids, rows: name and input row of every graph.
        skipped: rows that could not be read.
        split: numbers of the graphs (or vertices) of ``train``, ``valid`` and ``test``.
        smiles: the column that SMILES came from.
        task: the task, if the source determines it.
        edge_features: floats of every CSR entry, [entries, width], or ``None``.
        from_smiles: whether ``ids`` are SMILES, from which RDKit can compute descriptors.
        descriptors: numbers of every graph by name, NaN where missing.
        counted: notable properties of the molecules, with the number of molecules that have them.
    """

    graphs: Graphs
    kind: str
    nodes: NDArray[Any]
    targets: Mapping[str, NDArray[Any]]
    ids: tuple[str, ...]
    rows: IntArray
    skipped: tuple[Skipped, ...] = ()
    split: Mapping[str, IntArray] | None = None
    node_level: bool = False
    smiles: str | None = None
    task: Task | None = None
    edge_features: NDArray[np.float32] | None = None
    from_smiles: bool = False
    descriptors: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    counted: Mapping[str, int] = field(default_factory=dict)

    def take(self, keep: NDArray[np.bool_]) -> Raw:
        """The marked graphs, in order; the others do not count as skipped."""
        sizes = np.diff(self.graphs.ptr)
        vertices = np.repeat(keep, sizes)
        graphs, _ = self.graphs.induced(vertices)
        number = np.cumsum(keep) - 1
        return replace(
            self,
            graphs=replace(
                graphs,
                ptr=np.concatenate(([0], np.cumsum(sizes[keep]))),
                graph_names=None,
                normalised=self.graphs.normalised,
            ),
            nodes=self.nodes[vertices],
            targets={name: values[keep] for name, values in self.targets.items()},
            ids=tuple(name for name, kept in zip(self.ids, keep.tolist(), strict=True) if kept),
            rows=self.rows[keep],
            descriptors={name: values[keep] for name, values in self.descriptors.items()},
            edge_features=None
            if self.edge_features is None
            else self.edge_features[vertices[self.graphs.rows]],
            split=self.split and {part: number[ids[keep[ids]]] for part, ids in self.split.items()},
        )

    def without(self, reasons: Mapping[int, str]) -> Raw:
        """Without the graphs with the given numbers, which are skipped for the given reasons."""
        if not reasons:
            return self
        keep = np.ones(len(self.graphs), np.bool_)
        keep[list(reasons)] = False
        gone = [Skipped(int(self.rows[g]), self.ids[g], why) for g, why in reasons.items()]
        skipped = sorted((*self.skipped, *gone), key=lambda item: item.row)
        return replace(self.take(keep), skipped=tuple(skipped))

    def choose(self, names: tuple[str, ...]) -> Raw:
        """With these targets only."""
        absent = [name for name in names if name not in self.targets]
        if absent:
            raise InputError(
                f"There is no target {absent[0]!r}. This source has "
                f"{', '.join(self.targets) or 'none'}."
            )
        return replace(self, targets={name: self.targets[name] for name in names})


def vertex_table(graphs: Graphs) -> tuple[str, IntArray]:
    """Kind and table of the vertex labels, or of the degrees if there are no labels."""
    if graphs.node_labels is not None:
        return LABELS, graphs.node_labels[:, None]
    return DEGREE, graphs.degree[:, None].astype(np.int64)
