"""Rows of the scale benchmark: graphs as they say, one row measured, exponents of known growth."""

from __future__ import annotations

import numpy as np
import pytest

from gpnn.bench import scale
from gpnn.errors import InputError


def test_graphs_are_as_they_say() -> None:
    hub = scale._hub(4_000)
    assert hub.degree.max() >= 1_000 and abs(len(hub.indices) // 2 - 4_000) < 40
    sparse = scale._sparse(9_000)
    assert sparse.degree.max() <= 8 and abs(len(sparse.indices) // 2 - 9_000) < 200
    law = scale._power_law(7_000)
    assert law.num_nodes == 1_000 and len(law.indices) == 14_000


def test_a_row_is_measured_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    number = [one.quick for one in scale.WORKLOADS].index(True)
    row = scale._row(number)
    assert row["note"] is None and row["seconds"] > 0 and row["rate"] > 0
    assert row["peak_mb"] is None or row["peak_mb"] > 100
    assert {"task", "workload", "size", "way", "seconds", "peak_mb", "rate"} <= set(row)
    monkeypatch.setattr(scale, "SECONDS", 0.01)
    assert scale._row(number)["note"] == "not finished in 0.01 s"


def test_exponents_are_those_of_the_times() -> None:
    rows = [
        {"task": "t", "workload": "w", "way": "x", "size": n, "cpu_seconds": 3e-6 * n**1.1}
        for n in (100, 1_000, 10_000)
    ]
    (found,) = scale._growth([*rows, {**rows[0], "way": "alone"}])
    assert np.isclose(found["exponent"], 1.1)


def test_an_unknown_word_is_refused() -> None:
    with pytest.raises(InputError, match=r"No workload has molehill in its name\. These are: "):
        scale.run_scale_bench(only=["molehill"])
