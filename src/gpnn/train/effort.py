"""How much work a training of molecules may be: three presets, chosen by measurement.

========== =====================================================================================
quick      half the epochs of standard
standard   the default
thorough   settings are searched on the validation part, then five networks are trained with the
           best of them
========== =====================================================================================

What the presets hold was measured on samples of ogbg-moltox21, ogbg-moltoxcast, ogbg-molhiv and
ZINC as tables (docs/howto/molecules.md has the figures), and no other table.
"""

from __future__ import annotations

from typing import Any

from ..options import Choice

__all__ = ["EFFORTS", "MOLECULES", "epochs_for"]

EFFORTS = ("quick", "standard", "thorough")
MOLECULES: dict[str, Any] = {"d": 3, "distances": True}
"""What a network for molecules has where nothing else is asked for."""
BUDGET = {"quick": 0.5, "standard": 1.0, "thorough": 1.0}


def epochs_for(samples: int, effort: str) -> int:
    """Epochs for so many training molecules: 45 up to 1,000, then fewer, as 1/∛n, 30 at least."""
    Choice(EFFORTS).read("effort", effort)
    usual = max(30, round(45 * max(1.0, samples / 1_000) ** (-1 / 3)))
    return max(15, round(usual * BUDGET[effort]))
