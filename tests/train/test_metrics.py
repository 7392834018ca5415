"""Metrics of all replicas at once, against scikit-learn one by one."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, mean_absolute_error, roc_auc_score

from gpnn.data.tasks import Task
from gpnn.train.metrics import measure

R, ROWS = 4, 40


def chosen() -> np.ndarray:
    """A different choice for every replica; none at all for the last."""
    picked = np.random.default_rng(1).random((R, ROWS)) < [[0.9], [0.5], [0.3], [0.0]]
    assert not picked[-1].any()
    return picked


@pytest.mark.parametrize("task", [Task.CLASSIFICATION, Task.NODE_CLASSIFICATION])
def test_accuracy(task: Task) -> None:
    rng = np.random.default_rng(0)
    scores, y, rows = rng.random((R, ROWS, 3)), rng.integers(-1, 3, (R, ROWS)), chosen()
    found = measure(task, torch.from_numpy(scores), torch.from_numpy(y), torch.from_numpy(rows))
    for r in range(R - 1):
        known = rows[r] & (y[r] >= 0)
        assert found[r] == accuracy_score(y[r][known], scores[r][known].argmax(1))
    assert found[-1].isnan()


def test_mean_absolute_error() -> None:
    rng = np.random.default_rng(0)
    scores, y, rows = rng.normal(size=(R, ROWS, 2)), rng.normal(size=(R, ROWS, 2)), chosen()
    y[rng.random(y.shape) < 0.3] = np.nan
    given = (torch.from_numpy(part) for part in (scores, y, rows))
    found = measure(Task.REGRESSION, *given)
    for r in range(R - 1):
        known = rows[r][:, None] & ~np.isnan(y[r])
        expected = mean_absolute_error(y[r][known], scores[r][known])
        assert found[r].item() == pytest.approx(expected, abs=1e-12)
    assert found[-1].isnan()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("ties", [False, True])
def test_roc_auc(ties: bool, dtype: torch.dtype) -> None:
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 4, (R, ROWS, 4)) / 4 if ties else rng.random((R, ROWS, 4))
    scores = scores.astype(np.float32)
    y, rows = rng.integers(0, 2, (R, ROWS, 4)) * 1.0, chosen()
    y[rng.random(y.shape) < 0.3] = np.nan
    y[:, :, 3] = np.where(np.isnan(y[:, :, 3]), np.nan, 1)  # one class is absent everywhere
    y[0, :, 2] = np.nan
    given = torch.from_numpy(scores).to(dtype), torch.from_numpy(y).to(dtype)
    found = measure(Task.MULTITASK, *given, torch.from_numpy(rows))
    for r in range(R - 1):
        areas = []
        for task in range(4):
            known = rows[r] & ~np.isnan(y[r, :, task])
            if len(np.unique(y[r, known, task])) == 2:
                areas.append(roc_auc_score(y[r, known, task], scores[r, known, task]))
        assert len(areas) == (2 if r == 0 else 3)
        assert found[r].item() == pytest.approx(np.mean(areas), abs=1e-12)
        plain = Task.MULTITASK.measure(given[0][r][rows[r]], given[1][r][rows[r]])
        assert found[r].item() == pytest.approx(plain["roc_auc"], abs=1e-12)
    assert found[-1].isnan()


def test_a_model_that_diverged_has_no_metric() -> None:
    """Scores that are no numbers must not rank above all others."""
    scores = torch.full((2, 4, 1), torch.nan)
    scores[1] = torch.tensor([[0.1], [0.9], [0.2], [0.8]])
    y = torch.tensor([[0.0], [1.0], [torch.nan], [torch.nan]]).expand(2, 4, 1)
    chosen = torch.ones(2, 4, dtype=torch.bool)
    found = measure(Task.MULTITASK, scores, y, chosen)
    assert torch.isnan(found[0]) and found[1] == 1
    classes = torch.full((1, 3, 2), torch.nan)
    labels = torch.zeros(1, 3, dtype=torch.int64)
    one = torch.ones(1, 3, dtype=torch.bool)
    assert torch.isnan(measure(Task.CLASSIFICATION, classes, labels, one)).all()
