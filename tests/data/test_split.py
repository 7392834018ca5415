from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gpnn.data.split import Split, make_split
from gpnn.errors import InputError
from train.cycles import samples

SMALL = samples()


@given(st.integers(0, 100), st.lists(st.integers(0, 3), min_size=12, max_size=60))
@settings(max_examples=30)
def test_parts_are_disjoint_complete_and_in_proportion(seed: int, classes: list[int]) -> None:
    y = torch.tensor(classes)
    split = make_split(replace(SMALL, y=y), seed)
    joined = np.concatenate([split.train, split.valid, split.test])
    assert sorted(joined.tolist()) == list(range(len(classes)))
    assert len(split.test) == len(split.valid) == max(1, round(0.1 * len(classes)))
    for value in set(classes):
        share = classes.count(value) / len(classes)
        for part in (split.train, split.valid, split.test):
            assert abs(int((y[part] == value).sum()) - share * len(part)) <= 2


def test_the_seed_decides() -> None:
    one, same, other = (make_split(SMALL, seed) for seed in (1, 1, 2))
    assert one.digest() == same.digest() != other.digest()
    assert one.how == "stratified"


def test_official_split_is_taken() -> None:
    given_split = {"train": np.arange(10, 24), "valid": np.arange(5), "test": np.arange(5, 10)}
    found = make_split(replace(SMALL, split=given_split))
    assert found.how == "official"
    assert found.sizes == {"train": 14, "valid": 5, "test": 5}
    assert make_split(replace(SMALL, split=given_split), official=False).how == "stratified"


def test_vertices_without_a_label_are_in_no_part() -> None:
    y = torch.tensor([0, 1, -1] * 10)
    split = make_split(replace(SMALL, y=y))
    joined = np.concatenate([split.train, split.valid, split.test])
    assert len(joined) == 20
    assert (y[joined] >= 0).all()


def test_refusals() -> None:
    with pytest.raises(InputError, match=r"without labels cannot be split"):
        make_split(replace(SMALL, y=None))
    with pytest.raises(InputError, match=r"2 labelled samples are too few to split"):
        make_split(replace(SMALL, y=torch.tensor([0, 1])))
    with pytest.raises(InputError, match=r"leave some for train; got 0.5 and 0.5"):
        make_split(SMALL, valid=0.5, test=0.5)
    with pytest.raises(InputError, match=r"The parts of the split overlap"):
        Split(np.arange(3), np.arange(2, 4), np.arange(0), "mine")
    with pytest.raises(InputError, match=r"The valid part of the split is empty"):
        Split(np.arange(3), np.arange(0), np.arange(0), "mine")
