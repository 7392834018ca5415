"""A job up to its training: data, network and replicas, in pieces that are trained together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..train.device import pick_device
from ..train.replica import Schedule
from ..train.setup import Setup, set_up
from ..train.stage import Staged, stage
from ..train.trainer import groups_of, uses_resident
from .data import load_data
from .jobs import Job
from .protocols import Given, Plan, family
from .runs import Runs
from .width import widen

__all__ = ["CURVES", "Work", "lay_out", "make_ahead", "piece_path"]

PIECE = 120
"""Replicas that are trained at once, at most: a run that is killed keeps the pieces that were
finished."""

CURVES = "curves.npz"
"""Of a piece, in its folder."""


@dataclass(eq=False)
class Work:
    """A job up to its training.

    Attributes:
        setup, options: what all replicas share, and the fields of the network.
        plan: all replicas.
        schedule: of the training.
        resident: whether batches will be put together on the device.
        first: the first piece, where it was staged ahead and is not yet taken.
    """

    setup: Setup
    options: dict[str, Any]
    plan: Plan
    schedule: Schedule
    resident: bool = False
    first: Staged | None = None

    @cached_property
    def pieces(self) -> list[Plan]:
        """The replicas that are trained together."""
        members, replicas = self.plan.members, self.plan.replicas
        found = []
        for places in groups_of(self.setup, replicas, self.schedule):
            for at in range(0, len(places), PIECE):
                own = places[at : at + PIECE]
                found.append(Plan(tuple(members[k] for k in own), tuple(replicas[k] for k in own)))
        return found

    def staged(self, number: int) -> Staged:
        """A piece, ready to train."""
        first, self.first = self.first, None
        if number == 0 and first is not None:
            return first
        replicas = self.pieces[number].replicas
        return stage(self.setup, replicas, self.schedule, resident=self.resident)


def lay_out(job: Job, data: str | None = None, device: str = "auto") -> Work:
    """Load the data of a job, partition the graphs and plan the training."""
    samples = load_data(job.recipe, data, job.quick)
    options = job.options
    if job.rival is not None:
        options = widen(samples, options, job.rival)
    plan = family(job.family)[0].plan(Given(samples, job.recipe, job.quick, data))
    setup = set_up(samples, options, plan.replicas)
    on_device = uses_resident(setup, pick_device(device))
    return Work(setup, options, plan, job.recipe.schedule(), on_device)


def make_ahead(
    job: Job,
    out: str | Path,
    data: str | None = None,
    device: str = "auto",
    over: Callable[[], bool] = lambda: False,
) -> Work | None:
    """All of a job that can be done before its turn, or ``None`` where it is trained already, or
    where it is ``over`` meanwhile."""
    runs = Runs(out)
    if runs.load_curves(runs.curves_path(job.key)) is not None:
        return None
    work = lay_out(job, data, device)
    if over():
        return None
    if runs.load_curves(piece_path(runs, job, 0) / CURVES) is None:
        work.first = work.staged(0)
    return work


def piece_path(runs: Runs, job: Job, number: int) -> Path:
    """Where a piece is trained."""
    return runs.work(job.key) / f"piece-{number}"
