"""A job up to its training: data, network and replicas, in pieces that are trained together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..train.ready import Ready, make_ready
from ..train.replica import Schedule
from ..train.setup import Setup, set_up
from .data import load_data
from .jobs import Job
from .protocols import Given, Plan, family
from .runs import Runs
from .width import widen

__all__ = ["CURVES", "Work", "lay_out", "make_ahead", "piece_path"]

PIECE = 120
"""Replicas that are trained at once: a run that is killed keeps the pieces that were finished. A
multiple of ten, so that every piece holds whole sets of folds and takes as many steps."""

CURVES = "curves.npz"
"""Of a piece, in its folder."""


@dataclass(eq=False)
class Work:
    """A job up to its training.

    Attributes:
        setup, options: what all replicas share, and the fields of the network.
        plan: all replicas.
        schedule: of the training.
        first: the first piece, where it was made ready ahead and is not yet taken.
    """

    setup: Setup
    options: dict[str, Any]
    plan: Plan
    schedule: Schedule
    first: Ready | None = None

    @cached_property
    def pieces(self) -> list[Plan]:
        """The replicas that are trained together."""
        members, replicas = self.plan.members, self.plan.replicas
        starts = range(0, len(replicas), PIECE)
        return [Plan(members[at : at + PIECE], replicas[at : at + PIECE]) for at in starts]

    def ready(self, number: int) -> Ready:
        """A piece, ready to train."""
        first, self.first = self.first, None
        if number == 0 and first is not None:
            return first
        return make_ready(self.setup, self.pieces[number].replicas, self.schedule)


def lay_out(job: Job, data: str | None = None) -> Work:
    """Load the data of a job, cut the graphs and plan the training."""
    samples = load_data(job.recipe, data, job.quick)
    options = job.options
    if job.rival is not None:
        options = widen(samples, options, job.rival)
    plan = family(job.family)[0].plan(Given(samples, job.recipe, job.quick, data))
    return Work(set_up(samples, options, plan.replicas), options, plan, job.recipe.schedule())


def make_ahead(
    job: Job, out: str | Path, data: str | None = None, over: Callable[[], bool] = lambda: False
) -> Work | None:
    """All of a job that can be done before its turn, or ``None`` where it is trained already, or
    where it is ``over`` meanwhile."""
    runs = Runs(out)
    if runs.load_curves(runs.curves_path(job.key)) is not None:
        return None
    work = lay_out(job, data)
    if over():
        return None
    if runs.load_curves(piece_path(runs, job, 0) / CURVES) is None:
        work.first = work.ready(0)
    return work


def piece_path(runs: Runs, job: Job, number: int) -> Path:
    """Where a piece is trained."""
    return runs.work(job.key) / f"piece-{number}"
