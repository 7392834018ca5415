"""A figure of an explained prediction: the graph and a bar per part, in one colour scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..graph.graphs import Graphs
from .layout import layout
from .molecule import draw_molecule
from .palette import INK, palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..train.explain import Explanation

__all__ = ["draw_explanation"]

MAP = "PuOr_r"  # diverging, and suitable for any colour vision
EDGE = 1.35  # the ends of the colour map are too dark to distinguish
NAMES_LIMIT = 80
ROOM = 0.6  # margin around the outermost vertices, in edge lengths


def draw_explanation(
    graph: Graphs,
    found: Explanation,
    title: str,
    names: Sequence[str] | None = None,
    molecule: tuple[str, NDArray[np.float64]] | None = None,
) -> Figure:
    """Draw vertices in the colour of the Shapley value of their part (orange for, purple against),
    with cross edges dashed, next to the values as bars. ``names`` are written on the vertices. A
    ``molecule``, given by its SMILES and the contribution of every atom, is drawn by RDKit instead,
    with parts outlined."""
    from matplotlib import colormaps
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    place = layout(graph)
    spread = np.ptp(place, axis=0) + 2
    width = float(np.clip(1.0 + 0.5 * spread[0], 4.5, 9))
    height = float(np.clip(max(1.4 + 0.5 * spread[1], 1.8 + 0.4 * len(found.parts)), 3.4, 9))
    figure = Figure(figsize=(width + 4.4, height), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold", color=INK)
    left, right = figure.subplots(1, 2, width_ratios=(width, 4.4))
    values = np.array([part.shapley for part in found.parts])
    reach = float(np.abs(values).max(initial=0)) or 1.0
    colours = colormaps[MAP](Normalize(-EDGE * reach, EDGE * reach)(values))
    _bars(right, found, values, reach, colours)
    if molecule is None:
        _graph(left, graph, found, place, colours, names)
        return figure
    outlines = palette(len(found.parts))
    for tick, colour in zip(right.get_yticklabels(), outlines, strict=True):
        tick.set_bbox({"facecolor": "white", "edgecolor": colour, "pad": 2.5, "linewidth": 1.6})
    left.set_title("what every atom adds: orange for, purple against; outlines are parts",
                   loc="left", fontsize=9, color=INK)  # fmt: skip
    draw_molecule(left, *molecule, found.part.tolist(), colours=outlines)
    return figure


def _graph(
    axes: Axes,
    graph: Graphs,
    found: Explanation,
    place: np.ndarray,
    colours: np.ndarray,
    names: Sequence[str] | None,
) -> None:
    from matplotlib.collections import LineCollection

    n = graph.num_nodes
    thick = float(np.clip(30 / np.sqrt(max(n, 1)), 0.6, 2.4))
    edges = graph.edges()
    across = found.part[edges[0]] != found.part[edges[1]]
    for chosen, style, order in ((~across, "solid", 1), (across, (0, (3, 1.6)), 2)):
        lines = list(place[edges[:, chosen].T])
        axes.add_collection(
            LineCollection(
                lines,
                colors="#8a8a90" if style == "solid" else INK,
                linewidths=thick,
                linestyles=style,
                zorder=order,
            )
        )
    size = float(np.clip(5200 / max(n, 1), 12, 300))
    fill = colours[found.part]
    axes.scatter(
        *(place[:, 0], place[:, 1]), s=size, c=fill, edgecolors=INK, linewidths=0.8, zorder=3
    )
    if names is not None and n <= NAMES_LIMIT:
        for point, name, colour in zip(place, names, fill, strict=True):
            dark = colour[:3] @ (0.299, 0.587, 0.114) < 0.5
            axes.annotate(
                name,
                point,
                ha="center",
                va="center",
                fontsize=7,
                color="white" if dark else INK,
                zorder=4,
            )
    axes.set_aspect("equal")
    axes.set_xlim(place[:, 0].min() - ROOM, place[:, 0].max() + ROOM)
    axes.set_ylim(place[:, 1].min() - ROOM, place[:, 1].max() + ROOM)
    axes.axis("off")


def _bars(
    axes: Axes, found: Explanation, values: np.ndarray, reach: float, colours: np.ndarray
) -> None:
    rows = np.arange(len(values))
    axes.barh(rows, values, color=colours, edgecolor=INK, linewidth=0.8, height=0.62)
    for row, value in zip(rows, values, strict=True):
        axes.annotate(
            f"{value:+.3f}",
            (value, row),
            xytext=(4 if value >= 0 else -4, 0),
            textcoords="offset points",
            ha="left" if value >= 0 else "right",
            va="center",
            fontsize=8,
            color=INK,
        )
    axes.axvline(0, color=INK, linewidth=0.8)
    low, high = min(values.min(), 0.0), max(values.max(), 0.0)
    axes.set_xlim(low - 0.35 * reach * (low < 0), high + 0.35 * reach * (high > 0))
    sizes = [
        f"{part.label}  ({part.vertices:,} {'vertex' if part.vertices == 1 else 'vertices'})"
        for part in found.parts
    ]
    axes.set_yticks(rows, sizes, fontsize=8)
    pad = 0.5 + max(0, 5 - len(values)) / 2
    axes.set_ylim(len(values) - 1 + pad, -pad)
    axes.set_ylabel(f"part ({found.scheme})", fontsize=8)
    axes.set_title(f"Shapley value of every part for the {found.kind} of {found.output}",
                   loc="left", fontsize=9, color=INK)  # fmt: skip
    axes.set_xlabel(
        f"{found.kind} {found.empty:+.3f} without parts, {found.full:+.3f} with all", fontsize=8
    )
    axes.tick_params(axis="x", labelsize=7)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
