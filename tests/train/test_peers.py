"""Peers in the training loop: stacked as alone, on the device as on the host; files, estimators."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from gpnn import GPNNClassifier
from gpnn.data.samples import Samples, load_samples, without_edge_labels
from gpnn.errors import InputError
from gpnn.graph.readers.files import InputNote
from gpnn.nn.peers import PEERS
from gpnn.train.fit import fit
from gpnn.train.loop import train_staged
from gpnn.train.model_file import load_model
from gpnn.train.peer_memory import ANY, most_replicas
from gpnn.train.replica import Curves, Replica, Schedule
from gpnn.train.setup import Setup, named_model, set_up
from gpnn.train.stage import stage
from gpnn.train.train_config import TrainConfig

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore::gpnn.graph.readers.files.InputNote"),
]

CPU = torch.device("cpu")
MORE = (
    "esan:policy=node,variant=ds,sample=0.5", "gin-ak:drop=0.3,hops=2", "kp-gin:plus=true",
    "kp-gin:kernel=diffusion,combine=attention", "lrp:depth=1,width=3",
)  # fmt: skip


@pytest.fixture(scope="module")
def molecules() -> Samples:
    whole = load_samples("MUTAG")
    return whole.take(np.arange(len(whole)) < 24)


def replicas() -> list[Replica]:
    ids = np.arange(24)
    return [
        Replica(ids[ids % 4 != f], ids[:0], ids[ids % 4 == f], seed=f, dropout=0.3)
        for f in range(2)
    ]


def trained(setup: Setup, chosen: list[Replica], resident: bool) -> Curves:
    staged = stage(setup, chosen, Schedule(2, 9, None), torch.float64, resident)
    return train_staged(staged, CPU).curves


@pytest.mark.parametrize("spec", [*PEERS, *MORE])
def test_stacked_on_the_device_and_alone_give_the_same(spec: str, molecules: Samples) -> None:
    samples = molecules if len(spec) % 2 else without_edge_labels(molecules)
    both = replicas()
    setup = set_up(samples, {**named_model(spec), "hidden": 6, "layers": 2}, both)
    host, device = trained(setup, both, False), trained(setup, both, True)
    alone = [trained(setup, [one], False) for one in both]
    assert np.allclose(host.loss, device.loss, rtol=1e-9)
    assert np.allclose(host.test, device.test, rtol=1e-9)
    assert np.allclose(host.loss, np.concatenate([one.loss for one in alone]), rtol=1e-9)
    assert np.isfinite(host.loss).all() and (host.loss[:, 0] != host.loss[:, 1]).all()


@pytest.mark.parametrize("spec", ["cin:rings=5", "ppgn", "esan:policy=node"])
def test_a_model_file_holds_the_peer_and_its_options(
    spec: str, molecules: Samples, tmp_path: Path
) -> None:
    options = {**named_model(spec), "hidden": 6, "layers": 2}
    config = TrainConfig.sized(16, epochs=3, device="cpu")
    fitted = fit(molecules, options, config, folder=tmp_path)
    again = load_model(tmp_path)
    assert again.config.base == spec and str(again.config.peer) == spec
    assert torch.equal(again.predict(molecules), fitted.loaded.predict(molecules))
    some = molecules.take(np.arange(24) % 5 == 0)
    assert torch.allclose(again.predict(some), again.predict(molecules)[::5], atol=1e-6)


def test_estimators_take_a_model_by_name(molecules: Samples, tmp_path: Path) -> None:
    graphs = [molecules.graphs[g] for g in range(24)]
    assert molecules.y is not None
    labels = molecules.y.numpy()
    model = GPNNClassifier(model="kp-gin:hops=2", epochs=3, hidden=8, layers=2, random_state=0)
    model.fit(graphs, labels)
    model.save(tmp_path)
    again = GPNNClassifier.load(tmp_path)
    assert again.get_params()["model"] == "kp-gin:hops=2" and again.get_params()["gpnn"]
    assert (again.predict_proba(graphs) == model.predict_proba(graphs)).all()
    with pytest.raises(InputError, match=r"There is no model 'cim'. Choose gpnn, graphsnn, esan"):
        GPNNClassifier(model="cim").fit(graphs, labels)


def test_notes_are_given_before_the_training(molecules: Samples) -> None:
    setup = set_up(molecules, {**named_model("dgn:vectors=8"), "layers": 1}, replicas())
    with pytest.warns(InputNote, match="repeated eigenvalue among the first 8"):
        assert setup.prepared.cells is not None


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_pieces_are_smaller_where_cells_are_many(
    molecules: Samples, monkeypatch: pytest.MonkeyPatch, device: str
) -> None:
    about = type("About", (), {"total_memory": 2**30})
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: about)
    both = replicas()
    found = {}
    for spec in ("gin", "dgn", "ppgn"):
        setup = set_up(molecules, {**named_model(spec), "layers": 2}, both)
        found[spec] = most_replicas(setup, both, Schedule(2, 9, None), torch.device(device))
    assert found["gin"] == ANY > found["dgn"] > found["ppgn"] >= 1
    setup = set_up(molecules, {**named_model("dgn"), "layers": 2}, both)
    part = most_replicas(setup, both, Schedule(2, 9, None), torch.device(device), sharing=3)
    assert part == found["dgn"] // 3 if device == "cuda" else part == found["dgn"]
