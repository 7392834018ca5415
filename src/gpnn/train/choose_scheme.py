"""``scheme="auto"``: choose a partition for the data, or none.

The candidates (:mod:`gpnn.train.scheme_candidates`) are schemes and combinations of them, times
interactions, radius and distances, as far as the data support them. The base GNN alone comes
first and GPNN on one part (``trivial``) second: "no partition" can win.

They are trained by successive halving (:mod:`gpnn.train.halving`) on folds of the training and
validation samples; test samples are never used. Every rung has its own folds and seeds, so that
candidates selected in one rung are measured on other folds, of the same samples, in the next. The
decision (:mod:`gpnn.train.scheme_decision`) rests on paired gains over the base in the last rung;
its p-values do not account for the selection in earlier rungs.
"""

from __future__ import annotations

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
from ..errors import InputError
from ..options import AUTO, Number, Whole
from . import halving
from .device import pick_device
from .halving import RUNGS, Bracket, OutOfTime, Progress, Tell
from .loop import train_replicas
from .replica import Replica, Schedule
from .scheme_candidates import Candidate, candidates
from .scheme_decision import Chosen, decide, is_ahead
from .search_log import Trial, TrialLog, search_folder
from .setup import model_config
from .train_config import TrainConfig

__all__ = ["MINUTES", "choose_scheme", "usual_jobs"]

MINUTES = 10.0
"""Default time limit of a choice."""

FOLDS = 5
LARGE = 2_000
"""Samples above which a rung has half as many folds."""
KEPT = 2
"""The base and ``trivial`` always reach the last rung."""
GOES_ON = (0.25, 0.4)
"""The share of the other candidates that advances to rung 2 and to rung 3."""
FIRST = 0.4
"""Share of the time after which rung 1 ends, with the candidates tried by then."""
MOST_JOBS = 8
"""Maximum number of processes by default."""


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
        minutes: time limit, which includes counting the candidates. After it the last rung decides
            that has the base and the candidate that was best before.
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
    if train.fanout is not None:
        raise InputError(
            f"scheme='{AUTO}' compares with the base alone, which does not train on blocks: leave "
            "out fanout, or name a scheme."
        )
    device = pick_device(train.device)
    jobs = Whole(1).read("jobs", jobs)
    deadline = time.time() + 60 * minutes
    splits = _rung_splits(samples, pool, train.seed, kind)
    all_candidates = candidates(samples, pool, model)
    carried = [one for one in all_candidates if not one.refused]
    if counted is not None:
        counted(all_candidates)
    parts = [[(s.train, s.valid, s.digest()) for s in own] for own in splits]
    ratios = [float(np.mean([len(v) / len(f) for f, v, _ in own])) for own in parts]
    about = {
        "search": "scheme",
        "model": {k: v for k, v in model.items() if k != "scheme"},
        "train": {k: v for k, v in asdict(train).items() if k != "device"},
        "candidates": [dict(one.options) for one in carried],
        "folds": [[digest for *_, digest in own] for own in parts],
        "data": samples.digest(),
        "device": device.type,
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
            len(carried), samples.metric, trials.sets, trials.train_one, KEPT, GOES_ON,
            partial(is_ahead, metric=samples.metric, ratio=ratios[-2]), FIRST, spread,
        )  # fmt: skip
        ended = halving.run_rungs(bracket, log, deadline, progress, tell)
    return decide(all_candidates, log.trials, samples.metric, ratios, ended)


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

    def sets(self, alive: Sequence[int], rung: int) -> list[list[int]]:
        """Candidates differ in structure, so each is a separate set. In rung 1 the base and
        ``trivial`` come first, then those that take least time; in later rungs the best, so that
        they are tried if the time ends early."""
        if rung == 1:
            alive = sorted(alive, key=lambda n: (n > KEPT, self.carried[n - 1].tuples, n))
        return [[n] for n in alive]

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


def _rung_splits(
    samples: Samples, pool: NDArray[np.int64], seed: int, kind: str | None
) -> list[list[Any]]:
    """New folds for every rung: two of five, five, and twice five; of a large pool, whose folds are
    less noisy, half of them."""
    folds = [inner_folds(samples, pool, FOLDS, seed + 7_919 * (k + 1), kind) for k in range(4)]
    if len(pool) > LARGE:
        return [folds[0][:1], folds[1][:3], folds[2]]
    return [folds[0][:2], folds[1], folds[2] + folds[3]]


def _shorter(train: TrainConfig, share: float) -> Schedule:
    """The whole schedule in fewer epochs, without early stopping."""
    epochs = max(1, round(share * train.epochs))
    halve = None if train.cosine else max(1, round(train.halve_every * epochs / train.epochs))
    return replace(train.schedule, epochs=epochs, halve_every=halve, patience=None)
