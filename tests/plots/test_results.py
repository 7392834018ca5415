"""Every figure of a table is drawn beside the name of its model."""

from __future__ import annotations

import pytest

from gpnn.plots.results import draw_results
from gpnn.reproduce.jobs import Row
from gpnn.reproduce.recipe import load_recipe
from gpnn.reproduce.results import Entry, Part
from gpnn.reproduce.tables import Column

NAMES = ("GIN", "ESAN", "PPGN", "DGN")
PROTOCOLS = ("tu-1", "tu-nested")


@pytest.mark.parametrize("lacking", PROTOCOLS)
def test_a_model_that_a_protocol_lacks_leaves_its_line_empty(lacking: str) -> None:
    column = Column("graph-classification", "MUTAG", PROTOCOLS, tuple(map(Row, NAMES)), ())
    parts = []
    for protocol in PROTOCOLS:
        shown = [name for name in NAMES if (name, protocol) != ("PPGN", lacking)]
        entries = tuple(_entry(name, protocol) for name in shown)
        parts.append(Part(column, protocol, {"GIN": load_recipe("MUTAG")}, entries, ()))
    axes = draw_results(parts, "a title").axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == list(NAMES)
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    drawn = {float(dot.get_xdata()[0]): float(dot.get_ydata()[0]) for dot in dots}
    assert len(drawn) == 7
    for part in parts:
        for entry in part.entries:
            assert entry.measured is not None
            assert round(drawn[entry.measured.mean]) == NAMES.index(entry.row.base)


def _entry(name: str, protocol: str) -> Entry:
    mean = 0.5 + 0.1 * NAMES.index(name) + 0.01 * PROTOCOLS.index(protocol)
    return Entry(Row(name), {"metric": "accuracy", "mean": mean, "std": 0.01, "error": 0.01}, None)
