"""``node``: node classification on random splits.

The labelled vertices are split 60/20/20 at random, with the fixed seeds 0 to 9. The result is the
mean and standard deviation over these ten splits of the test accuracy at the epoch with the best
validation accuracy; ties go to the earliest epoch. With ``splits = "geom-gcn"`` in the recipe, the
ten split files of Pei et al. (2020) are used instead, which are in fact 48/32/20.
"""

from __future__ import annotations

import numpy as np

from ...array_files import read_arrays
from ...data.samples import Samples
from ...errors import InputError
from ..recipe import Recipe
from .base import IntArray, Member, Protocol, Replicas, replica
from .official import choose_on_validation

__all__ = ["PROTOCOL", "geom_splits", "random_splits", "replicas"]

SPLITS, QUICK_SPLITS = 10, 2
TRAIN, VALID = 0.6, 0.2
Parts = tuple[IntArray, IntArray, IntArray]


def random_splits(samples: Samples, count: int) -> list[Parts]:
    """Return random splits: split k is the permutation of seed k, divided at 60 and 80 per
    cent."""
    assert samples.y is not None
    known = np.flatnonzero(samples.y.numpy() >= 0)
    first, second = round(TRAIN * len(known)), round((TRAIN + VALID) * len(known))
    splits = []
    for k in range(count):
        order = np.random.default_rng(k).permutation(known)
        splits.append((order[:first], order[first:second], order[second:]))
    return splits


def geom_splits(dataset: str, data: str | None, count: int) -> list[Parts]:
    """Read the published split files from the folder of the data."""
    from ...data.datasets import find

    marker = find(dataset, data)
    if marker.suffix == ".npz":
        file = read_arrays(marker)
        masks = [file[f"geom_{part}"].T for part in ("train", "val", "test")]
        return [_numbers(*(mask[k] for mask in masks)) for k in range(count)]
    splits = []
    for k in range(count):
        files = sorted(marker.parent.glob(f"*_split_0.6_0.2_{k}.npz"))
        if not files:
            raise InputError(
                f"{marker.parent} lacks the split file *_split_0.6_0.2_{k}.npz of geom-gcn. Add "
                'it, or set splits = "random" in the recipe.'
            )
        file = read_arrays(files[0])
        splits.append(_numbers(*(file[f"{part}_mask"] for part in ("train", "val", "test"))))
    return splits


def replicas(
    samples: Samples, recipe: Recipe, quick: bool = False, data: str | None = None
) -> Replicas:
    """Return one model per split and seed."""
    if not samples.task.node_level:
        raise InputError(f"{recipe.dataset} is not a dataset for node classification.")
    count = QUICK_SPLITS if quick else SPLITS
    published = recipe.splits == "geom-gcn"
    splits = (
        geom_splits(recipe.dataset, data, count) if published else random_splits(samples, count)
    )
    made: Replicas = {}
    for fold, parts in enumerate(splits):
        for seed in range(recipe.seeds):
            member = Member(fold, seed)
            made[member] = replica(recipe, member, *parts)
    return made


def _numbers(*masks: IntArray) -> Parts:
    train, valid, test = (np.flatnonzero(mask) for mask in masks)
    return train, valid, test


PROTOCOL = Protocol(
    name="node",
    family="node",
    rule="10 random 60/20/20 splits; test accuracy at the epoch best on validation",
    warning="",
    replicas=replicas,
    choose=choose_on_validation,
    overlap=20 / 60,
    published_overlap=20 / 48,
)
