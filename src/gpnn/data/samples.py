"""Samples: encoded graphs for training, evaluation and prediction, from any source."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..errors import InputError
from ..files import user_path
from ..graph.graphs import Graphs
from ..graph.readers.files import InputNote
from . import targets as labels
from .descriptors import Descriptors, column_names
from .encoder import Encoder
from .raw import Raw, Skipped
from .read import read_source
from .table import TableChoice
from .tasks import Task, get_task

__all__ = [
    *(
        "RowsRefused",
        "Samples",
        "encode_descriptors",
        "encode_samples",
        "fit_descriptors",
        "load_dataset",
    ),
    *("load_samples", "tell_skipped", "without_edge_labels"),
]

IntArray = NDArray[np.int64]
SHOWN = 3
"""Number of skipped rows that a warning shows."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Graphs with encoded features and labels.

    Attributes:
        graphs: the graphs.
        encoder: the encoder of features and labels; it holds task, classes and targets.
        x: vertex features, float [n, features], or codes, int [n, columns].
        edge_labels: code of every CSR entry, or ``None``.
        y: long [graphs], float [graphs, targets] with NaN for missing, long [n] for node tasks with
            -1 for missing, or ``None``.
        ids, rows: name and input row of every graph (of every vertex for node tasks).
        skipped: the rows that gave no graph.
        split: an official split: numbers of ``train``, ``valid`` and ``test``, or ``None``.
        edge_features: floats of every CSR entry, [entries, width], or ``None``.
        descriptors: numbers of every graph, [graphs, width], or ``None``.
        from_smiles: whether ``ids`` are SMILES.
        counted: notable properties of the molecules, with the number of molecules that have them.
        groups: a number for every graph, equal for equal molecules, or ``None``.
    """

    graphs: Graphs
    encoder: Encoder
    x: Tensor | None
    edge_labels: IntArray | None
    y: Tensor | None
    ids: tuple[str, ...]
    rows: IntArray
    skipped: tuple[Skipped, ...] = ()
    split: Mapping[str, IntArray] | None = None
    edge_features: Tensor | None = None
    descriptors: Tensor | None = None
    from_smiles: bool = False
    counted: Mapping[str, int] = field(default_factory=dict)
    groups: IntArray | None = None

    def __len__(self) -> int:
        """Number of samples: graphs, or vertices in a node task."""
        return self.graphs.num_nodes if self.task.node_level else len(self.graphs)

    @property
    def task(self) -> Task:
        return self.encoder.task

    @property
    def class_names(self) -> tuple[str, ...]:
        return self.encoder.class_names

    @property
    def target_names(self) -> tuple[str, ...]:
        return self.encoder.target_names

    @property
    def outputs(self) -> int:
        """Number of outputs of a network per sample."""
        return len(self.encoder.outputs)

    @property
    def metric(self) -> str:
        """The main metric."""
        return self.task.metric(self.outputs)

    def counts(self) -> dict[str, int]:
        """Number of labels of every class, or of every target."""
        if self.y is None:
            return {}
        if self.task.has_classes:
            counts = torch.bincount(self.y[self.y >= 0], minlength=len(self.class_names))
            return dict(zip(self.class_names, counts.tolist(), strict=True))
        known = (~torch.isnan(self.y)).sum(0)
        return dict(zip(self.encoder.outputs, known.tolist(), strict=True))

    def take(self, keep: NDArray[np.bool_]) -> Samples:
        """The marked graphs, with the same encoding; an official split is restricted to them."""
        graphs, sizes = self.graphs, np.diff(self.graphs.ptr)
        vertices = np.repeat(keep, sizes)
        chosen, _ = graphs.induced(vertices)
        entries, rows = vertices[graphs.rows], torch.from_numpy(keep)
        number = np.cumsum(keep) - 1
        ptr = np.concatenate(([0], np.cumsum(sizes[keep])))
        return replace(
            self,
            graphs=replace(chosen, ptr=ptr, graph_names=None),
            x=None if self.x is None else self.x[torch.from_numpy(vertices)],
            y=None if self.y is None else self.y[rows],
            edge_labels=None if self.edge_labels is None else self.edge_labels[entries],
            edge_features=None
            if self.edge_features is None
            else self.edge_features[torch.from_numpy(entries)],
            descriptors=None if self.descriptors is None else self.descriptors[rows],
            ids=tuple(name for name, kept in zip(self.ids, keep.tolist(), strict=True) if kept),
            rows=self.rows[keep],
            groups=None if self.groups is None else self.groups[keep],
            split=self.split and {part: number[ids[keep[ids]]] for part, ids in self.split.items()},
        )

    def digest(self) -> str:
        """A hash of structure, features and labels: equal for equal data."""
        total = hashlib.sha256()
        tensors = [part.numpy() for part in (self.x, self.y) if part is not None]
        for array in (self.graphs.ptr, self.graphs.indptr, self.graphs.indices, *tensors):
            total.update(array.tobytes())
        if self.edge_labels is not None:
            total.update(self.edge_labels.tobytes())
        if self.edge_features is not None:
            total.update(self.edge_features.numpy().tobytes())
        if self.descriptors is not None:
            total.update(self.descriptors.numpy().tobytes())
        return total.hexdigest()


def load_samples(
    source: str,
    target: str | Sequence[str] | None = None,
    smiles: str | None = None,
    task: str | None = None,
    data: str | Path | None = None,
    strict: bool = False,
    like: Encoder | None = None,
    labelled: bool = True,
    descriptors: Sequence[str] | None = (),
    split_column: str | None = None,
    valid: str | Path | None = None,
    test: str | Path | None = None,
    nodes: bool = False,
) -> Samples:
    """Read a source and encode it.

    Args:
        source: a dataset's name, a TU or OGB folder or zip, a CSV of SMILES, a folder of graph
            files with labels; without labels also everything ``gpnn partition`` reads.
        target: the column or columns to predict; detected by default.
        smiles: the column of SMILES; detected by default.
        task: a :class:`Task`; inferred from the labels by default.
        data: the folder with datasets.
        strict: raise for rows that cannot be read or have no label, instead of skipping them.
        like: the encoder of a fitted model, for new samples.
        labelled: whether labels are needed.
        descriptors: ``rdkit``, ``morgan`` and columns of a table that are read in addition to the
            molecules; ``None`` for ``rdkit`` if there are molecules.
        split_column: the column of a table that defines the split; ``split`` by default.
        valid, test: further tables with the validation and test rows.
        nodes: whether to classify the vertices of one graph in a ``.npz``
            (:func:`~gpnn.data.node_file.read_node_file`).
    """
    from .prepared_folder import is_prepared, load_prepared

    if is_prepared(source):
        given = (target, smiles, task, like, split_column, valid, test)
        if any(value is not None for value in given) or descriptors or strict:
            raise InputError(
                f"{source} was prepared: its targets, columns and split are decided. Leave out "
                "their options, or prepare it again; to evaluate a model, give the table itself."
            )
        return load_prepared(source)
    names = None if target is None else [target] if isinstance(target, str) else list(target)
    if like is not None:
        names = list(like.target_names) if names is None else names
    wanted = get_task(task) if task is not None else like.task if like is not None else None
    choice = TableChoice(
        smiles,
        None if like is None else like.smiles,
        split_column,
        None if valid is None else user_path(valid),
        None if test is None else user_path(test),
        column_names(descriptors or ()) if like is None else _needed(like),
    )
    numbers = wanted is Task.REGRESSION
    raw = read_source(source, names if labelled else [], choice, data, numbers, like, nodes)
    if names is not None and labelled:
        raw = raw.choose(tuple(names))
    if labelled and not raw.targets:
        hint = " Say --nodes if its vertices have classes." if source.endswith(".npz") else ""
        raise InputError(f"{source} has no labels to learn from or to check with.{hint}")
    return encode_samples(raw, wanted, strict, like, labelled, source, descriptors)


def _needed(like: Encoder) -> tuple[str, ...]:
    """The columns that a model reads in addition to the molecule."""
    return () if like.descriptors is None else like.descriptors.columns


def load_dataset(
    source: str,
    target: str | Sequence[str] | None = None,
    *,
    smiles: str | None = None,
    data: str | Path | None = None,
    **options: Any,
) -> Samples:
    """Load a dataset with labels, ready for :func:`~gpnn.train.fit.fit`.

    Args:
        source: a name (``MUTAG``, ``ogbg-molhiv``, a registered dataset), or a path that
            ``gpnn train`` reads: a CSV of SMILES, a TU or OGB folder, a folder of graph files.
        target, smiles: columns of a table of molecules; detected automatically.
        data: the folder with datasets, ``$GPNN_DATA`` by default.
        options: further arguments of :func:`load_samples`: ``task``, ``descriptors``, ``valid``, …

    >>> from gpnn import load_dataset
    >>> molecules = load_dataset("MUTAG")
    >>> len(molecules), molecules.class_names
    (188, ('-1', '1'))
    """
    return load_samples(source, target, smiles, data=data, **options)


def encode_samples(
    raw: Raw,
    task: Task | None = None,
    strict: bool = False,
    like: Encoder | None = None,
    labelled: bool = True,
    source: str = "the input",
    descriptors: Sequence[str] | None = (),
) -> Samples:
    """Encode features and labels as tensors; rows without a usable label are left out."""
    if like is not None:
        like.check(raw)
        if like.task.node_level != raw.node_level:
            raise InputError(f"The model's task is {like.task}, which does not fit {source}.")
    y: Tensor | None = None
    classes: tuple[str, ...] = ()
    mixed: tuple[tuple[str, ...], ...] = () if like is None else like.mixed
    if labelled:
        if like is None and not raw.node_level:
            labels.check_numbers(raw.targets, raw.rows.tolist(), task or raw.task)
        task = task or raw.task or labels.infer_task(raw.targets)
        if task.node_level != raw.node_level:
            raise InputError(
                f"The task {task} does not fit {source}, which has labels of "
                f"{'vertices' if raw.node_level else 'graphs'}."
            )
        if task.has_classes and len(raw.targets) > 1:
            raise InputError(f"The task {task} takes one target; got {', '.join(raw.targets)}.")
        if like is not None:
            classes = like.class_names
        elif task.has_classes:
            classes = labels.class_names(next(iter(raw.targets.values())))
        if task is Task.MIXED and like is None:
            mixed = labels.mixed_classes(raw.targets)
        y, reasons = labels.encode(raw.targets, task, classes, mixed)
        if not raw.node_level:
            raw = raw.without(reasons)
            keep = torch.ones(len(y), dtype=torch.bool)
            keep[list(reasons)] = False
            y = y[keep]
    _tell_skipped(raw, strict, source)
    if labelled and like is None:
        assert y is not None and task is not None
        if not raw.node_level and len(raw.graphs) < 2:
            raise InputError(
                f"{source} holds {len(raw.graphs)} labelled graph: too few to learn from."
            )
        labels.check_labels(y, task, classes, raw.ids)
    if like is None:
        assert task is not None
        own, numbers = fit_descriptors(raw, descriptors)
        like = Encoder.fit(raw, task, classes, mixed, own)
    else:
        numbers = encode_descriptors(raw, like)
    if raw.nodes.dtype.kind == "f" and not np.isfinite(raw.nodes).all():
        raise InputError(f"The vertex features of {source} hold NaN or infinity. Fix them first.")
    x, edge_labels, edge_features = like.encode(raw)
    return Samples(
        raw.graphs, like, x, edge_labels, y, raw.ids, raw.rows, raw.skipped, raw.split,
        edge_features, numbers, raw.from_smiles, raw.counted,
    )  # fmt: skip


def fit_descriptors(
    raw: Raw, wanted: Sequence[str] | None
) -> tuple[Descriptors | None, Tensor | None]:
    """The requested descriptors, or by default those of RDKit for molecules, and their values for
    all graphs."""
    if wanted is None:
        wanted = ("rdkit",) if raw.from_smiles else ()
    if not wanted:
        return None, None
    if not raw.from_smiles:
        raise InputError("Descriptors need molecules that are given as SMILES or in a table.")
    fitted, values = Descriptors.fit(wanted, raw.ids, raw.descriptors)
    return fitted, torch.from_numpy(values)


def encode_descriptors(raw: Raw, like: Encoder) -> Tensor | None:
    """The values of the descriptors that a model reads."""
    if like.descriptors is None:
        return None
    if not raw.from_smiles:
        raise InputError("The model reads descriptors, which need molecules given as SMILES.")
    return torch.from_numpy(like.descriptors.encode(raw.ids, raw.descriptors))


def without_edge_labels(samples: Samples) -> Samples:
    """The samples without edge labels."""
    return replace(samples, edge_labels=None, encoder=replace(samples.encoder, edges=()))


def _tell_skipped(raw: Raw, strict: bool, source: str) -> None:
    total = len(raw.rows) + len(raw.skipped)
    tell_skipped(raw.skipped[:SHOWN], len(raw.skipped), total, strict, source)


class RowsRefused(InputError):
    """Rows of a table cannot be used."""


def tell_skipped(
    first: Sequence[Skipped], count: int, total: int, strict: bool, source: str
) -> None:
    """Warn that ``count`` rows cannot be used, or raise if ``strict`` or if all are unusable;
    ``first``: examples."""
    if not count:
        return
    shown = "; ".join(f"row {item.row + 1}: {item.reason}" for item in first)
    more = f"; and {count - len(first):,} more" if count > len(first) else ""
    which_rows = f"{count:,} of {total:,} rows of {source}"
    if strict:
        raise RowsRefused(
            f"{which_rows} cannot be used ({shown}{more}). Fix them, or leave out --strict."
        )
    if count == total:
        raise RowsRefused(f"No row of {source} can be used ({shown}{more}).")
    warnings.warn(f"{which_rows} are skipped ({shown}{more}).", InputNote, stacklevel=4)
