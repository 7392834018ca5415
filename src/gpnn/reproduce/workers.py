"""Run jobs one after another, in several processes, or on a Ray cluster."""

from __future__ import annotations

import os
import queue
import signal
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any

import torch

from ..errors import InputError, OutputError, explained
from ..files import write_bytes
from ..lock import locked
from ..plugins import load_plugins_of_parent
from ..pool import interrupts_held
from ..ray_engine import LOCAL, RemoteTask, cluster, gpus_for, run_tasks
from ..train.halving import OutOfTime
from .jobs import Job
from .prefetch import Prefetch
from .run_job import PreparedJob, prepare_ahead, run_job
from .runs import Runs

__all__ = ["Outcome", "Settings", "Watch", "run_all"]

_POLL = 0.2


@dataclass(frozen=True)
class Settings:
    """Settings that all jobs share; ``deadline`` is a ``time.time()`` value, ``sharing`` the number
    of jobs that share the device at once."""

    out: str
    data: str | None = None
    device: str = "auto"
    deadline: float | None = None
    sharing: int = 1


@dataclass
class Outcome:
    """How the jobs ended: finished, refused with a reason, or out of time."""

    finished: int = 0
    refused: dict[str, str] = field(default_factory=dict)
    left: int = 0


class Watch:
    """Callbacks while jobs run; an interface overrides what it wants to show."""

    def started(self, job: Job) -> None: ...

    def share(self, job: Job, done: float) -> None: ...

    def ended(self, job: Job, ending: str, seconds: float) -> None: ...


def run_all(
    jobs: Sequence[Job],
    settings: Settings,
    processes: int | None,
    watch: Watch,
    engine: str = LOCAL,
) -> Outcome:
    """Run every job; jobs that another process is running come last.

    Args:
        processes: number of concurrent jobs; by default one, or as many as fit on the cluster.
        engine: ``local``, ``ray`` or ``ray://HOST:PORT``.
    """
    outcome, end = Outcome(), settings.deadline
    if engine != LOCAL:
        with cluster(engine):
            busy = _on_cluster(jobs, settings, processes, watch, outcome)
    elif (processes or 1) > 1 and len(jobs) > 1:
        most = min(processes or 1, len(jobs))
        busy = _in_processes(jobs, replace(settings, sharing=most), most, watch, outcome)
    else:
        busy = _in_turn(jobs, settings, watch, outcome, _on_gpu(settings.device))
    for job in busy:
        if end is None or time.time() < end:
            _one(job, settings, watch, outcome, wait=True)
    outcome.left = len(jobs) - outcome.finished - len(outcome.refused)
    return outcome


def _on_gpu(device: str) -> bool:
    return device.startswith("cuda") or (device == "auto" and torch.cuda.is_available())


def _in_turn(
    jobs: Sequence[Job], settings: Settings, watch: Watch, outcome: Outcome, look_ahead: bool
) -> list[Job]:
    """Run jobs one after another; return those that another process is running.

    Args:
        look_ahead: prepare the next job while one trains; on a CPU both would compete for the
            cores.
    """
    if not look_ahead:
        return [job for job in jobs if _one(job, settings, watch, outcome) == "busy"]

    def prepare(job: Job, over: Callable[[], bool]) -> PreparedJob | None:
        return prepare_ahead(job, settings.out, settings.data, settings.device, over)

    with Prefetch(jobs, prepare) as prefetch:
        return [
            job for job in jobs if _one(job, settings, watch, outcome, prefetch=prefetch) == "busy"
        ]


def _one(
    job: Job,
    settings: Settings,
    watch: Watch,
    outcome: Outcome,
    wait: bool = False,
    prefetch: Prefetch[PreparedJob] | None = None,
) -> str:
    if settings.deadline is not None and time.time() > settings.deadline:
        return "late"
    watch.started(job)
    began = time.perf_counter()

    def tell(done: float) -> None:
        if prefetch is not None:
            prefetch.begin(job)  # the first epoch is over: the step is captured, the host is idle
        watch.share(job, done)

    ending = _attempt(job, settings, tell, wait, prefetch)
    _note(job, ending, time.perf_counter() - began, watch, outcome)
    return ending


def _attempt(
    job: Job,
    settings: Settings,
    progress: Callable[[float], None],
    wait: bool = False,
    prefetch: Prefetch[PreparedJob] | None = None,
) -> str:
    """Run a job; return ``done``, ``busy``, ``late``, or ``refused: REASON``."""
    out, data, device, end = settings.out, settings.data, settings.device, settings.deadline
    try:
        done = run_job(job, out, data, device, progress, end, wait, prefetch, settings.sharing)
        return "done" if done else "busy"
    except OutOfTime:
        return "late"
    except OutputError:
        raise  # later results could not be stored either
    except InputError as error:
        return f"refused: {error}"
    except torch.OutOfMemoryError as error:
        return f"refused: out of memory on {device} ({str(error).splitlines()[0]})"


