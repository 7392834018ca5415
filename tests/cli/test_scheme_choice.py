"""``--scheme auto``, ``--scheme learned-k`` and ``gpnn bench schemes`` as commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("one_thread")

SMALL = ("--layers", "1", "--hidden", "4", "--epochs", "2")


def test_auto_reports_its_bracket_and_keeps_it(gpnn: Callable[..., Any], tmp_path: Path) -> None:
    words = ("train", "planted:core,graphs=40", "--scheme", "auto", "-i", "cross", "--d", "1",
             "--no-distances", *SMALL, "--out", str(tmp_path / "model"))  # fmt: skip
    shown = gpnn(*words)
    assert shown.code == 0, shown.err
    assert "same parts as core" in shown.err
    assert "base alone" in shown.out and "on inner validation folds; chosen:" in shown.out
    assert (tmp_path / "model" / "schemes.png").is_file()
    told: dict[str, Any] = json.loads(gpnn(*words, "--json").out)
    card = json.loads((tmp_path / "model" / "model.json").read_text())
    assert told["choice"] == card["about"]["choice"]
    assert told["choice"]["chosen"] in shown.out
    titles = [one["candidate"]["title"] for one in told["choice"]["candidates"]]
    assert {"base alone", "trivial cross", "core cross", "core-degree cross"} <= set(titles)
    predicted = gpnn("predict", str(tmp_path / "model"), "planted:core,graphs=4", "--json")
    assert predicted.code == 0
    for more in (["--folds", "3"], ["--baseline"], ["--model", "gin"]):
        refused = gpnn(*words[:4], *more)
        assert refused.code != 0
        assert f"leave out {' '.join(more[:1])}" in refused.err
    refused = gpnn("train", "planted:core", "--jobs", "2")
    assert refused.code != 0 and "--jobs is for --scheme auto" in refused.err


def test_a_learned_scheme_is_shown_and_drawn(gpnn: Callable[..., Any], tmp_path: Path) -> None:
    model = str(tmp_path / "model")
    shown = gpnn("train", "planted:core,graphs=30", "--scheme", "learned-3", *SMALL, "--out", model)
    assert shown.code == 0, shown.err
    assert "scheme learned-3-" in shown.out
    assert "a tree that gives the same part for" in shown.out
    parts = gpnn("partition", "planted:core:1", "--scheme", model)
    assert "partitioned by learned-3-" in parts.out
    refused = gpnn("train", "planted:core", "--scheme", "learned-3", "-i", "cross")
    assert "learns which edges are cross edges" in refused.err


def test_the_race_of_schemes_resumes(gpnn: Callable[..., Any], tmp_path: Path) -> None:
    words = ("bench", "schemes", "planted:core,graphs=30", "-m", "core", "-m", "learned-2",
             "--runs", "2", *SMALL, "--log", str(tmp_path / "log.jsonl"))  # fmt: skip
    first = gpnn(*words, "--jobs", "2")
    assert first.code == 0, first.err
    assert "run 2 of 2, learned-2" in first.err
    again = gpnn(*words, "--json")
    assert "run 2 of 2" not in again.err
    rows = json.loads(again.out)["rows"]
    assert [row["method"] for row in rows] == ["base", "core", "learned-2"]
    assert all(0 <= row["mean"] <= 1 for row in rows)
    other = gpnn(*words[:-4], "--epochs", "3", *words[-2:])
    assert "holds another race" in other.err


def test_a_race_of_another_target_is_another_race(gpnn: Callable[..., Any], tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    rows = [f"{'C' * (1 + k % 12)}{'O' * (k % 2)},{k % 12},{k % 2 - k % 12}" for k in range(40)]
    table.write_text("\n".join(["smiles,a,b", *rows]))
    words = ("bench", "schemes", str(table), "-m", "trivial", "-m", "trivial", "--runs", "2",
             *SMALL, "--log", str(tmp_path / "log.jsonl"))  # fmt: skip
    first = gpnn(*words, "--target", "a", "--json")
    assert [row["method"] for row in json.loads(first.out)["rows"]] == ["base", "trivial"]
    assert "holds another race" in gpnn(*words, "--target", "b").err
    table.write_text(table.read_text().replace(",11,", ",99,"))
    assert "holds another race" in gpnn(*words, "--target", "a").err
