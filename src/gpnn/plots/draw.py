"""A figure of one graph and its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..graph.partition import Partition
from .layout import layout
from .palette import INK, palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_graph", "draw_partition"]

LEGEND_LIMIT = 24


def draw_partition(cut: Partition, title: str) -> Figure:
    """Draw a graph with coloured parts and a legend with counts. Within edges have the colour of
    their part, cross edges are dark and dashed, border vertices are ringed."""
    from matplotlib.figure import Figure

    if len(cut.graphs) != 1:
        raise InputError(f"A drawing shows one graph; got {len(cut.graphs)}. Pick one of them.")
    place = layout(cut.graphs)
    spread = np.ptp(place, axis=0) + 2 if len(place) else np.ones(2)
    width = float(np.clip(1.0 + 0.55 * spread[0], 5, 12))
    height = float(np.clip(1.2 + 0.55 * spread[1], 4, 10))
    figure = Figure(figsize=(width + 2.8, height), layout="constrained")
    axes = figure.add_subplot()
    draw_graph(axes, cut, place, palette(cut.num_parts))
    axes.set_title(title, loc="left", fontsize=12, fontweight="bold", color=INK)
    _legend(figure, cut)
    return figure


def draw_graph(axes: Axes, cut: Partition, place: NDArray[np.float64], colours: list[str]) -> None:
    """Draw edges and vertices of a one-graph partition into ``axes``."""
    from matplotlib.collections import LineCollection

    n = cut.graphs.num_nodes
    within, across = cut.within_edges(), cut.cross_edges()
    thick = float(np.clip(40 / np.sqrt(max(n, 1)), 0.6, 3.2))
    axes.add_collection(
        LineCollection(
            list(place[within.T]),
            colors=[colours[p] for p in cut.part[within[0]]],
            linewidths=thick,
            alpha=0.8,
            zorder=1,
        )
    )
    axes.add_collection(
        LineCollection(
            list(place[across.T]),
            colors=INK,
            linewidths=0.6 * thick,
            linestyles=(0, (3, 1.6)),
            zorder=2,
        )
    )
    size = float(np.clip(5200 / max(n, 1), 12, 330))
    border = cut.border
    axes.scatter(
        place[:, 0],
        place[:, 1],
        s=size,
        c=[colours[p] for p in cut.part],
        edgecolors=[INK if b else "white" for b in border],
        linewidths=np.where(border, 0.55 * thick + 0.5, 0.8).tolist(),
        zorder=3,
    )
    names = cut.graphs.vertex_names
    if names is not None and n <= 80:
        for point, name in zip(place, names, strict=True):
            axes.annotate(
                name, point, ha="center", va="center", fontsize=7, color="white", zorder=4
            )
    axes.set_aspect("equal")
    axes.margins(0.08)
    axes.axis("off")


def _legend(figure: Figure, cut: Partition) -> None:
    from matplotlib.lines import Line2D

    colours = palette(cut.num_parts)
    entries = [
        Line2D(
            [], [], marker="o", ls="", ms=9, mfc=colour, mec="white", label=f"{label}  ({size:,})"
        )
        for colour, label, size in zip(colours, cut.labels, cut.sizes.tolist(), strict=True)
    ]
    if len(entries) > LEGEND_LIMIT:
        more = len(entries) - LEGEND_LIMIT
        entries = entries[:LEGEND_LIMIT]
        entries.append(Line2D([], [], ls="", label=f"… and {more:,} more parts"))
    entries += [
        Line2D(
            [], [], color="#7a7a80", lw=2.4, label=f"within edge  ({cut.within_edges().shape[1]:,})"
        ),
        Line2D(
            [],
            [],
            color=INK,
            lw=1.6,
            ls=(0, (3, 1.6)),
            label=f"cross edge  ({cut.cross_edges().shape[1]:,})",
        ),
        Line2D(
            [],
            [],
            marker="o",
            ls="",
            ms=9,
            mfc="white",
            mec=INK,
            mew=1.8,
            label=f"border vertex  ({int(cut.border.sum()):,})",
        ),
    ]
    figure.legend(
        handles=entries,
        title=cut.scheme.name,
        loc="outside right upper",
        frameon=False,
        fontsize=9,
        title_fontproperties={"weight": "bold"},
        alignment="left",
    )
