"""``GPNNClassifier`` and ``GPNNRegressor``: a GPNN with the interface of scikit-learn."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import type_of_target
from torch import Tensor

from ..data.encoder import Encoder
from ..data.objects import read_inputs, read_labels
from ..data.raw import Raw
from ..data.samples import Samples
from ..data.targets import check_labels, class_names
from ..data.tasks import Task
from ..errors import InputError
from .base_estimator import GPNNEstimator, python_scalar
from .model_file import Loaded

__all__ = ["GPNNClassifier", "GPNNRegressor"]


class GPNNClassifier(ClassifierMixin, GPNNEstimator):
    """Classifies graphs. Arguments and attributes: see
    :class:`~gpnn.train.base_estimator.GPNNEstimator`, and

    ``classes_``: the classes, ascending, as ``y`` had them.

    >>> from gpnn import GPNNClassifier
    >>> model = GPNNClassifier(random_state=0).fit(graphs, y)  # doctest: +SKIP
    >>> model.predict_proba(others)  # doctest: +SKIP
    """

    _tasks = (Task.CLASSIFICATION,)

    def fit(self, X: Any, y: Any, parts: Any = None) -> GPNNClassifier:
        """Fit to a list of graphs and one class per graph: texts or numbers."""
        samples, facts = self.prepare(X, y, parts)
        self._train(samples, **facts)
        return self

    def prepare(self, X: Any, y: Any, parts: Any = None) -> tuple[Samples, dict[str, Any]]:
        """The samples that ``fit`` trains on, and the facts that it stores with the model."""
        raw, labels = _read(X, y)
        if labels.ndim != 1:
            raise InputError(f"y must hold one class per graph; got shape {labels.shape}.")
        try:
            kind = type_of_target(labels)
        except (TypeError, ValueError) as error:
            raise InputError(f"y holds no classes: {error}") from None
        if kind == "continuous":
            raise InputError(
                "Unknown label type: y holds continuous numbers, which are not classes. Use "
                "GPNNRegressor."
            )
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            only = python_scalar(self.classes_[0])
            raise InputError(f"y holds only the class {only!r}. There is nothing to learn.")
        names = tuple(map(str, self.classes_.tolist()))
        if self.classes_.dtype.kind == "f":
            names = class_names(self.classes_.astype(np.float64))
        raw = _with_target(raw, "class")
        encoder = Encoder.fit(raw, Task.CLASSIFICATION, names)
        y = torch.from_numpy(codes.astype(np.int64).reshape(-1))
        return self._prepared(raw, encoder, y, parts), {"classes": self.classes_.dtype.kind}

    def _restore(self, loaded: Loaded) -> None:
        self.classes_ = _classes(loaded.encoder.class_names, loaded.about.get("classes"))

    def _encoded(self, y: Any, count: int) -> Tensor:
        labels = read_labels(y, count)
        place = {value: code for code, value in enumerate(self.classes_.tolist())}
        if unknown := sorted({str(value) for value in labels.tolist() if value not in place}):
            raise InputError(f"The class {unknown[0]!r} is not in the model.")
        return torch.tensor([place[value] for value in labels.tolist()])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities [graphs, classes], in the order of ``classes_``."""
        return self._scores(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The predicted class of every graph."""
        best = self._scores(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[best]
        return labels


class GPNNRegressor(RegressorMixin, GPNNEstimator):
    """Predicts one or several numbers for every graph; minimises the mean absolute error.
    Arguments and attributes: see :class:`~gpnn.train.base_estimator.GPNNEstimator`."""

    _tasks = (Task.REGRESSION,)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any, parts: Any = None) -> GPNNRegressor:
        """Fit to a list of graphs and one number per graph, or an array [graphs, targets]."""
        samples, facts = self.prepare(X, y, parts)
        self._train(samples, **facts)
        return self

    def prepare(self, X: Any, y: Any, parts: Any = None) -> tuple[Samples, dict[str, Any]]:
        """The samples that ``fit`` trains on, and the facts that it stores with the model."""
        raw, labels = _read(X, y)
        try:
            values = labels.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"y must hold numbers: {error}.") from None
        if values.ndim > 2 or not np.isfinite(values).all():
            raise InputError(
                "y holds infinity."
                if values.ndim <= 2
                else f"y must have shape [graphs] or [graphs, targets]; got {values.shape}."
            )
        self._flat = values.ndim == 1
        table = values.reshape(len(values), -1)
        names = (
            ["target"] if table.shape[1] == 1 else [f"target {k + 1}" for k in range(len(table.T))]
        )
        raw = _with_target(raw, *names)
        encoder = Encoder.fit(raw, Task.REGRESSION, ())
        target = torch.from_numpy(table).float()
        if not bool(torch.isfinite(target).all()):
            raise InputError("y holds numbers beyond the range of 32-bit floats. Scale them first.")
        check_labels(target, Task.REGRESSION, (), raw.ids)
        return self._prepared(raw, encoder, target, parts), {"flat": self._flat}

    def _encoded(self, y: Any, count: int) -> Tensor:
        labels = read_labels(y, count).astype(np.float64)
        return torch.from_numpy(labels.reshape(count, -1)).float()

    def _restore(self, loaded: Loaded) -> None:
        self._flat = loaded.about.get("flat", loaded.config.outputs == 1)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The predicted values, [graphs] or [graphs, targets] like ``y`` in ``fit``."""
        values = self._scores(X)
        return values[:, 0] if self._flat else values

    def predict_interval(self, X: Any, level: float = 0.9) -> NDArray[np.float64]:
        """Lower and upper bounds of intervals that cover the true value for a share ``level`` of
        rows from the distribution of ``fit``, [graphs(, targets), 2]; needs ``calibrate``."""
        values, halves = self._scores(X), self._half_widths(level)
        ends = values[..., None] + np.array([-1.0, 1.0]) * np.array(halves, np.float64)[:, None]
        return ends[:, 0] if self._flat else ends


def _read(X: Any, y: Any) -> tuple[Raw, NDArray[Any]]:
    """Graphs with their labels; raises for fewer than two."""
    raw = read_inputs(X)
    labels = read_labels(y, len(raw.graphs))
    if len(labels) < 2:
        raise InputError("X holds one graph (n_samples = 1): too few to learn from.")
    return raw, labels


def _classes(names: tuple[str, ...], kind: str | None) -> NDArray[Any]:
    """Classes from their names, with a NumPy ``kind``; if that is unknown, names that are all whole
    numbers become integers."""
    if kind is None:
        kind = "i" if all(re.fullmatch(r"0|-?[1-9]\d*", name) for name in names) else "U"
    if kind == "b":
        return np.array([name == "True" for name in names])
    if kind in "iu":
        return np.array([int(name) for name in names])
    return np.array(names, np.float64 if kind == "f" else None)


def _with_target(raw: Raw, *names: str) -> Raw:
    return replace(raw, targets={name: np.zeros(len(raw.graphs)) for name in names})
