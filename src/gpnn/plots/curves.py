"""Learning curves: loss and validation metric over the epochs of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .palette import INK, palette

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["METRICS", "draw_curves"]

METRICS = {
    "accuracy": "accuracy",
    "roc_auc": "ROC-AUC",
    "mae": "mean absolute error",
    "scaled_mae": "mean absolute error, in standard deviations",
}


def draw_curves(
    histories: Sequence[Sequence[Mapping[str, Any]]],
    metric: str,
    best_epochs: Sequence[int],
    title: str,
    test: float | None = None,
) -> Figure:
    """Draw two panels: loss on the training and validation part, and metric on the validation part,
    one line per network. The selected epochs are marked; the test metric is a dashed line."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    train_colour, valid_colour, test_colour = palette(3)
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold", color=INK)
    left, right = figure.subplots(1, 2)
    several = len(histories) > 1
    for number, (history, best) in enumerate(zip(histories, best_epochs, strict=True)):
        epochs = [record["epoch"] for record in history]
        look: dict[str, Any] = {"marker": "o"} if len(epochs) == 1 else {}
        look |= {"alpha": 0.5, "linewidth": 0.9} if several else {}
        values = _column(history, f"valid_{metric}")
        for axes, column, colour, name in (
            (left, _column(history, "loss"), train_colour, "train"),
            (left, _column(history, "valid_loss"), valid_colour, "valid"),
            (right, values, valid_colour, "valid"),
        ):
            axes.plot(epochs, column, color=colour, label=None if number else name, **look)
        kept = "kept epochs" if several else f"kept: epoch {best}, {values[best - 1]:.3g}"
        right.plot([best], [values[best - 1]], marker="o", linestyle="", color=INK,
                   markersize=4 if several else 6, label=None if number else kept)  # fmt: skip
        if not several:
            for axes in (left, right):
                axes.axvline(best, color=INK, linewidth=0.8, alpha=0.5)
    every = [record for history in histories for record in history]
    _limit(left, _column(every, "loss"), _column(every, "valid_loss"))
    if test is not None:
        right.axhline(test, color=test_colour, linestyle="--", label=f"test, {test:.3g}")
    left.set_title("loss", loc="left", fontsize=10)
    right.set_title(METRICS.get(metric, metric), loc="left", fontsize=10)
    for axes in (left, right):
        axes.set_xlabel("epoch", fontsize=8)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.tick_params(labelsize=7)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(fontsize=8, frameon=False, loc="best")
    return figure


def _column(history: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    return [record.get(name, float("nan")) for record in history]


def _limit(axes: Any, train: list[float], valid: list[float]) -> None:
    """Limit the axis so that large values of the first epochs do not flatten the curves."""
    known = sorted(value for value in valid if value == value)
    high = max(1.1 * max(train), 4 * known[len(known) // 2]) if known else 0.0
    if known and known[-1] > high:
        axes.set_ylim(min(0.0, known[0], *train), high)
