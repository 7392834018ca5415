"""A search for a recipe, on validation samples alone, by successive halving.

All settings are trained for a quarter of the epochs, the better half of them for half, the better
half of these for all: every rung runs its whole schedule, in fewer epochs, from the start. Settings
that differ in step size, decay or dropout alone are trained side by side as replicas of one set.
Every trial of every rung is kept in ``trials.jsonl``; the best of the last rung becomes the recipe.

No model is given a test sample. On a TU collection the validation graphs of one fold are test
graphs of another; what is found so is a recipe, not a result. ``tu-nested`` remains the result to
report.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..data.samples import Samples
from ..data.tasks import higher_is_better
from ..errors import InputError
from ..files import write_text
from ..lock import locked
from ..train.device import pick_device
from .data import load_data
from .jobs import key_of
from .run_job import PIECE, OutOfTime
from .search_log import LOG, Trial, TrialLog
from .search_trial import (
    PER_REPLICA,
    RUNGS,
    Search,
    rung_recipe,
    train_trials,
    validation_replicas,
)

__all__ = ["Search", "Searched", "best_recipe", "ranked", "run_search"]

BEST = "best.toml"
Progress = Callable[[int, Sequence[int], float], None]


@dataclass(frozen=True)
class Searched:
    """All finished trials and the best of the last rung reached, whose recipe lies at ``path``;
    ``complete`` where the last rung is finished."""

    metric: str
    trials: tuple[Trial, ...]
    best: Trial | None
    path: Path | None
    complete: bool


def run_search(
    search: Search,
    out: str | Path,
    minutes: float | None = None,
    data: str | None = None,
    device: str = "auto",
    fresh: bool = False,
    progress: Progress | None = None,
    finished: Callable[[Trial], None] | None = None,
    samples: Samples | None = None,
) -> Searched:
    """Run or resume the search in ``out`` until it is complete or the time is spent.

    Args:
        minutes: after which the current training is interrupted; the search can be resumed.
        fresh: forget the search in the folder.
        progress: called with a rung, the numbers of the trials at work, and the share of their
            training that is done.
        finished: called with every trial that is new.
        samples: what is trained on, instead of the dataset of the recipe.
    """
    if minutes is not None and not minutes > 0:
        raise InputError(f"The minutes of a search must be above 0; got {minutes}.")
    pick_device(device)  # what no trial could do is said before the first
    out, deadline = Path(out), None if minutes is None else time.time() + 60 * minutes
    with locked(out / "search.lock", wait=False) as mine:
        if not mine:
            raise InputError(f"Another search is running in {out}. Wait, or choose another folder.")
        if fresh:
            (out / LOG).unlink(missing_ok=True)
            (out / BEST).unlink(missing_ok=True)
            shutil.rmtree(out / "work", ignore_errors=True)
        if samples is None:
            samples = load_data(search.recipe, data, search.quick)
        validation_replicas(search, search.recipe, samples, data)
        metric = samples.metric
        log = TrialLog(out, {**search.to_dict(), "data": samples.digest()})
        settings = dict(enumerate(search.settings(), start=1))
        complete = True
        try:
            alive = list(settings)
            for rung in range(1, len(RUNGS) + 1):
                for numbers in _sets(search, settings, alive, rung):
                    wanted = [n for n in numbers if log.find(n, rung) is None]
                    if not wanted:
                        continue
                    if deadline is not None and time.time() >= deadline:
                        raise OutOfTime
                    made = train_trials(
                        search, wanted, [settings[n] for n in wanted], rung, samples, out, data,
                        device, _watched(rung, wanted, deadline, progress),
                    )  # fmt: skip
                    log.add(made)
                    for trial in made:
                        if finished is not None:
                            finished(trial)
                alive = _better_half(log, alive, rung, metric)
        except OutOfTime:
            complete = False
        best = _best(log, metric)
        if best is not None:
            write_text(out / BEST, best_recipe(search, best, metric))
        path = None if best is None else out / BEST
        return Searched(metric, tuple(log.trials), best, path, complete)


def best_recipe(search: Search, best: Trial, metric: str) -> str:
    """The recipe of a trial as a file, with a comment on its origin."""
    spread = "" if best.std is None else f" ± {best.std:.4f}"
    head = [
        f"# Found by a search: trial {best.number} of {search.trials}, {search.per_trial} models "
        "each.",
        f"# {search.row.title} on {search.recipe.name}: validation {metric} {best.value:.4f}"
        f"{spread} at epoch {best.epoch} of {best.epochs}.",
        "# Chosen on validation samples alone; no test sample was looked at.",
    ]
    if search.quick:
        head.insert(0, "# QUICK: a small sample, to see that the search works. Not a recipe.")
    return "\n".join(head) + "\n" + replace(search.recipe, **best.values).to_toml()


def _sets(
    search: Search, settings: dict[int, dict[str, object]], alive: Sequence[int], rung: int
) -> list[list[int]]:
    """The trials that are trained side by side: those with equal networks and schedules."""
    found: dict[str, list[int]] = {}
    for number in alive:
        recipe = rung_recipe(search, settings[number], rung).to_dict()
        shared = {name: value for name, value in recipe.items() if name not in PER_REPLICA}
        found.setdefault(key_of(shared), []).append(number)
    size = max(1, PIECE // search.per_trial)
    return [own[at : at + size] for own in found.values() for at in range(0, len(own), size)]


def ranked(trials: Sequence[Trial], metric: str) -> list[Trial]:
    """Those that have a value, best first, the earlier first among equals."""
    measured = [trial for trial in trials if trial.value is not None]
    sign = -1 if higher_is_better(metric) else 1
    return sorted(measured, key=lambda trial: (sign * (trial.value or 0.0), trial.number))


def _better_half(log: TrialLog, alive: Sequence[int], rung: int, metric: str) -> list[int]:
    trials = [trial for n in alive if (trial := log.find(n, rung)) is not None]
    return [trial.number for trial in ranked(trials, metric)[: -(-len(trials) // 2)]]


def _best(log: TrialLog, metric: str) -> Trial | None:
    """The best trial of the last rung that any finished."""
    for rung in range(len(RUNGS), 0, -1):
        best = ranked([trial for trial in log.trials if trial.rung == rung], metric)
        if best:
            return best[0]
    return None


def _watched(
    rung: int, numbers: Sequence[int], deadline: float | None, progress: Progress | None
) -> Callable[[int, int], bool]:
    """What the trainer calls after every epoch: whether to go on."""

    def tell(done: int, total: int) -> bool:
        if progress is not None and done:
            progress(rung, numbers, done / total)
        return deadline is None or time.time() < deadline

    return tell
