"""A search for a recipe, on validation samples alone, by successive halving
(:mod:`gpnn.train.halving`). Settings that differ in step size, decay or dropout alone are trained
side by side as replicas of one set. The best of the last rung becomes the recipe.

No model is given a test sample. On a TU collection the validation graphs of one fold are test
graphs of another; what is found so is a recipe, not a result. ``tu-nested`` remains the result to
report.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..data.samples import Samples
from ..errors import InputError
from ..files import write_text
from ..train.device import pick_device
from ..train.halving import PIECE, RUNGS, Bracket, Progress, ranked, run_rungs
from ..train.search_log import Trial, TrialLog, search_folder
from .data import load_data
from .jobs import key_of
from .search_trial import PER_REPLICA, Search, rung_recipe, train_trials, validation_replicas

__all__ = ["Search", "Searched", "best_recipe", "run_search"]

BEST = "best.toml"


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
    with search_folder(out, fresh, BEST):
        if samples is None:
            samples = load_data(search.recipe, data, search.quick)
        validation_replicas(search, search.recipe, samples, data)
        metric = samples.metric
        log = TrialLog(out, {**search.to_dict(), "data": samples.digest()})
        settings = dict(enumerate(search.settings(), start=1))

        def train(numbers: list[int], rung: int, tell: Callable[[int, int], bool]) -> list[Trial]:
            own = [settings[n] for n in numbers]
            return train_trials(search, numbers, own, rung, samples, out, data, device, tell)

        bracket = Bracket(
            len(settings), metric, lambda alive, rung: _sets(search, settings, alive, rung), train
        )
        complete = run_rungs(bracket, log, deadline, progress, finished) == len(RUNGS)
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


def _best(log: TrialLog, metric: str) -> Trial | None:
    """The best trial of the last rung that any finished."""
    for rung in range(len(RUNGS), 0, -1):
        best = ranked([trial for trial in log.trials if trial.rung == rung], metric)
        if best:
            return best[0]
    return None
