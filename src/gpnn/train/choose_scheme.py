r"""``scheme="auto"``: choose a partition for the data, or none.

The candidates (:mod:`gpnn.train.scheme_candidates`) are schemes and combinations of them, times
interactions, radius and distances, as far as the data support them. The base GNN alone comes
first and GPNN on one part (``trivial``) second: "no partition" can win.

They are trained by successive halving (:mod:`gpnn.train.halving`) on folds of the training and
validation samples; test samples are never used. Every rung has its own folds and seeds, so that
candidates selected in one rung are measured on other folds, of the same samples, in the next. The
p-values do not account for this selection. For the last finished rung, with values
:math:`x_k` of a candidate and :math:`b_k` of the base on the same fold with the same seed,
:math:`k = 1 \dots n`,

.. math::
    g = \frac1n \sum_k (x_k - b_k), \qquad
    s^2 = \Big(\frac1n + \frac{n_{valid}}{n_{train}}\Big) \mathrm{var}_k(x_k - b_k).

The second term of :math:`s^2` is the correction of Nadeau and Bengio (2003) for folds that share
training samples. A candidate is *established* if the one-sided p-value of :math:`t = g / s` with
n - 1 degrees of freedom, after Holm's correction for all candidates of the rung, is below 5 %. If
no candidate is established, the base is chosen. Otherwise the simplest of the established
candidates within one standard error of the best is chosen: the one with the fewest parts, then the
fewest pairs, then the smallest radius.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..data.samples import Samples
from ..data.split import inner_folds
from ..data.tasks import higher_is_better
from ..errors import InputError
from ..options import AUTO, Number, Whole
from . import halving
from .device import pick_device
from .halving import RUNGS, Bracket, OutOfTime, Progress, Tell
from .loop import train_replicas
from .paired import holm, paired, student_p
from .replica import Replica, Schedule
from .scheme_candidates import Candidate, candidates
from .search_log import Trial, TrialLog, search_folder
from .setup import model_config
from .train_config import TrainConfig

__all__ = ["MINUTES", "Chosen", "Standing", "choose_scheme", "usual_jobs"]

MINUTES = 10.0
"""Default time limit of a choice."""

FOLDS, LEAST, LEVEL = 5, 5, 0.05
KEPT = 2
"""The base and ``trivial`` always reach the last rung."""
GOES_ON = (0.25, 0.4)
"""The share of the other candidates that advances to rung 2 and to rung 3."""
MOST_JOBS = 8
"""Maximum number of processes by default."""


@dataclass(frozen=True)
class Standing:
    """Result of a candidate in the last rung that it finished.

    Attributes:
        rung, value: that rung, and its mean validation metric.
        gain, error: gain over the base in that rung (positive is better), and its standard error.
        p: p-value of the gain, corrected for the candidates of the last finished rung; ``None`` in
            earlier rungs.
    """

    candidate: Candidate
    rung: int = 0
    value: float | None = None
    gain: float | None = None
    error: float | None = None
    p: float | None = None
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        own = asdict(self)
        return {**own, "candidate": {**own["candidate"], "title": self.candidate.title}}


@dataclass(frozen=True)
class Chosen:
    """The choice and its reason.

    Attributes:
        candidate: the chosen candidate; ``reason``: the reason in words.
        metric: the validation metric.
        rung, models: the rung that decided, and the networks per candidate in it.
        complete: whether all rungs were finished in the time given.
        standings: results of all candidates, those of later rungs and larger gains first.
        seconds: training time.
    """

    candidate: Candidate
    reason: str
    metric: str
    rung: int
    models: int
    complete: bool
    standings: tuple[Standing, ...]
    seconds: float = 0.0

    @property
    def standing(self) -> Standing:
        return next(one for one in self.standings if one.candidate == self.candidate)

    def applied(self, model: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a network with the choice applied."""
        if self.candidate.options["gpnn"]:
            return {**model, **self.candidate.options}
        idle = ("scheme", "interactions", "d", "distances", "labels", "join")
        return {k: v for k, v in model.items() if k not in idle} | {"gpnn": False}

    def to_dict(self) -> dict[str, Any]:
        """Content for the model file."""
        own = {name: getattr(self, name) for name in
               ("reason", "metric", "rung", "models", "complete", "seconds")}  # fmt: skip
        return {
            "chosen": self.candidate.title,
            **own,
            "candidates": [one.to_dict() for one in self.standings],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Chosen:
        """Restore from a model file."""
        standings = []
        for one in content["candidates"]:
            fields = {k: v for k, v in one["candidate"].items() if k != "title"}
            standings.append(Standing(**{**one, "candidate": Candidate(**fields)}))
        own = {k: v for k, v in content.items() if k not in ("chosen", "candidates")}
        chosen = next(s.candidate for s in standings if s.candidate.title == content["chosen"])
        return cls(candidate=chosen, standings=tuple(standings), **own)


def choose_scheme(
    samples: Samples,
    pool: NDArray[np.int64],
    model: Mapping[str, Any],
    train: TrainConfig,
    folder: Path,
    minutes: float = MINUTES,
    *,
    kind: str | None = None,
    fresh: bool = False,
    jobs: int = 1,
    counted: Callable[[list[Candidate]], None] | None = None,
    progress: Progress | None = None,
    finished: Callable[[Candidate, Trial], None] | None = None,
) -> Chosen:
    """Choose scheme, interactions, d and distances for some samples, or the base GNN alone.

    Args:
        pool: training and validation samples; no other label is read.
        model: options of the network except ``scheme``; ``interactions``, ``d`` and ``distances``
            are fixed where they are given.
        folder: where the trials are stored; an interrupted choice resumes from there.
        minutes: time limit, after which the last finished rung decides.
        kind: kind of the folds: ``random``, ``stratified`` or ``scaffold``.
        fresh: delete the trials in the folder.
        jobs: number of processes that train candidates in parallel. The choice does not depend on
            it, unless the time is up before all rungs are finished.
        counted: called with the candidates before anything is trained.
        finished: called with every new trial.
    """
    minutes = Number(above=True).read("minutes", minutes)
    if not model.get("gpnn", True):
        raise InputError(f"scheme='{AUTO}' tries the base alone by itself: leave GPNN in.")
    if not isinstance(model.get("base"), str | None) or model.get("base", "") is None:
        raise InputError(
            f"scheme='{AUTO}' compares with the base alone: give a base GNN by its name, not "
            f"{model['base']!r}."
        )
    pick_device(train.device)
    jobs = Whole(1).read("jobs", jobs)
    splits = _rung_splits(samples, pool, train.seed, kind)
    found = candidates(samples, pool, model)
    carried = [one for one in found if not one.refused]
    if counted is not None:
        counted(found)
    parts = [[(s.train, s.valid, s.digest()) for s in own] for own in splits]
    about = {
        "search": "scheme",
        "model": {k: v for k, v in model.items() if k != "scheme"},
        "train": {k: v for k, v in asdict(train).items() if k != "device"},
        "candidates": [dict(one.options) for one in carried],
        "folds": [[digest for *_, digest in own] for own in parts],
        "data": samples.digest(),
    }
    folds = tuple(tuple((fit, check) for fit, check, _ in own) for own in parts)
    trials = _Trials(samples, tuple(carried), folds, model, train, folder)
    spread = None
    if jobs > 1:
        spread = halving.in_processes(_worker, (trials, torch.get_num_threads()), jobs)
    with search_folder(folder, fresh):
        log = TrialLog(folder, about)
        tell = None if finished is None else lambda t: finished(carried[t.number - 1], t)
        bracket = Bracket(
            len(carried), samples.metric, trials.sets, trials.train_one, KEPT, GOES_ON, spread
        )
        last = halving.run_rungs(bracket, log, time.time() + 60 * minutes, progress, tell)
    ratios = [float(np.mean([len(v) / len(f) for f, v, _ in own])) for own in parts]
    return decide(found, log.trials, samples.metric, ratios, last)


@dataclass(frozen=True)
class _Trials:
    """Trains candidates, in this process or in another one.

    Attributes:
        carried: the candidates, numbered from 1.
        folds: training and validation samples of every fold of every rung.
        model, train: as in :func:`choose_scheme`; ``folder``: for checkpoints.
    """

    samples: Samples
    carried: tuple[Candidate, ...]
    folds: tuple[tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...], ...]
    model: Mapping[str, Any]
    train: TrainConfig
    folder: Path

    def sets(self, alive: Sequence[int], _: int) -> list[list[int]]:
        """Candidates differ in structure, so each is a separate set. Those that take longest come
        first, so that processes end at about the same time."""
        return [[n] for n in sorted(alive, key=lambda n: (-self.carried[n - 1].tuples, n))]

    def train_one(self, numbers: list[int], rung: int, tell: Tell) -> list[Trial]:
        """Train a candidate on all folds of a rung, side by side."""
        (number,) = numbers
        one, train, began = self.carried[number - 1], self.train, time.perf_counter()
        dropout = self.model.get("dropout")
        if dropout is None:
            dropout = model_config(self.samples, 1, {}).dropout
        replicas = [
            Replica(fit, check, [], train.seed + 1_000 * rung + k, train.lr,  # type: ignore[arg-type]
                    train.weight_decay, dropout)
            for k, (fit, check) in enumerate(self.folds[rung - 1])
        ]  # fmt: skip
        schedule = _shorter(train, RUNGS[rung - 1])
        trial = Trial(number, rung, schedule.epochs, dict(one.options))
        idle = ("d", "distances", "labels", "join", "interactions") * (not one.options["gpnn"])
        idle += ("scheme", "dropout")
        options = {k: v for k, v in self.model.items() if k not in idle} | dict(one.options)
        place = self.folder / "work" / f"{rung}-{number}"
        go = partial(train_replicas, balanced=train.class_weights == "balanced")
        try:
            curves = halving.train_checkpointed(
                place, self.samples, options, replicas, schedule, train.device, tell, go
            )
        except InputError as error:  # too large for the memory, say
            trial = replace(trial, reason=str(error))
        else:
            trial = halving.measured(trial, curves, slice(None))
        return [replace(trial, seconds=round(time.perf_counter() - began, 3))]

    def __call__(self, item: tuple[list[int], int, float | None]) -> list[Trial] | None:
        """The trials of a set, or ``None`` if the time is up."""
        numbers, rung, deadline = item
        if deadline is not None and time.time() >= deadline:
            return None
        try:
            return self.train_one(numbers, rung, halving.watched(rung, numbers, deadline, None))
        except OutOfTime:
            return None


