"""α classes: compute Equation 2 once per class instead of once per pair.

Equation 2 does not depend on β, γ or node features,

    α_vu⁽ˡ⁾ = hash(α_vu⁽ˡ⁻¹⁾, {{(α_vw⁽ˡ⁻¹⁾, α_uw⁽ˡ⁻¹⁾) : w ∈ N_d(v)}})   for (v, u) ∈ E^δ,

so α of a pair after l rounds is a function of its class alone, and there are few classes. This
module enumerates the classes and their tuples before training; the network embeds every class once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import sizes as limits
from ..errors import InputError
from .class_tables import InteractionClasses, RoundTable
from .graphs import Graphs, _labels
from .structure import Structure

__all__ = ["InteractionClasses", "RoundTable", "interaction_classes", "tuples_before_merging"]

IntArray = NDArray[np.int64]

KEPT = 36
"""Bytes per stored pair of the current graph."""
TUPLE = 160
"""Bytes per tuple while the tables grow, if classes are not merged."""


def interaction_classes(
    graphs: Graphs,
    part: Any,
    structure: Structure | None = None,
    edge_labels: Any = None,
    merge: bool = True,
    vertex_labels: Any = None,
) -> InteractionClasses:
    """Enumerate the α classes of rounds 1 to L over a set of graphs.

    α_vu starts as the class (part of v, kind, part of u, label of the edge, hops, label of v,
    label of u); each round applies Equation 2 to the pairs of E^δ. For ``pairs``, only pairs that
    can still affect an output are computed: in round l of L, pairs at distance ≤ (L + 1 - l)·d.

    Args:
        graphs: one or many graphs.
        part: part of every vertex, with the same numbering in all graphs, [n].
        structure: E^δ, the radius of N_d, the number of rounds L, and whether the hop distance of a
            pair is part of its start class; ``pairs`` are within a connected component.
        edge_labels: an integer ≥ 0 per entry of ``graphs.indices``; part of the start class.
        merge: ``False`` gives every pair a separate class, and every pair that is read a separate
            start class: the direct formula in the same arrays.
        vertex_labels: an integer ≥ 0 per vertex; part of the start class, but not of the parts.
    """
    from .edge_classes import edge_classes
    from .kernels import balls
    from .kernels.classes import learn_classes
    from .kernels.round_tables import class_lists, number_in_round, table_rows

    structure = structure or Structure()
    which, d, rounds = structure.interactions, structure.d, structure.layers
    merge = bool(merge)
    parts = _labels(part, graphs.num_nodes, "part numbers")
    if parts is None:
        raise InputError("part is None. Give the part of every vertex: partition(...).part.")
    labels = _labels(edge_labels, len(graphs.indices), "edge labels")
    if labels is None:
        labels = np.zeros(0, np.int64)
    if labels.min(initial=0) < 0:
        raise InputError(f"Edge labels must be whole numbers from 0; got {labels.min()}.")
    parts, labels = np.ascontiguousarray(parts), np.ascontiguousarray(labels)
    colours, width = _with_labels(parts, vertex_labels)
    if merge and d == 1 and which != "pairs":
        return edge_classes(graphs, parts, colours, width, labels, structure)
    widest = int(np.diff(graphs.ptr).max(initial=0))
    radius = min(d, max(widest, 1))
    kept, closest, pairs = _check_memory(graphs, parts, which, radius, rounds, merge)
    code = {"cross": balls.CROSS_EDGES, "edges": balls.EDGES, "pairs": balls.PAIRS}[which]
    starts, learned, tuples, entries, start_log, class_log, pair_ptr, ends, nodes = learn_classes(
        graphs.ptr, graphs.indptr, graphs.indices, parts, colours, labels, code, radius, rounds,
        structure.distances, merge, widest, kept, closest, pairs,
    )  # fmt: skip
    number, place = (number_in_round(rows[:, 0], rounds) for rows in (learned, tuples))
    tables, lists, before = [], [], 0
    for r in range(1, rounds + 1):
        tables.append(_table(r, learned, tuples, entries, number, place, before))
        lists.append(class_lists(r, *class_log, learned[:, 0], number))
        before = tables[-1].size
        table_rows(nodes[r - 1], number, before, nodes[r - 1])
    return InteractionClasses(
        structure=structure,
        merged=merge,
        ptr=graphs.ptr,
        pair_ptr=pair_ptr,
        pair_centre=ends[0],
        pair_other=ends[1],
        pair_class=nodes,
        start=_start_rows(starts, width),
        start_entry=None if merge else np.ascontiguousarray(starts[:, 5]),
        tables=tuple(tables),
        class_ptr=tuple(ptr for ptr, _, _ in lists),
        class_id=tuple(ids for _, ids, _ in lists),
        class_count=tuple(counts for _, _, counts in lists),
        start_ptr=start_log[0],
        start_id=np.ascontiguousarray(start_log[1][:, 0]),
    )


def _with_labels(parts: IntArray, vertex_labels: Any) -> tuple[IntArray, int]:
    """Combine part and label of every vertex as part · width + label; also returns the width."""
    labels = _labels(vertex_labels, len(parts), "vertex labels")
    if labels is None:
        return parts.astype(np.int64), 1
    if labels.min(initial=0) < 0:
        raise InputError(f"Vertex labels must be whole numbers from 0; got {labels.min()}.")
    width = int(labels.max(initial=0)) + 1
    return np.ascontiguousarray(parts.astype(np.int64) * width + labels), width


def _start_rows(starts: IntArray, width: int) -> IntArray:
    """The start classes with parts and vertex labels in separate columns, [C0, 7]."""
    out = np.empty((len(starts), 7), np.int64)
    out[:, :5] = starts[:, :5]
    for place, label in ((0, 5), (2, 6)):
        out[:, place], out[:, label] = np.divmod(starts[:, place], width)
    return out


def _check_memory(
    graphs: Graphs, parts: IntArray, which: str, d: int, rounds: int, merge: bool
) -> tuple[int, int, int]:
    """Maximum number of stored pairs per graph, the same for u ∈ N_d(v), and the total of the
    latter over all graphs; raises an error if memory does not suffice."""
    request = f"interactions={which!r} with d={d} and rounds={rounds}"
    near, closest = _balls(graphs, d, request)
    kept = _balls(graphs, rounds * d, request)[1] if which == "pairs" else closest
    pairs = int(near.sum())
    tuples = 0
    if not merge:
        tuples = int(tuples_before_merging(graphs, parts, which, d, rounds).sum())
    need = KEPT * (kept + closest) + 8 * (rounds + 2) * pairs + TUPLE * tuples
    limits.check_memory(
        need, f"{request}{'' if merge else ' and merge=False'}", "Give fewer graphs."
    )
    return kept, closest, pairs


def tuples_before_merging(
    graphs: Graphs, part: NDArray[Any], which: str, d: int, rounds: int
) -> IntArray:
    """Number of tuples of Equation 2 in every graph if equal classes are not merged: one per round,
    pair (v, u) of E^δ and w ∈ N_d(v). The work of enumerating the classes grows with it, except for
    ``cross`` and ``edges`` with d = 1 (``graph/edge_classes.py``)."""
    request = f"interactions={which!r} with d={d} and rounds={rounds}"
    near = _balls(graphs, d, request)[0]
    if which == "pairs":
        sizes = [_balls(graphs, r * d, request)[0] - 1 for r in range(1, rounds + 1)]
        pairs = np.sum(sizes, axis=0)
    else:
        ends = graphs.rows, graphs.indices
        chosen = np.ones(len(ends[0]), np.bool_)
        if which == "cross":
            chosen = part[ends[0]] != part[ends[1]]
        pairs = rounds * np.bincount(ends[0][chosen], minlength=graphs.num_nodes)
    sums = np.concatenate(([0], np.cumsum(near * pairs)))[graphs.ptr]
    return np.diff(sums).astype(np.int64)


def _balls(graphs: Graphs, radius: int, request: str) -> tuple[IntArray, int]:
    """The size of N_radius(v) for every v, and the largest sum over a graph; raises an error if
    memory does not suffice."""
    from .kernels.balls import ball_counts

    csr = (graphs.ptr, graphs.indptr, graphs.indices)
    sizes, done = ball_counts(*csr, radius, limits.available_bytes() // KEPT)
    if done < graphs.num_nodes:
        g = int(np.searchsorted(graphs.ptr, done, side="left")) - 1
        low, high = int(graphs.ptr[g]), int(graphs.ptr[g + 1])
        limits.check_memory(
            KEPT * int(sizes[low:done].sum()) * (high - low) // (done - low),
            f"{request} on graph {g} of {high - low:,} vertices",
            "Leave out the largest graphs, lower d or rounds, or use interactions='edges'.",
        )
        sizes, _ = ball_counts(*csr, radius, 2**62)
    sums = np.concatenate(([0], np.cumsum(sizes)))[graphs.ptr]
    return sizes, int(np.diff(sums).max(initial=0))


def _table(
    r: int,
    learned: IntArray,
    tuples: IntArray,
    entries: IntArray,
    number: IntArray,
    place: IntArray,
    before: int,
) -> RoundTable:
    """The table of round r; ``before`` is the number of classes learned in the previous round."""
    from .kernels.round_tables import round_table

    previous, part, ptr, entry_tuple, entry_count, first, second = round_table(
        r, learned, tuples, entries, number, place, before
    )
    return RoundTable(
        size=len(previous),
        previous=previous,
        first=first,
        second=second,
        entry_ptr=ptr,
        entry_tuple=entry_tuple,
        entry_count=entry_count,
        part=part,
        shared=np.full(len(previous), -1),
        shared_ptr=np.zeros(1, np.int64),
        shared_tuple=np.zeros(0, np.int32),
        shared_count=np.zeros(0, np.int32),
    )
