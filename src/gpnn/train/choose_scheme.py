r"""``scheme="auto"``: which partition, if any, do these data call for?

The candidates are schemes and combinations of them, times interactions, radius and distances, as
far as the data can carry them: every part must be met in enough graphs, and the classes of pairs
must be affordable. Both are counted before anything is trained. The base GNN alone comes first and
GPNN on one part (``trivial``) second: "no partition" can win.

They are trained by successive halving (:mod:`gpnn.train.halving`) on folds of the training and
validation samples; test samples are never looked at. Every rung has folds and seeds of its own, so
that what one rung selected is measured on other folds in the next, of the same samples: p-values
do not count that selection. Of the last finished rung, with values
:math:`x_k` of a candidate and :math:`b_k` of the base on the same fold with the same seed,
:math:`k = 1 \dots n`,

.. math::
    g = \frac1n \sum_k (x_k - b_k), \qquad
    s^2 = \Big(\frac1n + \frac{n_{valid}}{n_{train}}\Big) \mathrm{var}_k(x_k - b_k).

The second term of :math:`s^2` is the correction of Nadeau and Bengio (2003): folds share training
samples. A candidate is *established* if the one-sided p-value of :math:`t = g / s` with n - 1
degrees of freedom, after Holm's correction for all candidates of the rung, is below 5 %. Without
one the base is chosen. Else the simplest of those established that lie within one standard error of
the best is chosen: the one with the fewest parts, then the fewest pairs, then the smallest radius.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.samples import Samples
from ..data.split import inner_folds
from ..data.tasks import higher_is_better
from ..errors import InputError
from ..graph.classes import interaction_classes
from ..graph.partition import Partition, partition
from ..graph.structure import Structure
from ..nn.prepare import label_codes
from ..options import AUTO, Number
from .device import pick_device
from .halving import RUNGS, Bracket, Progress, measured, run_rungs, train_checkpointed
from .loop import train_replicas
from .paired import holm, paired, student_p
from .replica import Replica, Schedule
from .search_log import Trial, TrialLog, search_folder
from .setup import model_config
from .train_config import TrainConfig

__all__ = ["MINUTES", "Candidate", "Chosen", "Standing", "candidates", "choose_scheme"]

MINUTES = 10.0
"""The time of a choice where none is given."""

SCHEMES = (
    "trivial", "core", "degree", "triangle", "core-degree", "core-onion", "core+triangle",
    "degree+triangle", "wl-2", "ego-1", "ego-2",
)  # fmt: skip
INTERACTIONS = ("edges", "cross", "pairs")
REACHES = ((1, False), (3, True))
"""Radius of the neighbourhoods, and whether hop distances count."""

MET, RARE = 5, 0.05
"""A part must be met in so many graphs; this share of the vertices may lie in others."""
AFFORDABLE = 1_000
"""Tuples of Equation 2 per graph, at most."""
COUNTED = 500
"""Graphs over which tuples are counted, at most."""
FOLDS, LEAST, LEVEL = 5, 5, 0.05
KEPT = 2
"""The base and ``trivial`` reach the last rung whatever their values are."""
GOES_ON = (0.25, 0.4)
"""The share of the other candidates that goes on to rung 2 and to rung 3."""


@dataclass(frozen=True)
class Candidate:
    """A partition that may be chosen.

    Attributes:
        options: fields of the network; ``gpnn`` is ``False`` for the base alone.
        parts: in the training and validation samples.
        rare: share of their vertices in parts that fewer than five graphs have.
        tuples: of Equation 2 per graph: the cost of the look-up.
        refused: why the data cannot carry it, or "".
    """

    options: Mapping[str, Any]
    parts: int = 0
    rare: float = 0.0
    tuples: float = 0.0
    refused: str = ""

    @property
    def title(self) -> str:
        if not self.options["gpnn"]:
            return "base alone"
        own = self.options
        far = f" d={own['d']}" if own["d"] > 1 else ""
        return f"{own['scheme']} {own['interactions']}{far}" + " distances" * own["distances"]

    @property
    def complexity(self) -> tuple[int, ...]:
        """Simpler candidates have smaller ones."""
        if not self.options["gpnn"]:
            return (0,)
        order = ("cross", "edges", "pairs").index(self.options["interactions"])
        return 1, self.parts, order, self.options["d"], int(self.options["distances"])


@dataclass(frozen=True)
class Standing:
    """How a candidate did in the last rung that it finished.

    Attributes:
        rung, value: that rung, and the mean validation metric there.
        gain, error: over the base in that rung, positive where better, with its standard error.
        p: of the gain, corrected for the candidates of the last finished rung; ``None`` elsewhere.
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
    """The choice, and why.

    Attributes:
        candidate: what was chosen; ``reason``: a sentence.
        metric: of the validation samples.
        rung, models: the rung that decided, and the networks per candidate in it.
        complete: whether all rungs were finished in the time given.
        standings: of all candidates, those of later rungs and larger gains first.
        seconds: of training.
    """

    candidate: Candidate
    reason: str
    metric: str
    rung: int
    models: int
    complete: bool
    standings: tuple[Standing, ...]
    seconds: float = 0.0

    @property
    def standing(self) -> Standing:
        return next(one for one in self.standings if one.candidate == self.candidate)

    def applied(self, model: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a network with the choice in them."""
        if self.candidate.options["gpnn"]:
            return {**model, **self.candidate.options}
        idle = ("scheme", "interactions", "d", "distances", "labels", "join")
        return {k: v for k, v in model.items() if k not in idle} | {"gpnn": False}

    def to_dict(self) -> dict[str, Any]:
        """What the model file keeps."""
        own = {name: getattr(self, name) for name in
               ("reason", "metric", "rung", "models", "complete", "seconds")}  # fmt: skip
        return {
            "chosen": self.candidate.title,
            **own,
            "candidates": [one.to_dict() for one in self.standings],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Chosen:
        """From a model file."""
        standings = []
        for one in content["candidates"]:
            fields = {k: v for k, v in one["candidate"].items() if k != "title"}
            standings.append(Standing(**{**one, "candidate": Candidate(**fields)}))
        own = {k: v for k, v in content.items() if k not in ("chosen", "candidates")}
        chosen = next(s.candidate for s in standings if s.candidate.title == content["chosen"])
        return cls(candidate=chosen, standings=tuple(standings), **own)


@dataclass
class _Counting:
    """What candidates of one dataset share: graphs, smallest radius, partitions by scheme."""

    samples: Samples
    pool: NDArray[np.int64]
    model: Mapping[str, Any]
    least: int
    cuts: dict[str, Partition | str] = field(default_factory=dict)
    seen: dict[bytes, str] = field(default_factory=dict)

    def partition(self, scheme: str) -> Partition | str:
        """The parts of a scheme, or why there are none of its own."""
        if scheme not in self.cuts:
            try:
                cut = partition(self.samples.graphs, scheme)
            except InputError as error:
                self.cuts[scheme] = str(error)
                return self.cuts[scheme]
            first = np.unique(cut.part, return_index=True)[1]
            names = np.argsort(np.argsort(first))[cut.part]  # parts in order of appearance
            other = self.seen.setdefault(names.astype(np.int32).tobytes(), scheme)
            self.cuts[scheme] = cut if other == scheme else f"the same parts as {other}"
        return self.cuts[scheme]

    def rare(self, cut: Partition) -> tuple[int, float]:
        """Parts of the pool, and the share of its vertices in parts that few graphs have."""
        graphs, inside = self.samples.graphs, np.zeros(len(self.samples), np.bool_)
        inside[self.pool] = True
        node = self.samples.task.node_level
        vertices = inside if node else inside[graphs.graph_of]
        own = cut.part[vertices].astype(np.int64)
        holder = np.flatnonzero(vertices) if node else graphs.graph_of[vertices]
        met = np.unique(own * (holder.max(initial=0) + 1) + holder)
        counts = np.bincount(met // (holder.max(initial=0) + 1), minlength=cut.num_parts)
        few = (counts < MET)[own].mean() if len(own) else 0.0
        return len(np.unique(own)), float(few)

    def tuples(self, cut: Partition, options: Mapping[str, Any]) -> float:
        """Tuples of Equation 2 per graph, of the first graphs."""
        graphs = self.samples.graphs
        count = min(COUNTED, len(graphs))
        some = np.arange(graphs.num_nodes) < graphs.ptr[count]
        few, entries = graphs.induced(some)[0], some[graphs.rows]
        fields = {k: v for k, v in self.model.items() if k in ("layers", "labels")}
        labels, wide = self.samples.edge_labels, fields.get("labels", False)
        codes = label_codes(self.samples.x)[some] if wide else None
        structure = Structure(**{k: v for k, v in options.items() if k != "gpnn"}, **fields)
        table = interaction_classes(
            replace(few, ptr=graphs.ptr[: count + 1]), cut.part[some], structure,
            None if labels is None else labels[entries], vertex_labels=codes,
        )  # fmt: skip
        return sum(len(one.entry_tuple) for one in table.tables) / max(1, count)


def candidates(
    samples: Samples, pool: NDArray[np.int64], model: Mapping[str, Any]
) -> list[Candidate]:
    """The base, ``trivial``, and every other candidate: those that the data can carry, then those
    refused. What ``model`` says of interactions, d or distances is fixed.

    Args:
        pool: the training and validation samples.
    """
    kinds = [model["interactions"]] if "interactions" in model else INTERACTIONS
    reaches = sorted(
        {(model.get("d", d), model.get("distances", far)) for d, far in REACHES}
    )  # fmt: skip
    if not samples.task.node_level:  # of one graph, test vertices are part of the structure
        inside = np.zeros(len(samples), np.bool_)
        inside[pool] = True
        samples, pool = samples.take(inside), np.arange(len(pool))
    counting = _Counting(samples, pool, model, reaches[0][0])
    carried = [Candidate({"gpnn": False})]
    refused: list[Candidate] = []
    for (d, far), kind, scheme in product(reaches, kinds, SCHEMES):
        options = {"gpnn": True, "scheme": scheme, "interactions": kind, "d": d, "distances": far}
        one = _counted(counting, options)
        (refused if one.refused else carried).append(one)
    if not any(one.options.get("scheme") == "trivial" for one in carried):
        raise InputError(
            "GPNN on one part is refused already: "
            + next(o.refused for o in refused if o.options["scheme"] == "trivial")
        )
    # trivial second: it always reaches the last rung
    carried.sort(key=lambda one: (one.options["gpnn"], one.options.get("scheme") != "trivial"))
    return [*carried, *refused]


def _counted(counting: _Counting, options: dict[str, Any]) -> Candidate:
    cut = counting.partition(options["scheme"])
    if isinstance(cut, str):
        return Candidate(options, refused=cut)
    parts, rare = counting.rare(cut)
    one = Candidate(options, parts, rare)
    if rare > RARE:
        why = f"{rare:.0%} of the vertices lie in parts that fewer than {MET} graphs have"
        return replace(one, refused=why)
    if options["interactions"] == "cross":
        share = float(cut.cross.mean()) if len(cut.cross) else 0.0
        if not share and options["d"] > counting.least:
            return replace(one, refused=f"the same as d={counting.least}: no edge is a cross edge")
        if share == 1.0:
            return replace(one, refused="the same as edges: all edges are cross edges")
    try:
        one = replace(one, tuples=round(counting.tuples(cut, options), 1))
    except InputError as error:
        return replace(one, refused=str(error))
    control = options["scheme"] == "trivial" and options["d"] == counting.least
    if one.tuples > AFFORDABLE and not control:
        return replace(one, refused=f"{one.tuples:,.0f} tuples per graph, above {AFFORDABLE:,}")
    return one


def choose_scheme(
    samples: Samples,
    pool: NDArray[np.int64],
    model: Mapping[str, Any],
    train: TrainConfig,
    folder: Path,
    minutes: float = MINUTES,
    *,
    kind: str | None = None,
    fresh: bool = False,
    counted: Callable[[list[Candidate]], None] | None = None,
    progress: Progress | None = None,
    finished: Callable[[Candidate, Trial], None] | None = None,
) -> Chosen:
    """Choose scheme, interactions, d and distances for some samples, or none of them.

    Args:
        pool: the samples that train and validate; no other label is read.
        model: options of the network but ``scheme``; ``interactions``, ``d`` and ``distances`` are
            fixed where they are given.
        folder: where the trials are kept; an interrupted choice resumes there.
        minutes: after which the last finished rung decides.
        kind: of the folds: ``random``, ``stratified`` or ``scaffold``.
        fresh: forget the trials in the folder.
        counted: called with the candidates before anything is trained.
        finished: called with every trial that is new.
    """
    minutes = Number(above=True).read("minutes", minutes)
    if not model.get("gpnn", True):
        raise InputError(f"scheme='{AUTO}' tries the base alone by itself: leave GPNN in.")
    if not isinstance(model.get("base"), str | None) or model.get("base", "") is None:
        raise InputError(
            f"scheme='{AUTO}' compares with the base alone: give a base GNN by its name, not "
            f"{model['base']!r}."
        )
    pick_device(train.device)
    splits = _rung_splits(samples, pool, train.seed, kind)
    found = candidates(samples, pool, model)
    carried = [one for one in found if not one.refused]
    if counted is not None:
        counted(found)
    rest = {k: v for k, v in model.items() if k not in ("scheme", "dropout")}
    dropout = model.get("dropout")
    if dropout is None:
        dropout = model_config(samples, 1, {}).dropout
    parts = [[(s.train, s.valid, s.digest()) for s in own] for own in splits]
    about = {
        "search": "scheme",
        "model": {k: v for k, v in model.items() if k != "scheme"},
        "train": {k: v for k, v in asdict(train).items() if k != "device"},
        "candidates": [dict(one.options) for one in carried],
        "folds": [[digest for *_, digest in own] for own in parts],
        "data": samples.digest(),
    }
    go = partial(train_replicas, balanced=train.class_weights == "balanced")

    def train_one(numbers: list[int], rung: int, tell: Callable[[int, int], bool]) -> list[Trial]:
        (number,) = numbers
        one, began = carried[number - 1], time.perf_counter()
        replicas = [
            Replica(fit, check, [], train.seed + 1_000 * rung + k, train.lr,  # type: ignore[arg-type]
                    train.weight_decay, dropout)
            for k, (fit, check, _) in enumerate(parts[rung - 1])
        ]  # fmt: skip
        schedule = _shorter(train, RUNGS[rung - 1])
        trial = Trial(number, rung, schedule.epochs, dict(one.options))
        idle = ("d", "distances", "labels", "join", "interactions") * (not one.options["gpnn"])
        options = {k: v for k, v in rest.items() if k not in idle} | dict(one.options)
        place = folder / "work" / f"{rung}-{number}"
        try:
            curves = train_checkpointed(
                place, samples, options, replicas, schedule, train.device, tell, go
            )
        except InputError as error:  # too large for the memory, say
            trial = replace(trial, reason=str(error))
        else:
            trial = measured(trial, curves, slice(None))
        return [replace(trial, seconds=round(time.perf_counter() - began, 3))]

    deadline = time.time() + 60 * minutes
    with search_folder(folder, fresh):
        log = TrialLog(folder, about)
        tell = None if finished is None else lambda t: finished(carried[t.number - 1], t)
        bracket = Bracket(
            len(carried), samples.metric, lambda alive, _: [[n] for n in alive], train_one, KEPT,
            GOES_ON,
        )  # fmt: skip
        last = run_rungs(bracket, log, deadline, progress, tell)
    ratios = [float(np.mean([len(v) / len(f) for f, v, _ in own])) for own in parts]
    return decide(found, log.trials, samples.metric, ratios, last)


def decide(
    found: Sequence[Candidate],
    trials: Sequence[Trial],
    metric: str,
    ratios: Sequence[float],
    last: int,
) -> Chosen:
    """The choice that finished trials support, by the rule of this module.

    Args:
        found: candidates, those carried first, in the order of the trials' numbers from 1.
        ratios: of every rung, validation samples per training sample.
        last: the last rung that is finished, 0 for none.
    """
    carried = [one for one in found if not one.refused]
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
    if not last or models < LEAST:
        reason = "the time was too short to compare: the base is kept"
    elif not established:
        best = max((s for s in standings if s.p is not None), key=_gain, default=None)
        reason = "no gain over the base is established" + (
            f" (the largest, {best.gain:+.4f} ± {best.error:.4f} of {best.candidate.title}, "
            f"p = {best.p:.2f})" if best is not None else ""
        )  # fmt: skip
    else:
        best = max(established, key=_gain)
        near = [
            s for s in established
            if _within_one_error(best, s, by_rung, carried, metric, ratios[last - 1], last)
        ]  # fmt: skip
        first = min(near, key=lambda s: s.candidate.complexity)
        chosen = first.candidate
        how = f"{first.gain:+.4f} ± {first.error:.4f} over the base, p = {first.p:.1g}"
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
        chosen, reason, metric, last, models, last == len(RUNGS), (*ordered, *refused), seconds
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
    """Against the base in the last rung, up to one, that both finished."""
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


def _rung_splits(
    samples: Samples, pool: NDArray[np.int64], seed: int, kind: str | None
) -> list[list[Any]]:
    """The folds of every rung, drawn anew: two of five, five, and twice five."""
    folds = [inner_folds(samples, pool, FOLDS, seed + 7_919 * (k + 1), kind) for k in range(4)]
    return [folds[0][:2], folds[1], folds[2] + folds[3]]


def _shorter(train: TrainConfig, share: float) -> Schedule:
    """The whole schedule in fewer epochs."""
    epochs = max(1, round(share * train.epochs))
    halve = max(1, round(train.halve_every * epochs / train.epochs))
    return Schedule(epochs, train.batch_size, halve)
