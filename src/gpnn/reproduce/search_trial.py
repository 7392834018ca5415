"""Trials of a search: settings that are trained side by side on training samples and evaluated on
validation samples alone.

The models are those of the honest protocol of the dataset (``tu-nested``, ``ogb``, ``zinc`` or
``node``) without the test part. The value of a trial is the best epoch of their *mean* validation
curve, so that all models use the same epoch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..data.samples import Samples
from ..errors import InputError
from ..options import Number, Whole, check_options
from ..train.halving import RUNGS, measured, train_checkpointed
from ..train.loop import train_replicas
from ..train.replica import Replica
from ..train.search_log import Trial
from .jobs import Job, Row, key_of
from .protocols import get_protocol
from .recipe import Recipe
from .search_space import SearchSpace
from .width import sized_options

__all__ = [
    "PER_REPLICA",
    "Search",
    "rung_recipe",
    "train_trials",
    "trial_folder",
    "validation_replicas",
]

QUICK_EPOCHS, QUICK_MODELS = 4, 2
PER_REPLICA = ("lr", "weight_decay", "dropout")
"""Fields in which models that are trained side by side may differ."""


@dataclass(frozen=True)
class Search:
    """Specification of a search.

    Attributes:
        recipe: the source of every field that is not searched.
        row: the model.
        space: the search space.
        trials: number of settings; the recipe's own comes first, if the space contains it.
        models: models per trial: folds, splits or seeds of the protocol.
        share: share of the recipe's epochs in the last rung.
        seed: random seed of the settings.
        quick: use a small sample of graphs and epochs, to check that the search runs.
    """

    recipe: Recipe
    row: Row
    space: SearchSpace
    trials: int = 16
    models: int = 5
    share: float = 1.0
    seed: int = 0
    quick: bool = False

    def __post_init__(self) -> None:
        check_options(
            self, ("seed", "trials"), {"models": Whole(1), "share": Number(0.0, 1.0, above=True)}
        )
        object.__setattr__(self, "trials", self.space.at_most(self.trials))

    @property
    def per_trial(self) -> int:
        """Number of models per trial."""
        return min(self.models, QUICK_MODELS) if self.quick else self.models

    def settings(self) -> list[dict[str, Any]]:
        """Return the values of every trial: the recipe's own, then random ones, all different."""
        return self.space.draw(self.trials, self.seed, self.recipe)

    def to_dict(self) -> dict[str, Any]:
        """Return everything that identifies the search."""
        options = ("trials", "models", "share", "seed", "quick")
        return {
            "recipe": self.recipe.to_dict(),
            "model": {"method": self.row.title},
            "space": self.space.to_dict(),
            "search": {name: getattr(self, name) for name in options},
        }


def rung_recipe(search: Search, values: Mapping[str, Any], rung: int) -> Recipe:
    """Return the recipe of a trial in a rung, counted from 1: the whole schedule, scaled to fewer
    epochs."""
    recipe = replace(search.recipe, bases={}, **values)
    whole = min(recipe.epochs, QUICK_EPOCHS) if search.quick else recipe.epochs
    epochs = max(1, round(whole * search.share * RUNGS[rung - 1]))
    shorter = {
        name: max(1, round(getattr(recipe, name) * epochs / recipe.epochs))
        for name in ("halve_every", "plateau", "warmup")
        if getattr(recipe, name)
    }
    if "warmup" in shorter:
        shorter["warmup"] = min(shorter["warmup"], epochs - 1)
    return replace(recipe, epochs=epochs, **shorter)


def validation_replicas(
    search: Search, recipe: Recipe, samples: Samples, data: str | None = None
) -> list[Replica]:
    """Return the models of a trial; their test parts are empty."""
    official = "tu-nested" if samples.split is None else "ogb"
    protocol = get_protocol("node" if samples.task.node_level else official)
    count = search.per_trial
    wanted = replace(recipe, seeds=count, nested=replace(recipe.nested, trials=1, seeds=count))
    made = protocol.replicas(samples, wanted, search.quick, data)
    by_seed = sorted(made, key=lambda member: member.seed)  # stable: folds keep their order
    none = np.zeros(0, np.int64)
    return [replace(made[member], test=none) for member in by_seed[:count]]


def trial_folder(out: Path, rung: int, settings: Sequence[Mapping[str, Any]]) -> Path:
    """Return the folder for the checkpoint of trials that are trained side by side."""
    return out / "work" / key_of([rung, *map(dict, settings)])


def train_trials(
    search: Search,
    numbers: Sequence[int],
    settings: Sequence[Mapping[str, Any]],
    rung: int,
    samples: Samples,
    out: Path,
    data: str | None,
    device: str,
    progress: Callable[[int, int], bool],
) -> list[Trial]:
    """Train trials that differ only in fields of a replica as one set; ``progress`` returns whether
    to continue."""
    began = time.perf_counter()
    recipes = [rung_recipe(search, values, rung) for values in settings]
    models = [validation_replicas(search, recipe, samples, data) for recipe in recipes]
    folder = trial_folder(out, rung, settings)
    reason, curves = "", None
    try:
        curves = train_checkpointed(
            folder,
            samples,
            sized_options(samples, Job(recipes[0], search.row, "search")),
            [replica for own in models for replica in own],
            recipes[0].schedule(),
            device,
            progress,
            train_replicas,
        )
    except InputError as error:  # for example, too large for the memory
        if len(numbers) > 1:
            each = zip(numbers, settings, strict=True)
            rest = (rung, samples, out, data, device, progress)
            return [t for n, own in each for t in train_trials(search, [n], [own], *rest)]
        reason = str(error)
    seconds = round(time.perf_counter() - began, 3)
    trials, at = [], 0
    for number, values, recipe, own in zip(numbers, settings, recipes, models, strict=True):
        trial = Trial(number, rung, recipe.epochs, dict(values), seconds=seconds, reason=reason)
        if curves is not None:
            trial = measured(trial, curves, slice(at, at + len(own)))
        at += len(own)
        trials.append(trial)
    return trials
