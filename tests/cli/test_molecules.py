"""What a person with a table of molecules does, from training to a report."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_rel
from typer.testing import CliRunner, Result

from gpnn.cli import app
from gpnn.errors import InputError

Chem = pytest.importorskip("rdkit.Chem", reason="molecules need RDKit")
pytestmark = pytest.mark.usefixtures("one_thread")

QUICK = ["--epochs", "2", "--hidden", "8", "--layers", "2", "--device", "cpu"]
RINGS = ("c1ccccc1", "C1CCCC1", "c1ccncc1", "C1CCNCC1", "c1ccoc1", "C1CC1", "")


def run(*words: object, fails: str | None = None) -> Result:
    result = CliRunner().invoke(app, list(map(str, words)))
    if fails is None:
        assert result.exit_code == 0, (result.output, result.exception)
    else:
        assert isinstance(result.exception, InputError), result.exception
        assert fails in str(result.exception)
    return result


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """70 molecules with a number, two classes and a column of temperatures."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("tables") / "molecules.csv"
    rows = [f"{'C' * (1 + k // 7)}N{RINGS[k % 7]}" for k in range(70)]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["smiles", "logp", "toxic", "temperature"])
        for k, text in enumerate(rows):
            kind = "yes" if k % 3 else "no"
            writer.writerow([text, f"{rng.normal():.2f}", kind, 20 + k % 5])
    return path


