"""Parts of the OGB molecules: shares of vertices by part, and shares of cross edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .palette import INK, palette

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_cross_shares", "draw_panels"]


def draw_panels(
    panels: Mapping[tuple[str, str], Sequence[tuple[str, float]] | None], title: str
) -> Figure:
    """Draw a row per dataset, a column per scheme, a bar per part: its share of all vertices in per
    cent."""
    from matplotlib.figure import Figure

    rows = list(dict.fromkeys(row for row, _ in panels))
    columns = list(dict.fromkeys(column for _, column in panels))
    figure = Figure(figsize=(3.0 * len(columns), 2.5 * len(rows) + 0.5), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold", color=INK)
    colours = dict(zip(columns, palette(len(columns)), strict=True))
    for place, ((row, column), bars) in enumerate(panels.items()):
        axes = figure.add_subplot(len(rows), len(columns), place + 1)
        if place < len(columns):
            axes.set_title(column, loc="left", fontsize=10, color=INK)
        if place % len(columns) == 0:
            axes.set_ylabel(f"{row}\n% of vertices", fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=7)
        if bars is None:
            axes.set_xticks([])
            axes.annotate("not counted", (0.5, 0.5), xycoords="axes fraction", ha="center")
            continue
        names, heights = [name for name, _ in bars], [share for _, share in bars]
        axes.bar(range(len(bars)), heights, color=colours[column], width=0.75)
        for x, share in enumerate(heights):
            text = f"{share:.0f}" if share >= 1 else "<1"
            axes.annotate(text, (x, share), ha="center", va="bottom", fontsize=6, color=INK)
        tilt = 0 if max(map(len, names)) <= 3 else 40
        axes.set_xticks(
            range(len(names)), names, rotation=tilt, ha="right" if tilt else "center", fontsize=6
        )
        axes.set_xlim(-0.6, max(len(names), 5) - 0.4)
        axes.margins(y=0.15)
    return figure


def draw_cross_shares(shares: Sequence[tuple[str, str, float | None, float]], title: str) -> Figure:
    """Draw a panel per dataset: cross edges in per cent of all edges, measured (filled) and in the
    paper (open)."""
    from matplotlib.figure import Figure

    datasets = list(dict.fromkeys(dataset for dataset, *_ in shares))
    figure = Figure(figsize=(4.0 * len(datasets), 3.0), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold", color=INK)
    colour = palette(1)[0]
    for place, dataset in enumerate(datasets):
        axes = figure.add_subplot(1, len(datasets), place + 1)
        rows = [row for row in shares if row[0] == dataset]
        for y, (_, _, ours, theirs) in enumerate(rows):
            if ours is not None:
                axes.barh(y, ours, color=colour, height=0.55, alpha=0.85)
                axes.annotate(f"{ours:.1f}", (ours + 3, y), va="center", fontsize=8, color=INK)
            axes.plot(theirs, y, "o", mfc="white", mec=INK, ms=6)
        axes.set_yticks(range(len(rows)), [scheme for _, scheme, *_ in rows], fontsize=8)
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.set_title(dataset, loc="left", fontsize=10, color=INK)
        axes.set_xlabel("cross edges, % of all; the paper's as a ring", fontsize=8)
        axes.tick_params(axis="x", labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    return figure
