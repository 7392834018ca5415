"""Learning curves: loss and validation metric over the epochs of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .palette import INK, palette

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["METRICS", "draw_curves"]

METRICS = {"accuracy": "accuracy", "roc_auc": "ROC-AUC", "mae": "mean absolute error"}


def draw_curves(
    history: Sequence[Mapping[str, Any]],
    metric: str,
    best_epoch: int,
    title: str,
    test: float | None = None,
) -> Figure:
    """Two panels: loss on the training and validation part, metric on the validation part. The
    epoch that was kept is marked; its test metric is a dashed line."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    train_colour, valid_colour, test_colour = palette(3)
    epochs = [record["epoch"] for record in history]
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold", color=INK)
    left, right = figure.subplots(1, 2)
    alone = {"marker": "o"} if len(epochs) == 1 else {}
    left.plot(epochs, _column(history, "loss"), color=train_colour, label="train", **alone)
    left.plot(epochs, _column(history, "valid_loss"), color=valid_colour, label="valid", **alone)
    _limit(left, _column(history, "loss"), _column(history, "valid_loss"))
    left.set_title("loss", loc="left", fontsize=10)
    values = _column(history, f"valid_{metric}")
    right.plot(epochs, values, color=valid_colour, label="valid", **alone)
    if test is not None:
        right.axhline(test, color=test_colour, linestyle="--", label=f"test, {test:.3g}")
    right.set_title(METRICS.get(metric, metric), loc="left", fontsize=10)
    for axes in (left, right):
        axes.axvline(best_epoch, color=INK, linewidth=0.8, alpha=0.5)
        axes.set_xlabel("epoch", fontsize=8)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.tick_params(labelsize=7)
        axes.spines[["top", "right"]].set_visible(False)
    right.plot(
        [best_epoch],
        [values[best_epoch - 1]],
        marker="o",
        linestyle="",
        color=INK,
        label=f"kept: epoch {best_epoch}, {values[best_epoch - 1]:.3g}",
    )
    for axes in (left, right):
        axes.legend(fontsize=8, frameon=False, loc="best")
    return figure


def _column(history: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    return [record.get(name, float("nan")) for record in history]


def _limit(axes: Any, train: list[float], valid: list[float]) -> None:
    """Keep the first epochs, whose statistics are not settled yet, from flattening the rest."""
    known = sorted(value for value in valid if value == value)
    high = max(1.1 * max(train), 4 * known[len(known) // 2]) if known else 0.0
    if known and known[-1] > high:
        axes.set_ylim(min(0.0, known[0], *train), high)
