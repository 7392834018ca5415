"""Edge lists: ``.edges``, ``.edgelist``, ``.txt``, ``.csv``, ``.tsv``, also with ``.gz``.

Each line has two names, separated by commas, tabs or spaces. Lines starting with ``#`` or ``%`` are
comments. A header line is recognised by its column names (``source,target``, ``from,to``, ``u,v``,
…), or if it is followed by integers only. A file with a column named ``graph`` contains many
graphs. Further columns, such as weights, are ignored and counted.

The vertices are exactly the names that occur:

- integers are ordered by value, other names by first appearance;
- in a file without header, a line with a single name declares a vertex, possibly isolated;
- with ``num_nodes``, the names are instead ids 0 … num_nodes - 1, including isolated vertices.

``vertex_names`` keeps the names unless every graph has exactly 0 … n - 1.
"""

from __future__ import annotations

import contextlib
import csv
import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..graphs import Graphs
from .fields import Fields
from .files import note, read_bytes, where
from .table_rows import Rows

__all__ = ["read_edge_list"]

Ints = NDArray[np.int64]

_SOURCE = {"source", "src", "from", "u", "node1", "node_1", "node_id", "start"}
_TARGET = {"target", "dst", "to", "v", "node2", "node_2", "node_id", "end"}
_GRAPH = {"graph", "graph_id"}
_COMMENT = re.compile(rb"(?m)^[ \t]*[#%][^\n]*")
_NOT_A_NUMBER_FIRST = re.compile(rb"(?m)^[ \t]*(?!-?\d+[\s,])[^\s]")


@dataclass(frozen=True, slots=True)
class _Columns:
    """Positions of the columns in a line; ``graph`` is -1 for a single graph."""

    graph: int = -1
    source: int = 0
    target: int = 1
    least: int = 1
    """Minimum number of fields per line: with a header, lines with a single vertex are refused."""

    @property
    def picked(self) -> tuple[int, int, int]:
        return self.graph, self.source, self.target

    @property
    def used(self) -> int:
        return max(self.picked) + 1


def read_edge_list(path: Path, num_nodes: int | None = None) -> Graphs:
    """Read one graph, or many if there is a ``graph`` column."""
    raw = read_bytes(path).removeprefix(b"\xef\xbb\xbf")
    if b"\0" in raw:
        raise InputError(f"{path} is not a text file. An edge list has two names a line.")
    text, columns = _without_header(_COMMENT.sub(b"", raw))
    rows = _whole_numbers(text, path, columns) or _names(text, path, columns)
    try:
        return rows.by_name() if num_nodes is None else rows.by_id(num_nodes)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _without_header(raw: bytes) -> tuple[bytes, _Columns]:
    first = re.search(rb"[^\s][^\n]*", raw)
    if first is None:
        return raw, _Columns()
    words = [word.lower() for word in _split(first[0].decode(errors="replace"))]
    rest = raw[: first.start()] + raw[first.end() :]

    def column(known: set[str], taken: int = -1) -> int:
        return next((i for i, word in enumerate(words) if word in known and i != taken), -1)

    source = column(_SOURCE)
    target = column(_TARGET, taken=source)
    if source >= 0 and target >= 0:
        named_columns = _Columns(column(_GRAPH), source, target)
        return rest, replace(named_columns, least=named_columns.used)
    named = not any(re.fullmatch(r"-?\d+", word) for word in words[:2])
    if named and rest.strip() and not _NOT_A_NUMBER_FIRST.search(rest + b"\n"):
        return rest, _Columns(least=2)
    return raw, _Columns()


def _split(line: str) -> list[str]:
    if '"' in line:
        with contextlib.suppress(csv.Error):
            return [word.strip() for word in next(csv.reader([line.strip()]))]
    if "," in line:
        return [word.strip() for word in line.split(",")]
    return [word.strip() for word in line.strip().split("\t" if "\t" in line else None)]


def _whole_numbers(raw: bytes, path: Path, columns: _Columns) -> Rows | None:
    """The rows if all names are integers, vectorised; otherwise None."""
    fields = Fields.of(raw)
    lines, first, count = np.unique(fields.line, return_index=True, return_counts=True)
    picked = []
    for column in columns.picked:
        values = np.full(len(lines), -1 if column >= 0 else 0, np.int64)
        there = np.flatnonzero(count > column) if column >= 0 else np.zeros(0, np.int64)
        values[there], good = fields.take(first[there] + column).integers()
        if not good.all():
            return None
        negative = there[values[there] < 0]
        if len(negative):
            raise InputError(
                f"{where(path, int(lines[negative[0]]))}: {values[negative[0]]} is negative. "
                "Name vertices by whole numbers from 0 or by words."
            )
        picked.append(values)
    short = np.flatnonzero(count < columns.least)
    if len(short):
        raise _too_few(path, int(lines[short[0]]), columns.used, int(count[short[0]]))
    _refuse_empty_fields(fields, lines, count, path)
    _tell(path, int(count.max(initial=0)) - columns.used, len(lines))
    graph, src, dst = picked
    return Rows(graph, src, dst, many=columns.graph >= 0)


def _refuse_empty_fields(fields: Fields, lines: Ints, count: Ints, path: Path) -> None:
    comma = np.flatnonzero(fields.text == ord(","))
    if not len(comma):
        return
    of_line = np.searchsorted(np.flatnonzero(fields.text == 10), comma)
    num_commas = np.bincount(of_line, minlength=int(lines.max(initial=0)) + 1)
    allowed = np.zeros(len(num_commas), np.int64)
    allowed[lines] = count - 1
    bad = np.flatnonzero(num_commas > allowed)
    if len(bad):
        raise InputError(f"{where(path, int(bad[0]))}: an empty field. Every edge needs two names.")


def _names(raw: bytes, path: Path, columns: _Columns) -> Rows:
    """The rows for names of any kind, as codes in order of first appearance."""
    code: dict[str, int] = {}
    graphs: dict[str, int] = {}
    rows: list[tuple[int, int, int]] = []
    most = 0
    for number, line in enumerate(raw.decode(errors="replace").split("\n")):
        if not line.strip():
            continue
        words = _split(line)
        if len(words) < columns.least:
            raise _too_few(path, number, columns.used, len(words))
        if not all(words[: columns.used]):
            raise InputError(f"{where(path, number)}: an empty field. Every edge needs two names.")
        most = max(most, len(words))
        graph = graphs.setdefault(words[columns.graph], len(graphs)) if columns.graph >= 0 else 0
        source = code.setdefault(words[columns.source], len(code))
        lone = len(words) <= columns.target
        rows.append(
            (graph, source, -1 if lone else code.setdefault(words[columns.target], len(code)))
        )
    _tell(path, most - columns.used, len(rows))
    table = np.array(rows, np.int64).reshape(-1, 3).T
    graph_of, src, dst = table
    return Rows(
        graph_of, src, dst, names=list(code), graph_names=list(graphs), many=columns.graph >= 0
    )


def _too_few(path: Path, line: int, wanted: int, got: int) -> InputError:
    return InputError(f"{where(path, line)}: expected {wanted} columns, got {got}.")


def _tell(path: Path, extra: int, lines: int) -> None:
    if extra > 0:
        note(f"{path}: up to {extra} further columns on {lines:,} lines (weights?) ignored.")
