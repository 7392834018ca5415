"""``GPNNMultiTarget``: several targets at once, numbers and classes mixed, cells missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from ..data.objects import read_inputs, read_targets
from ..data.samples import Samples, encode_samples
from ..data.targets import class_names, encode
from ..data.tasks import Task
from ..errors import InputError
from .base_estimator import GPNNEstimator, with_parts

__all__ = ["GPNNMultiTarget"]


class GPNNMultiTarget(GPNNEstimator):
    """Predicts several targets for every graph. Arguments: see
    :class:`~gpnn.train.base_estimator.GPNNEstimator`, and

    ``targets_``: every target with its classes; an empty tuple for a numeric target.

    Columns of texts and columns of 0 and 1 are classes, all others are numbers, as in
    ``gpnn train``. A missing cell (``None``, NaN or an empty text) does not contribute to the loss;
    a graph without any target is left out. Every target is scaled and measured separately.

    >>> from gpnn import GPNNMultiTarget
    >>> y = {"boils": [65.0, 78.4, None], "toxic": ["yes", "no", "no"]}
    >>> model = GPNNMultiTarget().fit(["CO", "CCO", "CCCO"], y)  # doctest: +SKIP
    >>> model.predict(["CCCCO"])["toxic"]  # doctest: +SKIP
    """

    _tasks = (Task.MIXED, Task.MULTITASK, Task.REGRESSION)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any, parts: Any = None) -> GPNNMultiTarget:
        """Fit to a list of graphs and a table of targets: a data frame, a dictionary of columns, or
        rows of cells."""
        self._train(self.prepare(X, y, parts)[0])
        self._restore(self.model_)
        return self

    def prepare(self, X: Any, y: Any, parts: Any = None) -> tuple[Samples, dict[str, Any]]:
        """The samples that ``fit`` trains on, and the facts that it stores with the model."""
        raw = read_inputs(X)
        columns = read_targets(y, len(raw.graphs))
        if len(columns) < 2:
            raise InputError("y has one target. Use GPNNClassifier or GPNNRegressor.")
        raw = with_parts(replace(raw, targets=columns), parts)
        return encode_samples(raw, source="X", descriptors=self._descriptors()), {}

    def _restore(self, loaded: Any) -> None:
        encoder = loaded.encoder
        both = ("0", "1") if encoder.task is Task.MULTITASK else ()
        own = encoder.mixed or [both] * len(encoder.target_names)
        self.targets_ = dict(zip(encoder.target_names, own, strict=True))

    def predict(self, X: Any) -> dict[str, NDArray[Any]]:
        """The values of every target, or its classes as texts, [graphs]."""
        scores = self._by_target(X)
        return {
            name: np.array(classes)[scores[name].argmax(1)] if classes else scores[name]
            for name, classes in self.targets_.items()
        }

    def predict_proba(self, X: Any) -> dict[str, NDArray[np.float64]]:
        """Class probabilities of every categorical target, [graphs, classes]."""
        scores = self._by_target(X)
        return {name: scores[name] for name, classes in self.targets_.items() if classes}

    def predict_interval(self, X: Any, level: float = 0.9) -> dict[str, NDArray[np.float64]]:
        """Lower and upper bound of an interval for every numeric target, [graphs, 2]; needs
        ``calibrate``."""
        scores = self._by_target(X)
        halves = dict(zip(self.model_.encoder.outputs, self._half_widths(level), strict=True))
        ends = np.array([-1.0, 1.0])
        return {
            name: scores[name][:, None] + halves[name] * ends
            for name, classes in self.targets_.items()
            if not classes
        }

    def evaluate(self, X: Any, y: Any) -> dict[str, float]:
        """Every metric, over all targets and for each target, as ``gpnn train`` prints them."""
        check_is_fitted(self, "model_")
        raw = read_inputs(X)
        raw = replace(raw, targets=self._columns(y, len(raw.graphs)))
        task = self.model_.task
        return self.model_.evaluate(encode_samples(raw, task, like=self.model_.encoder, source="X"))

    def _encoded(self, y: Any, count: int) -> Tensor:
        return encode(self._columns(y, count), self.model_.task, (), self.model_.encoder.mixed)[0]

    def _columns(self, y: Any, count: int) -> dict[str, NDArray[Any]]:
        """The columns of the model's targets; unknown classes raise."""
        columns = read_targets(y, count)
        chosen = {name: columns[name] for name in self.targets_ if name in columns}
        if len(chosen) < len(self.targets_):
            raise InputError(f"y needs the columns {', '.join(self.targets_)}.")
        for name, classes in self.targets_.items():
            words = set(class_names(chosen[name])) if classes else set()
            if unknown := sorted(words - set(classes)):
                raise InputError(f"The class {unknown[0]!r} of {name!r} is not in the model.")
        return chosen

    def _by_target(self, X: Any) -> dict[str, NDArray[np.float64]]:
        """Values [graphs] or class probabilities [graphs, classes] of every target."""
        scores, at = self._scores(X), 0
        predictions = {}
        for name, classes in self.targets_.items():
            width = max(1, len(classes) - (len(classes) == 2))
            own = scores[:, at : at + width]
            predictions[name] = own[:, 0]
            if classes:
                predictions[name] = np.concatenate([1 - own, own], axis=1) if width == 1 else own
            at += width
        return predictions
