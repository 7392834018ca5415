"""Automorphisms found by a canonical search: verification, orbits, and generators for pruning.

``s`` is a :class:`~gpnn.graph.kernels.canon.Search`, ``p`` the partition of the current leaf.
"""

from __future__ import annotations

from ._jit import jit

__all__ = ["is_automorphism", "keep", "orbits_fixing", "union"]


@jit
def is_automorphism(p, s, n, order, indptr, indices, labels):  # type: ignore[no-untyped-def]
    """Whether mapping ``order`` to the current leaf, position by position, preserves edges and
    labels."""
    for i in range(n):
        s.image[order[i]] = p.order[i]
        s.mark[i] = -1
    for v in range(n):
        w = s.image[v]
        if indptr[v + 1] - indptr[v] != indptr[w + 1] - indptr[w]:
            return False
        for at in range(indptr[w], indptr[w + 1]):
            s.mark[indices[at]] = at
        for at in range(indptr[v], indptr[v + 1]):
            to = s.mark[s.image[indices[at]]]
            if to < indptr[w] or (len(labels) and labels[at] != labels[to]):
                return False
        for at in range(indptr[w], indptr[w + 1]):
            s.mark[indices[at]] = -1
    return True


@jit
def keep(s, n, found):  # type: ignore[no-untyped-def]
    to = found % len(s.generators)
    for v in range(n):
        s.generators[to, v] = s.image[v]
        union(s.orbit, v, s.image[v])
    return found + 1


@jit
def orbits_fixing(s, n, level, found):  # type: ignore[no-untyped-def]
    for v in range(n):
        s.fixing[v] = v
    for g in range(min(found, len(s.generators))):
        fixes = True
        for at in range(level):
            if s.generators[g, s.chosen[at]] != s.chosen[at]:
                fixes = False
                break
        if fixes:
            for v in range(n):
                union(s.fixing, v, s.generators[g, v])


@jit
def union(root, a, b):  # type: ignore[no-untyped-def]
    while root[a] != a:
        a = root[a]
    while root[b] != b:
        b = root[b]
    if a < b:
        root[b] = a
    else:
        root[a] = b
