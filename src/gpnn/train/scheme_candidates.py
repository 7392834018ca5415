"""The partitions that ``scheme="auto"`` chooses from: schemes and combinations of them, times
interactions, radius and distances, as far as the data support them. Every part must occur in
enough graphs, and the classes of pairs must be affordable. Both are counted here, without training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.samples import Samples
from ..errors import InputError
from ..graph.classes import interaction_classes, tuples_before_merging
from ..graph.graphs import Graphs
from ..graph.partition import Partition, partition
from ..graph.refine import interaction_type
from ..graph.structure import Structure
from ..nn.prepare import label_codes

__all__ = ["Candidate", "candidates", "same_question"]

SCHEMES = (
    "trivial", "core", "degree", "triangle", "core-degree", "core-onion", "core+triangle",
    "degree+triangle", "wl-2", "ego-1", "ego-2",
)  # fmt: skip
INTERACTIONS = ("edges", "cross", "pairs")
RADII = (1, 3)
"""Radius of the neighbourhoods. Hop distances are used above 1, where not all neighbours have the
same."""

MET, RARE = 5, 0.05
"""Minimum number of graphs in which a part must occur; maximum share of vertices in rarer parts."""
AFFORDABLE, PER_VERTEX = 1_000, 100
"""Maximum number of tuples of Equation 2 per graph, and per vertex where vertices have labels."""
_SHAPE = ("interactions", "d", "distances")
COUNTED, WORK = 500, 3_000_000
"""Maximum number of graphs over which tuples are counted, and maximum number of tuples before equal
ones are merged, so that a candidate takes less than a second."""


@dataclass(frozen=True)
class Candidate:
    """A partition that may be chosen.

    Attributes:
        options: fields of the network; ``gpnn`` is ``False`` for the base alone.
        parts: number of parts in the training and validation samples.
        rare: share of their vertices in parts that occur in fewer than five graphs.
        tuples: tuples of Equation 2 per graph: the cost of the look-up.
        refused: why the data do not support it, or "".
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
        """Sort key: smaller for simpler candidates."""
        if not self.options["gpnn"]:
            return (0,)
        order = ("cross", "edges", "pairs").index(self.options["interactions"])
        return 1, self.parts, order, self.options["d"], int(self.options["distances"])


@dataclass
class _Counting:
    """Shared by the candidates of one dataset: graphs, smallest radius, partitions by scheme, and
    tuples of one part by interactions and radius."""

    samples: Samples
    pool: NDArray[np.int64]
    model: Mapping[str, Any]
    least: int
    cuts: dict[str, Partition | str] = field(default_factory=dict)
    seen: dict[bytes, str] = field(default_factory=dict)
    one_part: dict[tuple[Any, ...], float] = field(default_factory=dict)

    def partition(self, scheme: str) -> Partition | str:
        """The partition of a scheme, or why it fails or duplicates that of another scheme."""
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
        """Number of parts in the pool, and the share of its vertices in parts of few graphs."""
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
        """Mean number of tuples of Equation 2 per graph, over the first graphs."""
        graphs = self.samples.graphs
        fields = {k: v for k, v in self.model.items() if k in ("layers", "labels")}
        structure = Structure(**{k: v for k, v in options.items() if k != "gpnn"}, **fields)
        count = self.counted(cut, structure)
        few, some = self.first(count)
        entries = some[graphs.rows]
        labels, wide = self.samples.edge_labels, fields.get("labels", False)
        codes = label_codes(self.samples.x)[some] if wide else None
        table = interaction_classes(
            few, cut.part[some], structure, None if labels is None else labels[entries],
            vertex_labels=codes,
        )  # fmt: skip
        return sum(len(one.entry_tuple) for one in table.tables) / max(1, count)

    def counted(self, cut: Partition, structure: Structure) -> int:
        """Number of graphs whose tuples are enumerated."""
        which, d = structure.interactions, structure.d
        most = min(COUNTED, len(self.samples.graphs))
        if d == 1 and which != "pairs":
            return most
        few, some = self.first(most)
        work = tuples_before_merging(few, cut.part[some], which, d, structure.layers)
        if work[0] > WORK:
            raise InputError(f"{work[0]:,} tuples before equal ones are merged, above {WORK:,}")
        return int(np.searchsorted(np.cumsum(work), WORK, side="right"))

    def first(self, count: int) -> tuple[Graphs, NDArray[np.bool_]]:
        """The first graphs, and which vertices are in them."""
        graphs = self.samples.graphs
        some = np.arange(graphs.num_nodes) < graphs.ptr[count]
        return replace(graphs.induced(some)[0], ptr=graphs.ptr[: count + 1]), some


def candidates(
    samples: Samples, pool: NDArray[np.int64], model: Mapping[str, Any]
) -> list[Candidate]:
    """The base, ``trivial``, and every other candidate: first those that the data support, then
    those refused. Interactions, d and distances are fixed where ``model`` sets them.

    Args:
        pool: the training and validation samples.
    """
    kinds, reaches = _free(model)
    if not samples.task.node_level:  # in a single graph, test vertices are part of the structure
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


def same_question(found: Sequence[Candidate], model: Mapping[str, Any]) -> bool:
    """Whether candidates are those of a model with the given options."""
    kinds, reaches = _free(model)
    own = [one.options for one in found if one.options["gpnn"]]
    return {one["interactions"] for one in own} == set(kinds) and {
        (one["d"], one["distances"]) for one in own
    } == set(reaches)


def _free(model: Mapping[str, Any]) -> tuple[Sequence[str], list[tuple[int, bool]]]:
    """Interactions, and radii with or without distances, that the options of a model leave open."""
    given = "interactions" in model
    kinds = [interaction_type(model["interactions"])] if given else INTERACTIONS
    radii = [model["d"]] if "d" in model else RADII
    return kinds, [(d, model.get("distances", d > 1)) for d in radii]


def _counted(counting: _Counting, options: dict[str, Any]) -> Candidate:
    cut = counting.partition(options["scheme"])
    if isinstance(cut, str):
        return Candidate(options, refused=cut)
    parts, rare = counting.rare(cut)
    one = Candidate(options, parts, rare)
    if rare > RARE:
        own = f"of fewer than {MET} vertices"
        if not counting.samples.task.node_level:
            own = f"that fewer than {MET} graphs have"
        why = f"{rare:.1%} of the vertices lie in parts {own}, above {RARE:.0%}"
        return replace(one, refused=why)
    if options["interactions"] == "cross":
        share = float(cut.cross.mean()) if len(cut.cross) else 0.0
        if not share and options["d"] > counting.least:
            return replace(one, refused=f"the same as d={counting.least}: no edge is a cross edge")
        if share == 1.0:
            return replace(one, refused="the same as edges: all edges are cross edges")
    node = counting.samples.task.node_level
    unit, most = ("vertex", PER_VERTEX) if node else ("graph", AFFORDABLE)
    of = max(1, counting.samples.graphs.num_nodes) if node else 1
    key, trivial = tuple(options[name] for name in _SHAPE), options["scheme"] == "trivial"
    if (least := counting.one_part.get(key, 0.0) / of) > most:  # finer parts have no fewer tuples
        return replace(one, refused=f"at least {least:,.0f} tuples per {unit}, above {most:,}")
    try:
        one = replace(one, tuples=round(counting.tuples(cut, options), 1))
    except InputError as error:
        return replace(one, refused=str(error))
    if trivial:
        counting.one_part[key] = one.tuples
    if one.tuples / of > most and not (trivial and options["d"] == counting.least):
        return replace(one, refused=f"{one.tuples / of:,.0f} tuples per {unit}, above {most:,}")
    return one
