"""Colours for any colour vision."""

from __future__ import annotations

import numpy as np

__all__ = ["INK", "palette"]

INK = "#1b1b1f"

# Okabe and Ito's set without black, ordered so that neighbours differ in lightness too.
OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")


def palette(count: int) -> list[str]:
    """Return colours for the parts 0 … count - 1: distinct hues for few parts, else a perceptually
    uniform ramp in the order of the parts."""
    if count <= len(OKABE_ITO):
        return list(OKABE_ITO[:count])
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colour) for colour in colormaps["viridis"](np.linspace(0.05, 0.98, count))]
