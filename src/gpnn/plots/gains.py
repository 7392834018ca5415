"""Gain of GPNN over a base GNN with as many parameters, per dataset and model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .palette import INK, palette

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..reproduce.results import Part

__all__ = ["draw_gains"]


def draw_gains(parts: Sequence[Part], title: str) -> Figure:
    """Draw a panel per unit, a line per dataset, and a dot per model with an interval of two
    standard errors. GPNN is better to the right of the line at 0."""
    from matplotlib.figure import Figure

    models = list(dict.fromkeys(e.row.title for part in parts for e in part.entries if e.row.gpnn))
    colours = dict(zip(models, palette(max(3, len(models))), strict=False))
    panels = [own for own in (_of(parts, "points"), _of(parts, "error")) if own]
    most = max((len(own) for own in panels), default=1)
    figure = Figure(
        figsize=(7.0 if len(panels) < 2 else 11.2, 0.55 * most + 1.9), layout="constrained"
    )
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold", color=INK)
    for place, own in enumerate(panels):
        _panel(figure.add_subplot(1, len(panels), place + 1), own, colours)
    _legend(figure, colours)
    return figure


def _of(parts: Sequence[Part], unit: str) -> list[Part]:
    """Return the datasets of a unit that have a gain."""
    return [
        part
        for part in parts
        if _unit(part) == unit and any(entry.over_wide is not None for entry in part.entries)
    ]


def _unit(part: Part) -> str:
    return "error" if part.protocol == "zinc" else "points"


def _panel(axes: Any, parts: Sequence[Part], colours: dict[str, str]) -> None:
    axes.axvline(0, color=INK, linewidth=0.9)
    for place, part in enumerate(parts):
        models = [entry for entry in part.entries if entry.row.gpnn]
        for number, entry in enumerate(models):
            gain = entry.over_wide
            if gain is None:
                continue
            y = place + 0.5 * ((number + 0.5) / len(models) - 0.5)
            spread = None if gain.error is None else 2 * gain.error
            colour = colours[entry.row.title]
            axes.errorbar(gain.mean, y, xerr=spread, fmt="o", ms=6, color=colour, elinewidth=1.6)
    axes.set_ylim(len(parts) - 0.4, -0.6)
    axes.set_yticks(range(len(parts)), [part.title for part in parts], fontsize=9)
    name = "points" if _unit(parts[0]) == "points" else "mean absolute error, reduced by"
    axes.set_xlabel(f"gain, {name}", fontsize=9)
    axes.tick_params(axis="x", labelsize=8)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", color="#e6e6ea", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _legend(figure: Any, colours: dict[str, str]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], marker="o", color=colour, label=name) for name, colour in colours.items()
    ]
    figure.legend(
        handles=handles, loc="outside lower left", ncols=2, frameon=False, fontsize=8,
        title="gain over the base GNN with as many parameters, ± 2 standard errors",
        title_fontsize=8, alignment="left",
    )  # fmt: skip
