"""The next job made ready while one trains: the same results, errors where they belong, no wait."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpnn.lock import locked
from gpnn.reproduce import run_job, workers
from gpnn.reproduce.jobs import Job
from gpnn.reproduce.prefetch import Prefetch
from gpnn.reproduce.runs import Runs
from gpnn.reproduce.tables import jobs_of
from gpnn.reproduce.workers import Outcome, Settings, Watch

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def jobs() -> list[Job]:
    """GIN, a widened GIN and GPNN on MUTAG, small; the last in the nested family."""
    found = jobs_of(["graph-classification"], ["MUTAG/GPNN/core-degree/cross"], True)
    by_name = {(job.row.method, job.family): job for job in found}
    wanted = [("GIN", "tu"), ("GIN-wide", "tu"), ("GPNN", "tu-nested")]
    return [by_name[name] for name in wanted]


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


@pytest.fixture
def laid_out(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """The jobs laid out, and whether in the main thread."""
    found = []

    def watched(job: Job, *rest: Any) -> run_job.PreparedJob:
        found.append((job.key, threading.current_thread() is threading.main_thread()))
        return plain(job, *rest)

    plain = run_job.prepare_job
    monkeypatch.setattr(run_job, "prepare_job", watched)
    return found


def run(
    jobs: list[Job],
    out: Path,
    look_ahead: bool,
    watch: Watch | None = None,
    deadline: float | None = None,
) -> Outcome:
    outcome, settings = Outcome(), Settings(str(out), device="cpu", deadline=deadline)
    workers._in_turn(jobs, settings, watch or Watch(), outcome, look_ahead)
    return outcome


def results(out: Path) -> list[dict[str, Any]]:
    """The records, but for what was measured with a clock."""
    found = []
    for line in (out / "runs.jsonl").read_text().splitlines():
        record = json.loads(line)
        assert record.pop("seconds") > 0 and record["about"].pop("prepare_seconds") > 0
        found.append(record)
    return found


def test_the_same_comes_out_and_work_is_done_once(
    jobs: list[Job], tmp_path: Path, laid_out: list[tuple[str, bool]]
) -> None:
    switch = sys.getswitchinterval()
    assert run(jobs, tmp_path / "without", False).finished == 3
    assert laid_out == [(job.key, True) for job in jobs]
    laid_out.clear()
    assert run(jobs, tmp_path / "with", True).finished == 3
    assert laid_out == [(job.key, job is jobs[0]) for job in jobs]
    assert sys.getswitchinterval() == switch
    assert results(tmp_path / "with") == results(tmp_path / "without")
    for job in jobs:
        held = [
            Runs(tmp_path / name).load_curves(tmp_path / name / "curves" / f"{job.key}.npz")
            for name in ("with", "without")
        ]
        for name in ("loss", "valid", "test"):
            one, other = (getattr(each[1], name) for each in held if each is not None)
            np.testing.assert_array_equal(one, other)


def test_what_was_begun_goes_on_with_what_is_ready(
    jobs: list[Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time is up after the first piece of the second job; then only the others are trained."""
    monkeypatch.setattr(run_job, "PIECE", 3)
    pair = [jobs[0], jobs[2]]
    count, rest = (len(run_job.prepare_job(job).pieces) for job in pair)
    assert count > 1 and rest > 1
    assert run(pair, tmp_path / "without", False).finished == 2
    trained: list[Path] = []

    def train(*arguments: Any, **options: Any) -> Any:
        if len(trained) == limit:
            raise run_job.Paused
        trained.append(options["folder"])
        return plain(*arguments, **options)

    plain, limit = run_job.train_staged, count + 1
    monkeypatch.setattr(run_job, "train_staged", train)
    assert run(pair, tmp_path / "with", True).finished == 1
    limit = 100
    assert run(pair, tmp_path / "with", True).finished == 2
    assert results(tmp_path / "with") == results(tmp_path / "without")
    assert len(trained) == len(set(trained)) == count + rest


def test_an_error_belongs_to_its_job(
    jobs: list[Job], tmp_path: Path, laid_out: list[tuple[str, bool]]
) -> None:
    first, second, third = jobs
    absent = replace(second, recipe=replace(second.recipe, dataset="NOWHERE"))
    uncut = replace(third, row=replace(third.row, scheme="nothing"))
    several = [first, absent, third, uncut, second]
    plain = run(several, tmp_path / "without", False)
    laid_out.clear()
    found = run(several, tmp_path / "with", True)
    assert (absent.key, False) in laid_out and (absent.key, True) in laid_out
    assert found == plain and found.finished == 3
    assert list(found.refused) == [absent.name, uncut.name]
    assert "NOWHERE" in found.refused[absent.name] and "nothing" in found.refused[uncut.name]
    assert results(tmp_path / "with") == results(tmp_path / "without")


