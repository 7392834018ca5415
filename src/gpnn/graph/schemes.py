"""Partitioning schemes: the rule that gives every vertex the colour of its part.

A scheme maps :class:`~gpnn.graph.graphs.Graphs` to one row of integers per vertex. Two vertices,
of one graph or of two, lie in the same part exactly if their rows are equal, so a colour means the
same in every graph. A rule must depend on structure alone: renaming the vertices permutes the rows
and changes nothing else (:func:`~gpnn.graph.invariance.check_invariance` tests that).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .graphs import Graphs

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


def _plain(row: Sequence[int]) -> str:
    return ", ".join(str(value) for value in row)


@dataclass(frozen=True)
class Scheme:
    """A named rule. ``definition``, ``cost`` and ``power`` (where the colouring stands to 1-WL)
    are sentences for people; a colour is a row of ``width`` integers, and ``describe`` names it in
    a table or legend."""

    name: str
    colour: Callable[[Graphs], Any]
    definition: str
    cost: str
    power: str
    width: int = 1
    describe: Callable[[Sequence[int]], str] = _plain

    def __call__(self, graphs: Graphs) -> IntArray:
        """The colour of every vertex: int64 [vertices, width]."""
        colours = np.asarray(self.colour(graphs))
        if colours.ndim == 1:
            colours = colours[:, None]
        if colours.shape != (graphs.num_nodes, self.width) or colours.dtype.kind not in "iub":
            raise InputError(
                f"Scheme '{self.name}' returned an array of dtype {colours.dtype} and shape "
                f"{colours.shape} for {graphs.num_nodes} vertices. Return {self.width} "
                "integer(s) per vertex."
            )
        return colours.astype(np.int64, copy=False)


@dataclass(frozen=True)
class SchemeFamily:
    """Schemes that differ in one number, written ``wl-k``, ``ego-r``, ``ego-r-fast``."""

    name: str
    pattern: str
    make: Callable[[int], Scheme]
    definition: str
    cost: str
    power: str


_registry: dict[str, Scheme | SchemeFamily] = {}
S = TypeVar("S", Scheme, SchemeFamily)


def register_scheme(
    name: str,
    colour: Callable[[Graphs], Any],
    *,
    definition: str = "user-registered",
    cost: str = "not stated",
    power: str = "not stated",
    width: int = 1,
) -> Scheme:
    """Make a function from graphs to vertex colours available by name.

    The function gets a :class:`Graphs` (one or many graphs) and returns ``width`` integers per
    vertex. Check it with :func:`~gpnn.graph.invariance.check_invariance`.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name):
        raise InputError(
            f"'{name}' cannot name a scheme: use lower-case letters, digits, '.', '_' and '-' "
            "('+' joins schemes)."
        )
    return _add(Scheme(name, colour, definition, cost, power, width))


def _add(scheme: S) -> S:
    taken = scheme.name in _registry or (isinstance(scheme, Scheme) and _from_family(scheme.name))
    if taken:
        raise InputError(f"There is a scheme '{scheme.name}' already. Choose another name.")
    _registry[scheme.name] = scheme
    return scheme


def list_schemes() -> list[Scheme | SchemeFamily]:
    """All registered schemes and families, in order of registration."""
    return list(_registry.values())


def get_scheme(name: str | Scheme) -> Scheme:
    """The scheme of that name; ``a+b`` is the common refinement of ``a`` and ``b``."""
    if isinstance(name, Scheme):
        return name
    if "+" in name:
        return _refinement([get_scheme(part.strip()) for part in name.split("+")])
    found = _registry.get(name)
    if isinstance(found, Scheme):
        return found
    made = _from_family(name)
    if made is not None:
        return made
    choices = ", ".join(_registry)
    raise InputError(
        f"There is no scheme '{name}'. Choose one of: {choices}; put a number for k or r; join "
        "several with '+', as in core+triangle."
    )


def _from_family(name: str) -> Scheme | None:
    for family in _registry.values():
        if isinstance(family, SchemeFamily):
            match = re.fullmatch(family.pattern, name)
            if match:
                return family.make(int(match.group(1)))
    return None


def _refinement(schemes: Sequence[Scheme]) -> Scheme:
    """The scheme whose colour is the tuple of all given colours."""
    ends = np.cumsum([scheme.width for scheme in schemes]).tolist()

    def describe(row: Sequence[int]) -> str:
        return " · ".join(
            scheme.describe(row[end - scheme.width : end])
            for scheme, end in zip(schemes, ends, strict=True)
        )

    return Scheme(
        "+".join(scheme.name for scheme in schemes),
        lambda graphs: np.concatenate([scheme(graphs) for scheme in schemes], axis=1),
        "the pair of colours: " + "; ".join(scheme.definition for scheme in schemes),
        "the sum of their costs",
        "at least as fine as each of them",
        ends[-1],
        describe,
    )


def _peel(graphs: Graphs) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    from .kernels.peel import peel

    core, layer = peel(graphs.ptr, graphs.indptr, graphs.indices)
    return core, layer


def _split_shells(graphs: Graphs, first: int) -> IntArray:
    """(core number j, whether the degree inside the j-core equals j, for j ≥ first)."""
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


def _texts(family: str) -> tuple[str, str, str]:
    found = _registry[family]
    return found.definition, found.cost, found.power


def _hashed(row: Sequence[int]) -> str:
    return f"#{int(row[0]) & 0xFFFFFF:06x}"


def _describe_shell(first: int) -> Callable[[Sequence[int]], str]:
    def describe(row: Sequence[int]) -> str:
        core, equal = row
        return str(core) if core < first else f"{core}, degree {'=' if equal else '>'} {core}"

    return describe


_add(
    Scheme(
        "trivial",
        lambda graphs: np.zeros(graphs.num_nodes, np.int64),
        "one part: every vertex has colour 0",
        "O(|V|)",
        "below 1-WL",
    )
)
_add(
    Scheme(
        "degree",
        lambda graphs: graphs.degree,
        "the degree of the vertex",
        "O(|V|)",
        "at most 1-WL: its first round",
    )
)
_add(
    Scheme(
        "core",
        lambda graphs: _peel(graphs)[0],
        "core number: the largest k such that the vertex lies in the k-core",
        "O(|V| + |E|)",
        "at most 1-WL",
    )
)
_add(
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
_add(
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
_add(
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
_add(
    Scheme(
        "triangle",
        _triangles,
        "the number of triangles at the vertex",
        "O(|E|^1.5)",
        "incomparable with 1-WL; at most 3-WL",
    )
)
_add(
    SchemeFamily(
        "wl-k",
        r"wl-([0-9]{1,3})",
        _wl,
        "the 1-WL colour after k rounds, a 128-bit hash of its unfolding tree of depth k",
        "O(k (|V| + |E|))",
        "at most 1-WL; equal to it once k reaches the number of vertices",
    )
)
_add(
    Scheme(
        "orbit",
        _orbit,
        "the canonical form of the graph and the automorphism orbit of the vertex",
        "canonical labelling: exponential in the worst case, refused above a stated size",
        "complete: tells all non-isomorphic graphs apart",
        3,
        lambda row: f"orbit {row[2]} of {_hashed(row)}",
    )
)
_add(
    SchemeFamily(
        "ego-r",
        r"ego-([1-3])",
        _ego,
        "the isomorphism class of the subgraph within r hops (r = 1, 2, 3), rooted at the vertex",
        "linear in |V| where degrees are bounded; refused above a stated ego size",
        "incomparable with 1-WL, partly above 3-WL",
    )
)
_add(
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
