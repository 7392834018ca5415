"""A figure of a table of results: measured figures and those of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .palette import INK, palette

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..reproduce.jobs import Row
    from ..reproduce.results import Part

__all__ = ["draw_results"]

COLUMNS = 3


def draw_results(parts: Sequence[Part], title: str) -> Figure:
    """Draw one panel per measured dataset and one line per model. Filled dots with standard
    deviations are measured, open dots are the paper's figures; each protocol has a colour. Base
    GNNs and peers are in bold."""
    from matplotlib.figure import Figure

    measured = {
        part.column.dataset for part in parts for entry in part.entries if entry.record is not None
    }
    datasets = [
        name
        for name in dict.fromkeys(part.column.dataset for part in parts)
        if name in measured or not measured
    ]
    protocols = list(dict.fromkeys(part.protocol for part in parts))
    colours = dict(zip(protocols, palette(max(3, len(protocols))), strict=False))
    columns = 2 if len(datasets) == 4 else min(COLUMNS, len(datasets))
    rows = -(-len(datasets) // columns)
    shown = {
        dataset: _models([part for part in parts if part.column.dataset == dataset])
        for dataset in datasets
    }
    most = max(map(len, shown.values()))
    width = max(8.0, 5.0 * columns)  # room for title and legend
    figure = Figure(figsize=(width, rows * (0.34 * most + 0.9) + 1.0), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold", color=INK)
    beside: list[Row] = []
    for place, dataset in enumerate(datasets):
        axes = figure.add_subplot(rows, columns, place + 1)
        own_parts = [part for part in parts if part.column.dataset == dataset]
        _panel(axes, own_parts, shown[dataset], colours)
        if place % columns and shown[dataset] == beside:
            axes.set_yticklabels([])
        beside = shown[dataset]
    _legend(figure, colours)
    return figure


def _models(parts: Sequence[Part]) -> list[Row]:
    """Return the models of a dataset; a protocol may lack some of them."""
    present = {entry.row for part in parts for entry in part.entries}
    return [row for row in parts[0].column.rows if row in present]


def _panel(
    axes: Any, parts: Sequence[Part], models: Sequence[Row], colours: dict[str, str]
) -> None:
    for number, part in enumerate(parts):
        shift = 0.5 * ((number + 0.5) / len(parts) - 0.5)
        colour = colours[part.protocol]
        for entry in part.entries:
            y = models.index(entry.row) + shift
            if entry.paper is not None:
                axes.errorbar(
                    entry.paper.mean, y + 0.09, xerr=entry.paper.std, fmt="o", ms=5, mfc="white",
                    mec=colour, ecolor=colour, elinewidth=0.7, alpha=0.65,
                )  # fmt: skip
            measured = entry.measured
            if measured is not None:
                axes.errorbar(
                    measured.mean, y, xerr=measured.std, fmt="o", ms=5, color=colour,
                    elinewidth=1.4,
                )  # fmt: skip
    axes.set_title(parts[0].title, loc="left", fontsize=10, color=INK)
    axes.set_ylim(len(models) - 0.4, -0.6)
    axes.set_yticks(range(len(models)), [row.title for row in models], fontsize=8)
    for label, row in zip(axes.get_yticklabels(), models, strict=True):
        if not row.gpnn:
            label.set_fontweight("bold")
    axes.set_xlabel(_unit(parts[0].protocol), fontsize=8)
    axes.tick_params(axis="x", labelsize=8)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", color="#e6e6ea", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _unit(protocol: str) -> str:
    if protocol == "zinc":
        return "mean absolute error, lower is better"
    return "ROC-AUC, %" if protocol == "ogb" else "accuracy, %"


def _legend(figure: Any, colours: dict[str, str]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], marker="o", color=colour, label=name) for name, colour in colours.items()
    ]
    handles += [
        Line2D([], [], marker="o", linestyle="", color=INK, label="measured"),
        Line2D([], [], marker="o", linestyle="", mfc="white", mec=INK, label="the paper"),
        Line2D([], [], linestyle="", label="bold: without GPNN"),
    ]
    figure.legend(
        handles=handles, loc="outside lower left", ncols=len(handles), frameon=False, fontsize=8
    )
