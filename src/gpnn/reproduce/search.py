"""A search for a recipe, on validation samples alone.

Optuna proposes trials; every trial trains the models of :mod:`.search_trial`, to none of which a
test sample is given. On a TU collection the validation graphs of one fold are test graphs of
another; what is found so is a recipe, not a result. ``tu-nested`` remains the figure to believe.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from ..data.tasks import higher_is_better
from ..errors import InputError
from ..files import write_text
from ..train.device import pick_device
from .data import load_data
from .lock import locked
from .run_job import OutOfTime
from .search_store import STORAGE, Trial, Trials, need_optuna
from .search_trial import Search, train_trial, validation_replicas

__all__ = ["Search", "Searched", "best_recipe", "run_search"]

BEST = "best.toml"
Progress = Callable[[int, float], None]


@dataclass(frozen=True)
class Searched:
    """All settled trials and the best of them, whose recipe lies at ``path``; ``complete`` where
    the budget of trials is used."""

    metric: str
    trials: tuple[Trial, ...]
    best: Trial | None
    path: Path | None
    complete: bool


def run_search(
    search: Search,
    out: str | Path,
    trials: int = 20,
    minutes: float | None = None,
    data: str | None = None,
    device: str = "auto",
    fresh: bool = False,
    progress: Progress | None = None,
    settled: Callable[[Trial, Trial | None], None] | None = None,
) -> Searched:
    """Go on with the search in ``out`` until ``trials`` trials are settled or the time is spent.

    Args:
        trials: settled trials in all, those of earlier runs included; no two are the same, so a
            small space ends sooner.
        minutes: after which the trial at work is left and the search stops; it can be resumed.
        fresh: forget the search in the folder.
        progress: called with a trial's number and the share of it that is done.
        settled: called with every trial that is new, and with the best so far.
    """
    if trials < 1:
        raise InputError(f"A search needs 1 trial or more; got {trials}.")
    if minutes is not None and not minutes > 0:
        raise InputError(f"The minutes of a search must be above 0; got {minutes}.")
    need_optuna()
    trials = search.space.at_most(trials)
    pick_device(device)  # what no trial could do is said before the first
    out, deadline = Path(out), None if minutes is None else time.time() + 60 * minutes
    with locked(out / "search.lock", wait=False) as mine:
        if not mine:
            raise InputError(f"Another search is running in {out}. Wait, or choose another folder.")
        if fresh:
            (out / STORAGE).unlink(missing_ok=True)
            shutil.rmtree(out / "work", ignore_errors=True)
        samples = load_data(search.recipe, data, search.quick)
        validation_replicas(search, search.recipe, samples, data)
        metric, about = samples.metric, {**search.to_dict(), "data": samples.digest()}
        kept = Trials(out, about, higher_is_better(metric), search.space, search.seed)
        try:
            while len(kept.settled) < trials and (deadline is None or time.time() < deadline):
                number = len(kept.settled) + 1
                ticket, values = kept.ask()
                tell = _watched(number, deadline, progress)
                trial = train_trial(search, number, values, samples, out, data, device, tell)
                kept.settle(ticket, trial)
                if settled is not None:
                    settled(trial, kept.best)
        except OutOfTime:
            pass
        best = kept.best
        if best is not None:
            write_text(out / BEST, best_recipe(search, best, len(kept.settled), metric))
        path = None if best is None else out / BEST
        return Searched(metric, kept.settled, best, path, len(kept.settled) >= trials)


def best_recipe(search: Search, best: Trial, count: int, metric: str) -> str:
    """The recipe of a trial as a file, with a word on where it comes from."""
    spread = "" if best.std is None else f" ± {best.std:.4f}"
    head = [
        f"# Found by a search: trial {best.number} of {count}, {search.per_trial} models each.",
        f"# {search.row.title} on {search.recipe.name}: validation {metric} {best.value:.4f}"
        f"{spread} at epoch {best.epoch}.",
        "# Chosen on validation samples alone; no test sample was looked at.",
    ]
    if search.quick:
        head.insert(0, "# QUICK: a small sample, to see that the search works. Not a recipe.")
    return "\n".join(head) + "\n" + replace(search.recipe, **best.values).to_toml()


def _watched(
    number: int, deadline: float | None, progress: Progress | None
) -> Callable[[int, int], bool]:
    """What the trainer calls after every epoch: whether to go on."""

    def tell(done: int, total: int) -> bool:
        if progress is not None and done:
            progress(number, done / total)
        return deadline is None or time.time() < deadline

    return tell
