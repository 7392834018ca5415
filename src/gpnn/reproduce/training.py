"""The training of one job and its records: in pieces that can be resumed, measured, written."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..train.device import pick_device
from ..train.replica import Curves, Paused
from ..train.trainer import train_staged
from .jobs import Job
from .lock import locked
from .prefetch import Ahead
from .protocols import Member, Protocol, family, summarise
from .provenance import commit, versions
from .runs import Runs
from .work import CURVES, Work, lay_out, piece_path

__all__ = ["OutOfTime", "is_done", "record_key", "run_job"]

Progress = Callable[[float], bool]
"""Told the share that is done, 0 where nothing is to be told; says whether to go on."""


class OutOfTime(Exception):
    """The time given is spent; what was done so far is kept."""


def is_done(job: Job, records: dict[str, Any]) -> bool:
    """Whether every protocol of the job has its record."""
    return all(record_key(job, protocol) in records for protocol in family(job.family))


def run_job(
    job: Job,
    out: str | Path,
    data: str | None = None,
    device: str = "auto",
    progress: Callable[[float], None] | None = None,
    deadline: float | None = None,
    wait: bool = False,
    ahead: Ahead[Work] | None = None,
) -> bool:
    """Bring the records of a job into ``runs.jsonl``; training goes on where it was interrupted.

    Args:
        progress: called with the share of the training that is done, from 0 to 1.
        deadline: by ``time.time()``; :class:`OutOfTime` is raised after it.
        wait: for another process that is at this job; else ``False`` is returned.
        ahead: where the job may have been made ready.
    """
    runs = Runs(out)
    lock = runs.out / "work" / f"{job.key}.lock"
    with locked(lock, wait) as mine:
        if not mine:
            return False
        held = runs.load_curves(runs.curves_path(job.key))
        if held is None:
            _train(job, runs, data, device, _watched(progress, deadline), ahead)
            held = runs.load_curves(runs.curves_path(job.key))
            assert held is not None
        members, curves, facts = held
        for protocol in family(job.family):
            runs.append(_record(job, protocol, members, curves, facts))
        shutil.rmtree(runs.work(job.key), ignore_errors=True)
        with suppress(OSError):
            lock.unlink()
    return True


def _train(
    job: Job,
    runs: Runs,
    data: str | None,
    device: str,
    progress: Progress,
    ahead: Ahead[Work] | None,
) -> None:
    began = time.perf_counter()
    work = (None if ahead is None else ahead.take(job)) or lay_out(job, data, device)
    count, pieces = len(work.pieces), []
    for number in range(count):

        def tell(share: float, number: int = number) -> bool:
            return progress((number + share) / count if share else 0.0)

        folder = piece_path(runs, job, number)
        pieces.append(_train_piece(runs, work, number, folder, device, tell, began))
        began = time.perf_counter()
    facts = {
        "model": work.options,
        "data": work.setup.samples.digest(),
        "commit": commit(),
        "versions": versions(),
    }
    members = [member for piece in work.pieces for member in piece.members]
    order = [work.plan.members.index(member) for member in members]
    curves = Curves.join(pieces, [order])
    runs.save_curves(runs.curves_path(job.key), work.plan.members, curves, facts)


def _train_piece(
    runs: Runs,
    work: Work,
    number: int,
    folder: Path,
    device: str,
    progress: Progress,
    began: float,
) -> Curves:
    """Curves of some replicas, read if they are there, else trained and kept; ``began``: since when
    they are waited for."""
    path = folder / CURVES
    held = runs.load_curves(path)
    if held is not None:
        return held[1]
    if not progress(0.0):
        raise OutOfTime
    where = pick_device(device)
    staged = work.staged(number)
    try:
        trained = train_staged(
            staged,
            where,
            folder=folder,
            progress=lambda done, total: progress(done / total),
            waited=time.perf_counter() - began,
        )
    except Paused:
        raise OutOfTime from None
    runs.save_curves(path, work.pieces[number].members, trained.curves, {})
    return trained.curves


def _watched(tell: Callable[[float], None] | None, deadline: float | None) -> Progress:
    def progress(share: float) -> bool:
        if tell is not None and share:
            tell(share)
        return deadline is None or time.time() < deadline

    return progress


def record_key(job: Job, protocol: Protocol) -> str:
    """The key of a record."""
    return f"{job.key}:{protocol.name}"


def _record(
    job: Job, protocol: Protocol, members: list[Member], curves: Curves, facts: dict[str, Any]
) -> dict[str, Any]:
    """One line of ``runs.jsonl``."""
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
