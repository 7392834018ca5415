"""Paired significance tests of GPNN against its rivals, corrected for their number.

The unit of a test is a fold, averaged over its seeds, or a seed if there is one fold, as for the
standard error of a gain, which includes the correction for folds that share training samples. The
p-value of a gain ḡ with standard error s over n units is the two-sided p-value of Student's
t = ḡ / s with n - 1 degrees of freedom. Holm's correction keeps the probability of any false claim
on a page at or below 5 %: the k-th smallest of m p-values is multiplied by m - k + 1, and no
corrected value may be below its predecessor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..train.paired import holm, student_p
from .protocols import Summary
from .results import Entry, Part

__all__ = ["LEVEL", "RIVALS", "Gain", "gains_of", "holm"]

LEVEL = 0.05
RIVALS = {
    "over_base": "the base GNN",
    "over_wide": "the base GNN with as many parameters",
    "over_one_part": "GPNN on one part",
}
"""Field of an entry → the model that GPNN is compared with."""


@dataclass(frozen=True)
class Gain:
    """The gain of a GPNN over a rival, with its p-value before and after Holm's correction;
    ``None`` if it cannot be tested."""

    part: Part
    entry: Entry
    rival: str
    gain: Summary
    p: float | None
    corrected: float | None = None

    @property
    def established(self) -> bool:
        return self.corrected is not None and self.corrected < LEVEL


def gains_of(parts: Sequence[Part]) -> list[Gain]:
    """Return every gain of a table; all its tests are corrected together."""
    gains = [
        Gain(part, entry, rival, gain, _p_value(gain))
        for part in parts
        for entry in part.entries
        for rival in RIVALS
        if (gain := getattr(entry, rival)) is not None
    ]
    tested = [one for one in gains if one.p is not None]
    corrected = dict(zip(map(id, tested), holm([one.p or 0.0 for one in tested]), strict=True))
    return [replace(one, corrected=corrected.get(id(one))) for one in gains]


def _p_value(gain: Summary) -> float | None:
    if gain.error is None:
        return None
    return student_p(gain.mean, gain.error, gain.units - 1, sides=2)
