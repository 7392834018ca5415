"""What a method reads of a set of graphs, as lists of things and sums over them.

A method declares *cells*, things of one kind that belong to graphs (rings, copies of vertices in
subgraphs, pairs), and *relations*, which of them every thing of a kind sums over. Both are numbered
through the whole set, graph after graph. From this declaration alone, batches are put together on
the CPU (:mod:`gpnn.nn.collate_cells`) and on a device (``gpnn.train.resident.build``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graphs import Graphs

__all__ = ["Cells", "PeerStructure", "Relation"]

IntArray = NDArray[np.int64]
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Cells:
    """Things of one kind.

    Attributes:
        graph: the graph of every thing, ascending, [things].
        entry: the CSR entry whose edge label or features it carries, -1 for none, [things]; or
            ``None``.
        codes: whole numbers by name, [things] each.
    """

    graph: IntArray
    entry: IntArray | None = None
    codes: Mapping[str, IntArray] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Relation:
    """Which things of the kind ``into`` every thing of the kind ``rows`` sums over: entries (row,
    column), both of one graph.

    Attributes:
        rows, into: kinds, ``vertex`` and ``graph`` among them.
        weight: a factor per entry, or ``None`` for ones.
        symmetric: whether (column, row) is an entry too, with the same factor.
    """

    rows: str
    into: str
    row: IntArray
    column: IntArray
    weight: NDArray[np.float64] | None = None
    symmetric: bool = False


@dataclass(frozen=True, eq=False)
class PeerStructure:
    """Cells and relations by name.

    Attributes:
        notes: what a person should know before a training starts.
    """

    cells: dict[str, Cells] = field(default_factory=dict)
    relations: dict[str, Relation] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def connect(
        self, graphs: Graphs, kind: str, row: IntArray, column: IntArray, entry: IntArray,
        edged: bool, name: str,
    ) -> None:  # fmt: skip
        """Messages along edges between things of a kind, each with its CSR entry.

        Where edges have labels (``edged``), every message is a thing of its own, with relations
        ``name from`` and ``name to``; else ``name`` is one symmetric relation.
        """
        if not edged:
            self.relations[name] = Relation(kind, kind, row, column, symmetric=True)
            return
        owner = graphs.graph_of if kind == "vertex" else self.cells[kind].graph
        self.cells[name] = Cells(owner[row].astype(np.int64), entry)
        number = np.arange(len(row))
        self.relations[f"{name} from"] = Relation(name, kind, number, column)
        self.relations[f"{name} to"] = Relation(kind, name, row, number)

    def to_arrays(self) -> Arrays:
        """Everything by names that :meth:`from_arrays` reads."""
        out: Arrays = {"notes": np.frombuffer("\n".join(self.notes).encode(), np.uint8)}
        for name, cells in self.cells.items():
            out[f"cells|{name}|graph"] = cells.graph
            if cells.entry is not None:
                out[f"cells|{name}|entry"] = cells.entry
            out |= {f"cells|{name}|code|{code}": array for code, array in cells.codes.items()}
        for name, one in self.relations.items():
            key = f"relation|{name}|{one.rows}|{one.into}|{int(one.symmetric)}"
            out |= {f"{key}|row": one.row, f"{key}|column": one.column}
            if one.weight is not None:
                out[f"{key}|weight"] = one.weight
        return {name.replace(" ", "_"): array for name, array in out.items()}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> PeerStructure:
        notes = tuple(filter(None, arrays["notes"].tobytes().decode().split("\n")))
        cells: dict[str, dict[str, Any]] = {}
        relations: dict[str, Relation] = {}
        for key in arrays:
            head, *words = key.replace("_", " ").split("|")
            if head == "cells":
                held = cells.setdefault(words[0], {"codes": {}})
                into = held["codes"] if words[1] == "code" else held
                into[words[-1]] = arrays[key]
            elif head == "relation" and words[-1] == "row":
                name, rows, into, symmetric, _ = words
                column, weight = (arrays.get(f"{key[:-4]}|{end}") for end in ("column", "weight"))
                assert column is not None
                relations[name] = Relation(
                    rows, into, arrays[key], column, weight, symmetric == "1"
                )
        return cls({name: Cells(**held) for name, held in cells.items()}, relations, notes)
