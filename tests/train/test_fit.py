from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gpnn.data.raw import FEATURES
from gpnn.data.samples import Samples, encode_samples, load_samples
from gpnn.data.split import make_split
from gpnn.data.tasks import Task
from gpnn.errors import InputError
from gpnn.graph.graphs import Graphs
from gpnn.graph.vocabulary import UnseenColours
from gpnn.train.checkpoint import CHECKPOINT
from gpnn.train.fit import Epoch, Fitted, TrainConfig, fit
from gpnn.train.model_setup import model_config, pick_device
from train.cycles import raw, samples

SMALL = {"hidden": 8, "layers": 2}


pytestmark = pytest.mark.usefixtures("one_thread")


class Killed(Exception):
    pass


def kill_after(epoch: int) -> Any:
    def callback(done: Epoch) -> None:
        if done.epoch == epoch:
            raise Killed

    return callback


def bits(fitted: Fitted) -> dict[str, bytes]:
    state = fitted.loaded.model.state_dict()
    return {name: value.numpy().tobytes() for name, value in state.items()}


def curve(fitted: Fitted) -> list[dict[str, Any]]:
    return [{k: v for k, v in record.items() if k != "seconds"} for record in fitted.history]


def test_the_same_seed_gives_the_same_bits_and_another_does_not() -> None:
    torch.manual_seed(5)
    state = torch.get_rng_state()
    one = fit(samples(), SMALL, TrainConfig(epochs=3, batch_size=8))
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.are_deterministic_algorithms_enabled()
    torch.manual_seed(6)
    same = fit(samples(), SMALL, TrainConfig(epochs=3, batch_size=8))
    other = fit(samples(), SMALL, TrainConfig(epochs=3, batch_size=8, seed=1))
    assert bits(one) == bits(same) != bits(other)
    assert curve(one) == curve(same) != curve(other)


@pytest.mark.parametrize("killed", [1, 4])
def test_a_killed_run_resumes_to_the_same_bits(tmp_path: Path, killed: int) -> None:
    config = TrainConfig(epochs=6, batch_size=8, halve_every=3)
    whole = fit(samples(), SMALL, config)
    with pytest.raises(Killed):
        fit(samples(), SMALL, config, folder=tmp_path, callback=kill_after(killed))
    assert (tmp_path / CHECKPOINT).is_file()
    assert not (tmp_path / "model.json").exists()
    told: list[int] = []
    again = fit(
        samples(), SMALL, config, folder=tmp_path, started=lambda _, done: told.append(done)
    )
    assert told == [killed]
    assert again.resumed == killed
    assert bits(again) == bits(whole)
    assert curve(again) == curve(whole)
    assert again.metrics == whole.metrics
    finished = fit(samples(), SMALL, config, folder=tmp_path)
    assert finished.resumed == 6
    assert bits(finished) == bits(whole)


def test_mutag_resumes_to_the_same_bits(tmp_path: Path) -> None:
    data, config = load_samples("MUTAG"), TrainConfig(epochs=3)
    whole = fit(data, {"hidden": 16}, config)
    with pytest.raises(Killed):
        fit(data, {"hidden": 16}, config, folder=tmp_path, callback=kill_after(2))
    again = fit(data, {"hidden": 16}, config, folder=tmp_path)
    assert bits(again) == bits(whole)
    assert curve(again) == curve(whole)


def test_another_run_in_the_folder_is_refused(tmp_path: Path) -> None:
    config = TrainConfig(epochs=2)
    fit(samples(), SMALL, config, folder=tmp_path)
    with pytest.raises(InputError, match=r"holds another run .hidden: 8 there, 9 here.. Choose"):
        fit(samples(), {**SMALL, "hidden": 9}, config, folder=tmp_path)
    with pytest.raises(InputError, match=r"epochs: 2 there, 3 here"):
        fit(samples(), SMALL, replace(config, epochs=3), folder=tmp_path)
    with pytest.raises(InputError, match=r"other data; other split"):
        fit(samples(26), SMALL, config, folder=tmp_path)
    fresh = fit(samples(), {**SMALL, "hidden": 9}, config, folder=tmp_path, fresh=True)
    assert fresh.resumed == 0
    (tmp_path / CHECKPOINT).write_bytes(b"no")
    with pytest.raises(InputError, match=r"is damaged. Start over with --fresh"):
        fit(samples(), SMALL, config, folder=tmp_path)


def test_it_learns_and_keeps_the_best_epoch() -> None:
    found = fit(samples(60), {"hidden": 16}, TrainConfig(epochs=30, patience=10))
    assert found.metrics["test"]["accuracy"] == 1.0
    best = found.history[found.best_epoch - 1]
    assert best["valid_accuracy"] == max(record["valid_accuracy"] for record in found.history)
    assert found.metrics["valid"]["loss"] == pytest.approx(best["valid_loss"])
    assert len(found.history) <= found.best_epoch + 10


def test_learning_rate_is_halved() -> None:
    found = fit(samples(), SMALL, TrainConfig(epochs=5, halve_every=2, lr=0.02))
    assert [record["lr"] for record in found.history] == [0.02, 0.02, 0.01, 0.01, 0.005]


