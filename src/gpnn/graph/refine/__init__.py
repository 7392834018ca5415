"""Exact colour refinements: 1-WL, 2-FWL (≡ 3-WL) and the GPNN refinement of the paper.

**Exactness.** Colours are 128-bit hashes, not numbers handed out per round. Hashes need no sort
and no palette in memory, graphs are refined one by one, and the colours of two calls, runs or
machines can be compared; a palette would have to be carried along. The price is a chance of
collision, which is small beyond concern. Read ``scramble`` as a random function: a lane of a
multiset of colours is a sum of random words modulo 2^64, and a lane of a multiset of pairs (a, b)
a sum of products left(a) · right(b). Two different multisets of at most N members give equal sums
with probability at most N / 2^64, and equal sums of products with at most 34 N / 2^64: their
difference is a bilinear form in independent random words with a coefficient that 2^k divides for
no 2^k > N, and a form L over the right words is divisible by 2^(k + i) with probability 2^-i, after
which left · L vanishes with probability 2^(k + i - 64). Two lanes square that, so M colours in all
meet a collision with probability below M² · (34 N)² / 2^129: for a million colours and
neighbourhoods of 200, 1e-19. Nobody is assumed to craft graphs against the hash.

**When a graph is done.** All of γ and α that the next round reads is the state of a graph; a later
colour determines the earlier one (γ_v contains β_v beside the unmistakable self colour α_vv, and
β_v contains γ_v). So classes only split, and how they split depends on the classes alone. A graph
is refined up to round T + 1, T being the first round whose classes the next one did not split,
counted over vertices and pairs. The digest holds T + 1 and the multisets of that round.

**Why equal digests mean "never distinguished".** If two graphs have equal multisets at T + 1, they
have them at T too, their union has as many classes as either of them at both rounds, hence the
union is stable and the multisets stay equal for ever. For ``cross`` and ``edges`` the multiset of γ
determines that of the learned α. For ``pairs`` the digest holds the multiset of α as well (pairs
inside a component; no γ reads others). This matters: both graphs can be stable while the difference
of their far pairs is still rounds away from any vertex.

Conversely, graphs whose γ agree for ever have equal digests. Take the stable classes of the union.
A class D of pairs (v, u) says how many w ∈ N_d(v) there are with (v, w) in B and (u, w) in C, say
n(D; B, C). It knows the class of the reversed pair, because w = v shows α_uv, and its distance,
found out hop by hop. Counting triples from D and from C gives
``|D| n(D; B, C) = |C| n(C'; B', D')``, with primes for reversed classes. So ``|C|`` agrees in both
graphs if ``|D|`` does. The classes inside N_d agree by γ, and every other class of pairs is reached
from them hop by hop.
"""

from __future__ import annotations

from .fwl import fwl
from .gpnn import INTERACTIONS, gpnn, interaction_type
from .result import Refinement, Witness
from .wl import wl

__all__ = ["INTERACTIONS", "Refinement", "Witness", "fwl", "gpnn", "interaction_type", "wl"]
