"""Compares two graphs: which methods distinguish them, after how many rounds, and by what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from ..graph.convert import as_graphs
from ..graph.graphs import Graphs
from ..graph.isomorphism import isomorphism
from ..graph.partition import Partition
from .methods import Method, comparison_methods

__all__ = ["Finding", "compare", "side_by_side"]


@dataclass(frozen=True)
class Finding:
    """The result of one method for two graphs.

    ``distinguishes`` is ``None`` if the search for a canonical form gave up; ``rounds`` is the
    first round with different colours, for refinements; ``witness`` describes the colour or part
    that differs.
    """

    method: Method
    distinguishes: bool | None
    rounds: int | None
    witness: str | None

    def as_row(self) -> dict[str, Any]:
        return {
            **self.method.as_row(),
            "distinguishes": self.distinguishes,
            "rounds": self.rounds,
            "witness": self.witness,
        }


def side_by_side(left: Graphs, right: Graphs) -> Graphs:
    """Two single graphs as one set; labels are kept if both have them."""
    for graph in (left, right):
        if len(graph) != 1:
            raise InputError(f"A comparison takes single graphs; got a set of {len(graph):,}.")
    return Graphs.concatenate([left, right])


def compare(
    left: Any,
    right: Any,
    methods: Sequence[Method] | None = None,
    progress: Callable[[Method], None] = lambda _: None,
) -> list[Finding]:
    """Which methods distinguish two graphs, after how many rounds, and by what.

    Args:
        left, right: graphs of any kind that :func:`~gpnn.graph.convert.as_graphs` takes: networkx,
            PyG, edge arrays, files. Labels are used if both have them.
        methods: by default all of :func:`~gpnn.lab.methods.comparison_methods`: 1-WL, 3-WL, every
            notion of the paper under its schemes, and isomorphism.

    >>> import networkx as nx
    >>> from gpnn import compare
    >>> two_rings = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    >>> {str(one.method): one.distinguishes for one in compare(nx.cycle_graph(6), two_rings)[:2]}
    {'1-wl': False, '3-wl': True}
    """
    graphs = side_by_side(as_graphs(left), as_graphs(right))
    cuts: dict[str, Partition] = {}
    findings = []
    for method in comparison_methods() if methods is None else methods:
        if not isinstance(method, Method):
            raise InputError(
                f"A method is a gpnn.lab.methods.Method, such as Method('1-wl'); got {method!r}."
            )
        progress(method)
        if method.scheme is not None and method.scheme not in cuts:
            cuts[method.scheme] = method.cut(graphs)
        findings.append(_try(method, graphs, cuts.get(method.scheme or "")))
    return findings


def _try(method: Method, graphs: Graphs, cut: Partition | None) -> Finding:
    refinement = method.refinement(graphs, cut)
    if refinement is not None:
        witness = refinement.witness(0, 1)
        if witness is None:
            return Finding(method, False, None, None)
        first = refinement.first_difference(0, 1)
        early = f"pairs in round {first}, vertices later: " if first != witness.round else ""
        text = (
            f"{early}colour #{witness.colour[-6:]} in round {witness.round}, "
            f"vertices {len(witness.left)} | {len(witness.right)}"
        )
        return Finding(method, True, first, text)
    apart = method.sameness(graphs, cut).distinguishes(0, 1)
    reason = _structural_witness(method, cut) if apart and cut is not None else None
    return Finding(method, apart, None, reason)


def _structural_witness(method: Method, cut: Partition) -> str:
    """The first part, kind of edge or boundary in which two graphs differ."""
    graph_of = cut.graphs.graph_of
    for part, label in enumerate(cut.labels):
        counts = np.bincount(graph_of[cut.part == part], minlength=2)
        if counts[0] != counts[1]:
            return f"part {label}: {counts[0]} vertices against {counts[1]}"
    if method.test == "lambda":
        return _edge_witness(cut)
    for part, label in enumerate(cut.labels):
        pieces, _ = cut.subgraph(part)
        if isomorphism(pieces).distinguishes(0, 1):
            return f"the subgraphs of part {label}"
    return "the boundary subgraphs"


def _edge_witness(cut: Partition) -> str:
    u, v = cut.graphs.edges()
    ends = np.sort(np.stack([cut.part[u], cut.part[v]]), axis=0)
    right = cut.graphs.graph_of[u] == 1
    for a, b in np.unique(ends.T, axis=0).tolist():
        same = (ends[0] == a) & (ends[1] == b)
        counts = int((same & ~right).sum()), int((same & right).sum())
        if counts[0] != counts[1]:
            return f"edges {cut.labels[a]} – {cut.labels[b]}: {counts[0]} against {counts[1]}"
    return "labels of vertices or edges"
