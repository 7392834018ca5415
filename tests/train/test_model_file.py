from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from gpnn.data.samples import encode_samples
from gpnn.errors import InputError
from gpnn.graph.vocabulary import UnseenColours
from gpnn.train.fit import Fitted, fit
from gpnn.train.model_file import Loaded, load_model, save_model
from gpnn.train.train_config import TrainConfig
from train.cycles import raw, samples

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def fitted() -> Fitted:
    return fit(samples(), {"hidden": 8, "layers": 2}, TrainConfig(epochs=3))


def test_a_model_comes_back_to_the_bit(fitted: Fitted, tmp_path: Path) -> None:
    save_model(tmp_path / "m", fitted.loaded)
    assert sorted(p.name for p in (tmp_path / "m").iterdir()) == ["model.json", "model.safetensors"]
    for name in ("m", "m/model.json"):
        again = load_model(tmp_path / name)
        assert again.config == fitted.loaded.config
        assert again.encoder == fitted.loaded.encoder
        assert torch.equal(again.predict(samples()), fitted.loaded.predict(samples()))
    card = json.loads((tmp_path / "m" / "model.json").read_text())
    assert card["about"]["metrics"] == fitted.metrics
    assert set(card["versions"]) == {"gpnn", "torch", "numpy", "python"}


def test_damaged_foreign_and_newer_files(fitted: Fitted, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere does not exist. Name the folder of .gpnn tr"):
        load_model(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"is not a model: it has no model.json. Name the folder"):
        load_model(tmp_path)
    save_model(tmp_path, fitted.loaded)
    card, weights = tmp_path / "model.json", tmp_path / "model.safetensors"
    text, tensors = card.read_text(), weights.read_bytes()
    weights.write_bytes(tensors[:-4] + b"oops")
    with pytest.raises(InputError, match=r"is damaged: model.safetensors is not the file that"):
        load_model(tmp_path)
    weights.unlink()
    with pytest.raises(InputError, match=r"has no model.safetensors"):
        load_model(tmp_path)
    weights.write_bytes(tensors)
    card.write_text(text[:100])
    with pytest.raises(InputError, match=r"is damaged: not JSON"):
        load_model(tmp_path)
    card.write_text(json.dumps({"name": "something else"}))
    with pytest.raises(InputError, match=r"was not written by gpnn"):
        load_model(tmp_path)
    content = json.loads(text)
    card.write_text(json.dumps(content | {"version": 3}))
    with pytest.raises(InputError, match=r"format version 3, and this gpnn reads ver.*upgrade"):
        load_model(tmp_path)
    card.write_text(json.dumps(content | {"version": 1}))
    with pytest.raises(InputError, match=r"format version 1, written by gpnn 0.1.*Train the model"):
        load_model(tmp_path)
    (member,) = content["members"]
    less = {k: v for k, v in member.items() if k != "vocabulary"}
    card.write_text(json.dumps(content | {"members": [less]}))
    with pytest.raises(InputError, match=r"is damaged: members\[0\].vocabulary is missing"):
        load_model(tmp_path)
    card.write_text(json.dumps(content | {"members": []}))
    with pytest.raises(InputError, match=r"is damaged: members must be a list of 1 or more"):
        load_model(tmp_path)
    wide = member | {"config": member["config"] | {"hidden": 9}}
    card.write_text(json.dumps(content | {"members": [wide]}))
    with pytest.raises(InputError, match=r"model.json is damaged: it is not what was saved"):
        load_model(tmp_path)
    del content["sha256"]  # as if somebody had made the file by hand
    card.write_text(json.dumps(content | {"members": [wide]}))
    with pytest.raises(InputError, match=r"is damaged: the weights do not fit its configuration"):
        load_model(tmp_path)
    huge = member | {"config": member["config"] | {"hidden": 10**6}}
    card.write_text(json.dumps(content | {"members": [huge]}))
    with pytest.raises(
        InputError, match=r"hidden is 1,000,000, and the weights are [\d,]+ numbers"
    ):
        load_model(tmp_path)
    fewer = content["encoder"] | {"class_names": ["one"]}
    card.write_text(json.dumps(content | {"encoder": fewer}))
    with pytest.raises(InputError, match=r"its networks do not fit its encoder"):
        load_model(tmp_path)
    del content["encoder"]["kind"]
    card.write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"is damaged: encoder.kind is missing"):
        load_model(tmp_path)


def test_scores_and_metrics(fitted: Fitted) -> None:
    data = samples()
    scores = fitted.loaded.predict(data)
    assert scores.shape == (24, 2)
    assert torch.allclose(scores.sum(1), torch.ones(24).double())
    assert torch.allclose(fitted.loaded.predict(data, batch_size=5), scores, atol=1e-6)
    assert data.y is not None
    accuracy = float((scores.argmax(1) == data.y).float().mean())
    assert fitted.loaded.evaluate(data)["accuracy"] == pytest.approx(accuracy)
    own = fitted.loaded.evaluate(data, fitted.split.test)
    assert own["accuracy"] == fitted.metrics["test"]["accuracy"]


def test_unseen_colours_are_counted_in_one_warning(fitted: Fitted) -> None:
    import networkx as nx
    import numpy as np

    from gpnn.graph.convert import as_graphs

    graphs = as_graphs([nx.complete_graph(6), nx.cycle_graph(5)])
    strange = raw(2, graphs=graphs, nodes=np.full((11, 1), 3), targets={}, kind="labels")
    with pytest.warns() as record:
        data = encode_samples(strange, like=fitted.loaded.encoder, labelled=False)
        scores = fitted.loaded.predict(data)
    assert torch.isfinite(scores).all()
    colours = [w for w in record if w.category is UnseenColours]
    assert len(colours) == 1
    assert "6 of 11 vertices are in parts that were not seen" in str(colours[0].message)
    assert len(record) == 2  # and one for the edges, which have no labels here


def test_several_networks_answer_with_their_mean(tmp_path: Path) -> None:
    data = samples()
    found = fit(data, {"hidden": 8, "layers": 2}, TrainConfig(epochs=2), ensemble=3)
    save_model(tmp_path, found.loaded)
    again = load_model(tmp_path)
    apart = again.predict_members(data)
    assert apart.shape == (3, 24, 2) and len({tuple(one.flatten().tolist()) for one in apart}) == 3
    assert torch.equal(again.predict(data), apart.mean(0))
    assert torch.equal(apart, found.loaded.predict_members(data))
    for number, member in enumerate(found.loaded.members):
        alone = Loaded((member,), again.encoder)
        assert torch.equal(alone.predict(data), apart[number])
