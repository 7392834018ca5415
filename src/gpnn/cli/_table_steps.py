"""Two steps of ``gpnn train`` for tables of molecules: the search of ``--effort thorough``, and
``--baselines``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._shared import notes, working
from ._train_report import kind_of

if TYPE_CHECKING:
    from ..data.samples import Samples
    from ..data.split import Split
    from ..train.fit import Fitted
    from ..train.search_log import Trial
    from ..train.train_config import TrainConfig

__all__ = ["compare_baselines", "search_setting"]

MINUTES = 10.0
"""Default time limit of a search."""


def search_setting(
    samples: Samples,
    split: Split,
    model: dict[str, Any],
    config: TrainConfig,
    folder: Path,
    minutes: float | None,
    fresh: bool,
) -> tuple[dict[str, Any], TrainConfig]:
    """Search for the setting that is best for a table on its validation rows; returns the options
    of the network and of the training with it."""
    from dataclasses import replace

    from ..reproduce.table_search import search_table

    console, minutes = notes(), MINUTES if minutes is None else minutes

    def tell(trial: Trial) -> None:
        setting = ", ".join(f"{name} {value}" for name, value in trial.values.items())
        value = trial.reason or f"{trial.value:.4f}"
        console.print(f"search    {trial.epochs} epochs, {setting}: {value}")

    values, trained, result = search_table(
        samples, split, model, config, folder / "search", minutes, tell, fresh
    )
    cut = "" if result.complete else f" (stopped after {minutes:g} minutes)"
    chosen = ", ".join(f"{k} {v}" for k, v in (values | trained).items())
    console.print(f"search    best on valid{cut}: {chosen}")
    return {**model, **values}, replace(config, **trained)


def compare_baselines(
    samples: Samples,
    model: dict[str, Any],
    config: TrainConfig,
    split: Split,
    fitted: Fitted,
    seed: int,
) -> list[dict[str, Any]]:
    """Train the baselines and compare them with the network on the test rows."""
    import torch

    from ..train.baselines import Contender, base_contender, compare, trees

    scores = fitted.loaded.predict(samples)[torch.from_numpy(split.test)]
    own = Contender(kind_of(fitted), scores, float(fitted.loaded.about["seconds"]))
    with working("training the baselines …"):
        others = [*trees(samples, split, seed)]
        if model["gpnn"]:
            others.insert(0, base_contender(samples, model, config, split))
        return compare(samples, split, [own, *others], seed)
