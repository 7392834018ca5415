"""One trial of a search: models trained, and measured on validation samples alone.

The models are those of the honest protocol of the dataset (``tu-nested``, ``ogb``, ``zinc`` or
``node``) with the test part taken away. The value of a trial is the best epoch of their *mean*
validation curve, so that one epoch counts for all.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..data.samples import Samples
from ..errors import InputError
from ..options import Whole, check_options
from ..train.replica import Curves, Paused, Replica
from ..train.trainer import train_replicas
from .jobs import Job, Row, key_of
from .protocols import get_protocol
from .protocols.base import best_epoch
from .recipe import Recipe
from .run_job import OutOfTime
from .search_space import SearchSpace
from .search_store import Trial

__all__ = ["Search", "train_trial", "validation_replicas"]

QUICK_EPOCHS, QUICK_MODELS = 4, 2


@dataclass(frozen=True)
class Search:
    """What is searched.

    Attributes:
        recipe: where every field that is not searched comes from.
        row: the model.
        space: what is chosen from.
        models: per trial: folds, splits or seeds of the protocol.
        seed: of the proposals.
        quick: a small sample of graphs and epochs, to see that it works.
    """

    recipe: Recipe
    row: Row
    space: SearchSpace
    models: int = 5
    seed: int = 0
    quick: bool = False

    def __post_init__(self) -> None:
        check_options(self, ("seed",), {"models": Whole(1)})

    @property
    def per_trial(self) -> int:
        """Models that a trial trains."""
        return min(self.models, QUICK_MODELS) if self.quick else self.models

    def to_dict(self) -> dict[str, Any]:
        """What makes it this search and no other."""
        return {
            "recipe": self.recipe.to_dict(),
            "model": {"method": self.row.title},
            "space": self.space.to_dict(),
            "search": {"models": self.models, "seed": self.seed, "quick": self.quick},
        }


def validation_replicas(
    search: Search, recipe: Recipe, samples: Samples, data: str | None = None
) -> list[Replica]:
    """The models of a trial; their test parts are empty."""
    official = "tu-nested" if samples.split is None else "ogb"
    protocol = get_protocol("node" if samples.task.node_level else official)
    count = search.per_trial
    wanted = replace(recipe, seeds=count, nested=replace(recipe.nested, trials=1, seeds=count))
    made = protocol.replicas(samples, wanted, search.quick, data)
    by_seed = sorted(made, key=lambda member: member.seed)  # stable: folds keep their order
    none = np.zeros(0, np.int64)
    return [replace(made[member], test=none) for member in by_seed[:count]]


def train_trial(
    search: Search,
    number: int,
    values: Mapping[str, Any],
    samples: Samples,
    out: Path,
    data: str | None,
    device: str,
    progress: Callable[[int, int], bool],
) -> Trial:
    """One trial, from its values to what came of it; ``progress`` says whether to go on."""
    began, recipe = time.perf_counter(), replace(search.recipe, **values)
    if search.quick:
        recipe = replace(recipe, epochs=min(recipe.epochs, QUICK_EPOCHS))
    folder = out / "work" / key_of(dict(values))

    def curves_of() -> Curves:
        return train_replicas(
            samples,
            Job(recipe, search.row, "search").options,
            validation_replicas(search, recipe, samples, data),
            recipe.schedule(),
            device=device,
            folder=folder,
            progress=progress,
        )

    try:
        try:
            curves = curves_of()
        except InputError:  # also what a checkpoint of other code, or a damaged one, leads to
            if not folder.is_dir():
                raise
            shutil.rmtree(folder)
            curves = curves_of()
        value, std, epoch = _value(curves)
    except InputError as error:  # too large for the memory, or nothing that could be measured
        return Trial(number, values, reason=str(error))
    except Paused:
        raise OutOfTime from None
    shutil.rmtree(folder, ignore_errors=True)
    seconds = round(time.perf_counter() - began, 3)
    return Trial(number, values, value, std, epoch, curves.parameters, seconds)


def _value(curves: Curves) -> tuple[float, float | None, int]:
    """Mean and deviation over the models at the best epoch (from 1) of the mean curve."""
    mean = curves.valid.mean(axis=0)
    epoch = best_epoch(mean, curves.metric)
    held = curves.valid[:, epoch]
    return float(mean[epoch]), float(held.std(ddof=1)) if len(held) > 1 else None, epoch + 1
