from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gpnn.cli import app
from gpnn.errors import InputError

pytest.importorskip("rdkit")
QUICK = ["--epochs", "3", "--hidden", "8", "--layers", "2", "--device", "cpu"]
ALCOHOLS = ("CO", "CCO", "CCCO", "CC(C)O", "OCC", "CCCCO", "CC(O)C", "OCCC", "CCC(O)C", "OC1CC1")
ALKANES = ("CC", "CCC", "CCCC", "CC(C)C", "C1CC1", "CCCCC", "C1CCC1", "CC(C)(C)C", "CCCCCC", "C")


pytestmark = pytest.mark.usefixtures("one_thread")


def run(*words: str, fails: str | None = None) -> Result:
    result = CliRunner().invoke(app, list(words))
    if fails is None:
        assert result.exit_code == 0, (result.output, result.exception)
    else:
        assert isinstance(result.exception, InputError)
        assert fails in str(result.exception)
    return result


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "alcohols.csv"
    lines = [f"{text},{kind}" for pair in zip(ALCOHOLS, ALKANES, strict=True)
             for text, kind in zip(pair, ("yes", "no"), strict=True)]  # fmt: skip
    path.write_text("SMILES,alcohol\n" + "\n".join(lines) + "\nnot smiles,yes\n")
    return path


@pytest.fixture(scope="module")
def model(table: Path) -> Path:
    folder = table.parent / "model"
    with pytest.warns(UserWarning, match=r"1 of 21 rows"):
        run("train", str(table), "--out", str(folder), *QUICK)
    return folder


def test_train_says_what_it_inferred(table: Path, tmp_path: Path) -> None:
    with pytest.warns(UserWarning):
        result = run("train", str(table), "--out", str(tmp_path / "m"), *QUICK)
    for said in (
        "20 graphs",
        "task      classification, metric accuracy",
        "target    alcohol",
        "classes   no (10), yes (10)",
        "features  molecule: 11 labels per vertex",
        "test (stratified; 3 rows repeat a molecule and stay with it)",
        "validation samples: the best epoch is mostly chance",
        "parameters)",
        "epoch 3/3  loss",
        "ETA",
    ):
        assert said in result.stderr, said
    assert "valid accuracy" in result.stdout and "epoch" in result.stdout
    names = {path.name for path in (tmp_path / "m").iterdir()}
    assert names == {"curves.png", "model.json", "model.safetensors"}


def test_train_with_distances(table: Path, tmp_path: Path) -> None:
    words = ["train", str(table), "--out", str(tmp_path / "m"), "--d", "2", "--distances", *QUICK]
    with pytest.warns(UserWarning):
        result = run(*words)
    assert "d=2, distances" in result.stderr
    card = json.loads((tmp_path / "m" / "model.json").read_text())
    structure = card["members"][0]["config"]["structure"]
    assert (structure["d"], structure["distances"]) == (2, True)
    with pytest.warns(UserWarning):
        run("predict", str(tmp_path / "m"), str(table))


def test_a_baseline_has_no_radius(table: Path, tmp_path: Path) -> None:
    words = ["train", str(table), "--out", str(tmp_path / "m"), "--baseline", "--distances"]
    run(*words, fails="--baseline trains without GPNN: leave out --distances")
    run(*words[:2], "--minutes", "3", fails="give --scheme auto or --effort thorough with it")
    run(*words[:2], "--model", "cin", "--baseline", fails="--model cin or --baseline")


def test_train_as_json_and_again(table: Path, tmp_path: Path) -> None:
    words = ["train", str(table), "--out", str(tmp_path), "--json", *QUICK]
    with pytest.warns(UserWarning):
        first = json.loads(run(*words).stdout)
        result = run(*words)
    again = json.loads(result.stdout)
    assert first["resumed"] == 0
    assert again["resumed"] == 3
    assert "the run was finished already" in result.stderr
    assert again["metrics"] == first["metrics"]
    how = "stratified; 3 rows repeat a molecule and stay with it"
    assert first["split"] == {"how": how, "train": 15, "valid": 3, "test": 2}
    assert first["skipped"] == [
        {"row": 21, "reason": "'not smiles' is not SMILES that RDKit can read"}
    ]
    assert [len(one) for one in first["histories"]] == [3]
    with pytest.warns(UserWarning):
        run(*words, "--seed", "1", fails="holds another run (other split; seed: 0 there, 1 here)")
        fresh = json.loads(run(*words, "--seed", "1", "--fresh").stdout)
    assert fresh["resumed"] == 0
    run(*words, "--strict", fails="1 of 21 rows of")


