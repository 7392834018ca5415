"""Rows of the scale benchmark: graphs as they say, one row measured, exponents of known growth."""

from __future__ import annotations

import numpy as np
import pytest

from gpnn.bench import scale, scale_graphs
from gpnn.bench.scale_report import to_markdown
from gpnn.errors import InputError


def test_graphs_are_as_they_say() -> None:
    hub = scale_graphs._hub(4_000)
    assert hub.degree.max() >= 1_000 and abs(len(hub.indices) // 2 - 4_000) < 40
    sparse = scale_graphs._sparse(9_000)
    assert sparse.degree.max() <= 8 and abs(len(sparse.indices) // 2 - 9_000) < 200
    law = scale_graphs._power_law(7_000)
    assert law.num_nodes == 1_000 and len(law.indices) == 14_000


def test_a_row_is_measured_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    number = [one.quick for one in scale_graphs.WORKLOADS].index(True)
    monkeypatch.setattr(scale, "RUNS", 1)
    row = scale._row(number)
    assert row["note"] is None and row["seconds"] > 0 and row["rate"] > 0
    assert row["peak_mb"] is None or row["peak_mb"] > 100
    assert {"task", "workload", "size", "way", "seconds", "peak_mb", "rate"} <= set(row)
    monkeypatch.setattr(scale, "SECONDS", 0.01)
    assert scale._row(number)["note"] == "not finished in 0.01 s"


def test_exponents_are_those_of_the_times() -> None:
    rows = [
        {
            "task": "t",
            "workload": "w",
            "way": "x",
            "size": n,
            "seconds": 2e-6 * n,
            "cpu_seconds": 3e-6 * n**1.1,
        }
        for n in (100, 1_000, 10_000)
    ]
    (found,) = scale._growth([*rows, {**rows[0], "way": "alone"}])
    assert np.isclose(found["processor"], 1.1) and np.isclose(found["elapsed"], 1.0)


def test_the_page_marks_what_is_over_its_limit() -> None:
    """Growth on degrees 1 to 8, and steps against those of SAGEConv at the same size alone."""
    row = {"unit": "edges", "peak_mb": None, "rate": None, "most_seconds": 2, "most_mb": None,
           "least_rate": None, "note": None, "cpu_seconds": None}  # fmt: skip
    steps = [
        {
            **row,
            "task": scale_graphs.SAMPLED,
            "workload": "law",
            "size": size,
            "way": way,
            "seconds": time,
        }
        for size, way, time in ((10, "gpnn", 3.0), (10, scale_graphs.SAGE, 1.5), (20, "gpnn", 9.0))
    ]
    (found,) = scale._against_sage(steps)
    assert found == {"size": 10, "times": 2.0, "most": scale.TIMES_SAGE}
    growth = {"task": "step", "workload": scale_graphs.SPARSE, "way": "x", "elapsed": 1.0,
              "processor": 1.2, "most": 1.15, "sizes": [10, 1_000]}  # fmt: skip
    machine = {"processor": "a", "cores": 2, "system": "b", "python": "3", "versions": {}}
    pairs = [
        {**row, "task": "prepare", "workload": "molecules", "size": 400_000, "way": f"jobs {n}",
         "processes": n, "seconds": time, "rate": 400_000 / time, "least_rate": 90_000}
        for n, time in ((1, 6.0), (2, 4.0))
    ]  # fmt: skip
    against = scale._against_one([*pairs, {**pairs[1], "size": 7}])
    assert [(one["times"], one["least"]) for one in against] == [(1.5, 1.7)]
    page = to_markdown(
        {"rows": [*steps, *pairs], "growth": [growth], "against_sage": [found],
         "against_one": against, "environment": machine, "runs": 3, "enough": 20.0}, "c",
    )  # fmt: skip
    assert "| 66,667 ✗ (of 90,000) |" in page and "| 100,000 (of 90,000) |" in page
    assert "| prepare | 400,000 |  | 2 | 1.50 ✗ (of 1.7) |" in page
    assert "| 3.00 ✗ (of 2) | – |" in page and "| 1.50 (of 2) | – |" in page
    assert (
        "| 10 to 1,000 | 1.00 (of 1.15) | 1.20 ✗ (of 1.15) |" in page
        and "| 10 | 2.0 (of 8) |" in page
    )


def test_an_unknown_word_is_refused() -> None:
    with pytest.raises(InputError, match=r"No workload has molehill in its name\. These are: "):
        scale.run_scale_bench(only=["molehill"])
