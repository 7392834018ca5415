"""A folder of graph files with labels: a subfolder per class, or a ``labels.csv`` in the folder.

``labels.csv`` has a column ``file`` and a column per target. If a file holds several graphs (graph6
lines), they share its label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePath

import numpy as np

from ..errors import InputError
from ..graph.graphs import Graphs
from ..graph.readers import FORMATS, read_graphs
from ..graph.readers.files import one_of, where
from .raw import Raw, Skipped, vertex_table
from .table import read_columns
from .targets import column

__all__ = ["read_graph_folder"]

LABELS = "labels.csv"


def read_graph_folder(folder: Path, targets: Sequence[str] | None = None) -> Raw:
    """The graphs of a folder; ``targets`` as in :func:`gpnn.data.table.read_table`."""
    if (folder / LABELS).is_file():
        files, labels = _listed(folder, targets)
    else:
        files, labels = _by_subfolder(folder)
    if targets is not None:
        absent = [name for name in targets if name not in labels]
        if absent:
            raise InputError(
                f"{folder} has no target {absent[0]!r}. It has {one_of(list(labels)) or 'none'}: "
                f"put the graphs of every class into a subfolder of its own, or add a {LABELS} "
                "with the columns file and label."
            )
        labels = {name: labels[name] for name in targets}
    return _read(folder, files, labels)


def _listed(folder: Path, targets: Sequence[str] | None) -> tuple[list[Path], dict[str, list[str]]]:
    names, columns, ragged = read_columns(folder / LABELS)
    blank = {row for row, fields in ragged.items() if not fields}
    for row, fields in ragged.items():
        if fields:
            raise InputError(
                f"{where(folder / LABELS, row + 1)}: {fields} of {len(names)} columns. Fix the row."
            )
    columns = {
        name: [value for row, value in enumerate(values) if row not in blank]
        for name, values in columns.items()
    }
    if "file" not in names or len(names) < 2:
        raise InputError(
            f"{folder / LABELS} has the columns {one_of(names)}. It needs one named file and one "
            "or more with labels."
        )
    files = []
    for name in columns.pop("file"):
        inside = PurePath(name.replace("\\", "/"))
        if inside.is_absolute() or ".." in inside.parts or not name or "\0" in name:
            raise InputError(
                f"{folder / LABELS} names {name!r}, which is not a file inside the folder. Give "
                "paths relative to it."
            )
        files.append(folder / name)
    if targets is None and "label" in columns:
        columns = {"label": columns["label"]}
    return files, columns


def _by_subfolder(folder: Path) -> tuple[list[Path], dict[str, list[str]]]:
    below = [child for child in sorted(folder.iterdir()) if child.is_dir()]
    files = [(path, child.name) for child in below for path in _graph_files(child)]
    if files:
        return [path for path, _ in files], {"class": [name for _, name in files]}
    return _graph_files(folder), {}


def _graph_files(folder: Path) -> list[Path]:
    known = {suffix for entry in FORMATS.values() for suffix in entry.suffixes}
    return [
        path
        for path in sorted(folder.iterdir())
        if path.is_file() and known & {suffix.lower() for suffix in path.suffixes[-2:]}
    ]


def _read(folder: Path, files: list[Path], labels: dict[str, list[str]]) -> Raw:
    if not files:
        raise InputError(
            f"{folder} holds no graph files, TU collection (NAME_A.txt) or OGB dataset "
            "(raw/edge.csv.gz)."
        )
    parts: list[Graphs] = []
    ids: list[str] = []
    owner: list[int] = []
    skipped: list[Skipped] = []
    row = 0
    rows: list[int] = []
    for number, path in enumerate(files):
        name = str(path.relative_to(folder))
        try:
            graphs = read_graphs(path)
        except InputError as error:
            skipped.append(Skipped(row, name, str(error)))
            row += 1
            continue
        several = len(graphs) > 1
        parts.append(graphs)
        ids += [f"{name}:{k}" if several else name for k in range(len(graphs))]
        owner += [number] * len(graphs)
        rows += range(row, row + len(graphs))
        row += len(graphs)
    joined = replace(Graphs.concatenate(parts), vertex_names=None)
    kind, nodes = vertex_table(joined)
    return Raw(
        graphs=joined,
        kind=kind,
        nodes=nodes,
        targets={name: column([values[row] for row in owner]) for name, values in labels.items()},
        ids=tuple(ids),
        rows=np.array(rows, np.int64),
        skipped=tuple(skipped),
    )
