"""The recipe does not collapse to the majority class, as an un-normalised head does on PTC_MR."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import Tensor, nn

from gpnn.nn import mixture
from gpnn.nn.model import GPNN
from gpnn.reproduce.data import load_data
from gpnn.reproduce.jobs import Job, Row
from gpnn.reproduce.recipe import load_recipe
from gpnn.train.loop import train_replicas
from gpnn.train.replica import Replica

pytestmark = [pytest.mark.data, pytest.mark.usefixtures("one_thread")]
EPOCHS, LAST, CLEARLY = 15, 5, 0.02


class Through(nn.Module):
    def forward(self, h: Tensor, *_: object) -> Tensor:
        return h


class Naive(GPNN):
    """Sums go straight into the head."""

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)  # type: ignore[arg-type]
        self.head.norm = Through()  # type: ignore[assignment]


def above_majority(data: Path, row: Row, seeds: int, **changes: Any) -> float:
    """Training accuracy less the share of the larger class, over the last epochs."""
    recipe = replace(load_recipe("PTC_MR"), **changes)
    samples = load_data(recipe, str(data))
    assert samples.y is not None
    every, none = np.arange(len(samples)), np.array([], np.int64)
    held = [
        Replica(every, none, every, seed, recipe.lr, recipe.weight_decay, recipe.dropout)
        for seed in range(seeds)
    ]
    schedule = replace(recipe.schedule(), epochs=EPOCHS)
    curves = train_replicas(samples, Job(recipe, row, "tu").options, held, schedule, device="cpu")
    majority = float(np.bincount(samples.y.numpy()).max() / len(samples))
    assert 0.55 < majority < 0.57
    return float(curves.test[:, -LAST:].mean()) - majority


def test_the_recipe_learns(data_dir: Path) -> None:
    assert above_majority(data_dir, Row("GIN"), 2) > CLEARLY
    assert above_majority(data_dir, Row("GIN", "core-degree", "cross"), 1) > CLEARLY


NAIVE = {"lr": 0.01, "readout": "sum", "dropout": 0.5}


def test_the_naive_recipe_collapses(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So the test above can fail; the same recipe with a normalised head does not collapse."""
    assert above_majority(data_dir, Row("GIN"), 2, **NAIVE) > CLEARLY
    monkeypatch.setattr(mixture, "GPNN", Naive)
    assert above_majority(data_dir, Row("GIN"), 2, **NAIVE) < CLEARLY
