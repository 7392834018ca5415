"""The search of ``gpnn train --effort thorough``: settings for one table, on its validation part.

It calls ``run_search`` with the split of the training as the official split and without a test
part, over a small space around the defaults. The search is stored in the folder ``search`` of the
model and can be resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from ..data.samples import Samples
from ..data.split import Split
from ..errors import InputError
from ..graph.structure import Structure
from ..train.base_estimator import GPNNEstimator
from ..train.device import one_thread
from ..train.search_log import Trial
from ..train.train_config import TrainConfig
from .jobs import BASES, Row
from .recipe import NETWORK, Recipe
from .search import Search, Searched, run_search
from .search_space import SearchSpace

__all__ = ["SPACE", "search_estimator", "search_table"]

SPACE: dict[str, list[Any]] = {
    "hidden": [64, 96],
    "layers": [3, 4],
    "d": [1, 2, 3],
    "lr": [0.01, 0.005, 0.003],
    "dropout": [0.0, 0.2, 0.5],
    "join": ["beside", "inside"],
}
TRIALS, MODELS, NETWORKS = 8, 1, 5


def search_table(
    samples: Samples,
    split: Split,
    model: Mapping[str, Any],
    train: TrainConfig,
    folder: Path,
    minutes: float,
    finished: Callable[[Trial], None] | None = None,
    fresh: bool = False,
) -> tuple[dict[str, Any], dict[str, Any], Searched]:
    """Return the fields of the network and of the training that are best on the validation part.

    Args:
        model, train: the source of every field that is not searched.
        minutes: time limit; afterwards the best setting so far is used.
    """
    structure, rest = Structure.split(model)
    if not rest.get("gpnn", True):
        raise InputError("--effort thorough searches for GPNN: leave out --baseline.")
    base = rest.get("base") or "gin"
    known = {ours: theirs for theirs, ours in BASES.items()} | {"gine": "GIN"}
    if base not in known:
        raise InputError(f"--effort thorough knows the bases {', '.join(known)}, not {base!r}.")
    own = {**structure.to_dict(), **rest}
    fields: dict[str, Any] = {"combine": "pairwise", "block": "residual"}
    fields |= {name: own[name] for name in NETWORK if name in own}
    recipe = Recipe(
        name="table",
        dataset="table",
        edge_labels=bool(samples.encoder.edges),
        **fields,
        epochs=train.epochs,
        batch_size=train.batch_size,
        lr=train.lr,
        halve_every=train.halve_every,
        weight_decay=train.weight_decay,
        dropout=own.get("dropout", 0.0 if samples.task.scaled else 0.5),
        seeds=MODELS,
    )
    space = dict(SPACE)
    space["d"] = sorted({recipe.d, *SPACE["d"]})
    space["join"] = sorted({recipe.join, *SPACE["join"]})
    plan = Search(
        recipe,
        Row(known[base], structure.scheme, structure.interactions),
        SearchSpace.parse(space, recipe),
        trials=TRIALS,
        models=MODELS,
        seed=train.seed,
    )
    none = np.zeros(0, np.int64)
    parts = {"train": split.train, "valid": split.valid, "test": none}
    result = run_search(
        plan,
        folder,
        minutes,
        device=train.device,
        fresh=fresh,
        finished=finished,
        samples=replace(samples, split=parts),
    )
    if result.best is None:
        raise InputError(
            f"No setting could be tried in {minutes:g} minutes. Give more with --minutes, or use "
            "--effort standard."
        )
    values = dict(result.best.values)
    trained = {name: values.pop(name) for name in ("lr",) if name in values}
    return values, trained, result


Estimator = TypeVar("Estimator", bound=GPNNEstimator)


def search_estimator(
    estimator: Estimator,
    X: Any,
    y: Any,
    minutes: float = 10.0,
    folder: str | Path | None = None,
    parts: Any = None,
) -> Estimator:
    """Run the search of ``gpnn train --effort thorough`` for an estimator. Return an unfitted copy
    with the setting that is best on the validation part, and at least five networks.

    Args:
        estimator: the source of every parameter that is not searched.
        X, y, parts: data as for ``fit``.
        minutes: time limit; afterwards the best setting so far is used.
        folder: folder in which the search is stored and resumed; not stored by default.

    >>> from gpnn import GPNNRegressor, search_estimator
    >>> model = search_estimator(GPNNRegressor(effort="thorough"), smiles, y)  # doctest: +SKIP
    >>> model.fit(smiles, y)  # doctest: +SKIP
    """
    effort = "standard" if estimator.effort == "thorough" else estimator.effort
    usual = clone(estimator).set_params(effort=effort, folds=None, calibrate=False)
    samples, _ = usual.prepare(X, y, parts)
    split, _, options, config = usual.plan(samples)
    assert isinstance(split, Split)
    with TemporaryDirectory() as temporary:
        place = Path(temporary if folder is None else folder)
        with one_thread():
            values, trained, _ = search_table(samples, split, options, config, place, minutes)
    own = samples.encoder.descriptors
    fixed: dict[str, Any] = {"distances": options["distances"], "effort": None}
    kept = ("epochs", "patience", "batch_size", "cosine")
    fixed |= {name: getattr(config, name) for name in kept}
    fixed["descriptors"] = None if own is None else list(own.asked)
    fixed["ensemble"] = 1 if estimator.folds else max(NETWORKS, estimator.ensemble)
    return clone(estimator).set_params(**{**fixed, **values, **trained})
