r"""Calibration of an ensemble: prediction intervals for numbers, calibrated probabilities.

Network k of the ensemble is calibrated on rows that neither trained it nor chose its epoch
(:func:`~gpnn.data.split.calibration_splits`), so every row of the pool is predicted once by a
network that has not seen it.

**Intervals.** With the absolute errors :math:`r_1 \le \dots \le r_n` of these predictions, the
interval of level :math:`1 - a` is the mean prediction of the K networks :math:`\pm\, g\, r_k`,
:math:`k = \lceil (n + 1)(1 - a) \rceil`. For rows from the distribution of the table, the error of
a single network exceeds :math:`r_k` with probability at most :math:`a`. The mean of several
networks is better than one, and :math:`r_k` alone would cover too much; g is the measured gain of
averaging. Two networks leave a row out of their training: the one calibrated on it and the one
whose epoch was chosen by it. With their errors e and e' on all rows,

.. math::
    g^2 = c + (1 - c) / K, \qquad c = \overline{e e'} \,/\, \overline{e^2},

because shared errors remain (c) and the others average out. The order statistic is valid for any
distribution, g for typical ones: coverage is close to the level, but not guaranteed. Where
:math:`k > n` there are too few rows for the level. Rows of new scaffolds, or of another laboratory,
come from another distribution: there is no guarantee for them.

**Probabilities.** Logits become :math:`s z + t`, with the s and t (t = 0 for more than two classes)
that maximise the likelihood of the calibration rows, under Platt's smoothed labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..data.encoder import Encoder
from ..data.tasks import Task
from ..errors import InputError
from ..options import Number, Whole
from ..schema import ListOf, Table, Text

__all__ = ["LEVEL", "MIN_ROWS", "Calibration", "calibrate", "quantile_rank"]

LEVEL = 0.9
MIN_ROWS = 30
"""Minimum number of rows per class; with fewer, probabilities are not calibrated."""
Floats = NDArray[np.float64]


def quantile_rank(count: int, level: float) -> int | None:
    """Index, from 0, of the half width of an interval among ``count`` ascending errors; ``None`` if
    they are too few for the level."""
    level = Number(0.0, 1.0, above=True, below=True).read("level", level)
    rank = math.ceil((count + 1) * level)
    return rank - 1 if rank <= count else None


@dataclass(frozen=True)
class Calibration:
    """Results of calibration, stored with the model.

    Attributes:
        errors: g times the absolute errors of every numeric output, ascending; empty for others.
        slopes, offsets: applied to the logits of every output; 1 and 0 for no change.
        rows: number of calibration rows.
        warned: warnings about the calibration.
    """

    errors: tuple[tuple[float, ...], ...]
    slopes: tuple[float, ...]
    offsets: tuple[float, ...]
    rows: int
    warned: tuple[str, ...] = ()

    def half_widths(self, level: float = LEVEL) -> list[float | None]:
        """Half width of the interval of every output; ``None`` for classes and for too few rows."""
        ranks = [quantile_rank(len(own), level) for own in self.errors]
        return [None if r is None else own[r] for own, r in zip(self.errors, ranks, strict=True)]

    def adjust(self, outputs: Tensor, task: Task) -> Tensor:
        """Calibrated logits."""
        slope, offset = (
            torch.tensor(part, dtype=outputs.dtype) for part in (self.slopes, self.offsets)
        )
        if task.has_classes and outputs.shape[-1] == 2:
            outputs = outputs - outputs[..., :1]
        return outputs * slope + offset

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Calibration:
        """Restore from the result of :meth:`to_dict`."""
        content = CALIBRATION.read("calibration", content)
        errors = tuple(map(tuple, content["errors"]))
        if any(list(own) != sorted(own) for own in errors):
            raise InputError("calibration.errors must rise.")
        counts = {key: len(content[key]) for key in ("errors", "slopes", "offsets")}
        if len(set(counts.values())) != 1:
            raise InputError(f"calibration is of different numbers of outputs: {counts}.")
        slopes, offsets, warned = (tuple(content[key]) for key in ("slopes", "offsets", "warned"))
        return cls(errors, slopes, offsets, content["rows"], warned)


CALIBRATION = Table(
    {
        "errors": ListOf(ListOf(Number(0.0))),
        "slopes": ListOf(Number(-math.inf)),
        "offsets": ListOf(Number(-math.inf)),
        "rows": Whole(0),
        "warned": ListOf(Text()),
    }
)
"""Schema of a calibration in ``model.json``."""


def calibrate(
    encoder: Encoder,
    outputs: Tensor,
    y: Tensor,
    left_out: Sequence[NDArray[np.int64]],
    notes: str = "",
) -> Calibration:
    """Calibrate an ensemble.

    Args:
        outputs: of every network, in the units of the targets, [networks, rows, outputs].
        left_out: the calibration rows of every network, which choose the epoch of the next network.
        notes: a further warning.
    """
    task, count = encoder.task, outputs.shape[-1]
    rows, networks = np.concatenate(left_out), len(left_out)
    own, other = (
        torch.cat(
            [
                outputs[(k + step) % networks, torch.from_numpy(ids)]
                for k, ids in enumerate(left_out)
            ]
        ).double()
        for step in (0, 1)
    )
    truth = y[torch.from_numpy(rows)]
    errors: list[tuple[float, ...]] = [()] * count
    slopes, offsets = [1.0] * count, [0.0] * count
    warned = [notes] if notes else []
    if task.has_classes:
        slopes, offsets = _of_classes(own.numpy(), truth.numpy())
        if slopes == [1.0] * count:
            warned.append(f"fewer than {MIN_ROWS} calibration rows of a class: probabilities are "
                          "left as they are")  # fmt: skip
        return Calibration(tuple(errors), tuple(slopes), tuple(offsets), len(rows), tuple(warned))
    binary = encoder.binary or [task is Task.MULTITASK] * count
    few = []
    for k in range(count):
        label = truth[:, k].double().numpy()
        there = ~np.isnan(label)
        if binary[k]:
            slopes[k], offsets[k] = _platt(own[:, k].numpy()[there], label[there] == 1)
            few += [encoder.outputs[k]] * ((slopes[k], offsets[k]) == (1.0, 0.0))
        else:
            first, second = ((each[:, k].numpy() - label)[there] for each in (own, other))
            gain = _gain(first, second, networks)
            errors[k] = tuple((gain * np.sort(np.abs(first))).tolist())
            few += [encoder.outputs[k]] * (quantile_rank(len(errors[k]), LEVEL) is None)
    if few:
        warned.append(f"too few calibration rows for {', '.join(few[:5])}"
                      f"{f' and {len(few) - 5} more' if len(few) > 5 else ''}")  # fmt: skip
    return Calibration(tuple(errors), tuple(slopes), tuple(offsets), len(rows), tuple(warned))


def _gain(error: Floats, other: Floats, networks: int) -> float:
    """The factor g, at most 1, by which averaging ``networks`` networks reduces an error."""
    total = float(np.mean(error**2)) if len(error) else 0.0
    if not total:
        return 1.0
    shared = min(1.0, max(0.0, float(np.mean(error * other)) / total))
    return math.sqrt(shared + (1 - shared) / networks)


def _of_classes(logits: Floats, truth: NDArray[np.int64]) -> tuple[list[float], list[float]]:
    count = logits.shape[1]
    known = truth >= 0
    logits, truth = logits[known], truth[known]
    if count == 2:
        slope, offset = _platt(logits[:, 1] - logits[:, 0], truth == 1)
        return [slope, slope], [0.0, offset]
    if len(truth) < count * MIN_ROWS:
        return [1.0] * count, [0.0] * count
    from scipy.optimize import minimize_scalar
    from scipy.special import logsumexp

    def unlikely(log_slope: float) -> float:
        scaled = logits * math.exp(log_slope)
        chosen = scaled[np.arange(len(truth)), truth]
        return float((logsumexp(scaled, axis=1) - chosen).mean())

    slope = math.exp(minimize_scalar(unlikely, bounds=(-3, 3), method="bounded").x)
    return [slope] * count, [0.0] * count


def _platt(logit: Floats, positive: NDArray[np.bool_]) -> tuple[float, float]:
    """Slope and offset of maximum likelihood, with Platt's smoothed labels: (n₊ + 1) / (n₊ + 2) and
    1 / (n₋ + 2) instead of 1 and 0."""
    from scipy.optimize import minimize

    many, few = int(positive.sum()), int((~positive).sum())
    if min(many, few) < MIN_ROWS:
        return 1.0, 0.0
    wanted = np.where(positive, (many + 1) / (many + 2), 1 / (few + 2))

    def unlikely(at: Floats) -> float:
        z = math.exp(at[0]) * logit + at[1]
        return float((np.logaddexp(0, z) - wanted * z).mean())

    solution = minimize(unlikely, np.zeros(2), method="L-BFGS-B", bounds=((-3, 3), (-10, 10))).x
    return math.exp(solution[0]), float(solution[1])
