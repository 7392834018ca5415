"""Gain of partitions over the base GNN, per dataset, from ``gpnn bench schemes``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

from .palette import INK, palette

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_scheme_gains"]

PER_ROW, WIDE = 3, 52
"""Panels side by side, and letters of the title that fit on a panel."""


def draw_scheme_gains(results: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw a panel per dataset, and in it a dot per method with an interval of two standard errors.
    A method is better than the base GNN to the right of the line at 0; a filled dot is
    significant."""
    from matplotlib.figure import Figure

    across = min(PER_ROW, len(results))
    down = -(-len(results) // across)
    methods = max(len(result["rows"]) for result in results)
    figure = Figure(
        figsize=(1.2 + 3.3 * across, 0.6 + down * (1.0 + 0.27 * methods)), layout="constrained"
    )
    title = (
        "Gain over the base GNN, ± 2 standard errors; filled: p < 5 % after Holm's correction for "
        "the methods of a dataset"
    )
    lines = fill(title, WIDE * across)
    figure.suptitle(lines, x=0.01, ha="left", fontsize=10, color=INK)
    for place, result in enumerate(results):
        _panel(figure.add_subplot(down, across, place + 1), result, place % across == 0)
    return figure


def _panel(axes: Any, result: Mapping[str, Any], named: bool) -> None:
    colour = palette(3)[0]
    rows = [row for row in result["rows"] if row["p"] is not None]
    axes.axvline(0, color=INK, linewidth=0.9)
    for place, row in enumerate(rows):
        inside = colour if row["p"] < 0.05 else "white"
        axes.errorbar(
            row["gain"], place, xerr=2 * row["error"], fmt="o", ms=6, color=colour,
            markerfacecolor=inside, elinewidth=1.6,
        )  # fmt: skip
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(
        range(len(rows)), [row["method"] for row in rows] if named else [""] * len(rows)
    )
    base = result["rows"][0]
    axes.set_title(f"{result['source']}: base {base['mean']:.3f}", fontsize=9, loc="left")
    axes.set_xlabel(f"gain in {result['metric'].replace('_', ' ')}", fontsize=8)
    axes.locator_params(axis="x", nbins=5)
    axes.tick_params(axis="x", labelsize=8)
    axes.tick_params(axis="y", length=0, labelsize=9)
    axes.grid(axis="y", color="#e6e6ea", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
