"""Encoding of the input of a model; stored with the model to encode new graphs in the same way."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..errors import CountedWarning, InputError
from ..options import Choice, Whole
from ..schema import ListOf, Maybe, Numbers, Table, Text
from .descriptors import DESCRIPTORS, Descriptors
from .molecules import FULL, select_columns
from .raw import DEGREE, FEATURES, KINDS, LABELS, MOLECULE, Raw
from .tasks import Task, get_task

__all__ = ["Encoder", "UnseenLabels"]

IntArray = NDArray[np.int64]

_SAID = {
    MOLECULE: "molecules (SMILES or an ogbg-mol* dataset)",
    LABELS: "graphs with integer vertex labels",
    DEGREE: "graphs without vertex labels",
    FEATURES: "graphs with float vertex features",
}


class UnseenLabels(CountedWarning):
    """Labels of vertices or edges that the model was not fitted on."""


@dataclass(frozen=True)
class Encoder:
    """Encodes categorical values as integer codes.

    Attributes:
        kind: kind of vertex data: ``molecule``, ``labels``, ``degree`` or ``features``.
        columns: the values seen in every categorical column of the vertices, ascending.
        edges: the edge labels seen, ascending; empty if edges have none.
        features: width of float features, or 0; ``edge_features``: the same for edges.
        task, class_names, target_names: the task, its classes and its targets.
        smiles: the CSV column of the SMILES, if they came from one.
        mixed: the classes of every target of a mixed task; an empty tuple for numbers.
        descriptors: descriptors of whole molecules that the network reads, or ``None``.

    A value is encoded as its index in the list, an unseen value as the length of the list, for
    which the network has a reserved row.
    """

    kind: str
    task: Task
    columns: tuple[tuple[int, ...], ...] = ()
    edges: tuple[int, ...] = ()
    features: int = 0
    class_names: tuple[str, ...] = ()
    target_names: tuple[str, ...] = ()
    smiles: str | None = None
    edge_features: int = 0
    mixed: tuple[tuple[str, ...], ...] = ()
    descriptors: Descriptors | None = None

    @classmethod
    def fit(
        cls,
        raw: Raw,
        task: Task,
        class_names: tuple[str, ...],
        mixed: tuple[tuple[str, ...], ...] = (),
        descriptors: Descriptors | None = None,
    ) -> Encoder:
        """The encoder of all values in ``raw``."""
        raw = _selected(raw, len(FULL))
        labels = raw.graphs.edge_labels
        floats = raw.nodes.dtype.kind == "f"
        return cls(
            kind=raw.kind,
            task=task,
            columns=()
            if floats
            else tuple(tuple(np.unique(column).tolist()) for column in raw.nodes.T),
            edges=() if labels is None else tuple(np.unique(labels).tolist()),
            features=raw.nodes.shape[1] if floats else 0,
            class_names=class_names,
            target_names=tuple(raw.targets),
            smiles=raw.smiles,
            edge_features=0 if raw.edge_features is None else raw.edge_features.shape[1],
            mixed=mixed,
            descriptors=descriptors,
        )

    @property
    def outputs(self) -> tuple[str, ...]:
        """The name of every output: a class, a target, or in a mixed task a target or
        ``target=class``."""
        if self.task.has_classes:
            return self.class_names
        if not self.mixed:
            return self.target_names
        names: list[str] = []
        for target, own in zip(self.target_names, self.mixed, strict=True):
            shown = own[1:] if len(own) == 2 else own
            names += [f"{target}={word}" for word in shown] or [target]
        return tuple(names)

    @property
    def binary(self) -> tuple[bool, ...]:
        """Which outputs of a mixed task are logits of a class, not numbers."""
        counts = [(bool(own), max(1, len(own) - (len(own) == 2))) for own in self.mixed]
        return tuple(flag for flag, count in counts for _ in range(count))

    @property
    def groups(self) -> list[tuple[str, tuple[str, ...], slice]]:
        """Every target of a mixed task with its classes and the slice of its outputs."""
        out, start = [], 0
        for target, own in zip(self.target_names, self.mixed, strict=True):
            count = max(1, len(own) - (len(own) == 2))
            out.append((target, own, slice(start, start + count)))
            start += count
        return out

    @property
    def codes(self) -> tuple[int, ...]:
        """Cardinality of every categorical column."""
        return tuple(len(values) for values in self.columns)

    def check(self, raw: Raw) -> None:
        """Raise for a source of another kind or width."""
        raw = _selected(raw, len(self.columns))
        width = self.features or len(self.columns)
        if raw.kind != self.kind:
            raise InputError(
                f"The model reads {_SAID[self.kind]}, and the source holds {_SAID[raw.kind]}. "
                "Give it input of the kind it was trained on."
            )
        given = 0 if raw.edge_features is None else raw.edge_features.shape[1]
        if given != self.edge_features:
            raise InputError(
                f"The model was trained with {self.edge_features} floats per edge, and the source "
                f"has {given}. Give it the same edge features."
            )
        if raw.nodes.shape[1] != width:
            raise InputError(
                f"The model was trained with {width} features per vertex, and the source has "
                f"{raw.nodes.shape[1]}. Give it the same features."
            )

    def encode(self, raw: Raw) -> tuple[Tensor, IntArray | None, Tensor | None]:
        """Vertex features, edge labels and edge features, with one warning that counts unseen
        labels."""
        raw = _selected(raw, len(self.columns))
        unseen_edges, edge_codes = 0, None
        labels = raw.graphs.edge_labels
        if self.edges:
            entries = len(raw.graphs.indices)
            if labels is None:
                edge_codes = np.full(entries, len(self.edges), np.int64)
            else:
                edge_codes = _codes(labels, self.edges)
            unseen_edges = int((edge_codes == len(self.edges)).sum()) // 2
        if self.features:
            x = torch.from_numpy(np.ascontiguousarray(raw.nodes, np.float32))
            unseen = 0
        else:
            table = np.stack(
                [
                    _codes(column, seen)
                    for column, seen in zip(raw.nodes.T, self.columns, strict=True)
                ],
                axis=1,
            )
            x = torch.from_numpy(table)
            unseen = int((table == np.array(self.codes)).any(axis=1).sum())
        if unseen or unseen_edges:
            text = (
                "{:,} of {:,} vertices and {:,} edges have labels that were not seen in training, "
                "and are read as unknown."
            )
            warning = UnseenLabels(text, unseen, len(raw.nodes), unseen_edges)
            warnings.warn(warning, stacklevel=2)
        floats = raw.edge_features if self.edge_features else None
        features = None if floats is None else torch.from_numpy(np.ascontiguousarray(floats))
        return x, edge_codes, features

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, ready for JSON."""
        return asdict(self) | {"task": str(self.task)}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Encoder:
        """Restore from the result of :meth:`to_dict`."""
        content = ENCODER.read("encoder", content)
        lists = {key: tuple(content[key]) for key in ("edges", "class_names", "target_names")}
        columns = tuple(map(tuple, content["columns"]))
        for values in (*columns, lists["edges"]):
            if list(values) != sorted(set(values)):
                raise InputError("The values that the encoder knows must rise.")
        own = content.get("descriptors")
        return cls(
            **{
                **content,
                "task": get_task(content["task"]),
                "columns": columns,
                **lists,
                "mixed": tuple(map(tuple, content.get("mixed", ()))),
                "descriptors": None if own is None else Descriptors.from_dict(own),
            }
        )


ENCODER = Table(
    {
        "kind": Choice(KINDS),
        "task": Text(),
        "columns": ListOf(Numbers()),
        "edges": Numbers(),
        "class_names": ListOf(Text()),
        "target_names": ListOf(Text()),
    },
    {
        "smiles": Maybe(Text()),
        "features": Whole(0),
        "edge_features": Whole(0),
        "mixed": ListOf(ListOf(Text())),
        "descriptors": Maybe(DESCRIPTORS),
    },
)
"""Schema of the result of :meth:`Encoder.to_dict` in JSON."""


def _selected(raw: Raw, width: int) -> Raw:
    """Molecules with the columns for a model with ``width`` columns; other sources unchanged."""
    if raw.kind != MOLECULE:
        return raw
    nodes, graphs = select_columns(raw.nodes, raw.graphs, width)
    return raw if nodes is raw.nodes else replace(raw, nodes=nodes, graphs=graphs)


def _codes(values: IntArray, seen: tuple[int, ...]) -> IntArray:
    known = np.array(seen, np.int64)
    if not len(known):
        return np.zeros(len(values), np.int64)
    place = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.where(known[place] == values, place, len(known)).astype(np.int64)
