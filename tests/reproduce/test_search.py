from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from gpnn.data.samples import Samples
from gpnn.data.tasks import Task
from gpnn.errors import InputError
from gpnn.reproduce import search as module
from gpnn.reproduce import search_store as storage
from gpnn.reproduce import search_trial
from gpnn.reproduce.jobs import Row
from gpnn.reproduce.lock import locked
from gpnn.reproduce.protocols import get_protocol
from gpnn.reproduce.recipe import Recipe, read_recipe
from gpnn.reproduce.search import Search, Searched, run_search
from gpnn.reproduce.search_space import SearchSpace
from gpnn.reproduce.search_trial import validation_replicas
from gpnn.train.replica import Curves, Paused, Replica, Schedule
from train.cycles import samples

pytest.importorskip("optuna", reason="Optuna is an extra")
pytestmark = pytest.mark.usefixtures("one_thread")

RECIPE = Recipe("toy", "toy", epochs=4, hidden=8, layers=2)
SPACE = {"layers": [1, 2, 3], "dropout": {"low": 0.0, "high": 0.5}, "lr": [0.1, 0.01]}
Trainer = Callable[..., Curves]


def make(space: dict[str, Any] | None = None, **changes: Any) -> Search:
    row = Row("GIN", "core-degree", "edges")
    made = Search(RECIPE, row, SearchSpace.parse(space or SPACE, RECIPE), models=3, quick=True)
    return replace(made, **changes)


def pretend(
    _: Samples,
    model: dict[str, Any],
    replicas: Sequence[Replica],
    schedule: Schedule,
    *,
    device: str,
    folder: Path,
    progress: Callable[[int, int], bool],
    metric: str = "accuracy",
) -> Curves:
    """Curves that are best with 2 layers and no dropout, and that rise until the last epoch but
    one."""
    assert device == "cpu"
    goodness = 0.9 - 0.1 * abs(model["layers"] - 2) - 0.2 * replicas[0].dropout
    rise = np.minimum(np.arange(schedule.epochs), schedule.epochs - 2) / 100
    valid = goodness + rise + np.linspace(-0.01, 0.01, len(replicas))[:, None]
    valid = valid if metric == "accuracy" else -valid
    assert folder.parent.name == "work"
    if not progress(1, 2):
        raise Paused
    nothing = np.full(valid.shape, np.nan)
    return Curves(metric, nothing, valid, nothing, 7, 0.1, "cpu")


@pytest.fixture
def trainer(monkeypatch: pytest.MonkeyPatch) -> Callable[[Trainer], list[dict[str, Any]]]:
    """Put a trainer in the place of the real one; the calls are recorded."""
    monkeypatch.setattr(module, "load_data", lambda *_: samples())

    def use(function: Trainer) -> list[dict[str, Any]]:
        calls: list[dict[str, Any]] = []

        def recorded(_: Samples, model: Any, replicas: Any, *rest: Any, **more: Any) -> Curves:
            calls.append({"model": model, "replicas": replicas})
            return function(_, model, replicas, *rest, **more)

        monkeypatch.setattr(search_trial, "train_replicas", recorded)
        return calls

    return use


def go(search: Search, out: Path, trials: int, **more: Any) -> Searched:
    return run_search(search, out, trials, device="cpu", **more)


def test_the_best_trial_is_the_best_of_its_mean_curves(
    trainer: Callable[[Trainer], list[Any]], tmp_path: Path
) -> None:
    calls = trainer(pretend)
    found = go(make(), tmp_path, 4)
    assert found.complete
    assert len(found.trials) == 4 == len(calls)
    for trial in found.trials:
        truth = 0.9 - 0.1 * abs(trial.values["layers"] - 2) - 0.2 * trial.values["dropout"] + 0.02
        assert trial.value == pytest.approx(truth)
        assert trial.epoch == 3  # of two equal epochs, the earlier
        assert trial.std == pytest.approx(np.std([-0.01, 0.01], ddof=1))
        assert trial.parameters == 7
    assert found.best is not None
    assert found.best.value == max(trial.value or 0 for trial in found.trials)
    for call in calls:
        assert call["model"]["scheme"] == "core-degree"
        assert "dropout" not in call["model"]


