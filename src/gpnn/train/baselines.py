"""Baselines for a network: tree ensembles on descriptors and fingerprints, on the same split.

``boosting`` is scikit-learn's histogram gradient boosting on RDKit's descriptors, ``forest`` a
random forest of 300 trees on Morgan fingerprints. Both use scikit-learn's defaults otherwise, one
model per target, and are trained on the training, validation and calibration parts together, since
they need no validation. ``base`` is the network without GPNN, trained in the same way as the
network.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..data.descriptors import morgan_counts, rdkit_descriptors, rdkit_names
from ..data.samples import Samples
from ..data.split import Split
from ..data.tasks import Task, higher_is_better
from ..errors import InputError
from .fit import fit
from .setup import base_alone
from .train_config import TrainConfig

__all__ = ["Contender", "base_contender", "choose_metric", "compare", "measure", "trees"]

Floats = NDArray[np.float64]
RESAMPLED = 500


@dataclass(frozen=True, eq=False)
class Contender:
    """A method with its predictions for the test rows, [rows, outputs]."""

    name: str
    scores: Tensor
    seconds: float


def trees(
    samples: Samples, split: Split, seed: int = 0, only: str | None = None
) -> list[Contender]:
    """Boosting on descriptors and a forest on fingerprints, or one of them."""
    if not samples.from_smiles:
        raise InputError("Baselines on descriptors need molecules given as SMILES or in a table.")
    kinds = {
        "boosting": ("boosting, RDKit descriptors", _descriptors, _boosting),
        "forest": ("forest, Morgan fingerprints", _bits, _forest),
    }
    chosen = kinds.values() if only is None else [kinds[only]]
    return [_tree(*kind, samples, split, seed) for kind in chosen]


def base_contender(
    samples: Samples, model: Mapping[str, Any], train: TrainConfig, split: Split
) -> Contender:
    """The base GNN alone, with the width and depth of the network."""
    started = time.perf_counter()
    kept = {k: v for k, v in model.items() if k not in ("join", "d", "distances", "labels")}
    if "structure" in kept:
        kept["structure"] = kept["structure"].base_alone
    fitted = fit(samples, base_alone({**kept, "gpnn": False}), train, split)
    scores = fitted.loaded.predict(samples)[torch.from_numpy(split.test)]
    base = str(fitted.loaded.config.base).upper()
    return Contender(f"{base} alone", scores, time.perf_counter() - started)


def compare(
    samples: Samples, split: Split, contenders: Sequence[Contender], seed: int = 0
) -> list[dict[str, Any]]:
    """The metric of every contender on the test rows with a 95 % bootstrap interval, and the
    interval of the advantage of the first contender over each. The 500 resamples of the test rows
    are the same for all."""
    assert samples.y is not None
    if not len(split.test):
        raise InputError("There are no test rows to compare on. Leave some for it.")
    y = samples.y[torch.from_numpy(split.test)]
    metric = choose_metric(samples, y, contenders[0].scores)
    rng = np.random.default_rng(seed)
    draws = torch.from_numpy(rng.integers(0, len(y), (RESAMPLED, len(y))))
    measured = [[measure(samples, one.scores[d], y[d], metric) for d in draws]
                for one in contenders]  # fmt: skip
    sign = 1.0 if higher_is_better(metric) else -1.0
    rows = []
    for one, values in zip(contenders, np.array(measured), strict=True):
        ahead = sign * (np.array(measured[0]) - values)
        rows.append(
            {
                "name": one.name,
                "metric": metric,
                "value": measure(samples, one.scores, y, metric),
                "interval": _interval(values),
                "ahead": _interval(ahead),
                "seconds": one.seconds,
            }
        )
    return rows


def _interval(values: Floats) -> list[float]:
    return [float(np.nanquantile(values, q)) for q in (0.025, 0.975)]


def choose_metric(samples: Samples, y: Tensor, scores: Tensor) -> str:
    """ROC-AUC where it is defined, else the metric of the task."""
    metrics = _all_metrics(samples, scores, y)
    return "roc_auc" if "roc_auc" in metrics else samples.metric


def _all_metrics(samples: Samples, scores: Tensor, y: Tensor) -> dict[str, float]:
    encoder = samples.encoder
    scale = np.nanstd(samples.y.numpy(), axis=0).tolist() if samples.task.scaled else ()  # type: ignore[union-attr]
    if encoder.binary:
        scale = [1.0 if flag else own for flag, own in zip(encoder.binary, scale, strict=True)]
    return samples.task.measure(scores, y, scale, encoder.outputs, encoder.binary)


def measure(samples: Samples, scores: Tensor, y: Tensor, metric: str) -> float:
    """The value of a metric, NaN where it is not defined."""
    return _all_metrics(samples, scores, y).get(metric, float("nan"))


def _descriptors(smiles: Sequence[str]) -> Floats:
    return np.clip(rdkit_descriptors(smiles, rdkit_names()), -1e9, 1e9)


def _bits(smiles: Sequence[str]) -> Floats:
    return (morgan_counts(smiles) > 0).astype(np.float64)


def _boosting(classes: bool, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    return kind(random_state=seed)


def _forest(classes: bool, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestClassifier if classes else RandomForestRegressor
    return kind(300, random_state=seed)


def _tree(
    name: str,
    features: Callable[[Sequence[str]], Floats],
    make: Callable[[bool, int], Any],
    samples: Samples,
    split: Split,
    seed: int,
) -> Contender:
    started = time.perf_counter()
    learn = np.concatenate([split.train, split.valid, split.calibration])
    x = features([samples.ids[row] for row in (*learn.tolist(), *split.test.tolist())])
    known, asked = x[: len(learn)], x[len(learn) :]
    assert samples.y is not None
    y, task = samples.y.numpy(), samples.task
    if task.has_classes:
        scores = _probabilities(make(True, seed), known, y[learn], asked, samples.outputs)
        return Contender(name, torch.from_numpy(scores), time.perf_counter() - started)
    binary = samples.encoder.binary or [task is Task.MULTITASK] * y.shape[1]
    columns = []
    for k, classes in enumerate(binary):
        label = y[learn, k]
        there = ~np.isnan(label)
        if classes:
            own = label[there].astype(np.int64)
            columns.append(_probabilities(make(True, seed), known[there], own, asked, 2)[:, 1])
        else:
            columns.append(make(False, seed).fit(known[there], label[there]).predict(asked))
    scores = np.stack(columns, axis=1)
    return Contender(name, torch.from_numpy(scores), time.perf_counter() - started)


def _probabilities(
    model: Any, x: Floats, y: NDArray[np.int64], asked: Floats, classes: int
) -> Floats:
    """Probability of every class, 0 for classes that do not occur in training."""
    out = np.zeros((len(asked), classes))
    present = np.unique(y)
    if len(present) == 1:
        out[:, present[0]] = 1.0
    else:
        out[:, present] = model.fit(x, y).predict_proba(asked)
    return out
