"""Test whether a scheme depends on structure alone, by relabelling vertices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .graphs import Graphs
from .schemes import Scheme, get_scheme

__all__ = ["Invariance", "check_invariance"]


@dataclass(frozen=True)
class Invariance:
    """Result of an invariance check; truthy if no difference was found."""

    scheme: str
    holds: bool
    message: str

    def __bool__(self) -> bool:
        return self.holds


def check_invariance(
    scheme: str | Scheme, graph: Any, trials: int = 5, seed: int = 0
) -> Invariance:
    """Colour ``graph``, relabel its vertices at random, colour it again and compare.

    A set of several graphs is also coloured one graph at a time: a graph must get the same colours
    alone as in the set. A difference proves that the scheme is not invariant; the absence of
    differences is evidence, not proof.
    """
    rule = get_scheme(scheme)
    if not isinstance(graph, Graphs):
        from .convert import as_graphs

        graph = as_graphs(graph)
    before = rule(graph)
    rng = np.random.default_rng(seed)
    for trial in range(trials):
        order = graph.permutation(rng)
        after = rule(graph.relabelled(order))
        if after.shape != before.shape or not np.array_equal(after[order], before):
            return _failure(rule, before, after, order, f"relabelling {trial + 1}")
    if len(graph) > 1:
        alone = [rule(one) for one in graph]
        if any(colours.shape[1] != before.shape[1] for colours in alone):
            return Invariance(rule.name, False, f"'{rule.name}' gives colours of varying width.")
        joined = np.concatenate(alone)
        if not np.array_equal(joined, before):
            return _failure(rule, before, joined, np.arange(len(before)), "colouring graphs alone")
    checked = f"{trials} relabellings" + (" and each graph alone" if len(graph) > 1 else "")
    return Invariance(rule.name, True, f"'{rule.name}' stood {checked} without a difference.")


def _failure(rule: Scheme, before: Any, after: Any, order: Any, what: str) -> Invariance:
    if after.shape != before.shape:
        return Invariance(rule.name, False, f"'{rule.name}' gives colours of varying width.")
    v = int(np.flatnonzero((after[order] != before).any(axis=1))[0])
    return Invariance(
        rule.name,
        False,
        f"'{rule.name}' is not invariant: {what} changed the colour of vertex {v} from "
        f"{before[v].tolist()} to {after[order[v]].tolist()}. A colour may depend on structure "
        "only, never on vertex ids, their order, or the other graphs of a batch.",
    )
