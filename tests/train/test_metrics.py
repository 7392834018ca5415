"""Metrics of all replicas at once, against scikit-learn one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, mean_absolute_error, roc_auc_score
from torch import Tensor
from torch.nn.functional import cross_entropy

from gpnn.data.tasks import Task
from gpnn.train.metrics import measure

R, ROWS = 4, 40


def metrics(task: Task, outputs: Any, y: Any, rows: Any) -> dict[str, Tensor]:
    """Every metric by name; targets are not scaled."""
    y = torch.as_tensor(y)
    targets = y.shape[-1] if y.is_floating_point() else 1
    shift, scale = torch.zeros(len(y), 1, targets), torch.ones(len(y), 1, targets)
    given = (torch.as_tensor(part) for part in (outputs, y, rows))
    found = measure(task, *given, shift, scale)
    return dict(zip(("loss", *task.metrics(outputs.shape[-1])), found, strict=True))


def chosen() -> np.ndarray:
    """A different choice for every replica; none at all for the last."""
    picked = np.random.default_rng(1).random((R, ROWS)) < [[0.9], [0.5], [0.3], [0.0]]
    assert not picked[-1].any()
    return picked


@pytest.mark.parametrize("task", [Task.CLASSIFICATION, Task.NODE_CLASSIFICATION])
def test_accuracy(task: Task) -> None:
    rng = np.random.default_rng(0)
    scores, y, rows = rng.random((R, ROWS, 3)), rng.integers(-1, 3, (R, ROWS)), chosen()
    found = metrics(task, scores, y, rows)
    assert set(found) == {"loss", "accuracy"}
    for r in range(R - 1):
        known = rows[r] & (y[r] >= 0)
        assert found["accuracy"][r] == accuracy_score(y[r][known], scores[r][known].argmax(1))
        expected = cross_entropy(*(torch.from_numpy(one[r][known]) for one in (scores, y)))
        assert found["loss"][r].item() == pytest.approx(expected.item(), abs=1e-12)
    assert found["accuracy"][-1].isnan() and found["loss"][-1].isnan()


def test_two_classes_have_a_roc_curve() -> None:
    rng = np.random.default_rng(0)
    scores, y, rows = rng.normal(size=(R, ROWS, 2)), rng.integers(-1, 2, (R, ROWS)), chosen()
    found = metrics(Task.CLASSIFICATION, scores, y, rows)
    assert set(found) == {"loss", "accuracy", "roc_auc"}
    for r in range(R - 1):
        known = rows[r] & (y[r] >= 0)
        expected = roc_auc_score(y[r][known], scores[r][known][:, 1] - scores[r][known][:, 0])
        assert found["roc_auc"][r].item() == pytest.approx(expected, abs=1e-12)


def test_mean_absolute_error() -> None:
    """In units of the target where there is one, in deviations where there are several."""
    rng = np.random.default_rng(0)
    rows = chosen()
    for targets in (1, 2):
        y = rng.normal(size=(R, ROWS, targets)) * [1.0, 50.0][:targets]
        outputs = rng.normal(size=(R, ROWS, targets))
        y[rng.random(y.shape) < 0.3] = np.nan
        shift = torch.from_numpy(rng.normal(size=(R, 1, targets)))
        scale = torch.from_numpy(rng.random((R, 1, targets)) * [2.0, 40.0][:targets] + 0.1)
        given = (torch.from_numpy(part) for part in (outputs, y, rows))
        loss, metric = measure(Task.REGRESSION, *given, shift, scale)
        for r in range(R - 1):
            known = rows[r][:, None] & ~np.isnan(y[r])
            value = outputs[r] * scale[r].numpy() + shift[r].numpy()
            error = np.abs(value - y[r])
            relative = (error / scale[r].numpy())[known].mean()
            expected = error[known].mean() if targets == 1 else relative
            assert metric[r].item() == pytest.approx(expected, abs=1e-12)
            assert loss[r].item() == pytest.approx(relative, abs=1e-12)
            if targets == 1:
                assert expected == pytest.approx(mean_absolute_error(y[r][known], value[known]))
        assert metric[-1].isnan()


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
    found = metrics(Task.MULTITASK, *given, rows)["roc_auc"]
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
    found = metrics(Task.MULTITASK, scores, y.numpy(), chosen)
    assert torch.isnan(found["roc_auc"][0]) and found["roc_auc"][1] == 1
    classes = torch.full((1, 3, 2), torch.nan)
    labels, one = np.zeros((1, 3), np.int64), torch.ones(1, 3, dtype=torch.bool)
    every = metrics(Task.CLASSIFICATION, classes, labels, one)
    assert all(torch.isnan(values).all() for values in every.values())
