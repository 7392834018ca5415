"""``gpnn reproduce`` as the shell runs it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpnn.errors import InputError

pytestmark = pytest.mark.usefixtures("one_thread")


def test_help_shows_examples(gpnn: Callable[..., Any]) -> None:
    found = gpnn("reproduce", "--help")
    assert found.code == 0 and "gpnn reproduce graph-classification --quick" in found.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing"], "There is no table 'nothing'. Choose one of graph-classification"),
        (["schemes", "--only", "X"], "Nothing matches X. Give dataset/method/scheme"),
        (
            ["regression", "--only", "*/GAT"],
            "GPNN, GCN, CIN, PPGN, DGN, Deep LRP, not each",
        ),
        (["statistics", "--only", "X"], "Nothing matches X. Give dataset/*/scheme"),
        (["schemes", "--minutes", "-1"], "--minutes must be 0 or more"),
        (["schemes", "--recipe", "absent.toml"], "Cannot read the recipe absent.toml"),
        (["schemes", "--device", "tpu"], "The device 'tpu' cannot be used"),
    ],
)
def test_mistakes_are_told(
    words: list[str],
    said: str,
    gpnn: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    found = gpnn("reproduce", *words)
    assert found.code == 2 and said in found.err
    assert "Traceback" not in found.err


def test_a_file_is_no_folder(gpnn: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    found = gpnn("reproduce", "schemes", "--out", path)
    assert found.code == 2 and "is a file. Name a folder with --out" in found.err


def test_a_quick_table(gpnn: Callable[..., Any], tmp_path: Path) -> None:
    recipe = tmp_path / "MUTAG.toml"
    recipe.write_text('layers = 1\nhidden = 4\nepochs = 2\nseeds = 1\ntitle = "mine"\n')
    words = ["reproduce", "interactions", "--quick", "--only", "MUTAG/GIN", "--recipe", recipe]
    found = gpnn(*words, "--out", tmp_path / "out", "--device", "cpu")
    assert found.code == 0, found.err
    assert "QUICK: a sample of the data, and of a recipe at most epochs 4, seeds 2" in found.err
    assert "2 trainings to do, 0 done already" in found.err
    assert "2/2  MUTAG/GIN/tu-nested: done" in found.err
    assert "interactions.png" in found.out
    page = (tmp_path / "out" / "interactions.md").read_text(encoding="utf-8")
    assert "(QUICK)" in page.splitlines()[0] and "## mine" in page
    assert "--out" not in page and str(tmp_path / "out") not in page
    records = [
        json.loads(line) for line in (tmp_path / "out" / "runs.jsonl").read_text().splitlines()
    ]
    assert [record["protocol"] for record in records] == ["tu-1", "tu-2", "tu-nested"]
    assert records[0]["recipe"]["hidden"] == 4
    found = gpnn(*words, "--out", tmp_path / "out", "--device", "cpu")
    assert re.search(r"0 trainings to do, 2 done already \(\d+\.\d min of computing\)", found.err)


def test_a_recipe_must_belong_to_a_column(gpnn: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text('dataset = "MUTAG"\n')
    found = gpnn("reproduce", "interactions", "--recipe", tmp_path / "other.toml")
    assert found.code == 2 and "belongs to no column of a table" in found.err


def test_a_recipe_must_be_used(gpnn: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "MUTAG.toml").write_text('extends = "MUTAG"\nd = 2\n')
    for words, said in (
        (["interactions", "--only", "DHFR/GIN"], "interactions trains DHFR with this --only."),
        (["statistics"], "statistics trains nothing."),
    ):
        found = gpnn("reproduce", *words, "--recipe", tmp_path / "MUTAG.toml")
        assert found.code == 2 and f"The recipe 'MUTAG' is not used: {said}" in found.err


@pytest.mark.data
def test_the_counted_tables_equal_the_paper(
    gpnn: Callable[..., Any], data_dir: Path, tmp_path: Path
) -> None:
    only = ["--only", "ogbg-moltox21"]
    found = gpnn("reproduce", "statistics", *only, "--data", data_dir, "--out", tmp_path)
    assert found.code == 0, found.err
    page = (tmp_path / "statistics.md").read_text(encoding="utf-8")
    assert "QUICK" not in page
    rows = [line for line in page.splitlines() if line.startswith("| ogbg-moltox21 | ")]
    for row in rows[:5]:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert cells[4] == cells[5] and cells[6] == cells[7]
    assert "| ogbg-molhiv | core | — | 4 |" in page
    found = gpnn("reproduce", "distribution", *only, "--data", data_dir, "--out", tmp_path)
    assert found.code == 0 and "counting" not in found.err
    page = (tmp_path / "distribution.md").read_text(encoding="utf-8")
    shares = next(line for line in page.splitlines() if line.startswith("| core | 0:"))
    told = [float(part.split(":")[1]) for part in shares.split("|")[2].split(";")]
    assert sum(told) == pytest.approx(100, abs=0.2)
    assert (tmp_path / "distribution.png").stat().st_size > 10_000
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) == 5


def test_a_missing_dataset_is_told_once(
    gpnn: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for every model of the table."""
    monkeypatch.delenv("GPNN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("gpnn.data.download.download", _offline)
    words = ("reproduce", "graph-classification", "--quick", "--protocol", "tu-1")
    done = gpnn(*words, "--only", "BZR/GPNN", "--out", tmp_path / "out", "--device", "cpu")
    assert done.code == 2
    assert done.err.count("BZR was not found") == 2  # at the first model, and at the end
    assert "(and 3 more)" in done.err


def _offline(*_: object) -> None:
    raise InputError("there is no network")
