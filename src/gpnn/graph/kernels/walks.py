"""Return probabilities of random walks."""

from __future__ import annotations

import numpy as np

from ._jit import jit

__all__ = ["walk_returns"]


@jit
def walk_returns(ptr, indptr, indices, steps):  # type: ignore[no-untyped-def]
    """Probability that a walk from v is at v after 2 … steps + 1 steps, for every v, [n, steps].

    A walk is reversible, d_v P^j(v, u) = d_u P^j(u, v), so walks of half the length suffice:
    P^(j + k)(v, v) = Σ_u P^j(v, u) P^k(v, u) d_v / d_u. Only reachable vertices are visited.
    """
    widest = 1
    for g in range(len(ptr) - 1):
        widest = max(widest, ptr[g + 1] - ptr[g])
    out = np.zeros((ptr[len(ptr) - 1], steps))
    here = np.zeros(widest)
    ahead = np.zeros(widest)
    seen = np.zeros(widest, np.bool_)
    queue = np.empty(widest, np.int32)
    for g in range(len(ptr) - 1):
        base = ptr[g]
        for v in range(ptr[g + 1] - base):
            degree = indptr[base + v + 1] - indptr[base + v]
            if degree == 0:
                continue
            queue[0], seen[v], here[v] = v, True, 1.0
            reached = 1
            length = 0
            while 2 * length < steps + 1:
                before = reached
                for i in range(before):
                    u = queue[i]
                    first, last = indptr[base + u], indptr[base + u + 1]
                    share = here[u] / (last - first)
                    for at in range(first, last):
                        w = indices[at] - base
                        if not seen[w]:
                            seen[w] = True
                            queue[reached] = w
                            reached += 1
                        ahead[w] += share
                odd, even = 0.0, 0.0
                for i in range(reached):
                    u = queue[i]
                    weight = ahead[u] * degree / (indptr[base + u + 1] - indptr[base + u])
                    odd += here[u] * weight
                    even += ahead[u] * weight
                    here[u], ahead[u] = ahead[u], 0.0
                length += 1
                if 2 * length - 1 >= 2 and 2 * length - 1 <= steps + 1:
                    out[base + v, 2 * length - 3] = odd
                if 2 * length <= steps + 1:
                    out[base + v, 2 * length - 2] = even
            for i in range(reached):
                here[queue[i]], seen[queue[i]] = 0.0, False
    return out
