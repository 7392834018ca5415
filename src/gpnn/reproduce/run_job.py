"""From a job to its records, top to bottom.

A **job** names a model, a dataset with its recipe, and a family of protocols. The **protocol**
makes the **replicas** to train; training gives **curves**; every protocol of the family chooses its
values from the curves and makes one **record**, a line of ``runs.jsonl``.

    job ── samples, protocol.replicas ──> replicas ── train ──> curves ── protocol.choose ──> record

Replicas are trained in pieces, and finished pieces are kept, so that an interrupted run resumes.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from .. import RESULTS
from ..lock import locked
from ..train.device import pick_device
from ..train.halving import PIECE, OutOfTime
from ..train.loop import groups_of, train_staged, uses_resident
from ..train.peer_memory import most_replicas
from ..train.replica import Curves, Paused, Schedule
from ..train.setup import Setup, set_up
from ..train.stage import Staged, stage
from .data import load_data
from .jobs import Job
from .prefetch import Prefetch
from .protocols import Member, Protocol, Replicas, family, summarise
from .provenance import commit, is_current, versions
from .runs import Runs
from .width import sized_options

__all__ = [
    "PreparedJob",
    "has_records",
    "is_done",
    "prepare_ahead",
    "prepare_job",
    "record_key",
    "run_job",
]

CURVES = "curves.npz"
"""File with the curves of a piece, in its folder."""

Progress = Callable[[float], bool]
"""Called with the completed share, or 0 if there is nothing to report; returns whether to
continue."""


def has_records(job: Job, records: dict[str, Any]) -> bool:
    """Return whether every protocol of the job has its record."""
    return all(record_key(job, protocol) in records for protocol in family(job.family))


def is_done(job: Job, records: dict[str, Any]) -> bool:
    """Return whether every protocol of the job has its record, with results of this version."""
    keys = [record_key(job, protocol) for protocol in family(job.family)]
    return all(key in records and is_current(records[key]) for key in keys)


def record_key(job: Job, protocol: Protocol) -> str:
    """The key of a record."""
    return f"{job.key}:{protocol.name}"


def run_job(
    job: Job,
    out: str | Path,
    data: str | None = None,
    device: str = "auto",
    progress: Callable[[float], None] | None = None,
    deadline: float | None = None,
    wait: bool = False,
    prefetch: Prefetch[PreparedJob] | None = None,
    sharing: int = 1,
) -> bool:
    """Write the records of a job into ``runs.jsonl``; an interrupted training is resumed.

    Args:
        progress: called with the completed share of the training, from 0 to 1.
        deadline: a ``time.time()`` value; :class:`OutOfTime` is raised after it.
        wait: wait for another process that runs this job; otherwise return ``False``.
        prefetch: may contain the prepared job.
        sharing: number of trainings that share the device at once.
    """
    runs = Runs(out)
    lock = runs.out / "work" / f"{job.key}.lock"
    with locked(lock, wait) as mine:
        if not mine:
            return False
        if _finished(runs, job) is None:
            began = time.perf_counter()
            prepared = None if prefetch is None else prefetch.take(job)
            if prepared is None:
                prepared = prepare_job(job, data, device, sharing)
            _train(job, runs, prepared, _watched(progress, deadline), began)
        stored = _finished(runs, job)
        assert stored is not None
        members, curves, facts = stored
        for protocol in family(job.family):
            runs.append(_record(job, protocol, members, curves, facts))
        shutil.rmtree(runs.work(job.key), ignore_errors=True)
        with suppress(OSError):
            lock.unlink()
    return True


@dataclass(eq=False)
class PreparedJob:
    """A job that is ready to train.

    Attributes:
        setup, options: the state shared by all replicas, and the fields of the network.
        replicas: all models.
        schedule: the training schedule.
        device: where they are trained.
        sharing: number of trainings that share the device at once.
        first: the first piece, if it was staged in advance and is not yet taken.
    """

    setup: Setup
    options: dict[str, Any]
    replicas: Replicas
    schedule: Schedule
    device: torch.device
    sharing: int = 1
    first: Staged | None = None

    @property
    def resident(self) -> bool:
        """Whether batches are assembled on the device."""
        return uses_resident(self.setup, self.device)

    @cached_property
    def piece(self) -> int:
        """Maximum number of replicas in a piece."""
        models = list(self.replicas.values())
        most = most_replicas(self.setup, models, self.schedule, self.device, self.sharing)
        return min(PIECE, most)

    @cached_property
    def pieces(self) -> list[list[Member]]:
        """The replicas that are trained together."""
        members, models = list(self.replicas), list(self.replicas.values())
        size = self.piece
        return [
            [members[k] for k in places[at : at + size]]
            for places in groups_of(self.setup, models, self.schedule)
            for at in range(0, len(places), size)
        ]

    def staged(self, number: int) -> Staged:
        """Return a piece that is ready to train."""
        first, self.first = self.first, None
        if number == 0 and first is not None:
            return first
        models = [self.replicas[member] for member in self.pieces[number]]
        return stage(self.setup, models, self.schedule, resident=self.resident)


def prepare_job(
    job: Job, data: str | None = None, device: str = "auto", sharing: int = 1
) -> PreparedJob:
    """Load the data of a job, create its replicas and partition the graphs."""
    samples = load_data(job.recipe, data, job.quick)
    options = sized_options(samples, job)
    replicas = family(job.family)[0].replicas(samples, job.recipe, job.quick, data)
    setup = set_up(samples, options, list(replicas.values()))
    schedule = job.recipe.schedule()
    return PreparedJob(setup, options, replicas, schedule, pick_device(device), sharing)


def prepare_ahead(
    job: Job,
    out: str | Path,
    data: str | None = None,
    device: str = "auto",
    over: Callable[[], bool] = lambda: False,
) -> PreparedJob | None:
    """Do all the work of a job that can be done in advance. Return ``None`` if the job is already
    trained or no longer needed (``over``)."""
    runs = Runs(out)
    if _finished(runs, job) is not None:
        return None
    prepared = prepare_job(job, data, device)
    if over():
        return None
    if runs.load_curves(_folder(runs, job, prepared, 0) / CURVES) is None:
        prepared.first = prepared.staged(0)
    return prepared


def _finished(runs: Runs, job: Job) -> tuple[list[Member], Curves, dict[str, Any]] | None:
    """Return members, curves and facts of a job that this version has trained."""
    stored = runs.load_curves(runs.curves_path(job.key))
    return stored if stored is not None and is_current(stored[2]) else None


def _train(
    job: Job,
    runs: Runs,
    prepared: PreparedJob,
    progress: Progress,
    began: float,
) -> None:
    """Train all pieces and store their curves in one file. The waiting time is counted from
    ``began``."""
    count, curves = len(prepared.pieces), []
    for number in range(count):

        def report(share: float, number: int = number) -> bool:
            return progress((number + share) / count if share else 0.0)

        folder = _folder(runs, job, prepared, number)
        curves.append(_train_piece(runs, prepared, number, folder, report, began))
        began = time.perf_counter()
    facts = {
        "model": prepared.options,
        "data": prepared.setup.samples.digest(),
        "commit": commit(),
        "versions": versions(),
    }
    members = list(prepared.replicas)
    places = [[members.index(member) for member in piece] for piece in prepared.pieces]
    runs.save_curves(runs.curves_path(job.key), members, Curves.join(curves, places), facts)


def _train_piece(
    runs: Runs,
    prepared: PreparedJob,
    number: int,
    folder: Path,
    progress: Progress,
    began: float,
) -> Curves:
    """Return the curves of some replicas: stored curves if there are any, else train the replicas
    and store their curves. The waiting time is counted from ``began``."""
    path = folder / CURVES
    stored = runs.load_curves(path)
    if stored is not None:
        return stored[1]
    if not progress(0.0):
        raise OutOfTime
    staged = prepared.staged(number)
    try:
        trained = train_staged(
            staged,
            prepared.device,
            folder=folder,
            progress=lambda done, total: progress(done / total),
            waited=time.perf_counter() - began,
        )
    except Paused:
        raise OutOfTime from None
    runs.save_curves(path, prepared.pieces[number], trained.curves, {})
    return trained.curves


def _folder(runs: Runs, job: Job, prepared: PreparedJob, number: int) -> Path:
    """Return the folder in which a piece is trained; it depends on the piece size and the version,
    so that no training is resumed that differs in them."""
    size = "" if prepared.piece == PIECE else f"{prepared.piece}-"
    return runs.work(job.key) / RESULTS / f"piece-{size}{number}"


def _watched(report: Callable[[float], None] | None, deadline: float | None) -> Progress:
    def progress(share: float) -> bool:
        if report is not None and share:
            report(share)
        return deadline is None or time.time() < deadline

    return progress


def _record(
    job: Job, protocol: Protocol, members: list[Member], curves: Curves, facts: dict[str, Any]
) -> dict[str, Any]:
    """Return one line of ``runs.jsonl``."""
    measured = protocol.choose(members, curves)
    return {
        "key": record_key(job, protocol),
        "protocol": protocol.name,
        "dataset": job.recipe.name,
        "method": job.row.title,
        "quick": job.quick,
        "metric": curves.metric,
        **asdict(summarise(measured)),
        "values": [asdict(one) for one in measured],
        "seeds": len({one.seed for one in measured}),
        "folds": len({one.fold for one in measured}),
        "replicas": len(members),
        "model": facts["model"],
        "row": asdict(job.row),
        "recipe": job.recipe.to_dict(),
        "parameters": curves.parameters,
        "seconds": round(curves.seconds, 3),
        "device": curves.device,
        "about": dict(curves.about),
        "data": facts["data"],
        "versions": facts["versions"],
        "commit": facts["commit"],
    }
