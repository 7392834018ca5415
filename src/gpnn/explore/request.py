"""Requests to the explorer: every field is checked, and every error has a message."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from ..graph.graphs import Graphs
from ..graph.readers.undirected import undirected
from ..graph.refine import interaction_type
from ..graph.registry import Scheme
from ..graph.schemes import get_scheme
from ..text import shortened

__all__ = [
    "MAX_D", "MAX_EDGES", "MAX_PAIRWISE", "MAX_TEXT", "MAX_VERTICES", "METHODS", "Request",
    "fields", "integer", "read_graph", "read_request", "text",
]  # fmt: skip

MAX_VERTICES, MAX_EDGES = 400, 10_000
MAX_PAIRWISE = 250
"""Maximum number of vertices for methods that colour all pairs: ``pairs`` and ``3-wl``."""
MAX_D = 4
MAX_TEXT = 100

METHODS = {
    "1-wl": "1-WL",
    "cross": "GPNN, cross edges",
    "edges": "GPNN, all edges",
    "pairs": "GPNN, all pairs",
    "3-wl": "3-WL (as 2-FWL)",
}
_PAIRWISE = ("pairs", "3-wl")


@dataclass(frozen=True, eq=False)
class Request:
    """A checked request of :func:`~gpnn.explore.analyse.analyse`.

    Attributes:
        graphs: a set of one or two graphs.
        scheme: the partitioning scheme.
        d: radius of N_d.
        methods: names in ``METHODS`` to run, in the order of ``METHODS``.
    """

    graphs: Graphs
    scheme: Scheme
    d: int
    methods: tuple[str, ...]


def read_request(document: Any) -> Request:
    """Check ``{"graphs", "scheme", "interactions", "d", "methods"}``; see ``analyse``."""
    given = fields(
        document,
        "the request",
        needed=("graphs",),
        known=("scheme", "interactions", "d", "methods"),
    )
    listed = given["graphs"]
    if not isinstance(listed, list) or len(listed) not in (1, 2):
        raise InputError(f"graphs must be a list of one or two graphs; got {_shown(listed)}.")
    graphs = Graphs.concatenate([read_graph(g, f"graph {i}") for i, g in enumerate(listed)])
    variant = interaction_type(text(given.get("interactions", "edges"), "interactions"))
    return Request(
        graphs,
        get_scheme(text(given.get("scheme", "core-degree"), "scheme")),
        integer(given.get("d", 1), "d", 1, MAX_D),
        _methods(given.get("methods"), variant, graphs),
    )


def read_graph(document: Any, name: str, also: Collection[str] = ()) -> Graphs:
    """Read one graph from ``{"n", "edges"}``; the fields in ``also`` are allowed, too."""
    given = fields(document, name, needed=("n", "edges"), known=also)
    n = integer(given["n"], f"n of {name}", 1, MAX_VERTICES)
    listed = given["edges"]
    if not isinstance(listed, list):
        raise InputError(f"edges of {name} must be a list of pairs; got {_shown(listed)}.")
    if len(listed) > MAX_EDGES:
        raise InputError(
            f"{name} has {len(listed):,} edges, and the explorer takes up to {MAX_EDGES:,}. "
            "Use 'gpnn partition' or 'gpnn compare' for large graphs."
        )
    for number, edge in enumerate(listed):
        if not (isinstance(edge, list) and len(edge) == 2 and all(type(v) is int for v in edge)):
            raise InputError(
                f"Edge {number} of {name} must be two vertex numbers; got {_shown(edge)}."
            )
        if not (0 <= edge[0] < n and 0 <= edge[1] < n):
            raise InputError(
                f"Edge {number} of {name} joins {edge[0]} and {edge[1]}, but vertices are numbered "
                f"0 to {n - 1}."
            )
    ends = np.array(listed, np.int64).reshape(-1, 2)
    return undirected(Graphs.from_edges(ends[:, 0].copy(), ends[:, 1].copy(), n))


def fields(
    document: Any, what: str, needed: Collection[str], known: Collection[str] = ()
) -> Mapping[str, Any]:
    """Check that a JSON object has the required fields and no unknown fields."""
    if not isinstance(document, dict):
        raise InputError(f"{what} must be a JSON object; got {_shown(document)}.")
    missing = [name for name in needed if name not in document]
    if missing:
        raise InputError(f"{what} lacks {', '.join(missing)}.")
    strange = [name for name in document if name not in needed and name not in known]
    if strange:
        choices = ", ".join((*needed, *known))
        raise InputError(f"{what} has an unknown field {_shown(strange[0])}. Known: {choices}.")
    return document


def integer(value: Any, name: str, low: int, high: int) -> int:
    """Check that a value is an integer between two bounds, both included."""
    if type(value) is not int or not low <= value <= high:
        raise InputError(
            f"{name} must be a whole number from {low} to {high}; got {_shown(value)}."
        )
    return value


def text(value: Any, name: str, most: int = MAX_TEXT) -> str:
    """Check that a value is a text of bounded length."""
    if not isinstance(value, str):
        raise InputError(f"{name} must be a text; got {_shown(value)}.")
    if len(value) > most:
        raise InputError(f"{name} has {len(value):,} characters; the limit is {most:,}.")
    return value


def _methods(value: Any, variant: str, graphs: Graphs) -> tuple[str, ...]:
    """Return the requested variant and the other methods to run."""
    largest = int(np.diff(graphs.ptr).max())
    fitting = [name for name in METHODS if largest <= MAX_PAIRWISE or name not in _PAIRWISE]
    if value is None:
        value = fitting if len(graphs) == 2 else []
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise InputError(f"methods must be a list of names; got {_shown(value)}.")
    unknown = [name for name in value if name not in METHODS]
    if unknown:
        raise InputError(
            f"There is no method {_shown(unknown[0])}. Choose from {', '.join(METHODS)}."
        )
    chosen = tuple(name for name in METHODS if name in value or name == variant)
    for name in chosen:
        if name not in fitting:
            raise InputError(
                f"{METHODS[name]} colours all pairs of vertices: the explorer runs it up to "
                f"{MAX_PAIRWISE} vertices, and a graph here has {largest}. Use 'gpnn compare'."
            )
    return chosen


def _shown(value: Any) -> str:
    """Shorten a value for a message."""
    return shortened(repr(value), 40, 40)