@pytest.fixture(scope="module")
def model(table: Path) -> Path:
    folder = table.parent / "model"
    words = ["--target", "logp", "--ensemble", "3", "--calibrate", "--out", folder, *QUICK]
    result = run("train", table, *words)
    assert re.search(r"descriptors: \d+ of RDKit", result.stderr)  # the default
    assert "calibrated on 63 rows that chose no epoch: 90 % intervals logp ±" in result.stdout
    return folder


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_intervals_are_written(model: Path, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    widths = []
    for level in ("0.9", "0.5"):
        run("predict", model, table, "--out", out, "--interval", level)
        first = rows_of(out)[0]
        assert list(first)[2:] == ["prediction", "low", "high", "spread prediction", "reason"]
        assert float(first["low"]) < float(first["prediction"]) < float(first["high"])
        widths.append(float(first["high"]) - float(first["low"]))
    assert widths[0] > widths[1]
    run("predict", model, table, "--interval", "2", fails="level must be above 0 and below 1")
    told = run("predict", model, table, "--interval", "0.999")
    assert "too few rows were calibrated on for intervals of level 0.999" in told.stderr
    run("train", table, "--target", "logp", "--out", tmp_path / "m", *QUICK)
    run("predict", tmp_path / "m", table, "--interval", "0.9", fails="The model has no intervals")


def test_standard_input(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for text in ("CCN\nCCC\n", "name;smiles\na;CCN\nb;CCC\n"):
        stream = types.SimpleNamespace(buffer=io.BytesIO(text.encode()))
        monkeypatch.setattr("gpnn.data.pieces.sys", types.SimpleNamespace(stdin=stream))
        found.append(json.loads(run("predict", model, "-", "--json").stdout)["rows"])
    assert [row["input"] for row in found[0]] == ["CCN", "CCC"]
    assert found[0] == found[1]
    assert sys.stdin is not None


def test_mixed_targets_from_the_command(table: Path, tmp_path: Path) -> None:
    words = ["--target", "logp", "--target", "toxic", "--out", tmp_path / "m", *QUICK]
    told = json.loads(run("train", table, *words, "--json").stdout)
    assert told["task"] == "mixed" and told["chosen_by"] == "loss"
    assert {"scaled_mae", "mae[logp]", "rmse[logp]"} <= set(told["metrics"]["test"])
    run("predict", tmp_path / "m", table, "--out", tmp_path / "out.csv")
    first = rows_of(tmp_path / "out.csv")[0]
    assert list(first) == ["row", "input", "logp", "toxic", "p(toxic=yes)", "reason"]
    assert first["toxic"] == ("yes" if float(first["p(toxic=yes)"]) >= 0.5 else "no")
    checked = json.loads(run("evaluate", tmp_path / "m", table, "--json").stdout)
    assert set(checked["metrics"]) >= {"roc_auc[toxic=yes]", "mae[logp]"}
    run("explain", tmp_path / "m", table, "--row", "1", "-c", "toxic=yes", "--out",
        tmp_path / "why.png")  # fmt: skip


def test_descriptors_are_asked_for_once(table: Path, tmp_path: Path) -> None:
    asked = ["--descriptors", "temperature", "--descriptors", "morgan"]
    words = ["--target", "logp", *asked, "--out", tmp_path / "m", *QUICK]
    told = run("train", table, *words)
    assert "descriptors: 2,048 Morgan fragments, column temperature" in told.stderr
    run("predict", tmp_path / "m", table, "--out", tmp_path / "out.csv")
    before = rows_of(tmp_path / "out.csv")
    hotter = tmp_path / "hotter.csv"
    hotter.write_text(re.sub(r",2\d\r?\n", ",24\n", table.read_bytes().decode()))
    run("predict", tmp_path / "m", hotter, "--out", tmp_path / "out.csv")
    after = rows_of(tmp_path / "out.csv")
    same = [a["prediction"] == b["prediction"] for a, b in zip(before, after, strict=True)]
    assert same == [k % 5 == 4 for k in range(70)], "the column is read again"
    run("predict", tmp_path / "m", "smiles:CC", fails="reads the column 'temperature' beside")
    run("train", table, "-t", "logp", "--descriptors", "weight", fails="no column 'weight' for")
    both = ["--descriptors", "none", "--descriptors", "rdkit"]
    run(
        "train",
        table,
        "-t",
        "logp",
        *both,
        fails="--descriptors none cannot be combined with others",
    )
    bare = ["--descriptors", "none", "--out", tmp_path / "bare", *QUICK]
    told = run("train", table, "-t", "logp", *bare)
    assert "descriptors" not in told.stderr and "0.01 to zero by a cosine" in told.stderr
    run("train", table, "-t", "logp", "--descriptors", "toxic", fails="Descriptors are numbers")


def test_splits_from_the_command(table: Path, tmp_path: Path) -> None:
    words = ["--target", "logp", *QUICK]
    told = run("train", table, "--split", "stratified", "--out", tmp_path / "a", *words)
    assert "(stratified" in told.stderr
    lines = table.read_text().splitlines()
    more = {"valid": lines[50:60], "test": lines[60:]}
    (tmp_path / "train.csv").write_text("\n".join(lines[:50]) + "\n")
    for name, rows in more.items():
        (tmp_path / f"{name}.csv").write_text("\n".join([lines[0], *rows]) + "\n")
    files = ["--valid", tmp_path / "valid.csv", "--test", tmp_path / "test.csv"]
    told = run("train", tmp_path / "train.csv", *files, "--out", tmp_path / "b", *words)
    assert "split     49 train, 10 valid, 11 test (official)" in told.stderr
    run("train", "MUTAG", "--valid", tmp_path / "valid.csv", fails="need a table of molecules")
    run("train", table, "--split", "column", *words, fails="no column that splits the rows")
    marked = tmp_path / "marked.csv"
    parts = ["set", *(["train"] * 50 + ["valid"] * 10 + ["test"] * 10)]
    marked.write_text("\n".join(f"{a},{b}" for a, b in zip(lines, parts, strict=True)) + "\n")
    words = ["--split-column", "set", "--folds", "3", "--out", tmp_path / "c", *words]
    with pytest.warns(UserWarning, match="--folds splits .* the split that comes with it is not"):
        run("train", marked, *words)
    truth = [row["true logp"] for row in rows_of(tmp_path / "c" / "folds.csv")]
    wanted = [str(float(line.split(",")[1])) for line in lines[1:]]
    assert truth == wanted, "no digits of single precision"


def test_baselines_are_compared_on_the_same_rows(table: Path, tmp_path: Path) -> None:
    words = ["--target", "toxic", "--baselines", "--out", tmp_path / "m", *QUICK]
    told = json.loads(run("train", table, *words, "--json").stdout)["baselines"]
    names = [row["name"] for row in told]
    assert names[1:] == ["GINE alone", "boosting, RDKit descriptors", "forest, Morgan fingerprints"]
    assert {row["metric"] for row in told} == {"roc_auc"}
    for row in told:
        low, high = row["interval"]
        assert low <= row["value"] <= high and row["seconds"] > 0
    assert told[0]["ahead"] == [0.0, 0.0]
    run("train", "MUTAG", "--baselines", "--out", tmp_path / "g", *QUICK, fails="given as SMILES")


def test_the_search_of_thorough(table: Path, tmp_path: Path) -> None:
    words = ["--target", "logp", "--effort", "thorough", "--minutes", "0.3", "--out",
             tmp_path / "m", "--epochs", "1", "--layers", "1", "--device", "cpu"]  # fmt: skip
    told = run("train", table, *words)
    assert "search    best on valid" in told.stderr
    assert (tmp_path / "m" / "search" / "trials.jsonl").is_file()
    assert len(json.loads((tmp_path / "m" / "model.json").read_text())["members"]) == 5
    run("train", table, "--effort", "much", fails="effort cannot be 'much'")
    run("train", "MUTAG", "--effort", "quick", "--out", tmp_path / "g", fails="tables of molecules")


def test_report_is_one_safe_file(model: Path, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    run("report", model, table, "--out", out, "--shown", "2")
    page = out.read_text()
    assert page.count("<img") == 2 + 2 + 2  # parity and coverage, worst, largest
    for said in ("7 molecules (test)", "Worst errors", "Scaffold by scaffold", "coverage"):
        assert said in page, said
    assert "<script" not in page and "default-src 'none'" in page
    sources = re.findall(r'(?:src|href)="([^"]{0,20})', page)
    assert all(source.startswith("data:image/png") for source in sources)
    evil = tmp_path / "<b>evil&.csv"
    evil.write_text("smiles,note\nCCN,<script>alert(1)</script>\nCCCN,x\n")
    run("report", model, evil, "--out", out, "--shown", "1")
    page = out.read_text()
    assert "<b>evil" not in page and html.escape("<b>evil&.csv") in page
    assert "Worst errors" not in page and "Largest contributions" in page
    run("report", model, table, "--out", tmp_path / "report.pdf", fails="ends in .html")
    run("report", model, table, "-c", "other", fails="no output 'other'")


def test_race(table: Path, tmp_path: Path) -> None:
    names = ("gpnn", "base", "boosting", "forest")
    only = [word for name in names for word in ("--only", name)]
    out = tmp_path / "race.md"
    words = ["--target", "logp", "--splits", "2", "--epochs", "1", *only, "--out", out]
    told: dict[str, Any] = json.loads(run("bench", "molecules", table, *words, "--json").stdout)
    assert [row["name"] for row in told["methods"]] == list(names)
    first, second = (np.array([r["value"] for r in told["runs"][n]]) for n in names[:2])
    assert told["methods"][1]["ahead"] == pytest.approx((second - first).mean())
    assert "| gpnn |" in out.read_text()
    low, high = told["methods"][1]["interval"]
    plain = ttest_rel(second, first).confidence_interval(0.95)
    middle, reach = (plain.low + plain.high) / 2, (plain.high - plain.low) / 2
    reach *= (1 + 2 * 7 / 56) ** 0.5  # two splits that share rows: 56 train, 7 test
    assert (low, high) == pytest.approx((middle - reach, middle + reach))
    kept = tmp_path / "runs.jsonl"
    few = ["-t", "logp", "--splits", "1", "--epochs", "1", "--runs", kept, "--json"]
    forest = ["--only", "forest", *few]
    begun = json.loads(run("bench", "molecules", table, *forest).stdout)
    lines = kept.read_text()
    again = run("bench", "molecules", table, "--only", "base", *forest)
    resumed = json.loads(again.stdout)["runs"]["forest"]
    assert resumed == begun["runs"]["forest"]  # the seconds too: nothing was run again
    assert kept.read_text().startswith(lines) and len(kept.read_text().splitlines()) == 2
    kept.write_text("{}\n")
    run("bench", "molecules", table, *forest, fails="runs.jsonl is damaged: run is missing")
    run("bench", "molecules", table, "--only", "magic", fails="no method 'magic'")
    gone = ["--only", "chemprop", "--splits", "1", "--chemprop", tmp_path / "absent", "-t", "logp"]
    run("bench", "molecules", table, *gone, fails="There is no command")


def test_a_molecule_is_drawn_with_symbols(tmp_path: Path) -> None:
    for source in ("smiles:CC(=O)O", "CC(=O)O"):
        run("draw", source, "--out", tmp_path / "drawn.svg")
        page = (tmp_path / "drawn.svg").read_text()
        assert page.count("<!-- O -->") == 2 and page.count("<!-- C -->") == 2
