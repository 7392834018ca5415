"""Which samples train, which choose the epoch, and which are kept for the end."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .samples import Samples
from .tasks import Task

__all__ = ["Split", "make_folds", "make_split"]

IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Split:
    """Numbers of graphs (or vertices), ascending, in three parts without overlap."""

    train: IntArray
    valid: IntArray
    test: IntArray
    how: str

    def __post_init__(self) -> None:
        for name in ("train", "valid"):
            if not len(getattr(self, name)):
                raise InputError(f"The {name} part of the split is empty. Add samples to it.")
        joined = np.concatenate([self.train, self.valid, self.test])
        if len(np.unique(joined)) != len(joined):
            raise InputError("The parts of the split overlap. Give every sample one part at most.")

    @property
    def sizes(self) -> dict[str, int]:
        return {"train": len(self.train), "valid": len(self.valid), "test": len(self.test)}

    def digest(self) -> str:
        total = hashlib.sha256()
        for part in (self.train, self.valid, self.test):
            total.update(part.astype(np.int64).tobytes())
            total.update(b"|")
        return total.hexdigest()


def make_split(
    samples: Samples, seed: int = 0, valid: float = 0.1, test: float = 0.1, official: bool = True
) -> Split:
    """The official split if there is one, else a random one, with the classes in proportion.

    Every class is shuffled and its members are spread evenly over the unit interval; the samples
    in order of that number are cut into test, valid and train. Each part then holds every class in
    proportion to within one, and a class too small for all three stays in train.
    """
    if samples.y is None:
        raise InputError("Samples without labels cannot be split for training.")
    if official and samples.split is not None:
        parts = {part: np.sort(ids) for part, ids in samples.split.items()}
        for part, ids in parts.items():
            if len(ids) and not (ids[0] >= 0 and ids[-1] < len(samples)):
                raise InputError(
                    f"The {part} part of the split names sample {ids[-1]}, and there are "
                    f"{len(samples):,}, counted from 0."
                )
        if len(parts["valid"]):
            return Split(parts["train"], parts["valid"], parts["test"], "official")
        return _with_valid(samples, parts["train"], parts["test"], seed, valid)
    if not 0 < valid < 1 or not 0 <= test < 1 or valid + test >= 1:
        raise InputError(
            f"The shares of valid and test must be positive and leave some for train; got {valid} "
            f"and {test}."
        )
    known, stratum = _strata(samples)
    count = len(known)
    tested = max(1, round(test * count)) if test else 0
    checked = max(1, round(valid * count))
    if tested + checked >= count:
        raise InputError(f"{count} labelled samples are too few to split. Three are the least.")
    order = known[_spread(stratum[known], np.random.default_rng(seed))]
    cuts = (order[tested + checked :], order[tested : tested + checked], order[:tested])
    how = "stratified" if len(np.unique(stratum[known])) > 1 else "random"
    train, checks, tests = (np.sort(part) for part in cuts)
    return Split(train, checks, tests, how)


def _strata(samples: Samples) -> tuple[IntArray, NDArray[np.generic]]:
    """Samples with a label, and the class of every sample, or zeros."""
    assert samples.y is not None
    y = samples.y.numpy()
    if samples.task.has_classes:
        return np.flatnonzero(y >= 0), y
    single = y.shape[1] == 1 and samples.task is Task.MULTITASK
    return np.arange(len(y)), y[:, 0] if single else np.zeros(len(y))


def _with_valid(
    samples: Samples, train: IntArray, test: IntArray, seed: int, share: float
) -> Split:
    """An official split that names nothing to validate with: drawn from what trains."""
    _, stratum = _strata(samples)
    order = train[_spread(stratum[train], np.random.default_rng(seed))]
    checked = max(1, round(share * len(order)))
    if checked >= len(order):
        raise InputError(f"{len(order)} samples to train on are too few to validate with some.")
    valid, rest = np.sort(order[:checked]), np.sort(order[checked:])
    return Split(rest, valid, test, "official, valid drawn from train")


def make_folds(samples: Samples, count: int, seed: int = 0) -> list[Split]:
    """Folds for cross-validation, stratified by class where there are classes: fold k tests, the
    next one chooses the epoch, the others train."""
    from sklearn.model_selection import KFold, StratifiedKFold

    if samples.y is None:
        raise InputError("Samples without labels cannot be split into folds.")
    if not isinstance(count, int) or count < 3:
        raise InputError(
            f"There must be 3 folds or more: to train, to choose the epoch, to test; got {count}."
        )
    y = samples.y.numpy()
    known = np.flatnonzero(y >= 0) if samples.task.has_classes else np.arange(len(y))
    if count > len(known):
        raise InputError(f"{len(known)} labelled samples cannot be split into {count} folds.")
    single = not samples.task.has_classes and y.shape[1] == 1 and samples.task is Task.MULTITASK
    if samples.task.has_classes or (single and not np.isnan(y).any()):
        stratum = y[known] if samples.task.has_classes else y[known, 0]
        cut = StratifiedKFold(count, shuffle=True, random_state=seed)
        rarest = int(np.unique(stratum, return_counts=True)[1].min())
        if rarest < count:
            cut = KFold(count, shuffle=True, random_state=seed)
    else:
        stratum, cut = np.zeros(len(known)), KFold(count, shuffle=True, random_state=seed)
    parts = [np.sort(known[test]) for _, test in cut.split(known, stratum)]
    folds = []
    for k, test in enumerate(parts):
        valid = parts[(k + 1) % count]
        train = np.setdiff1d(known, np.concatenate([test, valid]))
        folds.append(Split(train, valid, test, f"fold {k + 1} of {count}"))
    return folds


def _spread(stratum: NDArray[np.generic], rng: np.random.Generator) -> IntArray:
    """An order of all samples in which every stratum is spread evenly."""
    place = np.empty(len(stratum))
    for value in np.unique(stratum):
        own = np.flatnonzero(stratum == value)
        place[rng.permutation(own)] = (np.arange(len(own)) + rng.random()) / len(own)
    return np.argsort(place, kind="stable")
