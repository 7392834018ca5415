r"""The decision of ``scheme="auto"``: which candidate, if any, is established.

In a rung, with values :math:`x_k` of a candidate and :math:`b_k` of the base on the same fold with
the same seed, :math:`k = 1 \dots n`,

.. math::
    g = \frac1n \sum_k (x_k - b_k), \qquad
    s^2 = \Big(\frac1n + \frac{n_{valid}}{n_{train}}\Big) \mathrm{var}_k(x_k - b_k).

The second term of :math:`s^2` is the correction of Nadeau and Bengio (2003) for folds that share
training samples. Only candidates with :math:`g \ge s` in rung 2 are tried in rung 3
(:func:`is_ahead`); if there are none, the choice ends there. A candidate of the last rung is
*established* if the one-sided p-value of :math:`t = g / s` with n - 1 degrees of freedom, after
Holm's correction for all candidates of the rung, is below 5 %. If no candidate is established, the
base is chosen. Otherwise the simplest of the established candidates within one standard error of
the best is chosen: the one with the fewest parts, then the fewest pairs, then the smallest radius.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..data.tasks import higher_is_better
from .halving import RUNGS, Ended
from .paired import holm, paired, student_p
from .scheme_candidates import Candidate
from .search_log import Trial

__all__ = ["Chosen", "Standing", "decide", "is_ahead"]

LEAST, LEVEL = 3, 0.05
"""Minimum number of networks per candidate to compare when the time is up, enough for a large gain
in the second rung of a large set; significance level."""


@dataclass(frozen=True)
class Standing:
    """Result of a candidate in the last rung that it finished.

    Attributes:
        rung, value: that rung, and its mean validation metric.
        gain, error: gain over the base in that rung (positive is better), and its standard error.
        p: p-value of the gain, corrected for the candidates of the last finished rung; ``None`` in
            earlier rungs.
    """

    candidate: Candidate
    rung: int = 0
    value: float | None = None
    gain: float | None = None
    error: float | None = None
    p: float | None = None
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        own = asdict(self)
        return {**own, "candidate": {**own["candidate"], "title": self.candidate.title}}


@dataclass(frozen=True)
class Chosen:
    """The choice and its reason.

    Attributes:
        candidate: the chosen candidate; ``reason``: the reason in words.
        metric: the validation metric.
        rung, models: the rung that decided, and the networks per candidate in it.
        complete: whether the time given was enough for all rungs that had candidates.
        standings: results of all candidates, those of later rungs and larger gains first.
        seconds: training time.
    """

    candidate: Candidate
    reason: str
    metric: str
    rung: int
    models: int
    complete: bool
    standings: tuple[Standing, ...] = field(repr=False)
    seconds: float = 0.0

    @property
    def standing(self) -> Standing:
        return next(one for one in self.standings if one.candidate == self.candidate)

    def applied(self, model: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a network with the choice applied."""
        if self.candidate.options["gpnn"]:
            return {**model, **self.candidate.options}
        idle = ("scheme", "interactions", "d", "distances", "labels", "join")
        return {k: v for k, v in model.items() if k not in idle} | {"gpnn": False}

    def to_dict(self) -> dict[str, Any]:
        """Content for the model file."""
        own = {name: getattr(self, name) for name in
               ("reason", "metric", "rung", "models", "complete", "seconds")}  # fmt: skip
        return {
            "chosen": self.candidate.title,
            **own,
            "candidates": [one.to_dict() for one in self.standings],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Chosen:
        """Restore from a model file."""
        standings = []
        for one in content["candidates"]:
            fields = {k: v for k, v in one["candidate"].items() if k != "title"}
            standings.append(Standing(**{**one, "candidate": Candidate(**fields)}))
        own = {k: v for k, v in content.items() if k not in ("chosen", "candidates")}
        chosen = next(s.candidate for s in standings if s.candidate.title == content["chosen"])
        return cls(candidate=chosen, standings=tuple(standings), **own)


def decide(
    found: Sequence[Candidate],
    trials: Sequence[Trial],
    metric: str,
    ratios: Sequence[float],
    ended: Ended,
) -> Chosen:
    """The choice that follows from the finished trials by the rule of this module.

    Args:
        found: candidates, those not refused first, in the order of the trials' numbers from 1.
        ratios: validation samples per training sample, for every rung.
    """
    carried, last = [one for one in found if not one.refused], ended.rung
    by_rung = {(t.number, t.rung): t for t in trials}
    standings = [
        _standing(one, number, by_rung, metric, ratios, last or len(RUNGS))
        for number, one in enumerate(carried, start=1)
    ]
    rivals = [s for s in standings if s.rung == last > 0 and s.p is not None]
    corrected = holm([s.p or 0.0 for s in rivals])
    at = {id(s): p for s, p in zip(rivals, corrected, strict=True)}
    standings = [replace(s, p=at.get(id(s))) for s in standings]
    models = max((len(t.models) for t in trials if t.rung == last), default=0)
    base, reason = carried[0], ""
    chosen = base
    established = [s for s in standings if s.p is not None and s.p < LEVEL and (s.gain or 0) > 0]
    if models < LEAST and not ended.complete:
        reason = "the time was too short to compare, and the base is kept"
    elif standings[0].reason:
        reason = f"the base alone could not be trained: {standings[0].reason}"
    elif not established:
        best = max((s for s in standings if s.p is not None), key=_gain, default=None)
        reason = "no gain over the base is established" + (
            f" (the largest in rung {last}, {best.gain:+.4f} ± {best.error:.4f} of "
            f"{best.candidate.title}, p = {best.p:.2f})" if best is not None else ""
        )  # fmt: skip
        if not ended.complete:
            reason += "; the time was too short for all rungs"
    else:
        best = max(established, key=_gain)
        near = [
            s for s in established
            if _within_one_error(best, s, by_rung, carried, metric, ratios[last - 1], last)
        ]  # fmt: skip
        first = min(near, key=lambda s: s.candidate.complexity)
        chosen = first.candidate
        how = f"{first.gain:+.4f} ± {first.error:.4f} over the base, p = {first.p:.2g}"
        reason = f"established gain, {how}"
        if first is not best:
            reason += (
                f"; the simplest within one standard error of {best.candidate.title} "
                f"({best.gain:+.4f})"
            )
    refused = [Standing(one, reason=one.refused) for one in found if one.refused]
    ordered = sorted(standings, key=lambda s: (-s.rung, -_gain(s)))
    seconds = round(sum(t.seconds for t in trials), 1)
    return Chosen(
        chosen, reason, metric, last, models, ended.complete, (*ordered, *refused), seconds
    )  # fmt: skip


def _gain(standing: Standing) -> float:
    return -math.inf if standing.gain is None else standing.gain


def _standing(
    one: Candidate,
    number: int,
    by_rung: Mapping[tuple[int, int], Trial],
    metric: str,
    ratios: Sequence[float],
    most: int,
) -> Standing:
    """Result of a candidate, compared with the base, in its last rung up to ``most``."""
    for rung in range(most, 0, -1):
        trial, base = by_rung.get((number, rung)), by_rung.get((1, rung))
        if trial is None:
            continue
        if trial.value is None or base is None or base.value is None:
            return Standing(one, rung, trial.value, reason=trial.reason)
        if number == 1:
            return Standing(one, rung, trial.value, 0.0, 0.0)
        gain, error = _difference(trial, base, metric, ratios[rung - 1])
        p = None if error is None else student_p(gain, error, len(trial.models) - 1)
        return Standing(one, rung, trial.value, gain, error, p)
    return Standing(one, reason="not tried: the time was up")


def _difference(
    trial: Trial, other: Trial, metric: str, ratio: float
) -> tuple[float, float | None]:
    return paired(trial.models, other.models, higher_is_better(metric), ratio)


def is_ahead(trial: Trial, base: Trial, metric: str, ratio: float) -> bool:
    """Whether a candidate is at least one standard error above the base."""
    if trial.value is None or base.value is None:
        return False
    gain, error = _difference(trial, base, metric, ratio)
    return gain > 0 and gain >= (error or 0.0)


def _within_one_error(
    best: Standing,
    other: Standing,
    by_rung: Mapping[tuple[int, int], Trial],
    carried: Sequence[Candidate],
    metric: str,
    ratio: float,
    rung: int,
) -> bool:
    number = {id(one): n for n, one in enumerate(carried, start=1)}
    first = by_rung[number[id(best.candidate)], rung]
    second = by_rung[number[id(other.candidate)], rung]
    behind, error = _difference(first, second, metric, ratio)
    return behind <= (error or 0.0)
