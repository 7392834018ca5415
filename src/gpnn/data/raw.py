"""Graphs with their features and targets as a source has them, before anything is encoded."""

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
"""What the rows of ``Raw.nodes`` are (OGB's atom columns, integer labels, degrees, floats)."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A row of the input that gave no graph: its number from 0, what it is, and why."""

    row: int
    id: str
    reason: str


@dataclass(frozen=True, eq=False)
class Raw:
    """One source.

    Attributes:
        graphs: edge labels as the source has them, if any.
        kind, nodes: what is known of a vertex, int [n, columns] or float [n, features].
        targets: name → one value per graph (or per vertex): float64 with NaN, or text with "".
        ids, rows: name and row in the input of every graph.
        skipped: rows that could not be read.
        split: numbers of the graphs (or vertices) of ``train``, ``valid`` and ``test``.
        smiles: the column that SMILES came from.
        task: the task where the source fixes it.
        edge_features: floats of every CSR entry, [entries, width], or ``None``.
        from_smiles: whether ``ids`` are SMILES, from which RDKit can compute more.
        descriptors: numbers of every graph by name, NaN where missing.
        counted: what is worth knowing of the molecules, with how many have it.
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
        """The graphs marked, in order; those left out are not counted as skipped."""
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
        """Without the graphs whose numbers are given, each skipped for the reason given."""
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
    """Vertex labels as a table, or degrees where a source has none."""
    if graphs.node_labels is not None:
        return LABELS, graphs.node_labels[:, None]
    return DEGREE, graphs.degree[:, None].astype(np.int64)
