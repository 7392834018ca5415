from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from gpnn.data.raw import FEATURES
from gpnn.data.samples import Samples, encode_samples, load_samples
from gpnn.data.split import Split, make_folds, make_split
from gpnn.data.tasks import Task
from gpnn.errors import InputError
from gpnn.graph.graphs import Graphs
from gpnn.graph.vocabulary import UnseenColours
from gpnn.nn.bases import register_base
from gpnn.train import loop as loop_module
from gpnn.train.checkpoint import CHECKPOINT
from gpnn.train.device import pick_device
from gpnn.train.fit import Fitted, fit
from gpnn.train.loop import EpochReport, Trained, train_staged
from gpnn.train.model_file import load_model
from gpnn.train.replica import Replica, Schedule
from gpnn.train.setup import CPU, model_config, set_up
from gpnn.train.stage import stage
from gpnn.train.train_config import TrainConfig
from train.cycles import raw, samples

SMALL = {"hidden": 8, "layers": 2}


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(autouse=True)
def every_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints after every epoch, not after seconds."""
    monkeypatch.setattr(loop_module, "SAVE_SECONDS", 0.0)


class Killed(Exception):
    pass


def kill_after(epoch: int) -> Any:
    """In the epoch after the one that was written last."""

    def report(done: EpochReport) -> None:
        if done.epoch == epoch + 1:
            raise Killed

    return report


def bits(fitted: Fitted) -> list[dict[str, bytes]]:
    states = [member.model.state_dict() for member in fitted.loaded.members]
    return [{name: value.numpy().tobytes() for name, value in one.items()} for one in states]


def test_the_same_seed_gives_the_same_bits_and_another_does_not() -> None:
    torch.manual_seed(5)
    state = torch.get_rng_state()
    one = fit(samples(), SMALL, TrainConfig(epochs=3, batch_size=8))
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.are_deterministic_algorithms_enabled()
    assert torch.utils.deterministic.fill_uninitialized_memory
    torch.manual_seed(6)
    same = fit(samples(), SMALL, TrainConfig(epochs=3, batch_size=8))
    other = fit(samples(), SMALL, TrainConfig(epochs=3, batch_size=8, seed=1))
    assert bits(one) == bits(same) != bits(other)
    assert one.histories == same.histories != other.histories


@pytest.mark.parametrize("killed", [1, 4])
@pytest.mark.parametrize("networks", [1, 3])
def test_a_killed_run_resumes_to_the_same_bits(tmp_path: Path, killed: int, networks: int) -> None:
    config = TrainConfig(epochs=6, batch_size=8, halve_every=3)
    whole = fit(samples(), SMALL, config, ensemble=networks)
    with pytest.raises(Killed):
        fit(samples(), SMALL, config, ensemble=networks, folder=tmp_path, report=kill_after(killed))
    assert (tmp_path / CHECKPOINT).is_file()
    assert not (tmp_path / "model.json").exists()
    told: list[int] = []
    again = fit(samples(), SMALL, config, ensemble=networks, folder=tmp_path,
                started=lambda _, done: told.append(done))  # fmt: skip
    assert told == [killed] and again.resumed == killed
    assert bits(again) == bits(whole)
    assert again.histories == whole.histories and again.metrics == whole.metrics
    assert not (tmp_path / CHECKPOINT).exists()
    finished = fit(samples(), SMALL, config, ensemble=networks, folder=tmp_path)
    assert finished.resumed == 6
    assert bits(finished) == bits(whole) and finished.metrics == whole.metrics


def test_mutag_resumes_to_the_same_bits(tmp_path: Path) -> None:
    data, config = load_samples("MUTAG"), TrainConfig(epochs=3)
    whole = fit(data, {"hidden": 16}, config)
    with pytest.raises(Killed):
        fit(data, {"hidden": 16}, config, folder=tmp_path, report=kill_after(1))
    again = fit(data, {"hidden": 16}, config, folder=tmp_path)
    assert again.resumed == 1
    assert bits(again) == bits(whole)


def test_a_finished_model_is_not_overwritten_by_a_damaged_one(tmp_path: Path) -> None:
    """One flipped bit in what a finished run left, and the same command again."""
    config = TrainConfig(epochs=3)
    fit(samples(), SMALL, config, folder=tmp_path)
    path = tmp_path / "model.safetensors"
    good = path.read_bytes()
    broken = bytearray(good)
    broken[-5] ^= 1
    path.write_bytes(broken)
    with pytest.raises(InputError, match="is damaged"):
        fit(samples(), SMALL, config, folder=tmp_path)
    assert path.read_bytes() == broken  # nothing was written over it
    path.write_bytes(good)
    assert fit(samples(), SMALL, config, folder=tmp_path).resumed == 3


def test_another_run_in_the_folder_is_refused(tmp_path: Path) -> None:
    config = TrainConfig(epochs=2)
    fit(samples(), SMALL, config, folder=tmp_path)
    with pytest.raises(InputError, match=r"holds another run .hidden: 8 there, 9 here.. Choose"):
        fit(samples(), {**SMALL, "hidden": 9}, config, folder=tmp_path)
    with pytest.raises(InputError, match=r"epochs: 2 there, 3 here"):
        fit(samples(), SMALL, replace(config, epochs=3), folder=tmp_path)
    with pytest.raises(InputError, match=r"networks: 1 there, 2 here"):
        fit(samples(), SMALL, config, ensemble=2, folder=tmp_path)
    with pytest.raises(InputError, match=r"other data; other split"):
        fit(samples(26), SMALL, config, folder=tmp_path)
    fresh = fit(samples(), {**SMALL, "hidden": 9}, config, folder=tmp_path, fresh=True)
    assert fresh.resumed == 0


def test_it_learns_and_keeps_the_best_epoch() -> None:
    found = fit(samples(60), {"hidden": 16}, TrainConfig(epochs=30, patience=10))
    assert found.metrics["test"]["accuracy"] == 1.0
    keys = [(record["valid_roc_auc"], -record["valid_loss"]) for record in found.history]
    assert found.best_epoch == keys.index(max(keys)) + 1
    best = found.history[found.best_epoch - 1]
    assert found.metrics["valid"]["roc_auc"] == pytest.approx(best["valid_roc_auc"])
    assert len(found.history) == min(30, found.best_epoch + 10)


def test_patience_stops_every_network_by_itself() -> None:
    """Networks side by side that stop at different epochs keep what each keeps alone."""
    coins = np.random.default_rng(0).integers(0, 2, 40).astype(np.float64)
    data = samples(40, targets={"coin": coins})
    split = make_split(data)
    replicas = [Replica(split.train, split.valid, [], seed=k, dropout=0.3) for k in range(4)]
    setup = set_up(data, SMALL, replicas)
    schedule = Schedule(epochs=14, batch_size=8, patience=2)

    def run(chosen: list[Replica]) -> Trained:
        return train_staged(stage(setup, chosen, schedule, torch.float64), CPU, keep_best=True)

    whole = run(replicas)
    assert len(set(whole.epochs)) > 1 and max(whole.epochs) < 14
    for number, one in enumerate(replicas):
        alone = run([one])
        assert (alone.best_epoch[0], alone.epochs[0]) == (
            whole.best_epoch[number], whole.epochs[number],
        )  # fmt: skip
        assert alone.epochs[0] == min(14, alone.best_epoch[0] + 2)
        assert np.isnan(whole.curves.loss[number, alone.epochs[0] :]).all()
        for name, value in alone.nets[0].state_dict().items():
            found = whole.nets[number].state_dict()[name]
            assert torch.allclose(value, found, atol=1e-9), name


@pytest.mark.parametrize("scheme", ["degree", "wl-3"])
def test_a_fold_alone_is_the_fold_among_others(scheme: str) -> None:
    """In double precision: fold 4 of ten trained side by side, and alone, on all of MUTAG; ``wl-3``
    has so many parts that their weights are factored, which must not depend on the fold."""
    data = load_samples("MUTAG")
    folds = make_folds(data, 10)
    replicas = [Replica(one.train, one.valid, [], seed=0, dropout=0.3) for one in folds]
    model = {"hidden": 6, "layers": 2, "scheme": scheme}
    schedule = Schedule(epochs=2, batch_size=32, patience=1)

    def run(chosen: list[Replica]) -> Any:
        setup = set_up(data, model, chosen)
        found = train_staged(stage(setup, chosen, schedule, torch.float64), CPU, keep_best=True)
        for net, one in zip(found.nets, chosen, strict=True):
            net.keep_parts(setup.own_parts(one))
        return setup, found

    setup, together = run(replicas)
    assert (setup.config.part_weights == "basis") == (scheme == "wl-3")
    _, alone = run(replicas[3:4])
    assert len(setup.own_parts(replicas[3])) < setup.config.parts or scheme == "degree"
    np.testing.assert_allclose(together.curves.loss[3], alone.curves.loss[0], atol=1e-10)
    for name, values in alone.curves.measured.items():
        np.testing.assert_allclose(together.curves.measured[name][3], values[0], atol=1e-8)
    mine, other = alone.nets[0].state_dict(), together.nets[3].state_dict()
    for name, value in mine.items():
        assert torch.allclose(value.double(), other[name].double(), atol=1e-8), name


def test_a_model_knows_the_colours_of_its_own_training_graphs() -> None:
    """Graphs that a network did not train on bring nothing into it: neither their colours nor the
    draws of its weights. Trained on a set without them it is the same network."""
    data = samples(40)
    train, valid = np.arange(0, 24, 2), np.arange(24, 40, 2)  # no chord among them
    config = TrainConfig(epochs=2, batch_size=6)
    model = {**SMALL, "scheme": "degree"}
    found = fit(data, model, config, Split(train, valid, valid[:0], "own"))
    assert found.loaded.members[0].vocabulary.size == 1
    keep = np.zeros(40, np.bool_)
    keep[np.concatenate([train, valid])] = True
    few = encode_samples(raw(40).take(keep), Task.CLASSIFICATION, like=data.encoder)
    number = np.cumsum(keep) - 1
    nets = []
    for some, parts in ((data, (train, valid)), (few, (number[train], number[valid]))):
        one = Replica(*parts, [], seed=0)
        setup = set_up(some, model, [one])
        staged = stage(setup, [one], Schedule(2, 6), torch.float64)
        net = train_staged(staged, CPU, keep_best=True).nets[0]
        net.keep_parts(setup.own_parts(one))
        nets.append(net.state_dict())
    for name, value in nets[0].items():
        assert torch.allclose(value, nets[1][name], atol=1e-9), name


def test_splits_with_seeds_of_their_own_equal_networks_alone(tmp_path: Path) -> None:
    data = samples(30)
    splits, seeds = [make_split(data, 3), make_split(data, 8)], (3, 8)
    config = TrainConfig(epochs=3, seed=0)
    both = fit(data, SMALL, config, splits, seeds=seeds, folder=tmp_path)
    for number, (split, seed) in enumerate(zip(splits, seeds, strict=True)):
        alone = fit(data, SMALL, replace(config, seed=seed), split)
        losses = [
            [epoch["loss"] for epoch in one] for one in (both.histories[number], alone.history)
        ]
        assert losses[0] == pytest.approx(losses[1], rel=1e-3)
    assert both.histories[0][0]["loss"] != pytest.approx(both.histories[1][0]["loss"], rel=1e-2)
    with pytest.raises(InputError, match=r"another run .*seeds"):
        fit(data, SMALL, config, splits, seeds=(3, 9), folder=tmp_path)
    again = fit(data, SMALL, config, splits, seeds=np.array(seeds), folder=tmp_path)  # type: ignore[arg-type]
    assert again.members == both.members
    with pytest.raises(InputError, match="seeds must be a whole number of at least 0; got -1"):
        fit(data, SMALL, config, splits, seeds=(3, -1))
    with pytest.raises(InputError, match="a seed for every network: 2, not 1"):
        fit(data, SMALL, config, splits, seeds=(3,))


def test_folds_and_their_answers() -> None:
    data = samples(30)
    folds = make_folds(data, 5, seed=1)
    assert sorted(np.concatenate([one.test for one in folds]).tolist()) == list(range(30))
    found = fit(data, SMALL, TrainConfig(epochs=3), folds)
    assert len(found.loaded.members) == 5 and found.out_of_fold is not None
    assert torch.isfinite(found.out_of_fold).all()
    for number, one in enumerate(folds):
        own = found.loaded.predict_members(data)[number][one.test]
        assert torch.allclose(found.out_of_fold[one.test], own)
        assert data.y is not None
        accuracy = float((own.argmax(1) == data.y[one.test]).double().mean())
        assert found.members[number]["test"]["accuracy"] == pytest.approx(accuracy)
    mean = np.mean([one["test"]["accuracy"] for one in found.members])
    assert found.metrics["test"]["accuracy"] == pytest.approx(mean)
    with pytest.raises(InputError, match="either several splits or an ensemble"):
        fit(data, SMALL, TrainConfig(epochs=1), folds, ensemble=2)
    with pytest.raises(InputError, match="There must be 3 folds or more"):
        make_folds(data, 2)
    with pytest.raises(InputError, match="30 labelled samples cannot be split into 31 folds"):
        make_folds(data, 31)


def test_learning_rate_is_halved() -> None:
    found = fit(samples(), SMALL, TrainConfig(epochs=5, halve_every=2, lr=0.02))
    assert [record["lr"] for record in found.history] == [0.02, 0.02, 0.01, 0.01, 0.005]


def test_the_schedule_follows_the_size_smoothly() -> None:
    """More samples never take fewer steps, and nothing jumps."""
    sizes = [100, 500, 642, 999, 1000, 1001, 1274, 5000, 40_000, 10**6]
    found = [TrainConfig.sized(n) for n in sizes]
    assert (found[0].epochs, found[0].batch_size, found[0].patience) == (200, 32, 60)
    steps = [one.epochs * -(-n // one.batch_size) for n, one in zip(sizes, found, strict=True)]
    assert steps == sorted(steps)
    assert abs(found[4].epochs - found[5].epochs) <= 1
    assert abs(found[4].batch_size - found[5].batch_size) <= 1
    assert found[-1].batch_size == 256 and found[-1].epochs == 30
    given = TrainConfig.sized(40_000, epochs=7, lr=0.5, patience=None, batch_size=None)
    assert (given.epochs, given.lr, given.halve_every) == (7, 0.5, 1)


def targets(count: int, task: Task) -> Samples:
    rng = np.random.default_rng(1)
    table = rng.integers(0, 2, (count, 3)).astype(np.float64)
    if task is Task.REGRESSION:
        table = 100 + 50 * rng.random((count, 3)) * [1, 10, 100]
    table[::5, 1] = np.nan
    return samples(count, targets={f"t{k}": table[:, k] for k in range(3)})


def test_multitask_and_regression_with_missing_labels() -> None:
    found = fit(targets(40, Task.MULTITASK), SMALL, TrainConfig(epochs=2))
    assert found.loaded.task is Task.MULTITASK
    assert found.loaded.about["chosen_by"] == "roc_auc"
    data = targets(40, Task.REGRESSION)
    found = fit(data, SMALL, TrainConfig(epochs=2))
    (member,) = found.loaded.members
    assert member.model.config.dropout == 0.0
    assert member.shift[0] == pytest.approx(125, abs=10) and member.scale[2] > 500
    tested = found.metrics["test"]
    assert tested["mae[t0]"] < 60 and tested["mae[t2]"] < 6_000  # scaled for training, and back
    assert 0.3 < tested["scaled_mae"] < 3
    again = found.loaded.evaluate(data, found.split.test)
    assert again == pytest.approx(tested, rel=1e-5)


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
    folds = fit(data, {**SMALL, "dropout": 0.0}, TrainConfig(epochs=2), make_folds(data, 4))
    assert folds.out_of_fold is not None and bool(torch.isnan(folds.out_of_fold[3]).all())


def test_colours_and_labels_of_other_parts_are_unseen() -> None:
    data = samples()
    split = make_split(data)
    assert data.x is not None
    found = fit(data, {**SMALL, "scheme": "degree"}, TrainConfig(epochs=1), split)
    assert found.loaded.members[0].vocabulary.size == 2  # degrees 2 and 3
    plain = replace(split, train=np.array([0, 2, 4]), valid=np.array([1]), test=np.array([3]))
    found = fit(data, {**SMALL, "scheme": "degree"}, TrainConfig(epochs=1), plain)
    assert found.loaded.members[0].vocabulary.size == 1  # no chord in the training part
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
    assert (config.gpnn, config.structure.scheme, config.component_feature) == (
        False, "trivial", False,
    )  # fmt: skip


class Counting(nn.Module):
    """A user's GNN with a normalisation that would notice padding, and dropout of torch's own."""

    seen: ClassVar[list[int]] = []

    def __init__(self, inputs: int = 8) -> None:
        super().__init__()
        self.map, self.norm, self.out_channels = nn.Linear(inputs, 6), nn.BatchNorm1d(6), 6
        self.drop = nn.Dropout(0.5)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        assert x.dim() == 2
        self.seen.append(len(x))
        mean = torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])
        return self.drop(self.norm(self.map(mean)))


def test_a_base_of_ones_own_sees_real_vertices_alone(tmp_path: Path) -> None:
    data = samples(20)
    Counting.seen.clear()
    model = {**SMALL, "base": Counting()}
    config = TrainConfig(epochs=3, batch_size=5)
    found = fit(data, model, config, ensemble=2)
    steps = -(-len(found.split.train) // 5)
    vertices = np.diff(data.graphs.ptr)[found.split.train].sum()
    assert sum(Counting.seen[:steps]) == vertices  # one epoch, every vertex once, and no padding
    mean = found.loaded.model.base.norm.running_mean
    assert not torch.equal(mean, found.loaded.members[1].model.base.norm.running_mean)
    again = fit(data, model, config, ensemble=2)
    assert bits(again) == bits(found)
    with pytest.raises(InputError, match="cannot be saved"):
        fit(data, model, config, folder=tmp_path)


def test_a_registered_base_can_be_saved(tmp_path: Path) -> None:
    data, config = samples(20), TrainConfig(epochs=2)
    register_base("counting", lambda inputs, *_: Counting(inputs))
    try:
        found = fit(data, {**SMALL, "base": "counting"}, config, folder=tmp_path)
        again = load_model(tmp_path)
        assert torch.equal(again.predict(data), found.loaded.predict(data))
    finally:
        from gpnn.nn import bases

        bases._REGISTERED.pop("counting")
    with pytest.raises(InputError, match="Unknown base 'counting'"):
        load_model(tmp_path)


def test_configurations_are_checked() -> None:
    for wrong, said in (
        ({"epochs": 0}, "epochs must be a whole number of at least 1; got 0"),
        ({"patience": 0}, "patience must be a whole number of at least 1; got 0"),
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
    with pytest.raises(InputError, match="ensemble must be a whole number of at least 1; got 0"):
        fit(samples(), ensemble=0)


def test_a_loss_that_is_not_finite_says_so() -> None:
    with pytest.raises(InputError, match=r"loss is no longer finite after epoch .*Lower lr"):
        fit(samples(), SMALL, TrainConfig(epochs=8, lr=1e30))


@pytest.mark.parametrize(("every", "chosen_by"), [(10, "roc_auc"), (20, "loss")])
def test_rare_positives_choose_by_ranks(every: int, chosen_by: str) -> None:
    """Few positives of sixty: always saying no is right in most cases, and no choice. Where none is
    left to validate with, the loss chooses, and is said to."""
    rng = np.random.default_rng(0)
    y = (np.arange(60) % every == 0).astype(np.float64)
    data = samples(60, targets={"rare": y})
    assert data.task is Task.CLASSIFICATION
    found = fit(data, SMALL, TrainConfig(epochs=4, seed=int(rng.integers(9))))
    assert found.loaded.about["chosen_by"] == chosen_by
    keys = [(r.get("valid_roc_auc", -np.inf), -r["valid_loss"]) for r in found.history]
    assert found.best_epoch == keys.index(max(keys)) + 1


def test_first_epochs_of_a_small_set_err_by_no_more_than_the_targets_differ() -> None:
    """Running averages lag behind the weights: measured with them, boiling points between -89 and
    174 °C were missed by thousands of degrees."""
    file = Path(__file__).parents[2] / "docs" / "howto" / "alkanes.csv"
    points = load_samples(str(file), "boiling_point")
    spread = float(points.y.max() - points.y.min())
    for seed in range(3):
        fitted = fit(points, None, TrainConfig(epochs=3, seed=seed, device="cpu"))
        assert max(float(epoch["valid_mae"]) for epoch in fitted.history) < spread