def test_a_failure_of_the_thread_alone_costs_time_only(
    jobs: list[Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        assert threading.current_thread() is not threading.main_thread()
        raise RuntimeError("no memory")

    monkeypatch.setattr(workers, "prepare_ahead", fail)
    assert run(jobs[:2], tmp_path, True).finished == 2


def test_a_job_whose_turn_went_by_is_dropped(
    jobs: list[Job], tmp_path: Path, laid_out: list[tuple[str, bool]]
) -> None:
    """Another process holds the second; what was made for it is not used for the third."""
    outcome, settings = Outcome(), Settings(str(tmp_path), device="cpu")
    with locked(tmp_path / "work" / f"{jobs[1].key}.lock"):
        assert workers._in_turn(jobs, settings, Watch(), outcome, True) == [jobs[1]]
    assert outcome.finished == 2
    assert laid_out == [(jobs[0].key, True), (jobs[1].key, False), (jobs[2].key, True)]


def test_what_is_trained_already_is_not_made_ready(jobs: list[Job], tmp_path: Path) -> None:
    assert run_job.prepare_ahead(jobs[0], tmp_path) is not None
    run(jobs[:1], tmp_path, False)
    assert run_job.prepare_ahead(jobs[0], tmp_path) is None


def test_the_deadline_ends_it(
    jobs: list[Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time is up while the second job is being made ready."""
    begun, clock = threading.Event(), [0.0]

    class Late(Watch):
        def share(self, job: Job, done: float) -> None:  # noqa: ARG002
            assert begun.wait(60)
            clock[0] = 2.0

    def make(*_: Any) -> None:
        begun.set()
        time.sleep(0.5)

    told = SimpleNamespace(time=lambda: clock[0], perf_counter=time.perf_counter)
    monkeypatch.setattr(run_job, "time", told)
    monkeypatch.setattr(workers, "time", told)
    monkeypatch.setattr(workers, "prepare_ahead", make)
    outcome = run(jobs, tmp_path, True, Late(), deadline=1.0)
    assert begun.is_set() and outcome == Outcome()
    assert not (tmp_path / "runs.jsonl").exists()


def test_an_interrupt_tells_the_work_to_leave_off(
    jobs: list[Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, told = threading.Event(), threading.Event()

    class Interrupted(Watch):
        def share(self, job: Job, done: float) -> None:  # noqa: ARG002
            assert begun.wait(60)
            raise KeyboardInterrupt

    def make(*given: Any) -> None:
        begun.set()
        limit = time.monotonic() + 60
        while not given[-1]() and time.monotonic() < limit:
            time.sleep(0.01)
        if given[-1]():
            told.set()

    monkeypatch.setattr(workers, "prepare_ahead", make)
    with pytest.raises(KeyboardInterrupt):
        run(jobs, tmp_path, True, Interrupted())
    assert told.is_set()


def test_a_process_ends_well_while_work_is_under_way() -> None:
    """A thread that is left inside torch when the interpreter ends would abort the process."""
    script = """
import threading
from types import SimpleNamespace
import torch
from gpnn.reproduce.prefetch import Prefetch

begun = threading.Event()

def make(job, over):
    begun.set()
    for _ in range(400):
        torch.rand(300, 300).argsort()

jobs = [SimpleNamespace(key=key) for key in "ab"]
with Prefetch(jobs, make) as ahead:
    ahead.begin(jobs[0])
    begun.wait()
    raise SystemExit(7)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.returncode == 7, ended.stderr


def test_what_is_made_ahead_imports_no_compiler() -> None:
    """torch imports its own when it is asked to; in two threads at once that fails."""
    script = """
import sys
from gpnn.reproduce.tables import jobs_of
from gpnn.reproduce.run_job import prepare_job

for job in jobs_of(["interactions"], ["MUTAG"], quick=True)[:8]:
    prepare_job(job).staged(0)
assert "torch._dynamo" not in sys.modules and "torch._inductor" not in sys.modules
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def test_nothing_is_made_that_nobody_takes(jobs: list[Job], tmp_path: Path) -> None:
    assert run_job.prepare_ahead(jobs[0], tmp_path, over=lambda: True) is None


def test_pieces_share_one_setup_and_the_first_is_let_go(
    jobs: list[Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_job, "PIECE", 3)
    made = run_job.prepare_ahead(jobs[2], tmp_path)
    assert made is not None and made.first is not None
    first = weakref.ref(made.staged(0))
    assert first() is None  # only the training held it
    assert made.staged(1).setup is made.setup


def test_the_next_job_waits_for_the_first_epoch(
    jobs: list[Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every piece: what is told before it is captured would begin the next job too early."""
    monkeypatch.setattr(run_job, "PIECE", 3)
    told: list[float] = []
    epochs = jobs[0].recipe.epochs
    pieces = len(run_job.prepare_job(jobs[0]).pieces)
    run_job.run_job(jobs[0], tmp_path, device="cpu", progress=told.append)
    assert pieces > 1 and len(told) == pieces * epochs
    assert told == sorted(set(told)) and told[-1] == 1


def test_one_at_a_time_and_only_what_follows(jobs: list[Job]) -> None:
    made: list[str] = []

    def make(job: Job, over: Callable[[], bool]) -> str:
        assert not over()
        made.append(job.name)
        return job.name

    with Prefetch(jobs, make) as ahead:
        assert ahead.take(jobs[0]) is None
        for _ in range(3):
            ahead.begin(jobs[0])
        ahead.begin(jobs[1])
        assert ahead.take(jobs[1]) == jobs[1].name and made == [jobs[1].name]
        assert ahead.take(jobs[1]) is None
        ahead.begin(jobs[2])  # the last one
        assert ahead.take(jobs[2]) is None and len(made) == 1
        ahead.begin(jobs[1])
        assert ahead.take(jobs[0]) is None  # made for another one
        assert ahead.take(jobs[2]) is None and len(made) == 2


@pytest.mark.parametrize(("device", "there", "wanted"), [
    ("cpu", True, False), ("cuda:1", False, True), ("auto", True, True), ("auto", False, False),
])  # fmt: skip
def test_only_a_gpu_is_worth_it(
    device: str, there: bool, wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers.torch.cuda, "is_available", lambda: there)
    assert workers._on_gpu(device) is wanted
