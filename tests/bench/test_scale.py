from __future__ import annotations

import csv
from pathlib import Path

import pytest

from gpnn.bench import scale
from gpnn.bench.scale import measure_command, run_scale_bench, to_markdown
from gpnn.errors import InputError

FIELDS = ["task", "workload", "size", "way", "seconds", "peak_mb", "rate"]


def test_rows_growth_and_page(monkeypatch: pytest.MonkeyPatch, data_dir: Path) -> None:
    """Every row comes from a command; time that doubles with the size has exponent 1."""
    commands: list[tuple[str, ...]] = []

    def measured(*words: object) -> tuple[float, float]:
        commands.append(tuple(map(str, words)))
        table = next(Path(str(w)) for w in words if str(w).endswith(("000.csv", "-2")))
        size = int(table.stem.split("-")[1] if table.suffix == "" else table.stem)
        if table.suffix:
            with table.open(newline="") as file:
                assert len(list(csv.reader(file))) == size + 1
        return size / 1_000, 100.0

    monkeypatch.setattr(scale, "measure_command", measured)
    result = run_scale_bench(quick=True, data=str(data_dir))
    assert all(list(row) == FIELDS and row["rate"] == 1_000 for row in result["rows"])
    assert {row["task"] for row in result["rows"]} == {"predict", "prepare", "train, one epoch"}
    assert all(row["exponent"] == pytest.approx(1) for row in result["growth"])
    assert {words[0] for words in commands} == {"train", "predict", "prepare"}
    page = to_markdown(result)
    assert "| predict | molecules | 8,000 | d=1, jobs 2 | 8.0 | 100 | 1,000 |" in page
    with pytest.raises(InputError, match="There is no workload 'x'"):
        run_scale_bench(only=["x"])


def test_a_command_is_measured_in_a_process_of_its_own() -> None:
    seconds, peak = measure_command("--version")
    assert seconds > 0 and 5 < peak < 2_000
    with pytest.raises(InputError, match=r"gpnn predict nowhere .*failed"):
        measure_command("predict", "nowhere", "x.csv")