def test_of_a_regression_the_least_is_best(
    trainer: Callable[[Trainer], list[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer(lambda *words, **more: pretend(*words, **more, metric="mae"))
    held = samples()
    numbers = replace(
        held,
        encoder=replace(held.encoder, task=Task.REGRESSION, class_names=()),
        y=torch.arange(24.0)[:, None],
        split={
            "train": np.arange(12),
            "valid": np.arange(12, 18),
            "test": np.arange(18, 24),
        },
    )
    monkeypatch.setattr(module, "load_data", lambda *_: numbers)
    found = go(make(), tmp_path, 5)
    assert found.best is not None
    assert found.best.value == min(trial.value or 0 for trial in found.trials)


def test_no_test_sample_is_given_to_a_model() -> None:
    held, whole = samples(60), make(quick=False, models=12)
    replicas = validation_replicas(whole, RECIPE, held)
    assert len(replicas) == 12
    protocol = get_protocol("tu-nested").replicas(held, RECIPE, False, None)
    for replica, honest in zip(replicas[:10], list(protocol.values())[:10], strict=True):
        assert len(replica.test) == 0
        assert len(replica.valid) > 0
        assert np.array_equal(replica.train, honest.train)
        assert np.array_equal(replica.valid, honest.valid)
        assert not np.isin(honest.test, np.concatenate([replica.train, replica.valid])).any()
    assert replicas[10].seed != replicas[0].seed
    split = {"train": np.arange(30), "valid": np.arange(30, 45), "test": np.arange(45, 60)}
    for replica in validation_replicas(whole, RECIPE, replace(held, split=split)):
        assert np.array_equal(replica.train, split["train"])
        assert np.array_equal(replica.valid, split["valid"])
        assert len(replica.test) == 0


def test_no_test_vertex_is_given_to_a_model() -> None:
    held = samples(60)
    count = held.graphs.num_nodes
    nodes = replace(
        held,
        encoder=replace(held.encoder, task=Task.NODE_CLASSIFICATION),
        y=torch.arange(count) % 2,
    )
    replicas = validation_replicas(make(quick=False, models=4), RECIPE, nodes)
    protocol = get_protocol("node").replicas(nodes, replace(RECIPE, seeds=1), False, None)
    assert len(replicas) == 4
    for replica, honest in zip(replicas, protocol.values(), strict=False):
        assert np.array_equal(replica.valid, honest.valid)
        assert len(replica.test) == 0


def test_every_trial_of_a_search_trains_without_test_samples(
    trainer: Callable[[Trainer], list[Any]], tmp_path: Path
) -> None:
    calls = trainer(pretend)
    go(make(), tmp_path, 4)
    assert all(len(replica.test) == 0 for call in calls for replica in call["replicas"])
    assert all(len(replica.valid) > 0 for call in calls for replica in call["replicas"])


def test_in_two_runs_as_in_one(trainer: Callable[[Trainer], list[Any]], tmp_path: Path) -> None:
    calls = trainer(pretend)
    whole = go(make(), tmp_path / "one", 12)
    first = go(make(), tmp_path / "two", 4)
    assert (first.complete, len(first.trials)) == (True, 4)
    before = len(calls)
    second = go(make(), tmp_path / "two", 12)
    assert len(calls) - before <= 8
    values = [(t.number, dict(t.values), t.value, t.epoch) for t in whole.trials]
    assert values == [(t.number, dict(t.values), t.value, t.epoch) for t in second.trials]
    assert go(make(), tmp_path / "two", 12).trials == second.trials


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from reproduce import test_search as test

module, calls = test.module, []
module.load_data = lambda *_: test.samples()

def train(*words, **more):
    calls.append(1)
    if len(calls) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return test.pretend(*words, **more)

test.search_trial.train_replicas = train
test.go(test.make(), Path(sys.argv[1]), 4)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a matter of POSIX")
def test_killed_and_resumed_nothing_is_lost_or_doubled(
    trainer: Callable[[Trainer], list[Any]], tmp_path: Path
) -> None:
    tests = Path(__file__).parents[1]
    words = [sys.executable, "-c", KILLED, str(tmp_path / "out"), str(tests)]
    assert subprocess.run(words, timeout=60, check=False).returncode == -signal.SIGKILL
    calls = trainer(pretend)
    found = go(make(), tmp_path / "out", 4)
    assert len(calls) == 2
    assert [t.number for t in found.trials] == [1, 2, 3, 4]
    whole = go(make(), tmp_path / "whole", 4)
    assert [t.values for t in found.trials] == [t.values for t in whole.trials]


def test_out_of_time_it_stops_and_goes_on_later(
    trainer: Callable[[Trainer], list[Any]], tmp_path: Path
) -> None:
    trainer(pretend)
    found = go(make(), tmp_path, 5, minutes=1e-9)
    assert (found.trials, found.best, found.path, found.complete) == ((), None, None, False)
    assert go(make(), tmp_path, 5).complete
    with pytest.raises(InputError, match="minutes of a search must be above 0"):
        go(make(), tmp_path, 5, minutes=0)


def late_in_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 100.0, 100.0])  # at the start, before the trial, in the trial
    patched = SimpleNamespace(time=lambda: next(clock), perf_counter=time.perf_counter)
    monkeypatch.setattr(module, "time", patched)


def test_the_trial_at_work_is_left_when_time_is_up(
    trainer: Callable[[Trainer], list[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = trainer(pretend)
    late_in_the_trial(monkeypatch)
    assert go(make(), tmp_path, 5, minutes=1).trials == ()
    assert len(calls) == 1


def test_a_trial_that_fails_is_counted_and_not_repeated(
    trainer: Callable[[Trainer], list[Any]], tmp_path: Path
) -> None:
    def fails(_: Samples, model: dict[str, Any], *words: Any, **more: Any) -> Curves:
        if model["layers"] == 2:
            raise InputError("needs 9 TiB")
        return pretend(_, model, *words, **more)

    calls = trainer(fails)
    found = go(make({"layers": [1, 2]}), tmp_path, 7)
    assert len(found.trials) == len(calls) == 2 and found.complete
    assert {trial.reason for trial in found.trials if trial.values["layers"] == 2} == {
        "needs 9 TiB"
    }
    assert found.best is not None
    assert found.best.values == {"layers": 1}


def test_no_point_is_tried_twice_and_a_small_space_is_tried_whole(
    trainer: Callable[[Trainer], list[Any]], tmp_path: Path
) -> None:
    space = {"layers": {"low": 1, "high": 3}, "lr": [0.1, 0.01], "jump": ["cat", "last"]}
    search = make(space)
    trainer(pretend)
    go(search, tmp_path / "two", 7)
    whole, parts = go(search, tmp_path / "one", 99), go(search, tmp_path / "two", 99)
    points = [tuple(trial.values.values()) for trial in whole.trials]
    assert search.space.size == len(points) == len(set(points)) == 12 and whole.complete
    assert [trial.values for trial in parts.trials] == [trial.values for trial in whole.trials]
    assert make().space.size == float("inf")
    assert make({"hidden": {"low": 1, "high": 10**12, "log": True}}).space.size == 10**12
    with pytest.raises(InputError, match="a list of different values"):
        make({"dropout": [0, 0.0]})


def test_the_result_is_a_recipe(trainer: Callable[[Trainer], list[Any]], tmp_path: Path) -> None:
    trainer(pretend)
    found = go(make(), tmp_path, 4)
    assert found.path is not None
    assert found.best is not None
    assert read_recipe(found.path) == replace(RECIPE, **found.best.values)
    text = found.path.read_text()
    assert text.startswith("# QUICK")
    assert "Chosen on validation samples alone" in text
    assert f"trial {found.best.number} of 4, 2 models each" in text


def test_one_folder_holds_one_search(
    trainer: Callable[[Trainer], list[Any]], tmp_path: Path
) -> None:
    trainer(pretend)
    go(make(), tmp_path, 2)
    with pytest.raises(InputError, match=r"another search \(seed: 0 there, 1 here\).*--fresh"):
        go(make(seed=1), tmp_path, 2)
    assert len(go(make(seed=1), tmp_path, 3, fresh=True).trials) == 3
    with locked(tmp_path / "search.lock") as held:
        assert held
        with pytest.raises(InputError, match="Another search is running"):
            go(make(seed=1), tmp_path, 4)


def test_mistakes_are_told_before_the_first_trial(
    trainer: Callable[[Trainer], list[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = trainer(pretend)
    with pytest.raises(InputError, match="device 'nonsense' cannot be used"):
        run_search(make(), tmp_path, 2, device="nonsense")
    with pytest.raises(InputError, match="1 trial or more; got 0"):
        go(make(), tmp_path, 0)
    with pytest.raises(InputError, match="models must be a whole number from 1; got 0"):
        make(models=0)
    monkeypatch.setattr(storage, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"pip install 'gpnn\[search\]'"):
        go(make(), tmp_path, 2)
    assert not calls


@pytest.mark.parametrize("damaged", [False, True])
def test_a_real_trial_goes_on_where_time_was_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damaged: bool
) -> None:
    monkeypatch.setattr(module, "load_data", lambda *_: samples(60))
    search = make({"hidden": [8, 9]}, models=2)
    whole = go(search, tmp_path / "whole", 1)
    assert not list((tmp_path / "whole" / "work").glob("*"))
    with monkeypatch.context() as patch:
        late_in_the_trial(patch)
        assert go(search, tmp_path / "cut", 1, minutes=1).trials == ()
    (left,) = (tmp_path / "cut" / "work").glob("*/*")
    if damaged:
        left.write_bytes(b"damaged")
    seen: list[float] = []
    found = go(search, tmp_path / "cut", 1, progress=lambda _, share: seen.append(share))
    assert seen == ([0.25, 0.5, 0.75, 1.0] if damaged else [0.5, 0.75, 1.0])
    assert whole.best is not None
    assert found.best is not None
    assert found.best.value == whole.best.value
    assert 0.4 <= float(found.best.value or 0) <= 1.0


def test_interrupted_by_hand(trainer: Callable[[Trainer], list[Any]], tmp_path: Path) -> None:
    def interrupt(*_: Any, **__: Any) -> Curves:
        raise KeyboardInterrupt

    trainer(interrupt)
    with pytest.raises(KeyboardInterrupt):
        go(make(), tmp_path, 2)
    trainer(pretend)
    assert go(make(), tmp_path, 2).complete
