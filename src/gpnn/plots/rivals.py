"""Learning curves of models that were trained on the same splits, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .palette import INK, palette

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_rivals"]

History = Sequence[Mapping[str, Any]]


def draw_rivals(
    runs: Mapping[str, Sequence[History]], scores: Mapping[str, Sequence[float]], title: str
) -> Figure:
    """Draw training loss and validation accuracy (the mean over the splits, with every split as a
    faint line), and the test accuracy of every split with its mean.

    Args:
        runs: model → one history per split, all of the same length.
        scores: model → test accuracy of every split.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(11.0, 3.8), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold", color=INK)
    panels = figure.subplots(1, 3, width_ratios=(1, 1, 0.7))
    colours = dict(zip(runs, palette(len(runs)), strict=True))
    for axes, column, heading in zip(
        panels, ("loss", "valid_accuracy"), ("training loss", "validation accuracy"), strict=False
    ):
        for name, histories in runs.items():
            table = np.array([[record[column] for record in history] for history in histories])
            epochs = np.arange(1, table.shape[1] + 1)
            axes.plot(epochs, table.T, color=colours[name], linewidth=0.7, alpha=0.25)
            axes.plot(epochs, table.mean(0), color=colours[name], linewidth=2, label=name)
        axes.set_title(heading, loc="left", fontsize=10)
        axes.set_xlabel("epoch", fontsize=8)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    panels[0].legend(fontsize=8, frameon=False)
    for place, (name, values) in enumerate(scores.items()):
        shift = np.linspace(-0.12, 0.12, len(values)) if len(values) > 1 else np.zeros(1)
        panels[2].scatter(place + shift, values, s=22, color=colours[name], alpha=0.6)
        mean = float(np.mean(values))
        panels[2].plot([place - 0.25, place + 0.25], [mean, mean], color=INK, linewidth=1.6)
        panels[2].annotate(f"{mean:.1%}", (place + 0.27, mean), va="center", fontsize=8, color=INK)
    panels[2].set_xticks(range(len(scores)), list(scores), fontsize=8)
    panels[2].set_xlim(-0.6, len(scores) - 0.2)
    panels[2].set_title("test accuracy, every split", loc="left", fontsize=10)
    for axes in panels:
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    return figure
