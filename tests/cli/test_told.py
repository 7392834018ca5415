"""What commands tell: nothing of a user's input is ignored, obeyed or repeated without end."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpnn.data.catalogue import _BY_NAME, DATASETS

Gpnn = Callable[..., Any]
ROWS = [
    "smiles,active,split",
    *(f"{'C' * k},{'yes' if k % 2 else 'no'},train" for k in range(1, 21)),
]
QUICK = ("--epochs", "1", "--hidden", "4", "--layers", "1", "--device", "cpu")


@pytest.fixture
def molecules(tmp_path: Path) -> Path:
    rows = [*ROWS, "CO,yes,val", "CCO,yes,val", "CCCO,no,test"]
    (tmp_path / "m.csv").write_text("\n".join(rows) + "\n")
    return tmp_path / "m.csv"


@pytest.fixture
def plugin(tmp_path: Path, molecules: Path) -> Iterator[Path]:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "ours.csv").write_text(molecules.read_text())
    file = folder / "plug.py"
    file.write_text(
        "import gpnn\ngpnn.register_dataset('ours-told', 'ours.csv', target='active')\n"
    )
    yield file
    DATASETS.pop("ours-told", None)
    _BY_NAME.pop("ours-told", None)


def test_registered_datasets_are_listed_and_lie_beside_their_plugin(
    gpnn: Gpnn, plugin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = gpnn("datasets", "ours-told", "--plugin", plugin, "--json")
    assert done.code == 0, done.err
    (row,) = json.loads(done.out)["datasets"]
    assert (row["statistics"]["graphs"], row["statistics"]["classes"]) == (23, 2)
    assert "ours-told" in gpnn("datasets").out


def test_doctor_names_a_wrong_data_folder(gpnn: Gpnn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPNN_DATA", "/no/such/folder")
    done = gpnn("doctor", "--json")
    assert done.code == 0
    data = json.loads(done.out)["data"]
    assert not data["data folder"]["ok"] and "/no/such/folder" in data["data folder"]["text"]
    assert data["MUTAG"]["ok"]


def test_folds_do_not_use_the_split_column_and_say_so(gpnn: Gpnn, molecules: Path) -> None:
    out = molecules.parent / "model"
    done = gpnn("train", molecules, "--target", "active", "--folds", "3", "--out", out, *QUICK)
    assert done.code == 0, done.err
    assert "the split that comes with it is not used" in done.err


def test_an_epoch_is_not_said_to_be_chosen_by_what_is_undefined(
    gpnn: Gpnn, molecules: Path
) -> None:
    """The validation part holds one class: ROC-AUC does not exist there."""
    out = molecules.parent / "model"
    done = gpnn("train", molecules, "--target", "active", "--out", out, *QUICK)
    assert done.code == 0, done.err
    assert "chosen by loss (ROC-AUC is undefined" in done.err and "by loss;" in done.out
    assert json.loads((out / "model.json").read_text())["about"]["chosen_by"] == "loss"


def test_formulas_and_dollars(gpnn: Gpnn, tmp_path: Path) -> None:
    (tmp_path / "[b]$.edges").write_text("$\\x$ =1+1\n=1+1 @b\n@b $\\x$\n")
    source = tmp_path / "[b]$.edges"
    done = gpnn("partition", source, "--out", tmp_path / "o.csv")
    assert done.code == 0 and "[b]$.edges" in done.out
    rows = list(csv.DictReader((tmp_path / "o.csv").open()))
    assert [row["vertex"] for row in rows] == ["$\\x$", "'=1+1", "'@b"]
    done = gpnn("draw", source, "--out", tmp_path / "$\\y$.png")
    assert done.code == 0, done.err
    assert (tmp_path / "$\\y$.png").stat().st_size > 5_000


@pytest.mark.parametrize(
    "arguments",
    [
        ("partition", "a" * 5000),
        ("partition", "/" + "a" * 5000),
        ("partition", "MUTAG:1", "--scheme", "x" * 5000),
        ("partition", "MUTAG:1", "--out", "a" * 5000 + ".csv"),
        ("partition", "~nobody-at-all/x.csv"),
        ("predict", "a" * 300, "MUTAG"),
        ("train", "smiles:" + "C" * 3000),
        ("reproduce", "graph-classification", "--recipe", "a" * 5000),
    ],
    ids=lambda words: words[0],
)
def test_long_arguments_end_in_short_messages(gpnn: Gpnn, arguments: tuple[str, ...]) -> None:
    done = gpnn(*arguments)
    assert done.code == 2
    assert done.err.startswith(("gpnn: ", "Usage:")) and len(done.err) < 2500


def test_control_characters_are_not_obeyed(gpnn: Gpnn, tmp_path: Path) -> None:
    (tmp_path / "a\x1b[31m.edges").write_text("0 0\n0 1\n")
    done = gpnn("partition", tmp_path / "a\x1b[31m.edges")
    assert done.code == 0 and "\x1b" not in done.out + done.err
    assert "\\x1b[31m.edges" in done.out.replace("\n", "")


@pytest.mark.parametrize("name", ["../x.edges", "/etc/hosts", "a/../../x.edges", ""])
def test_labels_do_not_lead_outside(gpnn: Gpnn, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "graphs"
    folder.mkdir()
    (folder / "a.edges").write_text("0 1\n")
    (tmp_path / "x.edges").write_text("0 1\n")
    (folder / "labels.csv").write_text(f"file,label\na.edges,1\n{name},0\n")
    done = gpnn("train", folder, "--out", tmp_path / "m")
    assert done.code == 2 and "which is not a file inside the folder" in done.err


def test_unknown_encodings(gpnn: Gpnn, tmp_path: Path) -> None:
    (tmp_path / "a.graphml").write_text('<?xml version="1.0" encoding="koi9"?><graphml/>')
    done = gpnn("partition", tmp_path / "a.graphml")
    assert done.code == 2 and "Save it as UTF-8" in done.err
