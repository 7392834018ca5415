"""Search for a recipe on validation samples alone, by successive halving
(:mod:`gpnn.train.halving`). Settings that differ only in step size, decay or dropout are trained
side by side as replicas of one set. The best setting of the last rung becomes the recipe.

No model sees a test sample. On a TU collection, however, the validation graphs of one fold are test
graphs of another, so the search yields a recipe, not a result. Report ``tu-nested`` as the result.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ..data.samples import Samples
from ..errors import InputError
from ..files import write_text
from ..ray_engine import LOCAL, RemoteTask, cluster, gpus_for, run_tasks
from ..train.device import pick_device
from ..train.halving import (
    PIECE,
    RUNGS,
    Bracket,
    OutOfTime,
    Progress,
    ranked,
    run_rungs,
    watched,
)
from ..train.search_log import Trial, TrialLog, search_folder
from .data import load_data
from .jobs import key_of
from .search_trial import (
    PER_REPLICA,
    Search,
    rung_recipe,
    train_trials,
    trial_folder,
    validation_replicas,
)

__all__ = ["Search", "Searched", "best_recipe", "run_search"]

BEST = "best.toml"


@dataclass(frozen=True)
class Searched:
    """All finished trials and the best trial of the last rung reached. Its recipe is at ``path``;
    ``complete`` is true if the last rung is finished."""

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
    engine: str = LOCAL,
) -> Searched:
    """Run or resume the search in ``out`` until it is complete or out of time.

    Args:
        minutes: time limit; the current training is interrupted, and the search can be resumed.
        fresh: discard the search in the folder.
        progress: called with a rung, the numbers of the running trials, and the completed share of
            their training.
        finished: called with every new trial.
        samples: training data that replaces the dataset of the recipe.
        engine: ``local``, ``ray`` or ``ray://HOST:PORT``, see ``gpnn.ray_engine``; on Ray, every
            set of trials is a separate task.
    """
    if minutes is not None and not minutes > 0:
        raise InputError(f"The minutes of a search must be above 0; got {minutes}.")
    if engine == LOCAL or device != "cuda":
        pick_device(device)  # fail before the first trial if the device is not available
    out, deadline = Path(out), None if minutes is None else time.time() + 60 * minutes
    with cluster(engine), search_folder(out, fresh, BEST):
        own = samples if samples is not None else load_data(search.recipe, data, search.quick)
        validation_replicas(search, search.recipe, own, data)
        metric, digest = own.metric, own.digest()
        log = TrialLog(out, {**search.to_dict(), "data": digest})
        settings = dict(enumerate(search.settings(), start=1))

        def train(numbers: list[int], rung: int, tell: Callable[[int, int], bool]) -> list[Trial]:
            chosen = [settings[n] for n in numbers]
            return train_trials(search, numbers, chosen, rung, own, out, data, device, tell)

        spread = None
        if engine != LOCAL:
            place = None if data is None else str(Path(data).resolve())
            given = samples if samples is not None else digest
            away = _Away(search, settings, given, out, place, device, gpus_for(device))
            spread = away.spread
        bracket = Bracket(
            len(settings), metric, lambda alive, rung: _sets(search, settings, alive, rung), train,
            spread=spread,
        )  # fmt: skip
        complete = run_rungs(bracket, log, deadline, progress, finished).complete
        best = _best(log, metric)
        if best is not None:
            write_text(out / BEST, best_recipe(search, best, metric))
        path = None if best is None else out / BEST
        return Searched(metric, tuple(log.trials), best, path, complete)


@dataclass(frozen=True)
class _Away:
    """Trials on the machines of a cluster; only this process writes the log.

    Attributes:
        given: the samples, or the digest that the data on each machine must match.
    """

    search: Search
    settings: Mapping[int, dict[str, Any]]
    given: Samples | str
    out: Path
    data: str | None
    device: str
    gpus: float

    def spread(
        self,
        pending: Sequence[list[int]],
        rung: int,
        deadline: float | None,
        progress: Progress | None,
    ) -> Iterator[list[Trial]]:
        tasks, late = [], False
        for numbers in pending:
            own = [self.settings[n] for n in numbers]
            folder = trial_folder(self.out, rung, own)
            call = partial(
                _train_away, self.search, numbers, own, rung, self.given, self.data, self.device,
                deadline,
            )  # fmt: skip
            tasks.append(RemoteTask(call, folder, f"work/{folder.name}", self.gpus))

        def tell(number: int, what: str, value: Any) -> None:
            if what == "share" and progress is not None:
                progress(rung, pending[number], value)

        for number, trials in run_tasks(tasks, tell=tell):
            if trials is None:
                late = True
                continue
            if [(t.number, t.rung) for t in trials] != [(n, rung) for n in pending[number]]:
                raise InputError("A machine of the cluster sent other trials. Run it again.")
            shutil.rmtree(tasks[number].folder, ignore_errors=True)
            yield trials
        if late:
            raise OutOfTime


def _train_away(
    search: Search,
    numbers: list[int],
    settings: list[dict[str, Any]],
    rung: int,
    given: Samples | str,
    data: str | None,
    device: str,
    deadline: float | None,
    folder: Path,
    tell: Callable[[float], None],
) -> list[Trial] | None:
    """Train trials on a machine of a cluster; return ``None`` if they are out of time."""
    if deadline is not None and time.time() >= deadline:
        return None
    data = data if data and Path(data).is_dir() else None
    samples = load_data(search.recipe, data, search.quick) if isinstance(given, str) else given
    if isinstance(given, str) and samples.digest() != given:
        raise InputError(
            f"A machine of the cluster has other data for {search.recipe.dataset} than the caller. "
            "Put the same files on every machine."
        )
    go_on = watched(rung, numbers, deadline, lambda *words: tell(words[-1]))
    try:
        return train_trials(
            search, numbers, settings, rung, samples, folder.parent.parent, data, device, go_on
        )
    except OutOfTime:
        return None


def best_recipe(search: Search, best: Trial, metric: str) -> str:
    """Return the recipe of a trial as TOML, with a comment on its origin."""
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
    """Group trials with equal networks and schedules, which are trained side by side."""
    groups: dict[str, list[int]] = {}
    for number in alive:
        recipe = rung_recipe(search, settings[number], rung).to_dict()
        shared = {name: value for name, value in recipe.items() if name not in PER_REPLICA}
        groups.setdefault(key_of(shared), []).append(number)
    size = max(1, PIECE // search.per_trial)
    return [own[at : at + size] for own in groups.values() for at in range(0, len(own), size)]


def _best(log: TrialLog, metric: str) -> Trial | None:
    """Return the best trial of the last rung with a finished trial."""
    for rung in range(len(RUNGS), 0, -1):
        best = ranked([trial for trial in log.trials if trial.rung == rung], metric)
        if best:
            return best[0]
    return None
