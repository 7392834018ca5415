"""A few thousand odd inputs through every door; the oracles themselves are tried too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fuzz.doors import DOORS
from fuzz.run import run
from fuzz.worker import case
from gpnn.data import targets
from gpnn.graph.graphs import Graphs

COUNT, SEED = 3_000, 0


def test_odd_inputs_are_read_right_or_refused() -> None:
    outcome = run(COUNT, SEED)
    told = "\n\n".join(f"{place}\n{detail}" for place, detail in outcome.defects)
    assert not outcome.defects, told
    assert outcome.count == COUNT
    for door in DOORS:
        assert outcome.endings[door, "read"], f"{door} never accepts anything"


def test_a_case_is_the_same_every_time() -> None:
    assert case("scheme_name", 3, 4) == case("scheme_name", 3, 4)


@pytest.mark.parametrize("door", ["graph6", "objects", "pyg_graphs", "tu"])
def test_a_lost_edge_is_a_defect(door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = Graphs.from_edges.__func__  # type: ignore[attr-defined]

    def without_last(cls: type[Graphs], src: Any, dst: Any, *rest: Any, **more: Any) -> Graphs:
        graphs: Graphs = right(cls, src, dst, *rest, **more)
        keep = np.arange(graphs.num_nodes) < graphs.num_nodes - 1
        return right(cls, *graphs.induced(keep)[0].edges(), graphs.num_nodes) \
            if len(graphs) == 1 and graphs.num_edges else graphs  # fmt: skip

    monkeypatch.setattr(Graphs, "from_edges", classmethod(without_last))
    assert "defect" in {case(door, 1, number)[0] for number in range(80)}


def test_a_moved_label_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    column = targets.column
    monkeypatch.setattr("gpnn.data.table.column", lambda v: column([*v[1:], *v[:1]]))
    assert "defect" in {case("table", 1, number)[0] for number in range(80)}
