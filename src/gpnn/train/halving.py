"""Successive halving: the engine of every search.

All settings are trained for a quarter of the epochs, the better half of them for half of the
epochs, and the better half of these for all epochs (a bracket can set other shares). Every rung
starts from scratch and runs the whole schedule in fewer epochs. Where possible, settings are
trained side by side as replicas of one set. Every trial of every rung is stored in
``trials.jsonl``; an interrupted search resumes from there.
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..data.tasks import higher_is_better
from ..errors import InputError
from ..pool import ordered_map
from .loop import train_replicas
from .replica import Curves, Paused, Replica, Schedule, best_epoch
from .search_log import Trial, TrialLog

__all__ = [
    *("PIECE", "RUNGS", "Bracket", "Ended", "OutOfTime", "Progress", "Tell"),
    *("in_processes", "measured", "ranked", "run_rungs", "train_checkpointed", "watched"),
]

RUNGS = (0.25, 0.5, 1.0)
"""Share of the search's epochs for which a trial is trained, by rung."""
PIECE = 120
"""Maximum number of replicas that are trained side by side."""

Progress = Callable[[int, Sequence[int], float], None]
Tell = Callable[[int, int], bool]
Spread = Callable[[Sequence[list[int]], int, float | None, Progress | None], Iterator[list[Trial]]]


class OutOfTime(Exception):
    """The time limit is reached; finished results are kept."""


@dataclass(frozen=True)
class Bracket:
    """Definition of a search.

    Attributes:
        count: number of settings; they are numbered from 1.
        metric: metric of the trials.
        sets: groups settings of a rung into sets that are trained side by side, in this order. It
            gets the first setting, then the others, those with the best results first.
        train: trains one set in a rung. It calls its last argument after every epoch, which returns
            whether to continue, and raises :class:`OutOfTime` if not.
        kept: number of leading settings that always reach the last rung; the others are compared
            with them.
        goes_on: share of the other settings that may advance after each rung, rounded up.
        ahead: whether a trial of the last rung but one is far enough ahead of that of the first
            setting; only such settings, the best first, and the kept ones reach the last rung. If
            no setting is ahead, the search ends without it.
        first: share of the time for the first rung. When it is over, the settings that are not yet
            tried are left out, so that the others can be compared in later rungs.
        spread: trains the sets of a rung in other processes, given deadline and progress. It yields
            the trials of each set as they are finished, and raises :class:`OutOfTime` at the end if
            some are missing. Without it, sets are trained in this process, one by one.
    """

    count: int
    metric: str
    sets: Callable[[Sequence[int], int], list[list[int]]]
    train: Callable[[list[int], int, Tell], list[Trial]]
    kept: int = 0
    goes_on: tuple[float, ...] = (0.5, 0.5)
    ahead: Callable[[Trial, Trial], bool] | None = None
    first: float = 1.0
    spread: Spread | None = None


@dataclass(frozen=True)
class Ended:
    """How a search ended.

    Attributes:
        rung: the last rung in which the first setting and the best other one were tried, 0 for
            none; later settings of that rung may be missing.
        complete: whether there was time for all settings of all rungs.
    """

    rung: int
    complete: bool


def run_rungs(
    bracket: Bracket,
    log: TrialLog,
    deadline: float | None,
    progress: Progress | None = None,
    finished: Callable[[Trial], None] | None = None,
) -> Ended:
    """Run the trials that the log does not have yet, rung by rung."""
    alive, complete = list(range(1, bracket.count + 1)), True
    spread = bracket.spread or partial(_in_turn, bracket)
    ends: dict[int, float] = {}
    if deadline is not None and bracket.first < 1:
        ends[1] = time.time() + bracket.first * (deadline - time.time())
    for rung in range(1, len(RUNGS) + 1):
        every = bracket.sets(alive, rung)
        pending = [[n for n in own if log.find(n, rung) is None] for own in every]
        try:
            end = ends.get(rung, deadline)
            for made in spread([own for own in pending if own], rung, end, progress):
                log.add(made)
                for trial in made:
                    if finished is not None:
                        finished(trial)
        except OutOfTime:
            complete = False
            if any(log.find(n, rung) is None for n in alive[:2]):
                return Ended(rung - 1, False)
            if rung not in ends:
                return Ended(rung, False)
        if rung < len(RUNGS):
            alive = _better(bracket, log, alive, rung)
        if not alive:
            return Ended(rung, complete)
    return Ended(len(RUNGS), complete)


