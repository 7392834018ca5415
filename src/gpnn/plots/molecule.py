"""A molecule drawn by RDKit, with atoms coloured by their contribution and parts outlined."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .palette import palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_molecule", "reach_of"]

Floats = NDArray[np.float64]
MAP = "PuOr_r"  # diverging, and suitable for any colour vision
PIXELS = 900
EDGE = 1.9  # the ends of the colour map are too dark for the symbol of an atom


def reach_of(values: Floats) -> float:
    """Return the largest contribution, the end of the colour scale."""
    return float(np.abs(values).max(initial=0)) or 1.0


def draw_molecule(
    axes: Axes,
    smiles: str,
    values: Floats,
    part: Sequence[int],
    reach: float | None = None,
    colours: Sequence[str] | None = None,
) -> None:
    """Draw a molecule; orange atoms increase the output, purple atoms decrease it.

    Args:
        values, part: contribution and part of every atom, in the order of the SMILES.
        reach: end of the colour scale; by default the largest contribution in the molecule.
        colours: colours of the outlines, by part.
    """
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection
    from matplotlib.colors import Normalize

    image, place, bonds, unit = _render(smiles)
    number = np.asarray(part)
    reach = reach or reach_of(values)
    colours = colours or palette(int(number.max(initial=0)) + 1)
    _frame(axes, place, unit)
    room = _points_per_pixel(axes)
    wide = 0.78 * unit * room
    for which in np.unique(number).tolist():
        own = number == which
        inside = [place[list(bond)] for bond in bonds if own[bond[0]] and own[bond[1]]]
        for width, colour in ((wide + 3.2, colours[which]), (wide, "white")):
            line = LineCollection(inside, colors=colour, linewidths=width, capstyle="round",
                                  zorder=1 + (colour == "white"))  # fmt: skip
            axes.add_collection(line)
            axes.scatter(
                place[own, 0], place[own, 1], s=width**2, c=colour, linewidths=0, zorder=line.zorder
            )
    fill = colormaps[MAP](Normalize(-EDGE * reach, EDGE * reach)(values))
    axes.scatter(
        place[:, 0], place[:, 1], s=(0.66 * unit * room) ** 2, c=fill, linewidths=0, zorder=3
    )
    axes.imshow(image, zorder=4, interpolation="lanczos", aspect="equal")
    _frame(axes, place, unit)


def _frame(axes: Axes, place: Floats, unit: float) -> None:
    """Set the limits of the axes to the molecule with a small margin."""
    low, high = place.min(0) - 0.7 * unit, place.max(0) + 0.7 * unit
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(high[1], low[1])
    axes.set_aspect("equal")
    axes.axis("off")


def _points_per_pixel(axes: Axes) -> float:
    figure: Any = axes.figure
    figure.draw_without_rendering()
    box = axes.get_window_extent()
    wide, high = (abs(b - a) for a, b in (axes.get_xlim(), axes.get_ylim()))
    return float(min(box.width / wide, box.height / high) * 72 / figure.dpi)


def _render(smiles: str) -> tuple[Floats, Floats, list[tuple[int, int]], float]:
    """Return RDKit's picture with a transparent background, the positions of the atoms, the bonds,
    and the length of a bond in pixels."""
    from matplotlib.image import imread
    from rdkit import Chem
    from rdkit.Chem import rdDepictor
    from rdkit.Chem.Draw import rdMolDraw2D

    molecule = Chem.MolFromSmiles(smiles)
    rdDepictor.Compute2DCoords(molecule)
    drawer: Any = rdMolDraw2D.MolDraw2DCairo(PIXELS, PIXELS)
    options = drawer.drawOptions()
    options.setBackgroundColour((1, 1, 1, 0))
    options.useBWAtomPalette()
    options.padding = 0.09
    options.bondLineWidth = 4
    options.fixedBondLength = 110
    drawer.DrawMolecule(molecule)
    drawer.FinishDrawing()
    points = [drawer.GetDrawCoords(k) for k in range(molecule.GetNumAtoms())]
    place = np.array([(point.x, point.y) for point in points])
    bonds = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in molecule.GetBonds()]
    lengths = [float(np.linalg.norm(place[i] - place[j])) for i, j in bonds]
    image = imread(BytesIO(drawer.GetDrawingText()))
    return image, place, bonds, float(np.median(lengths)) if lengths else 110.0
