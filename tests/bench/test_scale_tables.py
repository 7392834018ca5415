"""Rows of commands on tables of molecules."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from gpnn.bench import scale, scale_tables
from gpnn.bench.scale_report import to_markdown
from gpnn.errors import InputError


def test_rows_growth_and_page(monkeypatch: pytest.MonkeyPatch, data_dir: Path) -> None:
    """Every row comes from a command; time that doubles with the size has exponent 1."""
    commands: list[tuple[str, ...]] = []

    def measured(*words: object, processes: int = 1) -> tuple[float, float, float]:
        assert processes == 1 or words[0] == "train"
        epochs = int(str(words[words.index("--epochs") + 1])) if "--epochs" in words else 1
        commands.append(tuple(map(str, words)))
        table = next(Path(str(w)) for w in words if str(w).endswith(("000.csv", "-2")))
        size = int(table.stem.split("-")[1] if table.suffix == "" else table.stem)
        if table.suffix:
            with table.open(newline="") as file:
                assert len(list(csv.reader(file))) == size + 1
        return epochs * size / 1_000, epochs * size / 500, 100.0

    monkeypatch.setattr(scale_tables, "measure_command", measured)
    result = scale.run_scale_bench(True, ["molecules"], str(data_dir))
    assert all(
        row["rate"] == pytest.approx(1_000) and row["unit"] == "rows" for row in result["rows"]
    )
    tasks = {"predict", "prepare", "train, one epoch", "train, per epoch"}
    assert {row["task"] for row in result["rows"]} == tasks
    assert result["growth"]
    for one in result["growth"]:
        assert (one["elapsed"], one["processor"]) == pytest.approx((1, 1))
    assert {words[0] for words in commands} == {"train", "predict", "prepare"}
    page = to_markdown(result, "gpnn bench scale")
    assert (
        "| predict | molecules | 8,000 rows | d=1, jobs 2 | 8.00 | 16.00 | 100 (of 1,000) |" in page
    )


def test_a_command_is_measured_in_a_process_of_its_own() -> None:
    seconds, processor, peak = scale_tables.measure_command("--version")
    assert seconds > 0 and processor > 0 and 5 < peak < 2_000
    with pytest.raises(InputError, match=r"gpnn predict nowhere .*failed"):
        scale_tables.measure_command("predict", "nowhere", "x.csv")
