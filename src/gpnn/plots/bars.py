"""Distribution of the vertices of a dataset over the parts, by scheme."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..graph.partition import Partition
from .palette import INK, palette

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_distribution"]

BARS = 12


def parts(count: int) -> str:
    return f"{count:,} part" + "s" * (count != 1)


def draw_distribution(cuts: Sequence[Partition], title: str) -> Figure:
    """Draw one panel per scheme and one bar per part: its share of all vertices in per cent. With
    more than ``BARS`` parts, the last bar sums up the remaining parts."""
    from matplotlib.figure import Figure

    columns = min(3, len(cuts))
    rows = -(-len(cuts) // columns)
    figure = Figure(figsize=(4.2 * columns, 2.9 * rows + 0.5), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold", color=INK)
    for place, cut in enumerate(cuts):
        axes = figure.add_subplot(rows, columns, place + 1)
        shares = (100 * cut.sizes / max(1, cut.graphs.num_nodes)).tolist()
        labels = list(cut.labels)
        if len(labels) > BARS:
            rest = len(labels) - BARS + 1
            shares = [*shares[: BARS - 1], sum(shares[BARS - 1 :])]
            labels = [*labels[: BARS - 1], f"{rest:,} more"]
        axes.bar(range(len(shares)), shares, color=palette(len(shares)), width=0.75)
        for x, share in enumerate(shares):
            text = f"{share:.0f}" if share >= 1 else "<1"
            axes.annotate(text, (x, share), ha="center", va="bottom", fontsize=7, color=INK)
        axes.set_title(f"{cut.scheme.name}  ({parts(cut.num_parts)})", loc="left", fontsize=10)
        tilt = 0 if max(map(len, labels), default=0) <= 3 else 40
        axes.set_xticks(
            range(len(labels)), labels, rotation=tilt, ha="right" if tilt else "center", fontsize=7
        )
        axes.set_xlim(-0.6, max(len(labels), 5) - 0.4)
        axes.set_ylabel("% of vertices", fontsize=8)
        axes.tick_params(axis="y", labelsize=7)
        axes.margins(y=0.15)
        axes.spines[["top", "right"]].set_visible(False)
    return figure
