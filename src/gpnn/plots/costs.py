"""Error against time, one point per method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .palette import INK, palette

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_costs"]

Point = tuple[str, float, float, float]
COLUMNS = 3
MARKS = "osD^vP*Xp<>h"


def draw_costs(points: Mapping[str, Sequence[Point]], title: str) -> Figure:
    """Draw one panel per dataset: the error of every method with its standard deviation, over the
    time of a training step relative to GIN, on a logarithmic scale.

    Args:
        points: dataset → (method, time, error, deviation).
    """
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    count = max(1, len(points))
    columns = min(COLUMNS, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(4.4 * columns + 2.2, 3.4 * rows + 0.5), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold", color=INK)
    methods = list(dict.fromkeys(name for own in points.values() for name, *_ in own))
    colours = dict(zip(methods, palette(max(3, len(methods))), strict=False))
    marks = {name: MARKS[number % len(MARKS)] for number, name in enumerate(methods)}
    for place, (dataset, own) in enumerate(points.items()):
        axes = figure.add_subplot(rows, columns, place + 1)
        for name, time, error, deviation in own:
            axes.errorbar(
                time, error, yerr=deviation, fmt=marks[name], ms=7, color=colours[name],
                elinewidth=0.8, alpha=0.9,
            )  # fmt: skip
        axes.set_xscale("log")
        axes.margins(x=0.25)
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_title(dataset, loc="left", fontsize=10, color=INK)
        axes.set_xlabel("time of a training step, GIN = 1", fontsize=8)
        axes.set_ylabel("error", fontsize=8)
        axes.tick_params(labelsize=8)
        axes.grid(color="#e6e6ea", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    if not points:
        missing = "No method has a measured error and time: gpnn bench peers --json > steps.json"
        figure.text(0.5, 0.45, missing, ha="center", fontsize=9, color=INK, wrap=True)
        return figure
    handles = [
        Line2D([], [], marker=marks[name], linestyle="", color=colours[name], label=name)
        for name in methods
    ]
    figure.legend(handles=handles, loc="outside right upper", frameon=False, fontsize=8)
    return figure
