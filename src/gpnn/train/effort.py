"""How much work a training of molecules may be: three presets, chosen by measurement.

========== =====================================================================================
quick      half the epochs of standard
standard   the default: three hops with distances, RDKit's descriptors beside the graph, a step
           size that falls to zero along a cosine
thorough   settings are searched on the validation part, then five networks are trained with the
           best of them
========== =====================================================================================

What the presets hold was measured on samples of ogbg-moltox21, ogbg-moltoxcast, ogbg-molhiv and
ZINC as tables (``tools/molecule_defaults.py``; docs/howto/molecules.md has the figures), and no
other table.
"""

from __future__ import annotations

from typing import Any

from ..options import Choice

__all__ = ["EFFORTS", "MOLECULES", "schedule_for"]

EFFORTS = ("quick", "standard", "thorough")
MOLECULES: dict[str, Any] = {"d": 3, "distances": True}
"""What a network for molecules has where nothing else is asked for."""
BUDGET = {"quick": 0.5, "standard": 1.0, "thorough": 1.0}


def schedule_for(samples: int, effort: str, epochs: int | None = None) -> dict[str, Any]:
    """How to train on so many molecules: 40 epochs up to 1,000, then fewer, as 1/∛n, 30 at least;
    fields of :class:`~gpnn.train.train_config.TrainConfig`. The step size is small only at the end
    of a cosine: no patience stops before."""
    Choice(EFFORTS).read("effort", effort)
    usual = max(30, round(40 * max(1.0, samples / 1_000) ** (-1 / 3)))
    epochs = max(15, round(usual * BUDGET[effort])) if epochs is None else epochs
    return {"epochs": epochs, "cosine": True, "patience": epochs}
