from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpnn.reproduce.recipe import load_recipe, read_recipe

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def space(tmp_path: Path) -> Path:
    path = tmp_path / "space.toml"
    path.write_text("layers = [1, 2]\nhidden = [8]\nlr = {low = 0.005, high = 0.02, log = true}\n")
    return path


def test_a_quick_search_and_its_resumption(
    gpnn: Callable[..., object], tmp_path: Path, space: Path
) -> None:
    words = ("search", "mutag", "--quick", "--space", space, "--out", tmp_path / "out",
             "--device", "cpu")  # fmt: skip
    done = gpnn(*words, "--trials", 2)
    assert done.code == 0, done.err
    for said in ("QUICK", "budget    2 trials of 2 models", "test samples are not looked at"):
        assert said in done.err
    assert "rung 1 trial 2" in done.err and "rung 3 trial" in done.err
    assert "QUICK MUTAG, GPNN core-degree edges on GIN: 2 trials" in done.out
    assert "best.toml" in done.out
    again = gpnn(*words, "--trials", 2, "--json")
    assert "rung" not in again.err
    document = json.loads(again.out)
    assert document["complete"]
    assert [(trial["number"], trial["rung"]) for trial in document["trials"]][:2] == [
        (1, 1),
        (2, 1),
    ]
    other = gpnn(*words, "--trials", 3)
    assert other.code == 2 and "another search (trials: 2 there, 3 here)" in other.err
    recipe = read_recipe(tmp_path / "out" / "best.toml")
    assert recipe.hidden == 8
    assert recipe.name == "MUTAG"
    assert recipe.epochs == load_recipe("MUTAG").epochs
    assert recipe.lr == document["best"]["values"]["lr"]


def test_a_baseline_has_no_radius(gpnn: Callable[..., object], tmp_path: Path) -> None:
    done = gpnn("search", "MUTAG", "--quick", "--baseline", "--trials", 1, "--json",
                "--out", tmp_path / "out", "--device", "cpu")  # fmt: skip
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert "d" not in document["search"]["space"]
    assert document["search"]["model"] == {"method": "GIN"}
    space = tmp_path / "space.toml"
    space.write_text("d = [1, 2]\ndistances = [true, false]\ncomponent_feature = [true, false]\n")
    done = gpnn(
        "search", "MUTAG", "--quick", "--baseline", "--space", space, "--out", tmp_path / "o"
    )
    assert done.code == 2 and "Nothing is left to search: d, distances" in done.err


def test_mistakes(gpnn: Callable[..., object], tmp_path: Path) -> None:
    out = ("--out", tmp_path / "out")
    assert "There is no recipe 'nope'" in gpnn("search", "nope", *out).err
    assert "There is no base 'mlp'" in gpnn("search", "MUTAG", "--base", "mlp", *out).err
    refused = gpnn("search", "MUTAG", "--scheme", "auto", *out)
    assert "A search is for one fixed scheme; got --scheme auto" in refused.err
    assert "no scheme 'x'" in gpnn("search", "MUTAG", "--scheme", "x", *out).err
    both = gpnn("search", "MUTAG", "--base", "cin", "--all", *out)
    assert both.code == 2 and "CIN is neither" in both.err
    absent = gpnn("search", "MUTAG", "--space", tmp_path / "none.toml", *out)
    assert (absent.code, "Cannot read the search space" in absent.err) == (2, True)


@pytest.mark.parametrize("words", ["search MUTAG --quick", "prepare t.csv"])
def test_a_cluster_that_does_not_answer(
    words: str, gpnn: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: the extra ray")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("smiles,y\nCCO,1\nCCN,2\nCCC,3\n")
    done = gpnn(*words.split(), "--out", "x", "--engine", "ray://127.0.0.1:1")
    assert done.code == 2 and "No Ray cluster answers at 127.0.0.1:1" in done.err
    assert not (tmp_path / "x").exists()


def test_tasks_of_a_cluster_have_one_thread(gpnn: Callable[..., Any]) -> None:
    done = gpnn("search", "MUTAG", "--engine", "ray", "--threads", 2)
    assert done.code == 2 and "Leave out --threads" in done.err
