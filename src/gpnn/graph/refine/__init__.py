"""Exact colour refinements: 1-WL, 2-FWL (≡ 3-WL) and the GPNN refinement of the paper.

**Exactness.** Colours are 128-bit hashes, not numbers assigned per round. Hashes need no sorting
and no palette in memory, graphs are refined one by one, and colours of different calls, runs or
machines can be compared, for which a palette would have to be stored. The price is a negligible
probability of collision. Model ``scramble`` as a random function: a 64-bit lane of a multiset of
colours is a sum of random words modulo 2^64, and a lane of a multiset of pairs (a, b) is a sum of
products left(a) · right(b). Two different multisets of at most N members give equal sums with
probability at most N / 2^64, and equal sums of products with probability at most 34 N / 2^64: their
difference is a bilinear form in independent random words with a coefficient that 2^k divides for
no 2^k > N, and a form L over the right words is divisible by 2^(k + i) with probability 2^-i, after
which left · L vanishes with probability 2^(k + i - 64). Two lanes square this, so M colours in all
collide with probability below M² · (34 N)² / 2^129: for a million colours and neighbourhoods of
200, 1e-19. Adversarial graphs constructed against the hash are not considered.

**When a graph is stable.** The state of a graph is all of γ and α that the next round reads. A
later colour determines the earlier one (γ_v contains β_v together with the unique self colour α_vv,
and β_v contains γ_v). Classes therefore only split, and how they split depends on the classes
alone. A graph is refined up to round T + 1, where T is the first round whose classes the next round
does not split, counted over vertices and pairs. The digest contains T + 1 and the multisets of that
round.

**Why equal digests mean "never distinguished".** If two graphs have equal multisets at T + 1, they
also have equal multisets at T, and their union has as many classes as either of them at both
rounds. The union is therefore stable and the multisets stay equal in all later rounds. For
``cross`` and ``edges`` the multiset of γ determines that of the learned α. For ``pairs`` the digest
also contains the multiset of α (pairs within a component; γ depends on no others). This matters:
both graphs can be stable while a difference between distant pairs needs further rounds to reach
any vertex.

Conversely, graphs whose γ agree in all rounds have equal digests. Take the stable classes of the
union. A class D of pairs (v, u) determines the number n(D; B, C) of w ∈ N_d(v) with (v, w) in B and
(u, w) in C. It determines the class of the reversed pair, because w = v shows α_uv, and the
distance of the pair, by induction over hops. Counting triples from D and from C gives
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