def _worker(trials: _Trials, threads: int) -> _Trials:
    torch.set_num_threads(threads)
    return trials


def usual_jobs(device: str) -> int:
    """Default number of processes for a choice: one per core on a CPU, up to eight; a single one on
    a GPU, where parallel trainings would wait for each other."""
    return 1 if pick_device(device).type != "cpu" else min(MOST_JOBS, os.cpu_count() or 1)


def decide(
    found: Sequence[Candidate],
    trials: Sequence[Trial],
    metric: str,
    ratios: Sequence[float],
    last: int,
) -> Chosen:
    """The choice that follows from the finished trials by the rule of this module.

    Args:
        found: candidates, those not refused first, in the order of the trials' numbers from 1.
        ratios: validation samples per training sample, for every rung.
        last: the last finished rung, 0 for none.
    """
    carried = [one for one in found if not one.refused]
    by_rung = {(t.number, t.rung): t for t in trials}
    standings = [
        _standing(one, number, by_rung, metric, ratios, last or len(RUNGS))
        for number, one in enumerate(carried, start=1)
    ]
    rivals = [s for s in standings if s.rung == last > 0 and s.p is not None]
    corrected = holm([s.p or 0.0 for s in rivals])
    at = {id(s): p for s, p in zip(rivals, corrected, strict=True)}
    standings = [replace(s, p=at.get(id(s))) for s in standings]
    models = max((len(t.models) for t in trials if t.rung == last), default=0)
    base, reason = carried[0], ""
    chosen = base
    established = [s for s in standings if s.p is not None and s.p < LEVEL and (s.gain or 0) > 0]
    if not last or models < LEAST:
        reason = "the time was too short to compare: the base is kept"
    elif not established:
        best = max((s for s in standings if s.p is not None), key=_gain, default=None)
        reason = "no gain over the base is established" + (
            f" (the largest, {best.gain:+.4f} ± {best.error:.4f} of {best.candidate.title}, "
            f"p = {best.p:.2f})" if best is not None else ""
        )  # fmt: skip
    else:
        best = max(established, key=_gain)
        near = [
            s for s in established
            if _within_one_error(best, s, by_rung, carried, metric, ratios[last - 1], last)
        ]  # fmt: skip
        first = min(near, key=lambda s: s.candidate.complexity)
        chosen = first.candidate
        how = f"{first.gain:+.4f} ± {first.error:.4f} over the base, p = {first.p:.1g}"
        reason = f"established gain, {how}"
        if first is not best:
            reason += (
                f"; the simplest within one standard error of {best.candidate.title} "
                f"({best.gain:+.4f})"
            )
    refused = [Standing(one, reason=one.refused) for one in found if one.refused]
    ordered = sorted(standings, key=lambda s: (-s.rung, -_gain(s)))
    seconds = round(sum(t.seconds for t in trials), 1)
    return Chosen(
        chosen, reason, metric, last, models, last == len(RUNGS), (*ordered, *refused), seconds
    )  # fmt: skip


