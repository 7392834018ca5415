"""A figure of schemes measured on a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..text import plural
from .palette import INK, palette

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..train.scheme_scores import SchemeScore

__all__ = ["draw_scheme_scores"]

NAMES = {"r2": "R²", "roc_auc": "ROC-AUC", "accuracy": "accuracy"}


def draw_scheme_scores(rows: Sequence[SchemeScore], source: str) -> Figure:
    """Draw a line per scheme, the best first: how much its part counts explain, the share of cross
    edges, and the number of tuples that Equation 2 sums over."""
    from matplotlib.figure import Figure

    scores = sorted(
        (row for row in rows if not row.reason), key=lambda row: -(row.explained or -1.0)
    )
    figure = Figure(figsize=(10.5, 0.36 * len(scores) + 1.9), layout="constrained")
    title = f"{source}: schemes"
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold", color=INK)
    metric = next((row.metric for row in scores if row.metric), "")
    colours = palette(3)
    panels: list[tuple[str, list[Any]]] = [
        (f"explained by part counts ({NAMES.get(metric, metric)})", [r.explained for r in scores]),
        ("cross edges, share", [r.cross for r in scores]),
        ("tuples of Equation 2", [r.tuples for r in scores]),
    ]
    one_part = (row.explained for row in scores if row.scheme == "trivial")
    start = next(one_part, None) or min((row.explained or 0.0 for row in scores), default=0.0)
    for place, (name, values) in enumerate(panels):
        axes: Any = figure.add_subplot(1, 3, place + 1)
        known = [(y, value) for y, value in enumerate(values) if value is not None]
        for y, value in known:
            axes.plot(value, y, "o", color=colours[place], ms=6)
            axes.hlines(y, 0 if place else start, value, color=colours[place])
        if place == 0:
            _mark(axes, scores)
            labels = [f"{row.scheme}  ({plural(row.parts, 'part')})" for row in scores]
            axes.set_yticks(range(len(scores)), labels, fontsize=8)
        else:
            axes.set_yticks(range(len(scores)), [])
        if place == 2:
            axes.set_xscale("symlog", linthresh=100)
            axes.set_xlim(0, 2 * max(1, *(row.tuples for row in scores), 1))
        axes.set_ylim(len(scores) - 0.4, -0.6)
        axes.set_xlabel(name, fontsize=8)
        axes.tick_params(axis="x", labelsize=8)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", color="#e6e6ea", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
    return figure


def _mark(axes: Any, rows: Sequence[SchemeScore]) -> None:
    """Draw a line at the value of one part; what is to the right of it is explained by the
    parts."""
    for row in rows:
        if row.scheme == "trivial" and row.explained is not None:
            axes.axvline(row.explained, color=INK, linewidth=0.9, linestyle=":")
            axes.annotate(
                "one part", (row.explained, 1), xycoords=("data", "axes fraction"),
                xytext=(2, 1), textcoords="offset points", fontsize=7, color=INK,
            )  # fmt: skip
