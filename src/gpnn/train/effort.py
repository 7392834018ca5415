"""Three presets for the effort of training on molecules, chosen by measurement.

========== =====================================================================================
quick      half the epochs of standard
standard   the default: three hops with distances, RDKit's descriptors in addition to the graph, a
           step size that falls to zero along a cosine
thorough   settings are searched on the validation part, then five networks are trained with the
           best of them
========== =====================================================================================

The settings of the presets were measured on samples of ogbg-moltox21, ogbg-moltoxcast, ogbg-molhiv
and ZINC as tables (``tools/molecule_defaults.py``; the figures are in docs/howto/molecules.md), and
on no other table.
"""

from __future__ import annotations

from typing import Any

from ..options import Choice

__all__ = ["EFFORTS", "MOLECULES", "schedule_for"]

EFFORTS = ("quick", "standard", "thorough")
MOLECULES: dict[str, Any] = {"d": 3, "distances": True}
"""Default options of a network for molecules."""
BUDGET = {"quick": 0.5, "standard": 1.0, "thorough": 1.0}


def schedule_for(samples: int, effort: str, epochs: int | None = None) -> dict[str, Any]:
    """Training schedule for a number of molecules, as fields of
    :class:`~gpnn.train.train_config.TrainConfig`: 40 epochs up to 1,000 molecules, then fewer in
    proportion to 1/∛n, but at least 30. There is no early stopping, because the step size is small
    only at the end of a cosine."""
    Choice(EFFORTS).read("effort", effort)
    usual = max(30, round(40 * max(1.0, samples / 1_000) ** (-1 / 3)))
    epochs = max(15, round(usual * BUDGET[effort])) if epochs is None else epochs
    return {"epochs": epochs, "cosine": True, "patience": epochs}
