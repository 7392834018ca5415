"""``--scheme auto``, ``--scheme learned-k`` and ``gpnn bench schemes`` as commands."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpnn.bench.schemes_report import summarise
from gpnn.lock import locked

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
    other = gpnn(*(word if word != "cross" else "pairs" for word in words))
    assert other.code == 2 and "other candidates: of other --interactions" in other.err
    refused = gpnn("train", "planted:core", "--jobs", "2")
    assert refused.code != 0 and "--jobs is for --scheme auto" in refused.err


def test_a_choice_without_time_says_so(gpnn: Callable[..., Any], tmp_path: Path) -> None:
    words = ("train", "planted:core,graphs=40", "--scheme", "auto", "-i", "edges", "--d", "1",
             *SMALL, "--out", str(tmp_path / "model"), "--minutes", "1e-6")  # fmt: skip
    first = gpnn(*words)
    assert first.code == 0 and "the time was too short to compare" in first.out
    assert "rung 0" not in first.out and not (tmp_path / "model" / "schemes.png").exists()
    assert "was stopped before its last rung, and is kept. --fresh" in gpnn(*words).err
    plain = ("train", "planted:core,graphs=40", *SMALL, "--out", str(tmp_path / "plain"))
    assert gpnn(*plain).code == 0
    refused = gpnn(*plain, "--scheme", "auto")
    assert refused.code == 2 and "trained without --scheme auto" in refused.err
    assert "candidates" not in refused.err


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
    refused = gpnn("partition", "planted:core:1", "--scheme", "learned-3")
    assert "'gpnn train SOURCE --scheme learned-3" in refused.err
    page = tmp_path / "page.md"
    compared = gpnn("bench", "schemes", "planted:core,graphs=30", "-m", "learned-2", "-i", "cross",
                    "--runs", "2", *SMALL, "--out", str(page))  # fmt: skip
    assert compared.code == 0 and "learned-2 with edges: which edges are" in page.read_text()


def test_a_comparison_of_schemes_resumes(gpnn: Callable[..., Any], tmp_path: Path) -> None:
    page, log = tmp_path / "page.md", tmp_path / "log"
    words = ("bench", "schemes", "planted:core,graphs=30", "MUTAG", "-m", "core", "-m", "learned-2",
             "--runs", "2", *SMALL, "--log", str(log))  # fmt: skip
    first = gpnn(*words, "--jobs", "2", "--out", str(page))
    assert first.code == 0, first.err
    assert "run 2 of 2, learned-2" in first.err
    assert {one.name for one in log.iterdir()} == {"planted-core-graphs-30.jsonl", "MUTAG.jsonl"}
    again = gpnn(*words, "--json")
    assert "run 2 of 2" not in again.err
    ours, mutag = json.loads(again.out)["results"]
    for result in (ours, mutag):
        assert [row["method"] for row in result["rows"]] == ["base", "core", "learned-2"]
        assert all(0 <= row["mean"] <= 1 for row in result["rows"])
    _check_errors(ours, 0.0)
    _check_errors(mutag, 19 / 150)
    text = page.read_text()
    assert "Every run has its own graphs." in text and "Nadeau and Bengio" in text
    assert "(page.png)" in text and (tmp_path / "page.png").is_file()
    other = gpnn(*words[:-4], "--epochs", "3", *words[-2:])
    assert "holds another comparison (epochs: 2 there, 3 here)" in other.err


def test_a_method_has_options_of_its_own(gpnn: Callable[..., Any]) -> None:
    words = ("bench", "schemes", "counts:triangle,graphs=40", "-m", "base:walks=4", "-m",
             "core:interactions=pairs,d=2", "-m", "cin:rings=4", "--runs", "2", *SMALL)  # fmt: skip
    rows = json.loads(gpnn(*words, "--json").out)["results"][0]["rows"]
    assert [row["method"] for row in rows] == [
        "base", "base:walks=4", "core:interactions=pairs,d=2", "cin:rings=4"
    ]  # fmt: skip
    sizes = [row["parameters"] for row in rows]
    assert len(set(sizes)) == 4 and all(row["mean"] > 0 for row in rows)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (("-m", "base:walk=4"), "'walk=4' of 'base:walk=4' is not an option of the base GNN alone"),
        (("-m", "base:d=2"), "'d=2' of 'base:d=2' is not an option of the base GNN alone"),
        (("-m", "core:interactions=some"), "Unknown interactions 'some'"),
        (("-m", "core:base=nope"), "Unknown base 'nope'"),
        (("-m", "core:"), "'' of 'core:' is not an option of a network"),
        (("-m", "core:d=2,d=3"), "gives d twice"),
        (("-m", "learned-3:interactions=cross"), "learns which edges are cross edges"),
        (("-m", "cim"), "There is no scheme 'cim'"),
        (("-m", "auto:d=2"), "auto takes no options of its own"),
        (("-m", "auto", "-i", "foo"), "Unknown interactions 'foo'"),
        (("NOSUCH",), "NOSUCH"),
        (("-",), "Every run reads the source again"),
        (("counts:triangle,graphs=8,graphs=9",), "gives graphs twice"),
        (("counts:triangle,seed=" + 5_000 * "9",), "seed of 'counts:triangle"),
        (("--device", "foo"), "The device 'foo' cannot be used"),
    ],
)
def test_a_comparison_is_checked_before_training(
    gpnn: Callable[..., Any], wrong: tuple[str, ...], message: str
) -> None:
    words = ("bench", "schemes", "counts:triangle,graphs=40", *wrong, "--runs", "2", *SMALL)
    shown = gpnn(*words)
    assert shown.code == 2 and message in " ".join(shown.err.split()), shown.err
    assert "run 1" not in shown.err


def test_graphs_of_a_fixed_seed_are_split_anew(gpnn: Callable[..., Any]) -> None:
    words = ("bench", "schemes", "planted:core,graphs=30,seed=3", "-m", "core", "--runs", "2",
             *SMALL)  # fmt: skip
    result = json.loads(gpnn(*words, "--json").out)["results"][0]
    assert result["splits"] == "random"
    _check_errors(result, 3 / 24)


def test_the_choices_of_auto_are_summarised(gpnn: Callable[..., Any], tmp_path: Path) -> None:
    words = ("bench", "schemes", "planted:core,graphs=30", "-m", "auto", "--runs", "2", "-i",
             "cross", "--d", "1", "--no-distances", *SMALL, "--log", str(tmp_path))  # fmt: skip
    short = gpnn(*words, "--minutes", "1e-9", "--json")
    (result,) = json.loads(short.out)["results"]
    base, auto = result["rows"]
    assert {name: auto[name] for name in ("mean", "gain", "error")} == {
        "mean": base["mean"], "gain": 0.0, "error": 0.0
    }  # fmt: skip
    assert auto["chosen"] == {"base alone": 2} and auto["cut_short"] == 2
    page = tmp_path / "page.md"
    assert gpnn(*words, "--minutes", "1e-9", "--out", str(page)).code == 0
    assert "auto chose base alone (2). 2 of 2 choices were cut short" in page.read_text()


def test_right_choices_are_counted() -> None:
    """At most one point below the best fixed method; for errors, one per cent above it."""
    values = {"base": (0.5, 0.9, 0.9), "core": (0.8, 0.7, 0.7), "auto": (0.795, 0.706, 0.895)}
    choices = [{"run": run, "chosen": "core cross", "complete": True, "seconds": 1.0}
               for run in range(3)]  # fmt: skip
    for metric, right in (("accuracy", 2 / 3), ("mae", 1 / 3)):
        records = [
            {"run": run, "method": name, "value": value, "metric": metric, "seconds": 1.0,
             "parameters": 1}
            for name, own in values.items()
            for run, value in enumerate(own)
        ]  # fmt: skip
        auto = summarise(list(values), records, choices, 0.0)[2]
        assert auto["right"] == pytest.approx(right) and auto["chosen"] == {"core cross": 3}
        assert auto["seconds"] == 2.0


def test_auto_chooses_once_on_an_official_split(gpnn: Callable[..., Any], tmp_path: Path) -> None:
    """A longer comparison uses the choice of the log; that of the base is the base itself."""
    table = tmp_path / "t.csv"
    parts = ("train",) * 8 + ("valid", "test")
    rows = [f"{'C' * (1 + k % 12)}{'O' * (k % 2)},{k % 12},{parts[k % 10]}" for k in range(60)]
    table.write_text("\n".join(["smiles,y,split", *rows]))
    words = ("bench", "schemes", str(table), "-m", "auto", *SMALL, "--log", str(tmp_path / "log"),
             "-i", "cross", "--d", "1", "--json")  # fmt: skip
    words = (*words, "--minutes", "1e-9")
    first = json.loads(gpnn(*words, "--runs", "2").out)["results"][0]
    longer = json.loads(gpnn(*words, "--runs", "3").out)["results"][0]
    assert len(first["choices"]) == 1 and longer["choices"] == first["choices"]
    base, auto = longer["rows"]
    assert auto["chosen"] == {"base alone": 1}
    assert (auto["mean"], auto["error"]) == (base["mean"], 0.0)


def test_trainings_of_another_choice_are_not_used(gpnn: Callable[..., Any], tmp_path: Path) -> None:
    words = ("bench", "schemes", "planted:core,graphs=30", "-m", "core", "-m", "triangle", "-m",
             "auto", "--runs", "2", "-i", "cross", "--d", "1", "--no-distances", *SMALL,
             "--minutes", "1e-9", "--log", str(tmp_path), "--json")  # fmt: skip
    path = tmp_path / "planted-core-graphs-30.choices.jsonl"

    def rows(scheme: str = "") -> dict[str, Any]:
        """The rows after both choices are replaced by a scheme."""
        if scheme:
            about, *choices = map(json.loads, path.read_text().splitlines())
            for one in choices:
                one["options"] |= {"gpnn": True, "scheme": scheme, "interactions": "cross", "d": 1}
                one["chosen"] = scheme
            path.write_text("".join(json.dumps(one) + "\n" for one in (about, *choices)))
        (result,) = json.loads(gpnn(*words).out)["results"]
        return {row["method"]: row for row in result["rows"]}

    made = rows()
    assert made["auto"]["gain"] == 0.0
    for scheme in ("core", "triangle", "core"):
        made = rows(scheme)
        assert made["auto"]["chosen"] == {scheme: 2}
        for name in ("mean", "gain", "parameters"):
            assert made["auto"][name] == made[scheme][name]
    path.unlink()
    assert rows()["auto"]["gain"] == 0.0
    log = tmp_path / "planted-core-graphs-30.jsonl"
    log.write_text(log.read_text() + log.read_text().splitlines()[1] + "\n")
    assert "are of one run. Remove one" in gpnn(*words).err


def test_the_page_is_checked_before_the_work(gpnn: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    shown = gpnn("bench", "schemes", "planted:core", "-o", str(tmp_path / "file" / "page.md"))
    assert shown.code == 2 and "Cannot write" in shown.err and "run 1" not in shown.err


def test_two_processes_do_not_share_a_log(gpnn: Callable[..., Any], tmp_path: Path) -> None:
    words = ("bench", "schemes", "planted:core,graphs=30", "-m", "core", "--runs", "2", *SMALL,
             "--log", str(tmp_path))  # fmt: skip
    with locked(tmp_path / "planted-core-graphs-30.jsonl.lock"):
        shown = gpnn(*words)
        assert shown.code == 2 and "Another process writes" in shown.err
    assert gpnn(*words).code == 0


def _check_errors(result: dict[str, Any], overlap: float) -> None:
    """The standard error of two paired differences, with n_test / n_train for their overlap."""
    values = {name: [one["value"] for one in result["records"] if one["method"] == name]
              for name in ("base", "core")}  # fmt: skip
    one, two = (a - b for a, b in zip(values["core"], values["base"], strict=True))
    error = abs(one - two) / 2**0.5 * (1 / 2 + overlap) ** 0.5
    assert result["rows"][1]["error"] == pytest.approx(error)


@pytest.mark.data
def test_an_official_split_is_kept(gpnn: Callable[..., Any], data_dir: Path) -> None:
    words = ("bench", "schemes", "ogbg-moltox21", "-m", "trivial", "--runs", "2", "--layers", "1",
             "--hidden", "4", "--epochs", "1", "--data", str(data_dir), "--json")  # fmt: skip
    result = json.loads(gpnn(*words).out)["results"][0]
    assert result["splits"] == "official"
    assert {(one["trained"], one["tested"]) for one in result["records"]} == {(6264, 784)}


def test_another_target_is_another_comparison(gpnn: Callable[..., Any], tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    rows = [f"{'C' * (1 + k % 12)}{'O' * (k % 2)},{k % 12},{k % 2 - k % 12}" for k in range(40)]
    table.write_text("\n".join(["smiles,a,b", *rows]))
    words = ("bench", "schemes", str(table), "-m", "trivial", "-m", "trivial", "--runs", "2",
             *SMALL, "--log", str(tmp_path / "log"))  # fmt: skip
    first = json.loads(gpnn(*words, "--target", "a", "--json").out)["results"][0]
    assert [row["method"] for row in first["rows"]] == ["base", "trivial"]
    assert "holds another comparison" in gpnn(*words, "--target", "b").err
    table.write_text(table.read_text().replace(",11,", ",99,"))
    assert "holds another comparison" in gpnn(*words, "--target", "a").err


def test_a_scheme_comes_before_a_folder_of_its_name(
    gpnn: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = gpnn("train", "planted:core,graphs=30", "--scheme", "learned-2", *SMALL, "--out", "core")
    assert made.code == 0, made.err
    shown = gpnn("partition", "planted:core:1", "--scheme", "core")
    assert "partitioned by core" in shown.out and "'./core' is the folder" in shown.err
    assert "by learned-2-" in gpnn("partition", "planted:core:1", "--scheme", "./core").out
    (tmp_path / "empty").mkdir()
    for name, message in (
        ("empty", "empty is not a model"),
        ("nothing", "There is no scheme 'nothing'.*Or name a model's folder"),
        ("core+learned-2", "'learned-2' cannot be combined"),
        ("learned-1", "k from 2 to 16"),
    ):
        refused = gpnn("partition", "planted:core:1", "--scheme", name)
        assert refused.code == 2 and re.search(message, refused.err, re.DOTALL), name
