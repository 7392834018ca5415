from __future__ import annotations

import itertools
import json
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
from gpnn.lock import locked
from gpnn.reproduce import search as module
from gpnn.reproduce import search_trial
from gpnn.reproduce.jobs import Row
from gpnn.reproduce.protocols import get_protocol
from gpnn.reproduce.recipe import Recipe, read_recipe
from gpnn.reproduce.search import Search, Searched, run_search
from gpnn.reproduce.search_space import SearchSpace
from gpnn.reproduce.search_trial import rung_recipe, validation_replicas
from gpnn.train import halving
from gpnn.train.replica import Curves, Paused, Replica, Schedule
from gpnn.train.search_log import LOG
from train.cycles import samples

pytestmark = pytest.mark.usefixtures("one_thread")

RECIPE = Recipe("toy", "toy", epochs=4, hidden=8, layers=2)
SPACE = {"layers": [1, 2, 3], "dropout": {"low": 0.0, "high": 0.5}, "lr": [0.1, 0.01]}
TRIALS = 8
Trainer = Callable[..., Curves]


def make(space: dict[str, Any] | None = None, **changes: Any) -> Search:
    row = Row("GIN", "core-degree", "edges")
    parsed = SearchSpace.parse(space or SPACE, RECIPE)
    return Search(RECIPE, row, parsed, **{"trials": TRIALS, "models": 3, "quick": True, **changes})


def goodness(layers: int, dropout: float) -> float:
    return 0.9 - 0.1 * abs(layers - 2) - 0.2 * dropout


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
    """Curves that are best with 2 layers and no dropout, and that rise with every epoch."""
    assert device == "cpu"
    each = np.array([goodness(model["layers"], one.dropout) for one in replicas])
    each += np.array([0.01 * (-1) ** one.seed for one in replicas])
    valid = each[:, None] + np.arange(schedule.epochs) / 100
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
            calls.append({"model": model, "replicas": replicas, "schedule": rest[0]})
            return function(_, model, replicas, *rest, **more)

        monkeypatch.setattr(search_trial, "train_replicas", recorded)
        return calls

    return use


def go(search: Search, out: Path, **more: Any) -> Searched:
    return run_search(search, out, device="cpu", **more)


def test_the_better_half_goes_on_and_the_best_of_the_last_rung_wins(
    trainer: Callable[[Trainer], list[Any]], tmp_path: Path
) -> None:
    calls = trainer(pretend)
    search = make()
    found = go(search, tmp_path)
    assert found.complete
    by_rung = [[t for t in found.trials if t.rung == rung] for rung in (1, 2, 3)]
    assert [len(own) for own in by_rung] == [8, 4, 2]
    assert [{t.epochs for t in own} for own in by_rung] == [{1}, {2}, {4}]
    for before, after in itertools.pairwise(by_rung):
        ranked = sorted(before, key=lambda t: -(t.value or 0))
        assert {t.number for t in after} == {t.number for t in ranked[: len(after)]}
    for trial in found.trials:
        truth = goodness(trial.values["layers"], trial.values["dropout"])
        assert trial.value == pytest.approx(truth + (trial.epochs - 1) / 100)
        assert trial.epoch == trial.epochs
        assert trial.std == pytest.approx(np.std([-0.01, 0.01], ddof=1))
        assert trial.parameters == 7
    assert found.best is not None
    assert found.best.value == max(t.value or 0 for t in by_rung[-1])
    for call in calls:
        assert call["model"]["scheme"] == "core-degree"
        assert "dropout" not in call["model"]


def test_what_differs_in_fields_of_a_replica_alone_is_trained_side_by_side(
    trainer: Callable[[Trainer], list[Any]], tmp_path: Path
) -> None:
    calls = trainer(pretend)
    search = make()
    go(search, tmp_path)
    layers = {values["layers"] for values in search.settings()}
    first = [call for call in calls if call["schedule"].epochs == 1]
    assert len(first) == len(layers) and sum(len(c["replicas"]) for c in first) == 2 * TRIALS
    for call in first:
        own = [v for v in search.settings() if v["layers"] == call["model"]["layers"]]
        rates = [(one.lr, one.dropout) for one in call["replicas"][::2]]
        assert rates == [(v["lr"], v["dropout"]) for v in own]


