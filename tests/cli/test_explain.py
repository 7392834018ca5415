from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpnn.cli.explain import vertex_names
from gpnn.data.samples import load_samples
from gpnn.train.fit import fit
from gpnn.train.train_config import TrainConfig

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    fit(load_samples("MUTAG"), {"layers": 1, "hidden": 8},
        TrainConfig(epochs=1, device="cpu"), folder=folder)  # fmt: skip
    return folder


def test_table_and_picture(gpnn: Callable[..., Any], model: Path, tmp_path: Path) -> None:
    out = tmp_path / "why.png"
    result = gpnn("explain", model, "MUTAG:5", "--out", out)
    assert result.code == 0, result.err
    for said in ("part (core-degree)", "vertices", "contribution", "Shapley value",
                 "2, degree > 2", "logit of", "without any part", "probability"):  # fmt: skip
        assert said in result.out, said
    assert out.read_bytes()[:4] == b"\x89PNG"
    assert "wrote" in result.err
    before = out.read_bytes()
    gpnn("explain", model, "MUTAG:5", "--out", out)
    assert out.read_bytes() == before


def test_json_adds_up(gpnn: Callable[..., Any], model: Path, tmp_path: Path) -> None:
    out = tmp_path / "why.svg"
    found = {}
    for name in ("-1", "1"):
        result = gpnn("explain", model, "MUTAG", "--graph", 5, "--class", name,
                      "--json", "--out", out)  # fmt: skip
        found[name] = json.loads(result.out)
    for name, document in found.items():
        assert (document["output"], document["kind"]) == (name, "logit")
        total = sum(part["shapley"] for part in document["parts"])
        assert total == pytest.approx(document["full"] - document["empty"], abs=1e-9)
        assert sum(part["vertices"] for part in document["parts"]) == len(document["part"]) == 28
    assert found["-1"]["score"] + found["1"]["score"] == pytest.approx(1, abs=1e-5)
    row = json.loads(gpnn("predict", model, "MUTAG:5", "--json").out)["rows"][0]
    assert row["p(1)"] == pytest.approx(found["1"]["score"], abs=1e-5)
    assert out.stat().st_size > 0


def test_refusals(gpnn: Callable[..., Any], model: Path, tmp_path: Path) -> None:
    for words, said in (
        ((model, "MUTAG"), "holds 188 graphs, and one is explained. Pick it with --row"),
        ((model, "MUTAG", "--graph", "188"), "There is no graph 188: the input holds 0 to 187"),
        ((model, "MUTAG", "--graph", "1", "--row", "1"), "Give either --row or --graph"),
        ((model, "MUTAG:5", "--class", "2"), "has no class '2'. Choose one of -1, 1"),
        ((model, "MUTAG:5", "--out", "why.txt"), "ends in .png, .svg, .pdf"),
        ((tmp_path, "MUTAG:5"), "is not a model: it has no model.json"),
        ((model, "g6:Bw"), "The model reads graphs with integer vertex labels"),
    ):
        result = gpnn("explain", *words)
        assert result.code == 2
        assert said in result.err, result.err
        assert not result.out


def test_molecule_with_elements(gpnn: Callable[..., Any], tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    table = tmp_path / "t.csv"
    texts = ("CO", "CC", "CCO", "CCC", "OCC1CC1", "CC1CC1", "CCCO", "CCCC")
    table.write_text("smiles,y\n" + "".join(f"{text},{'OC'[k % 2]}\n" for k, text in
                                            enumerate(texts)))  # fmt: skip
    fit(load_samples(str(table)), {"layers": 1, "hidden": 4},
        TrainConfig(epochs=1, device="cpu"), folder=tmp_path / "m")  # fmt: skip
    out = tmp_path / "why.svg"
    result = gpnn("explain", tmp_path / "m", "smiles:OCC1CC1", "--out", out)
    assert result.code == 0, result.err
    read = load_samples(str(table))
    assert vertex_names(read, 4) == ["O", "C", "C", "C", "C"]
    assert vertex_names(replace(read, encoder=replace(read.encoder, kind="degree")), 4) is None
    result = gpnn("explain", tmp_path / "m", table, "--graph", "2", "--out", out, "--json")
    assert json.loads(result.out)["source"].endswith("row 3 (CCO)")
    by_row = gpnn("explain", tmp_path / "m", table, "--row", "3", "--out", out, "--json")
    assert json.loads(by_row.out) == json.loads(result.out)
    assert "Row 99 of" in gpnn("explain", tmp_path / "m", table, "--row", "99").err
