"""A model's answer on graphs of the page, against the library's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpnn import InputError
from gpnn.data.samples import load_samples
from gpnn.explore.api import Api
from gpnn.explore.gallery import gallery
from gpnn.explore.parse import parse
from gpnn.explore.predict import Predictor
from gpnn.graph.partition import partition
from gpnn.train.explain import explain
from gpnn.train.fit import fit
from gpnn.train.train_config import TrainConfig

pytestmark = pytest.mark.usefixtures("one_thread")
CARD = ("n", "edges", "node_labels", "edge_labels", "smiles")


def train(source: str, folder: Path) -> Predictor:
    fit(load_samples(source), {"layers": 1, "hidden": 8},
        TrainConfig(epochs=1, device="cpu"), folder=folder)  # fmt: skip
    return Predictor(folder)


@pytest.fixture(scope="module")
def mutag(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    return train("MUTAG", tmp_path_factory.mktemp("mutag"))


def molecule(index: int) -> dict:
    [graph] = next(e for e in gallery()["entries"] if e["id"] == f"mutag-{index}")["graphs"]
    return {key: graph[key] for key in CARD if key in graph}


def test_the_answer_is_that_of_explain(mutag):
    found = mutag.predict({"graph": molecule(5)})
    samples = load_samples("MUTAG:5", like=mutag.loaded.encoder, labelled=False)
    expected = explain(mutag.loaded, samples)
    assert found["explanation"] == expected.to_dict()
    assert [row["name"] for row in found["scores"]] == ["-1", "1"]
    assert sum(row["score"] for row in found["scores"]) == pytest.approx(1, abs=1e-5)
    assert found["notes"] == []
    other = mutag.predict({"graph": molecule(5), "output": "-1"})
    assert other["explanation"]["output"] == "-1"


def test_the_page_learns_of_the_model(mutag):
    api = Api(predictor=mutag)
    assert "/api/predict" in api.post and "/api/predict" not in Api().post
    about = api.about()["model"]
    assert (about["scheme"], about["reads"]) == ("core-degree", "labels")


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ({"node_labels": None}, "The model reads graphs with integer vertex labels"),
        ({"node_labels": [0]}, "node_labels must be a list of 13 whole numbers"),
        ({"node_labels": [0.5] * 13}, "node_labels must be whole numbers below 2^31"),
        ({"edge_labels": "x"}, "edge_labels must be a list of 14 whole numbers"),
        ({"weights": []}, "unknown field 'weights'"),
    ],
)
def test_refusals(mutag, patch, said):
    with pytest.raises(InputError) as refused:
        mutag.predict({"graph": {**molecule(2), **patch}})
    assert said in str(refused.value)
    with pytest.raises(InputError, match="has no class 'x'"):
        mutag.predict({"graph": molecule(2), "output": "x"})


def test_unseen_labels_are_noted(mutag):
    graph = molecule(2)
    found = mutag.predict({"graph": {**graph, "node_labels": [99] * graph["n"]}})
    assert "not seen in training" in found["notes"][0]


def test_molecules_come_as_smiles(tmp_path):
    pytest.importorskip("rdkit")
    table = tmp_path / "t.csv"
    texts = ("CO", "CC", "CCO", "CCC", "OCC1CC1", "CC1CC1", "CCCO", "CCCC")
    rows = [f"{text},{'OC'[k % 2]}" for k, text in enumerate(texts)]
    table.write_text("\n".join(["smiles,y", *rows]), encoding="utf-8")
    model = train(str(table), tmp_path / "m")
    typed = parse({"kind": "smiles", "text": "OCC1CC1"})["graph"]
    graph = {key: typed[key] for key in CARD}
    samples = load_samples("smiles:OCC1CC1", like=model.loaded.encoder, labelled=False)
    assert (
        model.predict({"graph": graph})["explanation"] == explain(model.loaded, samples).to_dict()
    )
    drawn = {"n": graph["n"], "edges": graph["edges"]}
    for bad, said in (
        (drawn, "type a SMILES. A drawn graph has no atoms"),
        ({**drawn, "smiles": "C1"}, "is not SMILES"),
        ({**drawn, "smiles": "CC"}, "The SMILES has 2 atoms, the graph 5 vertices"),
    ):
        with pytest.raises(InputError, match=said):
            model.predict({"graph": bad})


def test_the_scheme_of_a_learned_model_is_offered_and_colours(tmp_path):
    samples = load_samples("planted:core,graphs=20")
    fitted = fit(samples, {"scheme": "learned-3", "layers": 1, "hidden": 8},
                 TrainConfig(epochs=1, device="cpu"), folder=tmp_path)  # fmt: skip
    api = Api(predictor=Predictor(tmp_path))
    name = fitted.loaded.config.structure.scheme
    assert name in [row["name"] for row in api.get["/api/schemes"]()["schemes"]]
    assert api.get["/api/start"]()["model"]["scheme"] == name
    graph = {"n": 6, "edges": [[0, 1], [1, 2], [2, 0], [2, 3], [3, 4], [4, 5]]}
    asked = {"graphs": [graph], "scheme": name, "interactions": "edges", "d": 1, "methods": []}
    answer = api.post["/api/analyse"](asked)
    [shown] = answer["graphs"]
    ends = np.array(graph["edges"]).T
    expected = partition(ends, name)
    labels = [answer["parts"][p]["label"] for p in shown["part"]]
    assert labels == [expected.labels[p] for p in expected.part]


def test_a_folder_that_is_no_model(tmp_path):
    with pytest.raises(InputError, match="is not a model"):
        Predictor(tmp_path)