def targets(count: int, task: Task) -> Samples:
    rng = np.random.default_rng(1)
    table = rng.integers(0, 2, (count, 3)).astype(np.float64)
    if task is Task.REGRESSION:
        table = 100 + 50 * rng.random((count, 3))
    table[::5, 1] = np.nan
    return samples(count, targets={f"t{k}": table[:, k] for k in range(3)})


def test_multitask_and_regression_with_missing_labels() -> None:
    found = fit(targets(40, Task.MULTITASK), SMALL, TrainConfig(epochs=2))
    assert found.loaded.encoder.task is Task.MULTITASK
    assert 0 <= found.metrics["valid"]["roc_auc"] <= 1
    data = targets(40, Task.REGRESSION)
    found = fit(data, SMALL, TrainConfig(epochs=2))
    assert found.loaded.config.dropout == 0.0
    assert found.loaded.shift[0] == pytest.approx(125, abs=10)
    assert found.metrics["test"]["mae"] < 60  # targets are scaled for training, and back
    assert found.loaded.evaluate(data, found.split.test)["mae"] == pytest.approx(
        found.metrics["test"]["mae"], rel=1e-5
    )


def test_node_classification() -> None:
    one = raw(1)
    n = one.graphs.num_nodes * 40
    graphs = Graphs.concatenate([one.graphs] * 40)
    graphs = replace(graphs, ptr=np.array([0, n]), node_labels=None, edge_labels=None)
    rng = np.random.default_rng(0)
    x = rng.random((n, 4))
    y = np.repeat(np.arange(40) % 2, n // 40).astype(np.float64)
    x[:, 0] += y
    y[3] = np.nan
    data = encode_samples(
        replace(one, graphs=graphs, nodes=x, kind=FEATURES, targets={"y": y}, node_level=True,
                ids=tuple(map(str, range(n))), rows=np.arange(n), task=Task.NODE_CLASSIFICATION)
    )  # fmt: skip
    found = fit(data, {**SMALL, "dropout": 0.0}, TrainConfig(epochs=60))
    assert found.metrics["valid"]["accuracy"] >= 0.75
    assert found.loaded.predict(data).shape == (n, 2)


def test_colours_and_labels_of_other_parts_are_unseen() -> None:
    data = samples()
    split = make_split(data)
    assert data.x is not None
    found = fit(data, {**SMALL, "scheme": "degree"}, TrainConfig(epochs=1), split)
    assert found.loaded.vocabulary.size == 2  # degrees 2 and 3
    plain = replace(split, train=np.array([0, 2, 4]), valid=np.array([1]), test=np.array([3]))
    found = fit(data, {**SMALL, "scheme": "degree"}, TrainConfig(epochs=1), plain)
    assert found.loaded.vocabulary.size == 1  # no chord in the training part
    with pytest.warns(UnseenColours, match=r"24 of 178 vertices"):
        assert torch.isfinite(found.loaded.predict(data)).all()
    x = data.x.clone()
    where = torch.from_numpy(np.isin(data.graphs.graph_of, plain.train))
    x[where] = x[where].clamp(max=1)
    found = fit(replace(data, x=x), SMALL, TrainConfig(epochs=2), plain)
    table = found.loaded.model.encoder.table
    assert (table[2:] == 0).all()
    assert (table[:2] != 0).any(1).all()


def test_the_base_alone_is_a_baseline() -> None:
    found = fit(samples(), {**SMALL, "gpnn": False, "base": "gin"}, TrainConfig(epochs=1))
    config = found.loaded.config
    assert (config.gpnn, config.scheme, config.component_feature) == (False, "trivial", False)


def test_mixed_precision_runs() -> None:
    found = fit(samples(), SMALL, TrainConfig(epochs=2, amp=True))
    assert np.isfinite(found.history[-1]["loss"])


def test_configurations_are_checked() -> None:
    for wrong, said in (
        ({"epochs": 0}, "epochs must be a whole number from 1; got 0"),
        ({"lr": 0.0}, "lr must be above 0"),
        ({"weight_decay": -1.0}, "weight_decay must be 0 or more"),
        ({"seed": -1}, "seed must be a whole number from 0"),
    ):
        with pytest.raises(InputError, match=said):
            TrainConfig(**wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"codes follow from the data. Leave them out"):
        model_config(samples(), 3, {"codes": (2,)})
    with pytest.raises(InputError, match=r"Unknown option of the model: .*depth"):
        model_config(samples(), 3, {"depth": 2})
    with pytest.raises(InputError, match=r"The device 'cuda:99' cannot be used"):
        pick_device("cuda:99")
    with pytest.raises(InputError, match=r"The device 'toaster' cannot be used"):
        pick_device("toaster")
    with pytest.raises(InputError, match=r"Training needs labels|without labels"):
        fit(replace(samples(), y=None))


def test_a_loss_that_is_not_finite_says_so() -> None:
    with pytest.raises(InputError, match=r"loss is no longer finite after epoch .*Lower lr"):
        fit(samples(), SMALL, TrainConfig(epochs=8, lr=1e30))
