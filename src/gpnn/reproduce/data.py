"""Load the samples of a recipe, with or without edge labels, or a small subset of them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..data.samples import Samples, load_samples, without_edge_labels
from .recipe import Recipe

__all__ = ["load_data", "load_samples_of"]

QUICK_GRAPHS = 120
QUICK_PARTS = {"train": 160, "valid": 240, "test": 240}


def load_data(recipe: Recipe, data: str | None = None, quick: bool = False) -> Samples:
    """Return the samples that a recipe trains on."""
    samples = _load(recipe.dataset, data, quick)
    return samples if recipe.edge_labels else without_edge_labels(samples)


@lru_cache(maxsize=1)
def _load(dataset: str, data: str | None, quick: bool) -> Samples:
    samples = load_samples(dataset, data=data)
    if quick and not samples.task.node_level:
        return samples.take(_chosen(samples))
    return samples


def load_samples_of(dataset: str, data: str | None = None) -> Samples:
    """Load all samples of a dataset."""
    return _load(dataset, data, False)


def _chosen(samples: Samples) -> NDArray[np.bool_]:
    """Select a fixed random sample of the graphs, or of each part of an official split."""
    rng = np.random.default_rng(0)
    keep = np.zeros(len(samples.graphs), np.bool_)
    if samples.split is None:
        keep[rng.permutation(len(keep))[:QUICK_GRAPHS]] = True
    else:
        for part, ids in samples.split.items():
            keep[rng.permutation(ids)[: QUICK_PARTS[part]]] = True
    return keep
