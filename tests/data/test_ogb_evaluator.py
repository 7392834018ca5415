"""Our ROC-AUC against the evaluator of the Open Graph Benchmark, where that can be imported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gpnn.data.tasks import Task
from gpnn.train.metrics import measure

TASKS = {"ogbg-molhiv": 1, "ogbg-moltox21": 12, "ogbg-moltoxcast": 617}


@pytest.fixture(scope="module")
def evaluator() -> Any:
    try:
        from ogb.graphproppred import Evaluator
    except Exception as error:  # an old ogb fails under a new torch in several ways
        pytest.skip(f"ogb cannot be imported ({type(error).__name__}: {error})")
    return Evaluator


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("seed", [0, 1])
def test_equal_to_the_ogb_evaluator(evaluator: Any, name: str, seed: int) -> None:
    rng, tasks = np.random.default_rng(seed), TASKS[name]
    y = (rng.random((160, tasks)) < rng.uniform(0.02, 0.5, tasks)).astype(np.float64)
    y[rng.random(y.shape) < 0.3] = np.nan
    if tasks > 3:
        y[:, 0], y[:, 1], y[:, 2] = 0.0, np.nan, 1.0  # tasks that cannot be measured
    scores = (rng.random(y.shape) + 0.3 * np.nan_to_num(y)).round(1)  # many ties
    theirs = evaluator(name=name).eval({"y_true": y, "y_pred": scores})["rocauc"]
    ours = Task.MULTITASK.measure(torch.from_numpy(scores), torch.from_numpy(y))["roc_auc"]
    assert ours == pytest.approx(float(theirs), abs=1e-12)
    rows = torch.ones(1, len(y), dtype=torch.bool)
    pair = (torch.from_numpy(array)[None] for array in (scores, y))
    stacked = measure(Task.MULTITASK, *pair, rows)
    assert stacked.item() == pytest.approx(float(theirs), abs=1e-12)
