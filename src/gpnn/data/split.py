"""Splits of samples into training, validation and test parts, and folds.

Equal molecules (by canonical SMILES) are always in the same part, to avoid leakage. ``how``
describes how a split was made and how many rows repeat a molecule.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..options import Choice
from .samples import Samples
from .scaffolds import repeated_molecules, scaffold_of
from .tasks import Task

__all__ = ["SPLITS", "Split", "calibration_splits", "inner_folds", "make_folds", "make_split"]

IntArray = NDArray[np.int64]

SPLITS = ("random", "scaffold", "stratified", "column")
BINS = 10


@dataclass(frozen=True, eq=False)
class Split:
    """Numbers of graphs (or vertices), ascending, in disjoint parts. ``calibration`` is used
    neither to train, nor to choose the epoch, nor to test: its labels are compared with the
    predictions to calibrate the model."""

    train: IntArray
    valid: IntArray
    test: IntArray
    how: str
    calibration: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        for name in ("train", "valid"):
            if not len(getattr(self, name)):
                raise InputError(f"The {name} part of the split is empty. Add samples to it.")
        joined = np.concatenate([self.train, self.valid, self.test, self.calibration])
        if len(np.unique(joined)) != len(joined):
            raise InputError("The parts of the split overlap. Give every sample one part at most.")

    @property
    def sizes(self) -> dict[str, int]:
        sizes = {"train": len(self.train), "valid": len(self.valid), "test": len(self.test)}
        return sizes | ({"calibration": len(self.calibration)} if len(self.calibration) else {})

    def digest(self) -> str:
        total = hashlib.sha256()
        parts = [self.train, self.valid, self.test]
        for part in (*parts, self.calibration) if len(self.calibration) else parts:
            total.update(part.astype(np.int64).tobytes())
            total.update(b"|")
        return total.hexdigest()


def make_split(
    samples: Samples,
    seed: int = 0,
    valid: float = 0.1,
    test: float = 0.1,
    official: bool = True,
    kind: str | None = None,
) -> Split:
    """Split samples into three parts.

    ============== ===============================================================================
    ``random``     rows in random order
    ``stratified`` by class; by deciles of a numeric target; by the first of several targets
    ``scaffold``   molecules with the same Bemis–Murcko scaffold stay together: large scaffolds are
                   in train, the others are assigned at random. Harder, and closer to the use on
                   new chemistry
    ``column``     as given by the table
    ============== ===============================================================================

    The default is the official split if there is one, else stratified by class, or random if there
    are no classes. Stratified: every class is shuffled and its members are spread evenly over the
    unit interval; the samples, sorted by this number, are divided into test, valid and train. Each
    part then holds every class in proportion to within one sample, and a class too small for all
    three parts stays in train.
    """
    if samples.y is None:
        raise InputError("Samples without labels cannot be split for training.")
    if kind is not None:
        Choice(SPLITS).read("split", kind)
    if kind == "column" and samples.split is None:
        raise InputError(
            "There is no column that splits the rows. Name it with --split-column, or leave out "
            "--split column."
        )
    if samples.split is not None and (kind == "column" or (official and kind is None)):
        return _official(samples, seed, valid)
    if not 0 < valid < 1 or not 0 <= test < 1 or valid + test >= 1:
        raise InputError(
            f"The shares of valid and test must be positive and leave some for train; got {valid} "
            f"and {test}."
        )
    known, stratum = _strata(samples, kind)
    count = len(known)
    tested = max(1, round(test * count)) if test else 0
    checked = max(1, round(valid * count))
    if tested + checked >= count:
        raise InputError(
            f"{count} labelled samples are too few to split. At least three are needed."
        )
    rng = np.random.default_rng(seed)
    if kind == "scaffold":
        parts = _by_scaffold(samples, known, (tested, checked), rng)
        return Split(*parts, _how(samples, "scaffold"))
    order = known[_spread(stratum[known], rng)]
    how = "stratified" if len(np.unique(stratum[known])) > 1 else "random"
    tests, checks, train = _cut(samples, order, (tested, checked))
    return Split(train, checks, tests, _how(samples, how))


def _official(samples: Samples, seed: int, share: float) -> Split:
    assert samples.split is not None
    parts = {part: np.sort(ids) for part, ids in samples.split.items()}
    for part, ids in parts.items():
        if len(ids) and not (ids[0] >= 0 and ids[-1] < len(samples)):
            raise InputError(
                f"The {part} part of the split names sample {ids[-1]}, and there are "
                f"{len(samples):,}, counted from 0."
            )
    groups = repeated_molecules(samples)
    how = "official"
    if groups is not None:
        of = [set(groups[ids].tolist()) for ids in parts.values()]
        both = sum(len(a & b) for k, a in enumerate(of) for b in of[k + 1 :])
        if both:
            how += f"; {both:,} molecules lie in two parts, which flatters the result"
    if len(parts["valid"]):
        return Split(parts["train"], parts["valid"], parts["test"], how)
    split = _with_valid(samples, parts["train"], parts["test"], seed, share)
    return Split(split.train, split.valid, split.test, f"{how}, valid drawn from train")


def _strata(samples: Samples, kind: str | None = None) -> tuple[IntArray, NDArray[np.generic]]:
    """Samples with a label, and the stratum of every sample, or zeros."""
    assert samples.y is not None
    y = samples.y.numpy()
    if samples.task.has_classes:
        known = np.flatnonzero(y >= 0)
        return known, y if kind != "random" else np.zeros(len(y))
    known = np.arange(len(y))
    single = y.shape[1] == 1 and samples.task is Task.MULTITASK
    if kind == "random" or (not single and kind != "stratified"):
        return known, np.zeros(len(y))
    first = y[:, 0]
    if len(np.unique(first[~np.isnan(first)])) > BINS:
        first = np.digitize(first, np.nanquantile(first, np.arange(1, BINS) / BINS))
    return known, np.nan_to_num(first, nan=-1.0)


def _with_valid(
    samples: Samples, train: IntArray, test: IntArray, seed: int, share: float
) -> Split:
    """For an official split without validation part: draw it from the training part."""
    _, stratum = _strata(samples)
    order = train[_spread(stratum[train], np.random.default_rng(seed))]
    checked = max(1, round(share * len(order)))
    if checked >= len(order):
        raise InputError(f"{len(order)} samples to train on are too few to validate with some.")
    valid, rest = _cut(samples, order, (checked,))
    return Split(rest, valid, test, "")


def make_folds(samples: Samples, count: int, seed: int = 0, kind: str | None = None) -> list[Split]:
    """Folds for cross-validation, stratified by class if there are classes: fold k is the test
    part, the next fold chooses the epoch, the others are the training part. ``kind``: ``random``,
    ``stratified`` or ``scaffold``."""
    known = _labelled(samples)
    if not isinstance(count, int) or count < 3:
        raise InputError(
            f"There must be 3 folds or more: to train, to choose the epoch, to test; got {count}."
        )
    parts = _cut_folds(samples, known, count, seed, kind)
    folds = []
    for k, test in enumerate(parts):
        valid = parts[(k + 1) % count]
        train = np.setdiff1d(known, np.concatenate([test, valid]))
        folds.append(Split(train, valid, test, _how(samples, f"fold {k + 1} of {count}")))
    return folds


def calibration_splits(
    samples: Samples, split: Split, count: int, seed: int = 0, pool: IntArray | None = None
) -> list[Split]:
    """Splits for a calibrated ensemble. Training and validation part together are divided into as
    many folds as there are networks: network k chooses its epoch on fold k, is calibrated on fold
    k + 1 and trains on the others. The test part is unchanged. ``pool``: the rows to divide,
    instead of training and validation part."""
    if count < 3:
        raise InputError(f"Calibration needs an ensemble of 3 networks or more; got {count}.")
    if pool is None:
        pool = np.sort(np.concatenate([split.train, split.valid]))
    parts = _cut_folds(samples, pool, count, seed, None)
    out = []
    for k, valid in enumerate(parts):
        calibration = parts[(k + 1) % count]
        train = np.setdiff1d(pool, np.concatenate([valid, calibration]))
        out.append(Split(train, valid, split.test, split.how, calibration))
    return out


def inner_folds(
    samples: Samples, pool: IntArray, count: int, seed: int = 0, kind: str | None = None
) -> list[Split]:
    """Folds of some samples for model selection: fold k is the validation part, the others are the
    training part, the test part is empty. ``kind``: as in :func:`make_folds`."""
    pool = np.sort(pool)
    if len(pool) < 2 * count:
        raise InputError(
            f"{len(pool)} samples are too few to choose with {count} folds of them: {2 * count} or "
            "more are needed. Name a scheme instead."
        )
    parts = _cut_folds(samples, pool, count, seed, kind)
    none = np.zeros(0, np.int64)
    return [
        Split(np.setdiff1d(pool, valid), valid, none, f"inner fold {k + 1} of {count}")
        for k, valid in enumerate(parts)
    ]


def _labelled(samples: Samples) -> IntArray:
    if samples.y is None:
        raise InputError("Samples without labels cannot be split into folds.")
    y = samples.y.numpy()
    return np.flatnonzero(y >= 0) if samples.task.has_classes else np.arange(len(y))


def _cut_folds(
    samples: Samples, known: IntArray, count: int, seed: int, kind: str | None
) -> list[IntArray]:
    """Folds of some samples; equal molecules, or those of one scaffold, are in one fold."""
    from sklearn.model_selection import KFold, StratifiedKFold

    if kind is not None:
        Choice(("random", "stratified", "scaffold")).read("split of folds", kind)
    if kind == "scaffold":
        rng = np.random.default_rng(seed)
        scaffolds = scaffold_of(samples)
        folds: list[list[int]] = [[] for _ in range(count)]
        for group in _shuffled_groups(scaffolds[known], rng, by_size=True):
            min(folds, key=len).extend(known[group].tolist())
        if not all(folds):
            raise InputError(f"There are fewer than {count} scaffolds: choose fewer folds.")
        return [np.sort(np.array(own, np.int64)) for own in folds]
    leaders = _leaders(samples, known)
    if count > len(leaders):
        raise InputError(f"{len(leaders)} labelled samples cannot be split into {count} folds.")
    _, stratum = _strata(samples, kind)
    cut = KFold(count, shuffle=True, random_state=seed)
    if len(np.unique(stratum[leaders])) > 1:
        rarest = int(np.unique(stratum[leaders], return_counts=True)[1].min())
        if rarest >= count:
            cut = StratifiedKFold(count, shuffle=True, random_state=seed)
    parts = [leaders[test] for _, test in cut.split(leaders, stratum[leaders])]
    groups = repeated_molecules(samples)
    if groups is None:
        return [np.sort(part) for part in parts]
    return [known[np.isin(groups[known], groups[part])] for part in parts]


def _by_scaffold(
    samples: Samples, known: IntArray, sizes: tuple[int, int], rng: np.random.Generator
) -> tuple[IntArray, IntArray, IntArray]:
    """Scaffolds larger than half of the validation part go to train; the others go, in random
    order, to test, then to valid, until these are full, then to train."""
    scaffolds = scaffold_of(samples)
    room = {"test": sizes[0], "valid": sizes[1]}
    parts: dict[str, list[int]] = {"train": [], "valid": [], "test": []}
    for group in _shuffled_groups(scaffolds[known], rng):
        fits = [p for p, left in room.items() if len(group) <= left and 2 * len(group) <= sizes[1]]
        part = fits[0] if fits else "train"
        parts[part].extend(known[group].tolist())
        if part in room:
            room[part] -= len(group)
    if not parts["valid"] or (sizes[0] and not parts["test"]):
        raise InputError(
            "Almost all molecules share one scaffold: they cannot be split by scaffold. Use "
            "--split random."
        )
    train, valid, test = (np.sort(np.array(own, np.int64)) for own in parts.values())
    return train, valid, test


def _shuffled_groups(
    group: NDArray[np.generic], rng: np.random.Generator, by_size: bool = False
) -> list[IntArray]:
    """Members of every group; groups in random order, or the largest first."""
    _, number = np.unique(group, return_inverse=True)
    members = np.split(np.argsort(number, kind="stable"), np.cumsum(np.bincount(number))[:-1])
    order = rng.permutation(len(members)).tolist()
    if by_size:
        order.sort(key=lambda k: -len(members[k]))
    return [members[k] for k in order]


def _leaders(samples: Samples, known: IntArray) -> IntArray:
    """The first sample of every molecule."""
    groups = repeated_molecules(samples)
    if groups is None:
        return known
    return np.sort(known[np.unique(groups[known], return_index=True)[1]])


def _cut(samples: Samples, order: IntArray, sizes: Sequence[int]) -> list[IntArray]:
    """Divide ordered samples into parts of these sizes or slightly more, and the rest; equal
    molecules follow the first of them."""
    groups = repeated_molecules(samples)
    number = np.arange(len(order))
    if groups is not None:
        _, first, number = np.unique(groups[order], return_index=True, return_inverse=True)
        place = first[number]
        order, place = (values[np.argsort(place, kind="stable")] for values in (order, place))
        number = np.searchsorted(place, place)  # first position of the group of every sample
    parts, start = [], 0
    for size in sizes:
        own = (number >= start) & (number < start + size)
        parts.append(np.sort(order[own]))
        start += int(own.sum())
    return [*parts, np.sort(order[start:])]


def _how(samples: Samples, how: str) -> str:
    groups = repeated_molecules(samples)
    if groups is None:
        return how
    more = len(groups) - len(np.unique(groups))
    return f"{how}; {more:,} rows repeat a molecule and stay with it"


def _spread(stratum: NDArray[np.generic], rng: np.random.Generator) -> IntArray:
    """An order of all samples in which every stratum is spread evenly."""
    place = np.empty(len(stratum))
    for value in np.unique(stratum):
        own = np.flatnonzero(stratum == value)
        place[rng.permutation(own)] = (np.arange(len(own)) + rng.random()) / len(own)
    return np.argsort(place, kind="stable")