def _gain(standing: Standing) -> float:
    return -math.inf if standing.gain is None else standing.gain


def _standing(
    one: Candidate,
    number: int,
    by_rung: Mapping[tuple[int, int], Trial],
    metric: str,
    ratios: Sequence[float],
    most: int,
) -> Standing:
    """Result of a candidate, compared with the base, in its last rung up to ``most``."""
    for rung in range(most, 0, -1):
        trial, base = by_rung.get((number, rung)), by_rung.get((1, rung))
        if trial is None:
            continue
        if trial.value is None or base is None or base.value is None:
            return Standing(one, rung, trial.value, reason=trial.reason)
        if number == 1:
            return Standing(one, rung, trial.value, 0.0, 0.0)
        gain, error = _difference(trial, base, metric, ratios[rung - 1])
        p = None if error is None else student_p(gain, error, len(trial.models) - 1)
        return Standing(one, rung, trial.value, gain, error, p)
    return Standing(one, reason="not tried: the time was up")


def _difference(
    trial: Trial, other: Trial, metric: str, ratio: float
) -> tuple[float, float | None]:
    return paired(trial.models, other.models, higher_is_better(metric), ratio)


def _within_one_error(
    best: Standing,
    other: Standing,
    by_rung: Mapping[tuple[int, int], Trial],
    carried: Sequence[Candidate],
    metric: str,
    ratio: float,
    rung: int,
) -> bool:
    number = {id(one): n for n, one in enumerate(carried, start=1)}
    first = by_rung[number[id(best.candidate)], rung]
    second = by_rung[number[id(other.candidate)], rung]
    behind, error = _difference(first, second, metric, ratio)
    return behind <= (error or 0.0)


def _rung_splits(
    samples: Samples, pool: NDArray[np.int64], seed: int, kind: str | None
) -> list[list[Any]]:
    """New folds for every rung: two of five, five, and twice five."""
    folds = [inner_folds(samples, pool, FOLDS, seed + 7_919 * (k + 1), kind) for k in range(4)]
    return [folds[0][:2], folds[1], folds[2] + folds[3]]


def _shorter(train: TrainConfig, share: float) -> Schedule:
    """The whole schedule in fewer epochs."""
    epochs = max(1, round(share * train.epochs))
    halve = max(1, round(train.halve_every * epochs / train.epochs))
    return Schedule(epochs, train.batch_size, halve)