def test_evaluate(model: Path, table: Path) -> None:
    card = json.loads((model / "model.json").read_text())
    with pytest.warns(UserWarning):
        result = run("evaluate", str(model), str(table), "--part", "test", "--json")
        found = json.loads(result.stdout)
        assert found["metrics"]["accuracy"] == card["about"]["metrics"]["test"]["accuracy"]
        assert (found["rows"], found["skipped"]) == (2, 1)
        result = run("evaluate", str(model), str(table))
    assert "these are the graphs the model was trained on" in result.stderr
    assert "20 rows (all): accuracy" in result.stdout
    other = table.parent / "other.csv"
    other.write_text("SMILES,alcohol\nCCCCCO,yes\nCCCCCCC,no\n")
    assert "2 rows (all)" in run("evaluate", str(model), str(other)).stdout
    run("evaluate", str(model), str(other), "--part", "test", fails="is not the data that")
    run("evaluate", str(model), str(other), "--part", "some", fails="--part cannot be 'some'")
    other.write_text("SMILES\nCCCCCO\n")
    run("evaluate", str(model), str(other), fails="has no column 'alcohol' to learn or check")


def rows_of(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_predict_writes_a_line_per_row(model: Path, tmp_path: Path) -> None:
    source = tmp_path / "new.csv"
    source.write_text("name,smiles\na,CCO\nb,what\nc,\nd,CCCC\n")
    out = tmp_path / "found.csv"
    with pytest.warns(UserWarning, match=r"2 of 4 rows"):
        result = run("predict", str(model), str(source), "--out", str(out))
    assert "wrote" in result.stderr
    assert "4 rows, 2 without" in result.stderr
    rows = rows_of(out)
    assert list(rows[0]) == ["row", "input", "prediction", "p(no)", "p(yes)", "reason"]
    assert [(row["row"], row["input"]) for row in rows] == [
        ("1", "CCO"), ("2", "what"), ("3", ""), ("4", "CCCC"),
    ]  # fmt: skip
    for row in (rows[0], rows[3]):
        assert row["prediction"] in ("yes", "no")
        assert float(row["p(no)"]) + float(row["p(yes)"]) == pytest.approx(1, abs=1e-5)
        assert row["reason"] == ""
    assert rows[1]["prediction"] == rows[1]["p(no)"] == ""
    assert rows[1]["reason"] == "'what' is not SMILES that RDKit can read"
    assert rows[2]["reason"] == "no SMILES"
    run("predict", str(model), str(source), "--strict", fails="2 of 4 rows of")


def test_predict_keeps_columns(model: Path, tmp_path: Path) -> None:
    source, out = tmp_path / "new.csv", tmp_path / "found.csv"
    source.write_text("name,smiles,kind,reason\na,CCO,x,r\nb,what,y,r\n\nd,CCCC,,r\n")
    words = ["predict", str(model), str(source), "--keep", "kind", "--keep", "name"]
    with pytest.warns(UserWarning, match=r"2 of 4 rows"):
        run(*words, "--out", str(out))
    rows = rows_of(out)
    assert [row["row"] for row in rows] == ["1", "2", "3", "4"]
    assert rows.pop(2)["reason"] == "blank line"
    assert list(rows[0])[:5] == ["row", "input", "kind", "name", "prediction"]
    told = [(row["input"], row["kind"], row["name"], row["reason"] != "") for row in rows]
    assert told == [("CCO", "x", "a", False), ("what", "y", "b", True), ("CCCC", "", "d", False)]
    run(*words, "--keep", "mass", fails="has no column 'mass'; its columns are name, smiles")
    run(*words, "--keep", "reason", fails="'reason' cannot be kept: the answer has one of its own")
    run("predict", str(model), "smiles:C", "--keep", "kind", fails="which smiles:C is not")
    (tmp_path / "new.smi").write_text("CCO ethanol\n")
    run(
        "predict",
        str(model),
        str(tmp_path / "new.smi"),
        "--keep",
        "name",
        fails="its columns are smiles",
    )
    run("predict", str(model), f"{source}:1", fails="is a file or folder, and a colon picks")


def test_predict_one_molecule_and_show(model: Path) -> None:
    found = json.loads(run("predict", str(model), "smiles:CCO", "--json").stdout)
    assert found["rows"][0]["input"] == "CCO"
    assert "prediction" in run("predict", str(model), "smiles:CCO").stdout
    run("predict", str(model), "smiles:CCO", "--out", "x.txt", fails="ends in .csv")
    run("predict", str(model), "MUTAG", fails="The model reads molecules (SMILES or an ogbg-mol*")
    run("predict", str(model.parent), "MUTAG", fails="it has no model.json")


def test_predict_unseen_labels_are_counted(model: Path, tmp_path: Path) -> None:
    source = tmp_path / "odd.smi"
    source.write_text("CC[Si](C)C\n")
    with pytest.warns(UserWarning, match=r"vertices and .* edges have labels that were not seen"):
        run("predict", str(model), str(source))


def test_several_targets(table: Path, tmp_path: Path) -> None:
    source = tmp_path / "many.csv"
    lines = [f"{text},{k % 2},{k // 2 % 2}" for k, text in enumerate(ALCOHOLS + ALKANES)]
    source.write_text("smiles,a,b\n" + "\n".join(lines) + "\n")
    run("train", str(source), "--out", str(tmp_path / "m"), "--baseline", "--base", "gin", *QUICK)
    out = tmp_path / "found.csv"
    with pytest.warns(UserWarning):
        run("predict", str(tmp_path / "m"), str(table), "--out", str(out))
    assert list(rows_of(out)[0]) == ["row", "input", "p(a)", "p(b)", "reason"]
    numbers = tmp_path / "numbers.csv"
    lines = [f"{text},{len(text) / 3}" for text in ALCOHOLS + ALKANES]
    numbers.write_text("smiles,size\n" + "\n".join(lines) + "\n")
    run("train", str(numbers), "--out", str(tmp_path / "n"), "--base", "none", *QUICK)
    run("predict", str(tmp_path / "n"), str(numbers), "--out", str(out))
    assert list(rows_of(out)[0]) == ["row", "input", "prediction", "reason"]


def test_classes_that_differ_in_case_are_named(tmp_path: Path) -> None:
    source = tmp_path / "case.csv"
    kinds = ("Yes", "no", "yes", "no") * 3
    lines = [f"{text},{kind}" for text, kind in zip(ALCOHOLS, kinds, strict=False)]
    source.write_text("smiles,alcohol\n" + "\n".join(lines) + "\n")
    with pytest.warns(UserWarning, match="The classes 'Yes' and 'yes' differ in case alone"):
        run("train", str(source), "--out", str(tmp_path / "m"), *QUICK)


def test_mistakes(table: Path, tmp_path: Path) -> None:
    run("train", str(table), "--task", "guess", fails="no task 'guess'")
    run("train", str(table), "--epochs", "0", fails="epochs must be a whole number of at least 1")
    run("train", str(table), "--threads", "0", fails="--threads must be 1 or more")
    run("train", str(table), "--out", str(table), fails="is a file. Name a folder")
    run("train", "nowhere.csv", fails="There is no file nowhere.csv")
    run("train", str(table), "--scheme", "odd", fails="odd")
    with pytest.warns(UserWarning):
        run("train", str(table), "--out", str(tmp_path / "m"), "--base", "gan",
            fails="Choose one of gin, gine, gcn, gat, sage")  # fmt: skip


def test_cross_validation(table: Path, tmp_path: Path) -> None:
    words = ["train", str(table), "--out", str(tmp_path / "m"), "--folds", "4", *QUICK]
    with pytest.warns(UserWarning):
        result = run(*words)
    assert "4 folds, the first" in result.stderr
    assert "mean over 4 folds ± s.d." in " ".join(result.stdout.split())
    rows = rows_of(tmp_path / "m" / "folds.csv")
    assert len(rows) == 20 and {row["fold"] for row in rows} == {"1", "2", "3", "4"}
    assert {row["true alcohol"] for row in rows} == {"yes", "no"}
    card = json.loads((tmp_path / "m" / "model.json").read_text())
    assert len(card["members"]) == 4
    right = [
        [row["prediction"] == row["true alcohol"] for row in rows if row["fold"] == fold]
        for fold in "1234"
    ]
    with pytest.warns(UserWarning):
        told = json.loads(run(*words, "--json").stdout)
    mean = sum(sum(fold) / len(fold) for fold in right) / 4
    assert told["metrics"]["test"]["accuracy"] == pytest.approx(mean)
    run(*words, "--ensemble", "2", fails="either --folds or --ensemble")


def test_networks_that_answer_together(table: Path, tmp_path: Path) -> None:
    words = ["train", str(table), "--out", str(tmp_path / "m"), "--ensemble", "3", *QUICK]
    with pytest.warns(UserWarning):
        result = run(*words)
    assert "for the mean of 3 predictions; each network alone: " in " ".join(result.stdout.split())
    source = tmp_path / "new.csv"
    source.write_text("smiles\nCCO\nCCCC\n")
    told = json.loads(run("predict", str(tmp_path / "m"), str(source), "--json").stdout)
    assert "spread p(yes)" in told["rows"][0]


def test_results_never_replace_their_source(model: Path, tmp_path: Path) -> None:
    source = tmp_path / "new.csv"
    source.write_text("smiles\nCCO\n")
    run("predict", str(model), str(source), "--out", str(source), fails="is the source itself")
    assert source.read_text() == "smiles\nCCO\n"
    run("partition", str(source), "--out", str(source), fails="is the source itself")


def test_odd_tables(model: Path, tmp_path: Path) -> None:
    source, out = tmp_path / "odd.csv", tmp_path / "out.csv"
    source.write_text("smiles,note\nCCO,a\n,\nCCCC,b\n")
    with pytest.warns(UserWarning, match="1 of 3 rows"):
        run("predict", str(model), str(source), "--out", str(out))
    assert [(row["row"], row["reason"]) for row in rows_of(out)] == [
        ("1", ""), ("2", "no SMILES"), ("3", ""),
    ]  # fmt: skip
    source.write_text("CCO\nCCC\nc1ccccc1\n")
    run("predict", str(model), str(source), fails="has no header: its first line holds 'CCO'")
    source.write_bytes("smiles,name\nCCO,é\n".encode("latin-1"))
    with pytest.warns(UserWarning, match="was read as Latin-1"):
        run("predict", str(model), str(source), "--keep", "name", "--out", str(out))
    assert rows_of(out)[0]["name"] == "é"
    source.write_bytes("smiles\nCCO\n".encode("utf-16"))
    run("predict", str(model), str(source), fails="is UTF-16. Save it as UTF-8")
    source.write_text("smiles,y\nCCO,1\n")
    run("train", str(source), "--target", "smiles", fails="holds the SMILES")


def test_targets_are_named_in_text(tmp_path: Path) -> None:
    source = tmp_path / "two.csv"
    lines = [f"{text},{len(text) / 3},{k * 1.5}" for k, text in enumerate(ALCOHOLS + ALKANES)]
    source.write_text("smiles,size,rank\n" + "\n".join(lines) + "\n")
    words = ["--target", "size", "--target", "rank", "--out", str(tmp_path / "m")]
    result = run("train", str(source), *words, *QUICK)
    assert "mae[size]" in result.stdout and "mae[rank]" in result.stdout


def test_an_interrupt_is_stored(table: Path, tmp_path: Path) -> None:
    """Ctrl-C ends after the epoch; the same command resumes there."""
    words = ["train", str(table), "--out", str(tmp_path / "m"), "--epochs", "4000"]
    words += ["--patience", "4000", "--hidden", "8", "--layers", "2", "--device", "cpu"]
    command = [sys.executable, "-m", "gpnn", *words]
    with subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        # What is started in the background of a shell ignores Ctrl-C, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("epoch "):
                process.send_signal(signal.SIGINT)
                break
        rest = process.stderr.read()
    assert process.returncode == 130 and "the same command resumes" in rest
    assert (tmp_path / "m" / "checkpoint.safetensors").is_file()


def test_another_method_by_name(table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    words = ["train", str(table), "--model", "cin:rings=5", *QUICK, "--out", str(folder), "--json"]
    document = json.loads(run(*words).stdout)
    assert document["config"]["base"] == "cin:rings=5" and not document["config"]["gpnn"]
    rows = run("predict", str(folder), str(table)).stdout
    assert "prediction" in rows and rows.count("\n") > 10
    run(*words[:3], "cim", fails="There is no model 'cim'")
    run(*words[:4], "--base", "gin", fails="--model cin:rings=5 trains without GPNN")
    run(*words[:4], "-s", "core", "-i", "edges", fails="leave out --scheme, --interactions")
    run(*words[:2], "--baseline", "--d", "2", fails="--baseline trains without GPNN: leave out --d")
    run(*words[:3], "cin:rings=5,rings=6", fails="'cin:rings=5,rings=6' gives rings twice")
    run("train", "MUTAG", "--baselines", fails="--baselines need molecules")


def test_a_model_of_labelled_graphs_refuses_molecules(table: Path, tmp_path: Path) -> None:
    """It would take atomic numbers for its labels. An edge list has the suffix of a table too."""
    model = str(tmp_path / "m")
    run("train", "MUTAG", "--out", model, "--epochs", "1", *QUICK[2:])
    smiles = tmp_path / "list.smi"
    smiles.write_text("CCO\nCC\n")
    for source in (table, smiles):
        fails = "reads graphs with integer vertex labels, and the source holds molecules"
        run("predict", model, str(source), fails=fails)
        run("explain", model, str(source), "--row", "1", fails=fails)
    edges = tmp_path / "edges.csv"
    edges.write_text("0,1\n1,2\n2,0\n")
    run("predict", model, str(edges), fails="and the source holds graphs without vertex labels")
    run(
        "train",
        "counts:triangle,graphs=20",
        "--out",
        str(tmp_path / "d"),
        "--epochs",
        "1",
        *QUICK[2:],
    )
    assert "row" in run("predict", str(tmp_path / "d"), str(edges)).output


@pytest.mark.parametrize("base", ["gnn", "custom", "cin:foo"])
def test_a_wrong_base_leaves_the_model_of_the_folder(base: str, tmp_path: Path) -> None:
    words = ("train", "MUTAG", "--out", str(tmp_path), "--epochs", "1", *QUICK[2:])
    run(*words)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    result = CliRunner().invoke(app, [*words, "--base", base, "--fresh"])
    assert isinstance(result.exception, InputError)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_text_in_a_column_of_numbers_is_named(tmp_path: Path) -> None:
    """Not taken as a class, which would make every number a class."""
    path = tmp_path / "t.csv"

    def write(values: list[str], comma: bool = False) -> None:
        rows = zip(("C" * k for k in range(1, 31)), values, strict=True)
        between = ";" if comma else ","
        path.write_text("\n".join([f"smiles{between}log", *(between.join(row) for row in rows)]))

    numbers = [f"{k / 7:.3f}" for k in range(30)]
    words = ("train", str(path), "--out", str(tmp_path / "m"), *QUICK)
    write([*numbers[:11], "<0.1", *numbers[12:]])
    said = "The target 'log' holds text in 1 of 30 rows, such as '<0.1' in row 12, and numbers"
    run(*words, fails=f"{said} in the others. Correct these cells, or empty them. If the numbers")
    run(*words, "--task", "regression", fails=f"{said} in the others. Correct these cells")
    write([*(str(k % 3) for k in range(29)), "n.d."])
    run(*words, fails="such as 'n.d.' in row 30")
    write([*(one.replace(".", ",") for one in numbers[:4]), "abc",
           *(one.replace(".", ",") for one in numbers[5:])], comma=True)  # fmt: skip
    run(*words, fails="such as 'abc' in row 5")
    write(["3" if k % 2 else "high" for k in range(30)])
    assert "classes   3 (15), high (15)" in run(*words).stderr
    run(*words, "--task", "regression", fails="holds text in 15 of 30 rows, such as 'high'")
    write(["low" if k % 2 else "high" for k in range(30)])
    run(*words, "--task", "regression", fails="needs numbers, and the target 'log' holds text")
