from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from gpnn.data.tasks import Task, get_task, higher_is_better, roc_auc
from gpnn.errors import InputError

NAN = float("nan")


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=40))
def test_roc_auc_is_that_of_scikit_learn(rows: list[tuple[int, bool]]) -> None:
    score = np.array([value / 7 for value, _ in rows])
    positive = np.array([kind for _, kind in rows])
    found = roc_auc(score, positive)
    if positive.all() or not positive.any():
        assert found is None
    else:
        assert found == pytest.approx(roc_auc_score(positive, score), abs=1e-12)


def test_multitask_metric_leaves_out_missing_labels_and_tasks_of_one_class() -> None:
    y = torch.tensor([[0.0, 1.0, NAN], [1.0, 1.0, NAN], [NAN, 1.0, NAN], [1.0, 1.0, NAN]])
    scores = torch.tensor([[0.1, 0.5, 0.5], [0.4, 0.5, 0.5], [0.0, 0.5, 0.5], [0.05, 0.5, 0.5]])
    assert Task.MULTITASK.measure(scores, y) == {"roc_auc": 0.5}
    assert Task.MULTITASK.measure(scores, torch.full((4, 3), NAN)) == {}


def test_multitask_loss_is_the_mean_over_labels_that_are_there() -> None:
    outputs = torch.tensor([[0.3, -1.0], [2.0, 0.5]], requires_grad=True)
    y = torch.tensor([[1.0, NAN], [0.0, 1.0]])
    expected = torch.nn.functional.binary_cross_entropy_with_logits(
        outputs.flatten()[[0, 2, 3]], torch.tensor([1.0, 0.0, 1.0])
    )
    loss = Task.MULTITASK.loss(outputs, y)
    assert torch.allclose(loss, expected)
    loss.backward()
    assert outputs.grad is not None
    assert outputs.grad[0, 1] == 0
    assert torch.isfinite(outputs.grad).all()


def test_classification_ignores_missing_labels() -> None:
    outputs, y = torch.tensor([[2.0, 0.0], [0.0, 1.0], [5.0, 0.0]]), torch.tensor([0, 1, -1])
    expected = torch.nn.functional.cross_entropy(outputs[:2], y[:2])
    assert torch.allclose(Task.NODE_CLASSIFICATION.loss(outputs, y), expected)
    scores = Task.CLASSIFICATION.scores(outputs)
    assert torch.allclose(scores.sum(1), torch.ones(3))
    assert Task.CLASSIFICATION.measure(scores, y) == {"accuracy": 1.0, "roc_auc": 1.0}


def test_no_label_at_all_gives_no_loss() -> None:
    outputs = torch.randn(3, 2, requires_grad=True)
    for task, y in (
        (Task.CLASSIFICATION, torch.full((3,), -1)),
        (Task.MULTITASK, torch.full((3, 2), NAN)),
        (Task.REGRESSION, torch.full((3, 2), NAN)),
    ):
        assert float(task.loss(outputs, y).detach()) == 0
        assert task.measure(task.scores(outputs.detach()), y) == {}


def test_regression_metrics() -> None:
    found = Task.REGRESSION.measure(torch.tensor([[1.0], [5.0]]), torch.tensor([[2.0], [2.0]]))
    assert found["mae"] == 2.0
    assert found["rmse"] == pytest.approx(5**0.5)


def test_several_targets_are_told_one_by_one() -> None:
    """The larger unit must not drown the smaller one."""
    y = torch.tensor([[1.0, 1000.0], [2.0, NAN], [3.0, 3000.0]])
    scores = torch.tensor([[2.0, 1000.0], [2.0, 5.0], [3.0, 3600.0]])
    found = Task.REGRESSION.measure(scores, y, (0.5, 1000.0), ("small", "large"))
    assert found["mae[small]"] == pytest.approx(1 / 3) and found["mae[large]"] == 300
    assert found["rmse[large]"] == pytest.approx((600**2 / 2) ** 0.5)
    assert found["scaled_mae"] == pytest.approx((1 / 0.5 + 600 / 1000) / 5)
    assert "mae" not in found


def test_every_task_knows_its_partners() -> None:
    assert [task.metric(1) for task in Task] == [
        *("accuracy", "roc_auc", "mae", "scaled_mae", "accuracy")
    ]
    assert Task.REGRESSION.metric(2) == "scaled_mae"
    assert [higher_is_better(task.metric(1)) for task in Task] == [
        *(True, True, False, False, True)
    ]
    assert not higher_is_better("scaled_mae") and not higher_is_better("loss")
    assert [task.chosen_by(2) for task in Task] == [
        *("roc_auc", "roc_auc", "loss", "loss", "roc_auc")
    ]
    assert Task.CLASSIFICATION.chosen_by(3) == "loss"


def test_unknown_task() -> None:
    with pytest.raises(InputError, match=r"no task 'guess'. Choose one of classification, multi"):
        get_task("guess")
