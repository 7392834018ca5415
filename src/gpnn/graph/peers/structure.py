"""The structures that a method uses, declared as cells and sums over them.

A method declares *cells*, objects of one kind that belong to graphs (rings, copies of vertices in
subgraphs, pairs), and *relations*, which specify the cells that each cell sums over. Both have
global indices over the whole set of graphs, in order. Batches are collated from this declaration
alone, on the CPU (:mod:`gpnn.nn.collate_cells`) and on a device (``gpnn.train.resident.build``).
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
    """Cells of one kind.

    Attributes:
        graph: the graph of every cell, ascending, [cells].
        entry: the CSR entry whose edge label or features the cell has, -1 for none, [cells]; or
            ``None``.
        codes: integer attributes by name, [cells] each.
    """

    graph: IntArray
    entry: IntArray | None = None
    codes: Mapping[str, IntArray] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Relation:
    """The cells of kind ``into`` that every cell of kind ``rows`` sums over, as entries (row,
    column); both are in the same graph.

    Attributes:
        rows, into: kinds of cells, including ``vertex`` and ``graph``.
        weight: a factor per entry, or ``None`` for ones.
        symmetric: whether (column, row) is also an entry, with the same factor.
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
        notes: messages for the user, shown before training.
    """

    cells: dict[str, Cells] = field(default_factory=dict)
    relations: dict[str, Relation] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def connect(
        self, graphs: Graphs, kind: str, row: IntArray, column: IntArray, entry: IntArray,
        edged: bool, name: str,
    ) -> None:  # fmt: skip
        """Add messages along edges between cells of a kind, each with its CSR entry.

        If edges have labels (``edged``), every message is a separate cell, with relations
        ``name from`` and ``name to``; otherwise ``name`` is one symmetric relation.
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
        """All content as named arrays for :meth:`from_arrays`."""
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
                fields = cells.setdefault(words[0], {"codes": {}})
                into = fields["codes"] if words[1] == "code" else fields
                into[words[-1]] = arrays[key]
            elif head == "relation" and words[-1] == "row":
                name, rows, into, symmetric, _ = words
                column, weight = (arrays.get(f"{key[:-4]}|{end}") for end in ("column", "weight"))
                assert column is not None
                relations[name] = Relation(
                    rows, into, arrays[key], column, weight, symmetric == "1"
                )
        return cls({name: Cells(**fields) for name, fields in cells.items()}, relations, notes)
