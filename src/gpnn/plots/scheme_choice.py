"""A figure of the candidates that ``--scheme auto`` tried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .palette import INK, palette

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..train.scheme_decision import Chosen

__all__ = ["draw_scheme_choice"]

MARKERS = ("^", "s", "o")
"""Markers of candidates by the last rung they finished."""


def draw_scheme_choice(choice: Chosen, source: str) -> Figure:
    """Draw a line per candidate: its gain over the base, ± two standard errors, and its p-value if
    it is in the last rung. Candidates of the last rung are filled; others show their gain in the
    last rung that they reached."""
    from matplotlib.figure import Figure

    rows = [one for one in choice.standings if one.gain is not None]
    figure = Figure(figsize=(8.0, 0.26 * len(rows) + 1.7), layout="constrained")
    title = f"{source}: {choice.candidate.title} is chosen"
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold", color=INK)
    axes: Any = figure.add_subplot()
    colours = palette(4)
    labels: dict[str, Any] = {}
    for y, one in enumerate(rows):
        last, chosen = one.rung == choice.rung, one.candidate == choice.candidate
        colour = colours[2] if chosen else colours[0]
        fill = colour if last else "white"
        label = f"rung {one.rung}" + " (decides)" * last
        dot = axes.errorbar(
            one.gain, y, xerr=2 * (one.error or 0.0), fmt=MARKERS[one.rung - 1],
            color=colour, mfc=fill, ms=5,
            elinewidth=1.1, alpha=1.0 if last else 0.55,
        )  # fmt: skip
        if not chosen:
            labels.setdefault(label, dot)
    axes.axvline(0.0, color=INK, linewidth=0.9, linestyle=":")
    names = []
    for one in rows:
        parts = one.candidate.parts
        count = f"  ({parts:,} part{'s' * (parts != 1)})" if parts else ""
        p = "" if one.p is None else f"  p = {one.p:.2g}"
        names.append(one.candidate.title + count + p)
    axes.set_yticks(range(len(rows)), names, fontsize=8)
    for tick, one in zip(axes.get_yticklabels(), rows, strict=True):
        tick.set_fontweight("bold" if one.candidate == choice.candidate else "normal")
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel(
        f"gain over the base in {choice.metric} (positive is better), ± two standard errors",
        fontsize=8,
    )
    axes.tick_params(axis="x", labelsize=8)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", color="#e6e6ea", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    if labels:
        figure.legend(
            labels.values(), labels.keys(), fontsize=8, frameon=False, loc="outside lower center",
            ncols=len(labels),
        )  # fmt: skip
    return figure