def _note(job: Job, ending: str, seconds: float, watch: Watch, outcome: Outcome) -> None:
    if ending == "done":
        outcome.finished += 1
    elif ending.startswith("refused: "):
        outcome.refused[job.name] = ending.removeprefix("refused: ")
    watch.ended(job, ending, seconds)


def _in_processes(
    jobs: Sequence[Job], settings: Settings, processes: int, watch: Watch, outcome: Outcome
) -> list[Job]:
    """Run jobs in separate processes; return those that another process is running."""
    context = get_context("spawn")
    tasks, events = context.Queue(), context.Queue()
    for number in range(len(jobs)):
        tasks.put(number)
    for _ in range(processes):
        tasks.put(None)
    arguments = (list(jobs), settings, tasks, events)
    crew = [context.Process(target=_work, args=arguments, daemon=True) for _ in range(processes)]
    busy, running = [], processes
    try:
        for worker in crew:
            with interrupts_held():
                worker.start()
        while running:
            try:
                what, number, value = events.get(timeout=_POLL)
            except queue.Empty:
                if any(worker.exitcode not in (None, 0) for worker in crew):
                    raise InputError(
                        "A worker process was killed, perhaps because memory ran out. Run the "
                        "command again with fewer --jobs: it resumes."
                    ) from None
                continue
            if what == "ended by":
                raise InputError(value)
            if what == "crash":
                raise RuntimeError(value)
            if what == "over":
                running -= 1
            elif what == "started":
                watch.started(jobs[number])
            elif what == "share":
                watch.share(jobs[number], value)
            else:
                ending, seconds = value
                if ending == "busy":
                    busy.append(jobs[number])
                _note(jobs[number], ending, seconds, watch, outcome)
    finally:
        for worker in crew:
            if worker.is_alive() and running:
                worker.terminate()
            if worker.pid is not None:
                worker.join()
    return busy


def _on_cluster(
    jobs: Sequence[Job], settings: Settings, most: int | None, watch: Watch, outcome: Outcome
) -> list[Job]:
    """Run jobs on the machines of a cluster; return those that another process is running.

    A machine sends curves; the records are computed from them here, by the same code as locally.
    """
    runs, locks = Runs(settings.out), ExitStack()
    away: list[Job] = []
    busy: list[Job] = []
    data = None if settings.data is None else str(Path(settings.data).resolve())
    settings = replace(settings, data=data)
    gpus = gpus_for(settings.device)
    job_locks: list[ExitStack] = []
    began: dict[int, float] = {}

    def tell(number: int, what: str, value: Any) -> None:
        if what == "share":
            watch.share(away[number], value)
        elif number not in began:  # else it was started before, on a machine that was lost
            began[number] = time.perf_counter()
            watch.started(away[number])

    with locks:
        for job in jobs:
            own = ExitStack()
            if own.enter_context(locked(runs.out / "work" / f"{job.key}.lock", wait=False)):
                away.append(job)
                job_locks.append(locks.enter_context(own))
            else:
                busy.append(job)
                own.close()
        tasks = [
            RemoteTask(partial(_away, job, settings), runs.work(job.key), f"work/{job.key}", gpus)
            for job in away
        ]
        for number, (ending, curves) in run_tasks(tasks, most, tell):
            job = away[number]
            tell(number, "started", None)
            job_locks[number].close()
            if ending == "done":
                path = runs.curves_path(job.key)
                write_bytes(path, curves)
                if runs.load_curves(path) is None:
                    raise InputError(f"The curves of {job.name} came back damaged. Run it again.")
                run_job(job, settings.out, wait=True)
            _note(job, ending, time.perf_counter() - began[number], watch, outcome)
    return busy


def _away(
    job: Job, settings: Settings, folder: Path, tell: Callable[[float], None]
) -> tuple[str, bytes]:
    """Run a job on a machine of a cluster; return how it ended, and the file of its curves."""
    out = folder.parent.parent
    data = settings.data if settings.data and Path(settings.data).is_dir() else None
    ending = _attempt(job, replace(settings, out=str(out), data=data), tell, wait=True)
    return ending, Runs(out).curves_path(job.key).read_bytes() if ending == "done" else b""


def _end_with_parent() -> None:
    """Exit as soon as the parent process ends. All files are written atomically."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(jobs: list[Job], settings: Settings, tasks: Any, events: Any) -> None:
    """Run jobs in a worker until none is left. The parent handles Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    load_plugins_of_parent()
    torch.set_num_threads(1)
    try:
        while (number := tasks.get()) is not None:
            if settings.deadline is not None and time.time() > settings.deadline:
                continue
            events.put(("started", number, None))
            began = time.perf_counter()

            def tell(done: float, number: int = number) -> None:
                events.put(("share", number, done))

            ending = _attempt(jobs[number], settings, tell)
            events.put(("ended", number, (ending, time.perf_counter() - began)))
        events.put(("over", None, None))
    except Exception as error:
        message = explained(error)
        if message is not None:
            events.put(("ended by", None, message))
        else:
            events.put(("crash", None, traceback.format_exc()))
