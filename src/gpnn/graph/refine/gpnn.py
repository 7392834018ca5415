"""The exact GPNN refinement: the expressive power of a λ-GPNN of unlimited width and depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from ...sizes import check_memory
from ..graphs import Graphs
from .inputs import (
    check_kept,
    check_rounds,
    colour_rows,
    edge_labels,
    hash_vertices,
    most,
    select,
)
from .result import Refinement

__all__ = ["INTERACTIONS", "gpnn", "interaction_type"]

INTERACTIONS = {
    "cross": "cross",
    "star": "cross",
    "edges": "edges",
    "diamond": "edges",
    "pairs": "pairs",
    "dagger": "pairs",
}


def interaction_type(name: str) -> str:
    """Resolve a name or its alias in the paper to ``cross``, ``edges`` or ``pairs``."""
    try:
        return INTERACTIONS[name]
    except (KeyError, TypeError):
        raise InputError(
            f"Unknown interactions {name!r}. Choose cross, edges or pairs (in the paper: star, "
            "diamond, dagger)."
        ) from None


def gpnn(
    graphs: Graphs,
    colours: Any,
    interactions: str = "edges",
    d: int = 1,
    distances: bool = False,
    rounds: int | None = None,
    labels: bool = False,
) -> Refinement:
    """Refine γ (vertices) and α (pairs) by Equations 1 to 3 of the paper.

    γ_v starts as λ_V(v), α_vu as λ_E(v, u) = (λ_V(v), kind, λ_V(u)) with the kind ``within``,
    ``cross`` or non-edge, and α_vv as a self colour that contains λ_V(v). N_d(v) is the set of
    vertices at distance ≤ d, v included. Every round computes:

    1. β_v = hash(γ_v, {{γ_u : u ∈ N_1(v) \\ v}})
    2. α_vu = hash(α_vu, {{(α_vw, α_uw) : w ∈ N_d(v)}}) for (v, u) in E^δ, with the old α on the
       right; all other pairs keep their α
    3. γ_v = hash(the set over colours j of (j, {{(β_u, α_vu) : u ∈ N_d(v), λ_V(u) = j}})), with the
       new β and α

    Args:
        graphs: one or many graphs.
        colours: λ_V, integers [n] or rows of integers [n, w] (a row is one colour), with the same
            meaning in every graph; ``None`` is the trivial colouring.
        interactions: E^δ. ``cross`` (``star``): cross edges; ``edges`` (``diamond``): all edges;
            ``pairs`` (``dagger``): all ordered pairs of distinct vertices, O(n²) memory per graph.
        d: radius of N_d, 1 in the paper.
        distances: whether the hop distance of a pair is part of its λ_E, for all pairs.
        rounds: run exactly this number of rounds on every graph, instead of until it is stable.
        labels: whether node labels are part of γ⁽⁰⁾, and edge labels of the kind of an edge in λ_E.
            Parts, and so within and cross edges, still depend on λ_V alone.
    """
    from ..kernels import colour_hash, hops
    from ..kernels.interaction import refine_edges
    from ..kernels.pairs import refine_pairs

    which = interaction_type(interactions)
    if isinstance(d, bool) or not isinstance(d, int | np.integer) or d < 1:
        raise InputError(f"d must be a whole number of at least 1; got {d!r}.")
    rows = colour_rows(graphs, colours)
    limit = check_rounds(rounds)
    part, start = hash_vertices(graphs, rows, labels)
    marks = edge_labels(graphs, labels)
    ptr, indptr, indices = graphs.ptr, graphs.indptr, graphs.indices
    n = int(np.diff(ptr).max(initial=0))
    d = min(int(d), max(n, 1))
    dense = f"interactions={which!r} on a graph of {n:,} vertices"
    instead = "Leave out the largest graphs, or use interactions='cross' or 'edges' with d=1."
    if which == "pairs":
        check_memory(52 * n * n + 8 * colour_hash.table_size(n * n), dense, instead)
    balls = max(int(hops.ball_sizes(ptr, indptr, indices, d).max(initial=0)), 1)
    if which == "pairs":
        out = refine_pairs(
            ptr, indptr, indices, part, start, marks, d, distances, balls, limit, most()
        )
    else:
        need = 52 * balls + 8 * colour_hash.table_size(balls)
        check_memory(need, f"{dense} with d={d}", "Leave out the largest graphs, or lower d.")
        out = refine_edges(
            ptr, indptr, indices, part, start, marks, which == "edges", d, distances, balls, limit,
            most(),
        )  # fmt: skip
    store, signatures, recorded, stable, digest, failed = out
    check_kept(failed, "The GPNN refinement")

    def again(chosen: Sequence[int], rounds: int) -> Refinement:
        sub, own = select(graphs, rows, chosen)
        return gpnn(sub, own, which, d, distances, rounds, labels)

    return Refinement(ptr, recorded, stable, digest, False, store, signatures, again)
