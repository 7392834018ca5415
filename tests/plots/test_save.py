"""Texts of figures are shown literally, except the formulas of logarithmic axes."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from gpnn.plots.save import show_as_text


@pytest.mark.parametrize("scale", ["log", "symlog"])
def test_only_numbers_of_logarithmic_axes_are_formulas(scale: str) -> None:
    figure = Figure()
    axes = figure.add_subplot()
    axes.plot([1, 1e6], [0, 1])
    axes.set_xscale(scale)
    title = axes.set_title("a $b$ of $c$")
    figure.canvas.draw()
    show_as_text(figure)
    assert not title.get_parse_math()
    assert all(label.get_parse_math() for label in axes.get_xticklabels())
    assert not any(label.get_parse_math() for label in axes.get_yticklabels())
