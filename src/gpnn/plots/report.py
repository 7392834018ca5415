"""A page about the predictions of a model for a table of molecules: one file without scripts and
external resources; every text of the table is escaped."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .molecule import draw_molecule, reach_of
from .palette import INK, OKABE_ITO

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Page", "calibration_plot", "coverage_plot", "molecule_cards", "parity_plot", "roc_plot"]

Floats = NDArray[np.float64]
BLUE, ORANGE = OKABE_ITO[:2]

_STYLE = """
body{font:15px/1.45 system-ui,sans-serif;color:#1b1b1f;max-width:70rem;margin:2rem auto}
body{padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.2rem}
table{border-collapse:collapse}
td,th{padding:.25rem .7rem;text-align:right;border-bottom:1px solid #ddd}
td:first-child,th:first-child{text-align:left}code{font-size:.85em;overflow-wrap:anywhere}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(15rem,1fr));gap:1rem}
figure{margin:0;border:1px solid #ddd;border-radius:6px;padding:.6rem}img{max-width:100%}
figcaption{font-size:.85rem}.plots img{max-height:22rem}.note{color:#555}
"""
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


@dataclass
class Page:
    """An HTML page, built section by section."""

    title: str
    body: list[str] = field(default_factory=list)

    def heading(self, text: str, note: str = "") -> None:
        self.body.append(f"<h2>{html.escape(text)}</h2>")
        if note:
            self.body.append(f'<p class="note">{html.escape(note)}</p>')

    def text(self, text: str) -> None:
        self.body.append(f"<p>{html.escape(text)}</p>")

    def table(self, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        head = "".join(f"<th>{html.escape(str(cell))}</th>" for cell in header)
        lines = [
            "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>"
            for row in rows
        ]
        self.body.append(f"<table><tr>{head}</tr>{''.join(lines)}</table>")

    def plots(self, figures: Mapping[str, Figure]) -> None:
        images = [_image(figure, name) for name, figure in figures.items()]
        self.body.append(f'<div class="plots">{"".join(images)}</div>')

    def cards(self, cards: Sequence[tuple[Figure, str, str]]) -> None:
        """Add pictures of molecules with a name and text below."""
        shown = [
            f"<figure>{_image(figure, name)}<figcaption><code>{html.escape(name)}</code><br>"
            f"{'<br>'.join(map(html.escape, lines.splitlines()))}</figcaption></figure>"
            for figure, name, lines in cards
        ]
        self.body.append(f'<div class="cards">{"".join(shown)}</div>')

    def __str__(self) -> str:
        title = html.escape(self.title)
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
            f"<title>{title}</title><style>{_STYLE}</style></head><body><h1>{title}</h1>"
            f"{''.join(self.body)}</body></html>\n"
        )


def _image(figure: Figure, name: str) -> str:
    stream = BytesIO()
    figure.savefig(stream, format="png", dpi=110, facecolor="white")
    code = base64.b64encode(stream.getvalue()).decode()
    return f'<img alt="{html.escape(name)}" src="data:image/png;base64,{code}">'


def molecule_cards(
    rows: Sequence[int],
    ids: Sequence[str],
    lines: Sequence[str],
    values: Sequence[Floats],
    parts: Sequence[NDArray[np.int64]],
) -> list[tuple[Figure, str, str]]:
    """Return a picture per molecule, all with the same colour scale."""
    from matplotlib.figure import Figure

    reach = max((reach_of(own) for own in values), default=1.0)
    out = []
    for number in range(len(rows)):
        figure = Figure(figsize=(2.7, 2.1))
        axes = figure.add_axes((0, 0, 1, 1))
        _, part = np.unique(parts[number], return_inverse=True)
        draw_molecule(axes, ids[number], values[number], part.tolist(), reach)
        out.append((figure, ids[number], f"row {rows[number]}\n{lines[number]}"))
    return out


def _axes(title: str, xlabel: str, ylabel: str) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.9, 3.6), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title, loc="left", fontsize=10, color=INK)
    axes.set_xlabel(xlabel, fontsize=9)
    axes.set_ylabel(ylabel, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def parity_plot(truth: Floats, found: Floats, half: float | None, name: str) -> Figure:
    """Plot predictions against true values, with the interval as a band."""
    figure, axes = _axes(f"{name}: predicted against true", "true", "predicted")
    ends = np.array([min(truth.min(), found.min()), max(truth.max(), found.max())])
    if half is not None:
        axes.fill_between(ends, ends - half, ends + half, color=ORANGE, alpha=0.2, linewidth=0)
    axes.plot(ends, ends, color=INK, linewidth=0.8)
    axes.scatter(truth, found, s=26, color=BLUE, alpha=0.75, edgecolors="white", linewidths=0.5)
    return figure


def coverage_plot(levels: Sequence[float], covered: Sequence[float]) -> Figure:
    """Plot the observed against the nominal coverage of the intervals."""
    figure, axes = _axes("coverage of intervals", "level", "share of rows inside")
    axes.plot([0, 1], [0, 1], color=INK, linewidth=0.8)
    axes.plot(levels, covered, color=BLUE, marker="o", markersize=4)
    return figure


def roc_plot(score: Floats, positive: NDArray[np.bool_], name: str) -> Figure:
    """Plot the ROC curve."""
    from sklearn.metrics import roc_auc_score, roc_curve

    area = roc_auc_score(positive, score)
    figure, axes = _axes(f"{name}: ROC, area {area:.3f}", "false positives", "true positives")
    wrong, right, _ = roc_curve(positive, score)
    axes.plot([0, 1], [0, 1], color=INK, linewidth=0.8)
    axes.plot(wrong, right, color=BLUE)
    return figure


def calibration_plot(score: Floats, positive: NDArray[np.bool_], name: str) -> Figure:
    """Plot observed frequencies against predicted probabilities, in up to ten quantile bins."""
    from sklearn.calibration import calibration_curve

    bins = min(10, max(2, len(score) // 10))
    share, mean = calibration_curve(positive, score, n_bins=bins, strategy="quantile")
    figure, axes = _axes(f"{name}: calibration", "predicted probability", "observed frequency")
    axes.plot([0, 1], [0, 1], color=INK, linewidth=0.8)
    axes.plot(mean, share, color=BLUE, marker="o", markersize=4)
    return figure