def test_a_rung_is_the_whole_schedule_in_fewer_epochs() -> None:
    recipe = replace(RECIPE, epochs=80, halve_every=0, warmup=4, plateau=8, cosine=True)
    search = Search(recipe, Row("GIN"), SearchSpace.parse({"lr": [0.1, 0.2]}, recipe))
    for rung, parts in ((1, 4), (2, 2), (3, 1)):
        short = rung_recipe(search, {"lr": 0.2}, rung)
        fields = (short.epochs, short.warmup, short.plateau)
        assert fields == (80 // parts, 4 // parts, 8 // parts)
        assert short.lr == 0.2 and short.cosine
        whole, part = recipe.schedule(), short.schedule()
        assert part.rate(part.epochs // 2) == pytest.approx(whole.rate(40))


def test_the_recipe_itself_is_among_the_settings() -> None:
    space = {"layers": [1, 2, 3], "lr": [0.01, 0.1]}
    assert make(space).settings()[0] == {"layers": 2, "lr": 0.01}
    assert {"layers": 2, "lr": 0.01} not in make({"layers": [1, 3], "lr": [0.01]}).settings()
    drawn = make(trials=20).settings()
    assert drawn == make(trials=20).settings() != make(trials=20, seed=1).settings()
    assert all(0 <= v["dropout"] <= 0.5 and v["lr"] in (0.1, 0.01) for v in drawn)


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
    found = go(make(), tmp_path)
    assert found.best is not None
    assert found.best.value == min(t.value or 0 for t in found.trials if t.rung == 3)


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
    go(make(), tmp_path)
    assert all(len(replica.test) == 0 for call in calls for replica in call["replicas"])
    assert all(len(replica.valid) > 0 for call in calls for replica in call["replicas"])


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
test.go(test.make(), Path(sys.argv[1]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a matter of POSIX")
def test_killed_and_resumed_nothing_is_lost_or_doubled(
    trainer: Callable[[Trainer], list[Any]], tmp_path: Path
) -> None:
    tests = Path(__file__).parents[1]
    words = [sys.executable, "-c", KILLED, str(tmp_path / "out"), str(tests)]
    assert subprocess.run(words, timeout=60, check=False).returncode == -signal.SIGKILL
    calls = trainer(pretend)
    whole = go(make(), tmp_path / "whole")
    before = len(calls)
    found = go(make(), tmp_path / "out")
    assert len(calls) - before == before - 2
    assert _facts(found) == _facts(whole)
    assert go(make(), tmp_path / "out").trials == found.trials and len(calls) == 2 * before - 2


def _facts(found: Searched) -> list[Any]:
    """Trials without the time they took."""
    return [replace(trial, seconds=0.0) for trial in found.trials]


def test_out_of_time_it_stops_and_goes_on_later(
    trainer: Callable[[Trainer], list[Any]], tmp_path: Path
) -> None:
    trainer(pretend)
    found = go(make(), tmp_path, minutes=1e-9)
    assert (found.trials, found.best, found.path, found.complete) == ((), None, None, False)
    assert go(make(), tmp_path).complete
    with pytest.raises(InputError, match="minutes of a search must be above 0"):
        go(make(), tmp_path, minutes=0)


def late_in_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 100.0, 100.0])  # at the start, before the trial, in the trial
    patched = SimpleNamespace(time=lambda: next(clock), perf_counter=time.perf_counter)
    monkeypatch.setattr(module, "time", patched)
    monkeypatch.setattr(halving, "time", patched)


def test_the_trial_at_work_is_left_when_time_is_up(
    trainer: Callable[[Trainer], list[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = trainer(pretend)
    late_in_the_trial(monkeypatch)
    assert go(make(), tmp_path, minutes=1).trials == ()
    assert len(calls) == 1


def test_a_trial_that_fails_is_counted_and_not_repeated(
    trainer: Callable[[Trainer], list[Any]], tmp_path: Path
) -> None:
    def fails(_: Samples, model: dict[str, Any], *words: Any, **more: Any) -> Curves:
        if model["layers"] == 2:
            raise InputError("needs 9 TiB")
        return pretend(_, model, *words, **more)

    calls = trainer(fails)
    found = go(make({"layers": [1, 2]}, trials=7), tmp_path)
    assert found.complete and len(calls) == 4  # both in rung 1, the other in rungs 2 and 3
    assert {trial.reason for trial in found.trials if trial.values["layers"] == 2} == {
        "needs 9 TiB"
    }
    assert found.best is not None
    assert found.best.values == {"layers": 1}


def test_a_set_too_large_for_the_memory_is_trained_one_by_one(
    trainer: Callable[[Trainer], list[Any]], tmp_path: Path
) -> None:
    def fails(_: Samples, model: Any, replicas: Sequence[Replica], *rest: Any, **more: Any) -> Any:
        if len(replicas) > 2:
            raise InputError("does not fit")
        return pretend(_, model, replicas, *rest, **more)

    space = {"lr": [0.1, 0.01, 0.001, 0.0001]}
    trainer(fails)
    apart = go(make(space, trials=4), tmp_path / "apart")
    trainer(pretend)
    together = go(make(space, trials=4), tmp_path / "together")
    assert _facts(apart) == _facts(together) and not any(t.reason for t in apart.trials)


def test_no_point_is_tried_twice_and_a_small_space_is_tried_whole() -> None:
    space = {"layers": {"low": 1, "high": 3}, "lr": [0.1, 0.01], "jump": ["cat", "last"]}
    search = make(space, trials=99)
    points = [tuple(values.values()) for values in search.settings()]
    assert search.trials == search.space.size == len(points) == len(set(points)) == 12
    assert make().space.size == float("inf")
    assert make({"hidden": {"low": 1, "high": 10**12, "log": True}}).space.size == 10**12
    with pytest.raises(InputError, match="a list of different values"):
        make({"dropout": [0, 0.0]})


def test_the_result_is_a_recipe(trainer: Callable[[Trainer], list[Any]], tmp_path: Path) -> None:
    trainer(pretend)
    found = go(make(), tmp_path)
    assert found.path is not None
    assert found.best is not None
    assert read_recipe(found.path) == replace(RECIPE, **found.best.values)
    text = found.path.read_text()
    assert text.startswith("# QUICK")
    assert "Chosen on validation samples alone" in text
    assert f"trial {found.best.number} of 8, 2 models each" in text


def test_every_trial_is_in_the_log(trainer: Callable[[Trainer], list[Any]], tmp_path: Path) -> None:
    trainer(pretend)
    found = go(make(), tmp_path)
    first, *lines = map(json.loads, (tmp_path / LOG).read_text().splitlines())
    assert first["search"]["search"]["trials"] == TRIALS
    assert [line["value"] for line in lines] == [trial.value for trial in found.trials]
    (tmp_path / LOG).write_text("{}\n")
    with pytest.raises(InputError, match=r"is damaged: search is missing.*--fresh"):
        go(make(), tmp_path)


def test_one_folder_holds_one_search(
    trainer: Callable[[Trainer], list[Any]], tmp_path: Path
) -> None:
    trainer(pretend)
    go(make(), tmp_path)
    with pytest.raises(InputError, match=r"another search \(seed: 0 there, 1 here\).*--fresh"):
        go(make(seed=1), tmp_path)
    assert go(make(seed=1), tmp_path, fresh=True).complete
    with locked(tmp_path / "search.lock") as held:
        assert held
        with pytest.raises(InputError, match="Another search is running"):
            go(make(seed=1), tmp_path)


def test_mistakes_are_told_before_the_first_trial(
    trainer: Callable[[Trainer], list[Any]], tmp_path: Path
) -> None:
    calls = trainer(pretend)
    with pytest.raises(InputError, match="device 'nonsense' cannot be used"):
        run_search(make(), tmp_path, device="nonsense")
    with pytest.raises(InputError, match="trials must be a whole number of at least 1; got 0"):
        make(trials=0)
    with pytest.raises(InputError, match="models must be a whole number of at least 1; got 0"):
        make(models=0)
    assert not calls


@pytest.mark.parametrize("damaged", [False, True])
def test_a_real_trial_goes_on_where_time_was_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damaged: bool
) -> None:
    monkeypatch.setattr(module, "load_data", lambda *_: samples(60))
    search = make({"hidden": [8, 9]}, models=2, trials=1)
    search = replace(search, recipe=replace(RECIPE, epochs=16), quick=False)
    whole = go(search, tmp_path / "whole")
    assert not list((tmp_path / "whole" / "work").glob("*"))
    with monkeypatch.context() as patch:
        late_in_the_trial(patch)
        assert go(search, tmp_path / "cut", minutes=1).trials == ()
    (left,) = (tmp_path / "cut" / "work").glob("*/*")
    if damaged:
        left.write_bytes(b"damaged")
    seen: list[float] = []
    found = go(search, tmp_path / "cut", progress=lambda *words: seen.append(words[-1]))
    assert seen[:3] == ([0.25, 0.5, 0.75] if damaged else [0.5, 0.75, 1.0])
    assert whole.best is not None
    assert found.best is not None
    assert found.best.value == whole.best.value
    assert 0.4 <= float(found.best.value or 0) <= 1.0


def test_interrupted_by_hand(trainer: Callable[[Trainer], list[Any]], tmp_path: Path) -> None:
    def interrupt(*_: Any, **__: Any) -> Curves:
        raise KeyboardInterrupt

    trainer(interrupt)
    with pytest.raises(KeyboardInterrupt):
        go(make(), tmp_path)
    trainer(pretend)
    assert go(make(), tmp_path).complete
