"""The built-in schemes. See :mod:`gpnn.graph.registry` for how to add a scheme."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .graphs import Graphs
from .registry import (
    Scheme,
    SchemeFamily,
    add_scheme,
    get_scheme,
    list_schemes,
    register_scheme,
)

__all__ = [
    "PAPER_SCHEMES",
    "Scheme",
    "SchemeFamily",
    "get_scheme",
    "list_schemes",
    "register_scheme",
]

IntArray = NDArray[np.int64]

PAPER_SCHEMES = ("trivial", "core", "core-degree", "core-onion", "degree", "triangle")


def _peel(graphs: Graphs) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    from .kernels.peel import peel

    core, layer = peel(graphs.ptr, graphs.indptr, graphs.indices)
    return core, layer


def _split_shells(graphs: Graphs, first: int) -> IntArray:
    """Pairs (core number j, whether j ≥ first and the degree inside the j-core equals j)."""
    from .kernels.shells import degree_inside_core

    core, _ = _peel(graphs)
    inside = degree_inside_core(graphs.indptr, graphs.indices, core)
    return np.stack([core, (core >= first) & (inside == core)], axis=1).astype(np.int64)


def _triangles(graphs: Graphs) -> IntArray:
    from .kernels.triangles import triangles

    count: IntArray = triangles(graphs.indptr, graphs.indices)
    return count


def _wl(k: int) -> Scheme:
    def colour(graphs: Graphs) -> IntArray:
        from .refine import wl

        return wl(graphs, rounds=k).at(k).view(np.int64)

    return Scheme(f"wl-{k}", colour, *_texts("wl-k"), 2, _hashed)


def _ego(radius: int) -> Scheme:
    def colour(graphs: Graphs) -> IntArray:
        from .ego import ego_colours

        return ego_colours(graphs, radius)

    return Scheme(f"ego-{radius}", colour, *_texts("ego-r"), 2, _hashed)


def _ego_fast(radius: int) -> Scheme:
    def colour(graphs: Graphs) -> IntArray:
        from .ego import ego_fast_colours

        return ego_fast_colours(graphs, radius)

    return Scheme(f"ego-{radius}-fast", colour, *_texts("ego-r-fast"), 2, _hashed)


def _orbit(graphs: Graphs) -> IntArray:
    from .ego import orbit_colours

    return orbit_colours(graphs)


def _profile(graphs: Graphs) -> IntArray:
    from .learned import profile

    return profile(graphs)


def _texts(name: str) -> tuple[str, str, str]:
    match = next(scheme for scheme in list_schemes() if scheme.name == name)
    return match.definition, match.cost, match.power


def _hashed(row: Sequence[int]) -> str:
    return f"#{int(row[0]) & 0xFFFFFF:06x}"


def _describe_shell(first: int) -> Callable[[Sequence[int]], str]:
    def describe(row: Sequence[int]) -> str:
        core, equal = row
        return str(core) if core < first else f"{core}, degree {'=' if equal else '>'} {core}"

    return describe


add_scheme(
    Scheme(
        "trivial",
        lambda graphs: np.zeros(graphs.num_nodes, np.int64),
        "one part: every vertex has colour 0",
        "O(|V|)",
        "below 1-WL",
    )
)
add_scheme(
    Scheme(
        "degree",
        lambda graphs: graphs.degree,
        "the degree of the vertex",
        "O(|V|)",
        "at most 1-WL: its first round",
    )
)
add_scheme(
    Scheme(
        "core",
        lambda graphs: _peel(graphs)[0],
        "core number: the largest k such that the vertex lies in the k-core",
        "O(|V| + |E|)",
        "at most 1-WL",
    )
)
add_scheme(
    Scheme(
        "core-degree",
        lambda graphs: _split_shells(graphs, 2),
        "core number j, and for j ≥ 2 whether the degree inside the j-core equals j",
        "O(|V| + |E|)",
        "at most 1-WL, finer than core",
        2,
        _describe_shell(2),
    )
)
add_scheme(
    Scheme(
        "core-degree-literal",
        lambda graphs: _split_shells(graphs, 1),
        "core number j, and for j ≥ 1 whether the degree inside the j-core equals j "
        "(the formula as the paper prints it)",
        "O(|V| + |E|)",
        "at most 1-WL, finer than core-degree",
        2,
        _describe_shell(1),
    )
)
add_scheme(
    Scheme(
        "core-onion",
        lambda graphs: np.stack(_peel(graphs), axis=1),
        "core number and onion layer: the round in which peeling one graph removes the vertex",
        "O(|V| + |E|)",
        "at most 1-WL, finer than core",
        2,
        lambda row: f"{row[0]}, layer {row[1]}",
    )
)
add_scheme(
    Scheme(
        "triangle",
        _triangles,
        "the number of triangles at the vertex",
        "O(|E|^1.5)",
        "incomparable with 1-WL; at most 3-WL",
    )
)
add_scheme(
    SchemeFamily(
        "wl-k",
        r"wl-([0-9]{1,3})",
        _wl,
        "the 1-WL colour after k rounds, a 128-bit hash of its unfolding tree of depth k",
        "O(k (|V| + |E|))",
        "at most 1-WL; equal to it once k reaches the number of vertices",
    )
)
add_scheme(
    Scheme(
        "orbit",
        _orbit,
        "the canonical form of the graph and the automorphism orbit of the vertex",
        "canonical labelling: exponential in the worst case, refused above a stated size",
        "complete: distinguishes all non-isomorphic graphs",
        3,
        lambda row: f"orbit {row[2]} of {_hashed(row)}",
    )
)
add_scheme(
    SchemeFamily(
        "ego-r",
        r"ego-([1-3])",
        _ego,
        "the isomorphism class of the subgraph within r hops (r = 1, 2, 3), rooted at the vertex",
        "linear in |V| where degrees are bounded; refused above a stated ego size",
        "incomparable with 1-WL, partly above 3-WL",
    )
)
add_scheme(
    SchemeFamily(
        "ego-r-fast",
        r"ego-([1-3])-fast",
        _ego_fast,
        "the same subgraph marked with distances to the root: 1-WL with each of its vertices "
        "individualised in turn, the multiset of outcomes",
        "polynomial: O(Σ_v |ego(v)| · rounds · |E(ego(v))|)",
        "incomparable with 1-WL, at most ego-r",
    )
)
add_scheme(
    Scheme(
        "profile",
        _profile,
        "degree, core number, onion layer, triangles and return probabilities in bins: what "
        "learned schemes read",
        "O(|E|^1.5 + |V| · |E|) per graph",
        "incomparable with 1-WL",
        6,
    )
)