def _in_turn(
    bracket: Bracket,
    pending: Sequence[list[int]],
    rung: int,
    deadline: float | None,
    progress: Progress | None,
) -> Iterator[list[Trial]]:
    for wanted in pending:
        if deadline is not None and time.time() >= deadline:
            raise OutOfTime
        yield bracket.train(wanted, rung, watched(rung, wanted, deadline, progress))


def in_processes(make: Callable[..., Any], arguments: tuple[Any, ...], jobs: int) -> Spread:
    """A :attr:`Bracket.spread` over processes of this machine.

    Args:
        make: ``make(*arguments)`` is called once in every process. It returns a function that
            trains a set: its argument is a tuple of setting numbers, rung and deadline, its result
            the trials, or ``None`` if the time is up.
    """

    def spread(
        pending: Sequence[list[int]], rung: int, deadline: float | None, progress: Progress | None
    ) -> Iterator[list[Trial]]:
        numbers, late = [n for own in pending for n in own], False
        items = [(own, rung, deadline) for own in pending]
        processes = max(1, min(jobs, len(items)))
        for done, made in enumerate(ordered_map(make, arguments, items, processes), start=1):
            if progress is not None:
                progress(rung, numbers, done / len(items))
            if made is None:
                late = True
            else:
                yield made
        if late:
            raise OutOfTime

    return spread


def ranked(trials: Sequence[Trial], metric: str) -> list[Trial]:
    """The trials with a value, best first; ties are ordered by number."""
    known = [trial for trial in trials if trial.value is not None]
    sign = -1 if higher_is_better(metric) else 1
    return sorted(known, key=lambda trial: (sign * (trial.value or 0.0), trial.number))


def _better(bracket: Bracket, log: TrialLog, alive: Sequence[int], rung: int) -> list[int]:
    """The settings of the next rung: the first, then the others, best first."""
    trials = [trial for n in alive if (trial := log.find(n, rung)) is not None]
    known = ranked(trials, bracket.metric)
    others = [trial for trial in known if trial.number > bracket.kept]
    rivals = sum(trial.number > bracket.kept for trial in trials)
    first = log.find(1, rung)
    if bracket.ahead is not None and rung == len(RUNGS) - 1 and first is not None:
        ahead = {trial.number for trial in known if bracket.ahead(trial, first)}
        others = [trial for trial in others if trial.number in ahead]
        if not ahead:
            return []
    best = {trial.number for trial in others[: math.ceil(bracket.goes_on[rung - 1] * rivals)]}
    going = [t.number for t in known if t.number <= bracket.kept or t.number in best]
    return sorted(going, key=lambda number: number != 1 or not bracket.kept)


def watched(
    rung: int, numbers: Sequence[int], deadline: float | None, progress: Progress | None
) -> Tell:
    """A function that the trainer calls after every epoch; returns whether to continue."""

    def tell(done: int, total: int) -> bool:
        if progress is not None and done:
            progress(rung, numbers, done / total)
        return deadline is None or time.time() < deadline

    return tell


def train_checkpointed(
    folder: Path,
    samples: Any,
    model: Mapping[str, Any],
    replicas: Sequence[Replica],
    schedule: Schedule,
    device: str,
    progress: Tell,
    train: Callable[..., Curves] = train_replicas,
) -> Curves:
    """Train with checkpoints in a folder that is deleted afterwards; a checkpoint that cannot be
    used (damaged, or of another version) is discarded."""

    def go() -> Curves:
        words = (samples, model, replicas, schedule)
        return train(*words, device=device, folder=folder, progress=progress)

    try:
        try:
            curves = go()
        except InputError:
            if not folder.is_dir():
                raise
            shutil.rmtree(folder)
            curves = go()
    except Paused:
        raise OutOfTime from None
    except InputError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)
    return curves


def measured(trial: Trial, curves: Curves, own: slice) -> Trial:
    """Mean and standard deviation over the models at the best epoch (from 1) of the mean curve:
    one epoch for all models."""
    valid = curves.valid[own]
    mean = valid.mean(axis=0)
    if not np.isfinite(mean).any():
        return replace(trial, reason="nothing could be measured")
    epoch = best_epoch(mean, curves.metric)
    chosen = valid[:, epoch]
    return replace(
        trial,
        value=float(mean[epoch]),
        std=float(chosen.std(ddof=1)) if len(chosen) > 1 else None,
        epoch=epoch + 1,
        parameters=curves.parameters,
        models=tuple(chosen.tolist()),
    )
