"""Canonical labelling of small graphs by individualisation and refinement.

A node of the search tree is an equitable ordered partition. Its children individualise the vertices
of one cell in turn, and a leaf orders all vertices. The canonical order is the leaf with the
smallest (trace of refinement, level by level; hash of the relabelled edges). If two leaves give the
same relabelled graph, one is the image of the other under an automorphism, which is verified edge
by edge. Automorphisms prune the search: a vertex is tried only if no automorphism that fixes the
vertices individualised so far maps an earlier vertex to it, and a leaf equivalent to the first or
the best leaf makes the search backtrack to where the two paths diverge.

In an unexplored subtree, the path to a leaf goes through the child with the smallest trace, found
by refining all children first. Otherwise the search would be exponential for unions of
non-isomorphic components.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._jit import jit
from .automorphism import is_automorphism, keep, orbits_fixing, union
from .cells import SPLITS, WORK, individualise, start, undo
from .equitable import refine, target
from .forms import edge_hash

__all__ = ["Search", "canonical", "new_search"]

GENERATORS = 128  # automorphisms stored for pruning off the first path; the oldest are overwritten


class Search(NamedTuple):
    """Working memory of a search: arrays indexed by level, then arrays indexed by vertex."""

    chosen: NDArray[np.int64]
    best_chosen: NDArray[np.int64]
    base: NDArray[np.int64]  # splits at the node of this level
    goal: NDArray[np.int64]  # its target cell
    first_goal: NDArray[np.int64]
    first_trace: NDArray[np.uint64]
    best_trace: NDArray[np.uint64]
    like_first: NDArray[np.bool_]
    like_best: NDArray[np.bool_]
    first_order: NDArray[np.int64]
    best_order: NDArray[np.int64]  # result: vertices in canonical order
    orbit: NDArray[np.int64]  # result: union-find, roots are the smallest vertices
    fixing: NDArray[np.int64]  # union-find of the automorphisms that fix the path
    image: NDArray[np.int64]
    mark: NDArray[np.int64]
    generators: NDArray[np.int64]


@jit
def new_search(most):  # type: ignore[no-untyped-def]
    """Allocate a search for graphs of up to ``most`` vertices."""
    rows = min(GENERATORS, most, 1 + 4_000_000 // max(most, 1))
    return Search(
        np.empty(most + 1, np.int64),
        np.empty(most + 1, np.int64),
        np.empty(most + 1, np.int64),
        np.empty(most + 1, np.int64),
        np.empty(most + 1, np.int64),
        np.empty(most + 1, np.uint64),
        np.empty(most + 1, np.uint64),
        np.empty(most + 1, np.bool_),
        np.empty(most + 1, np.bool_),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty((rows, most), np.int64),
    )


@jit
def canonical(p, s, n, indptr, indices, labels, colours, budget):  # type: ignore[no-untyped-def]
    """Write the canonical order to ``s.best_order`` and orbits to ``s.orbit``; False if the budget
    was exceeded or hashes collided."""
    start(p, n, colours)
    refine(p, indptr, indices, labels)
    for v in range(n):
        s.orbit[v] = v
    s.goal[0] = target(p, indptr, indices, labels)
    if s.goal[0] < 0:
        _take_leaf(p, s, n)
        return True
    s.base[0] = p.state[SPLITS]
    s.chosen[0] = -1
    s.like_first[0] = True
    s.like_best[0] = True
    level = 0
    known = 0  # levels of best_trace that are set
    depth = -1  # depth of the first leaf; -1 before it is reached
    anchor = -1  # deepest open node of the first path
    best_depth = -1  # depth of the best leaf; -1 while a better path has not reached its leaf
    best_hash = np.uint64(0)
    num_generators = 0
    while level >= 0:
        if p.state[WORK] > budget:
            if depth < 0:
                _copy(p.order, s.best_order, n)
            return False
        if s.chosen[level] < 0 and s.like_best[level] and known == level:
            s.best_trace[level + 1] = _least_trace(
                p, s.goal[level], s.base[level], indptr, indices, labels, budget
            )
            if depth < 0:
                s.first_trace[level + 1] = s.best_trace[level + 1]
            known += 1
        off = depth >= 0 and level > anchor
        if off and s.chosen[level] >= 0:
            orbits_fixing(s, n, level, num_generators)
            p.state[WORK] += n * min(num_generators, GENERATORS)
        v = _next(
            p,
            s.goal[level],
            s.chosen[level],
            s.fixing if off else s.orbit,
            off and s.chosen[level] < 0,
        )
        if v < 0:
            level -= 1
            anchor = min(anchor, level)
            if level >= 0:
                undo(p, s.base[level])
            continue
        s.chosen[level] = v
        individualise(p, v)
        trace = refine(p, indptr, indices, labels)
        deeper = level + 1
        like_first = s.like_first[level] and trace == s.first_trace[deeper]
        like_best = False
        if s.like_best[level]:
            if trace < s.best_trace[deeper]:
                s.best_trace[deeper] = trace
                known = deeper
                best_depth = -1
            like_best = trace == s.best_trace[deeper]
        if not (like_first or like_best):
            undo(p, s.base[level])
            continue
        if like_first and deeper < depth:  # equal traces have equal targets: no search
            goal = s.first_goal[deeper]
            if p.cell[p.order[goal]] != goal or p.length[goal] < 2:
                return False  # hash collision of different traces: report unknown
        else:
            goal = target(p, indptr, indices, labels)
            if depth < 0:
                s.first_goal[deeper] = goal
        if goal >= 0:
            level = deeper
            s.base[level] = p.state[SPLITS]
            s.goal[level] = goal
            s.chosen[level] = -1
            s.like_first[level] = like_first
            s.like_best[level] = like_best
            continue
        p.state[WORK] += n + len(indices)
        back = level
        if depth < 0:
            depth = deeper
            anchor = level
            _copy(p.order, s.first_order, n)
            best_hash = edge_hash(p.place, n, indptr, indices, labels)
            best_depth = depth
            _copy(s.chosen, s.best_chosen, depth)
            _take_leaf(p, s, n)
        elif like_first and is_automorphism(p, s, n, s.first_order, indptr, indices, labels):
            num_generators = keep(s, n, num_generators)
            back = anchor
        elif like_best:
            hashed = edge_hash(p.place, n, indptr, indices, labels)
            if best_depth < 0 or hashed < best_hash:
                best_hash = hashed
                best_depth = deeper
                _copy(p.order, s.best_order, n)
                _copy(s.chosen, s.best_chosen, deeper)
            elif hashed == best_hash:
                if deeper != best_depth or not is_automorphism(
                    p, s, n, s.best_order, indptr, indices, labels
                ):
                    return False  # 64-bit hash collision of two forms: report unknown
                num_generators = keep(s, n, num_generators)
                back = 0
                while s.chosen[back] == s.best_chosen[back]:
                    back += 1
        level = back
        undo(p, s.base[level])
    return True


@jit
def _least_trace(p, cell, base, indptr, indices, labels, budget):  # type: ignore[no-untyped-def]
    members = p.order[cell : cell + p.length[cell]].copy()
    least = np.uint64(0xFFFFFFFFFFFFFFFF)
    for v in members:
        individualise(p, v)
        least = min(least, refine(p, indptr, indices, labels))
        undo(p, base)
        if p.state[WORK] > budget:
            break
    return least


@jit
def _next(p, cell, last, orbit, every):  # type: ignore[no-untyped-def]
    """The smallest vertex above ``last`` in the cell that is the smallest of its orbit, or -1."""
    best = -1
    for i in range(cell, cell + p.length[cell]):
        v = p.order[i]
        if v > last and (best < 0 or v < best) and (every or orbit[v] == v):
            best = v
    return best


@jit
def _take_leaf(p, s, n):  # type: ignore[no-untyped-def]
    """Store the first leaf as the best so far; members of the same cell are equivalent."""
    _copy(p.order, s.best_order, n)
    for v in range(n):
        union(s.orbit, v, p.order[p.cell[v]])


@jit
def _copy(here, there, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        there[i] = here[i]
