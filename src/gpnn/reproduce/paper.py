"""The paper's published figures. Measured figures are compared with them, never computed from
them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources

__all__ = ["Cell", "Figure", "cells", "figure", "published"]


@dataclass(frozen=True)
class Figure:
    """A mean and a standard deviation as printed."""

    mean: float
    std: float


@dataclass(frozen=True)
class Cell:
    """One cell of the paper's result tables.

    Attributes:
        table, dataset, metric: the position of the cell.
        setting: "1" or "2" for TU collections, else "".
        method: ``GIN``, ``GPNN``, …; ``base``: the base GNN of GPNN, if the table states it.
        scheme, interactions: options of GPNN, else "".
        figure: mean and standard deviation.
    """

    table: str
    dataset: str
    metric: str
    setting: str
    method: str
    base: str
    scheme: str
    interactions: str
    figure: Figure

    @property
    def names(self) -> tuple[str, str, str, str, str]:
        return (self.dataset, self.method, self.base, self.scheme, self.interactions)


@cache
def published(name: str) -> tuple[dict[str, str], ...]:
    """Return the rows of ``tables``, ``partitions`` or ``distribution``."""
    path = resources.files(__package__) / "published" / f"{name}.csv"
    return tuple(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


@cache
def cells() -> tuple[Cell, ...]:
    """Return all cells in the paper's order."""
    return tuple(
        Cell(
            **{name: value for name, value in row.items() if name not in ("mean", "std")},
            figure=Figure(float(row["mean"]), float(row["std"])),
        )
        for row in published("tables")
    )


def figure(
    table: str,
    setting: str,
    dataset: str,
    method: str,
    base: str = "",
    scheme: str = "",
    interactions: str = "",
) -> Figure | None:
    """Return the published figure of a cell: from this table, else from another table with it."""
    wanted = (dataset, method, base, scheme, interactions)
    matches = [c for c in cells() if c.names == wanted and c.setting == setting]
    here = [c for c in matches if c.table == table]
    return next((c.figure for c in (*here, *matches)), None)
