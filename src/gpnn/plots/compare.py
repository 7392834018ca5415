"""Two graphs side by side with the colours of one refinement round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..graph.graphs import Graphs
from .layout import layout
from .palette import INK, palette

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_comparison"]

LEGEND_LIMIT = 14


def draw_comparison(
    graphs: Graphs, classes: NDArray[np.int64], names: Sequence[str], title: str
) -> Figure:
    """Draw one panel per graph, with one palette for both; classes whose sizes differ between the
    graphs are ringed.

    Args:
        graphs: a set of two graphs.
        classes: the class of every vertex, 0 … k-1, with the same meaning in both graphs.
    """
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    count = int(classes.max(initial=-1)) + 1
    colours = np.array(palette(count) or [INK])
    per_graph = np.zeros((2, count), np.int64)
    np.add.at(per_graph, (graphs.graph_of, classes), 1)
    odd = per_graph[0] != per_graph[1]
    places = [layout(one) for one in graphs]
    slopes = [float(np.ptp(p[:, 1]) / max(np.ptp(p[:, 0]), 1)) for p in places if len(p)]
    height = float(np.clip(1.3 + 4.6 * max(slopes, default=0.5), 2.6, 5.8))
    figure = Figure(figsize=(11.5, height), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold", color=INK)
    for g, axes in enumerate(figure.subplots(1, 2)):
        one = graphs[g]
        own = classes[graphs.ptr[g] : graphs.ptr[g + 1]]
        place = places[g]
        axes.add_collection(
            LineCollection(list(place[one.edges().T]), colors="#8a8a92", linewidths=1.3, zorder=1)
        )
        axes.scatter(
            place[:, 0],
            place[:, 1],
            s=float(np.clip(5200 / max(one.num_nodes, 1), 14, 300)),
            c=colours[own] if len(own) else None,
            edgecolors=[INK if ringed else "white" for ringed in odd[own]],
            linewidths=np.where(odd[own], 2.2, 0.9),
            zorder=2,
        )
        axes.set_title(names[g], loc="left", fontsize=11)
        axes.set_aspect("equal")
        axes.margins(0.1)
        axes.axis("off")
    order = sorted(range(count), key=lambda c: (not odd[c], c))[:LEGEND_LIMIT]
    entries = [
        Line2D(
            [], [], marker="o", ls="", ms=9, mfc=colours[c], mec=INK if odd[c] else "white",
            mew=1.8 if odd[c] else 0.8, label=f"{per_graph[0, c]} | {per_graph[1, c]}",
        )
        for c in order
    ]  # fmt: skip
    if count > LEGEND_LIMIT:
        entries.append(Line2D([], [], ls="", label=f"… {count - LEGEND_LIMIT} more"))
    figure.legend(
        handles=entries,
        title="vertices, left | right",
        loc="outside right upper",
        frameon=False,
        fontsize=9,
    )
    return figure
