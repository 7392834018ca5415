"""scikit-learn's own checks, on both estimators.

The checks give rows of numbers, and the estimators take graphs. ``_Rows`` stands between: it
validates a table as scikit-learn's estimators do, and makes of every row a path whose vertices
carry the numbers as features. Everything else is the estimators' own.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted, validate_data
from torch_geometric.data import Data

from gpnn import GPNNClassifier, GPNNRegressor

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("one_thread")]


class _Rows:
    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array = True
        for kind in (tags.classifier_tags, tags.regressor_tags):
            if kind is not None:
                kind.poor_score = True  # one epoch teaches little
        return tags

    def fit(self, X: Any, y: Any = None) -> Any:
        table, y = validate_data(self, X, y, multi_output=isinstance(self, GPNNRegressor))
        return super().fit(_graphs(table), y)  # type: ignore[misc]

    def predict(self, X: Any) -> Any:
        check_is_fitted(self)
        return super().predict(_graphs(validate_data(self, X, reset=False)))  # type: ignore[misc]


class ClassifierOfRows(_Rows, GPNNClassifier):
    def predict_proba(self, X: Any) -> Any:
        check_is_fitted(self)
        if isinstance(X, list) and X and isinstance(X[0], Data):
            return super().predict_proba(X)
        return super().predict_proba(_graphs(validate_data(self, X, reset=False)))


class RegressorOfRows(_Rows, GPNNRegressor):
    pass


def _graphs(table: Any) -> list[Data]:
    """Every row as a path whose vertices carry its numbers."""
    width = table.shape[1]
    line = torch.stack([torch.arange(width - 1), torch.arange(1, width)]).reshape(2, -1)
    edges = torch.cat([line, line.flip(0)], dim=1)
    values = torch.as_tensor(table, dtype=torch.float32)
    return [Data(x=row[:, None], edge_index=edges, num_nodes=width) for row in values]


OPTIONS: dict[str, Any] = {
    "epochs": 1, "hidden": 4, "layers": 1, "batch_size": 64, "random_state": 0, "device": "cpu",
}  # fmt: skip


def _checks(estimator: Any) -> Any:
    return parametrize_with_checks([estimator], expected_failed_checks=lambda _: EXPECTED)


EXPECTED: dict[str, str] = {}
"""Check → why it is expected to fail. Those for array API and pandas skip themselves."""


@_checks(ClassifierOfRows(**OPTIONS))
def test_classifier(estimator: Any, check: Any) -> None:
    check(estimator)


@_checks(RegressorOfRows(**OPTIONS))
def test_regressor(estimator: Any, check: Any) -> None:
    check(estimator)


@parametrize_with_checks([GPNNClassifier(), GPNNRegressor()])
def test_of_graphs(estimator: Any, check: Any) -> None:
    """What is checked of estimators that do not take tables."""
    check(estimator)
