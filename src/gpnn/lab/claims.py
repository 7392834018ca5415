"""Every proposition, theorem and lemma of the paper as a testable statement.

The order is that of the paper: A ⊑ B if B distinguishes all pairs of graphs that A distinguishes.
On a finite domain, this means that graphs that are equal for B are equal for A. A claim that begins
with "if λ₁ ⊒ λ₂ …" is checked if its premise holds on the same domain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from ..graph.graphs import Graphs
from ..graph.schemes import PAPER_SCHEMES, Scheme, get_scheme
from .domain import Domain, Pair
from .methods import INTERACTION_TYPES, Method
from .theorem_schemes import graph_level, three_wl_and_cliques

__all__ = ["CLAIMS", "Claim", "Outcome"]

IntArray = NDArray[np.int64]
CHAINS = (*PAPER_SCHEMES, "core-degree-literal", "core+triangle", "degree+triangle")


@dataclass(frozen=True)
class Outcome:
    """The result of one claim on one domain, for one choice of scheme and variant.

    ``holds`` is ``None`` if the premise never holds or no example was found.
    """

    case: str
    holds: bool | None
    example: Pair | None = None


@dataclass(frozen=True)
class Claim:
    """A statement of the paper (or of this project, about the paper) and how it is checked."""

    name: str
    source: str
    statement: str
    check: Callable[[Domain], Iterable[Outcome]]


def gpnn(scheme: Scheme, kind: str) -> Method:
    return Method("gpnn", scheme.name, kind, 1)


def _gpnn(domain: Domain, scheme: Scheme, kind: str) -> IntArray:
    return domain.equal(gpnn(scheme, kind), scheme)


def _lambda(domain: Domain, scheme: Scheme) -> IntArray:
    return domain.equal(Method("lambda", scheme.name), scheme)


def _below(
    domain: Domain, case: str, a: IntArray, b: IntArray, a_name: str, b_name: str
) -> Outcome:
    """A ⊑ B, or a small pair of graphs that A distinguishes and B does not."""
    pair = domain.find(b, a)
    if pair is None:
        return Outcome(case, True)
    return Outcome(case, False, domain.pair(pair, f"{a_name} distinguishes, {b_name} does not"))


def _exists(domain: Domain, case: str, same: IntArray, differ: IntArray, detail: str) -> Outcome:
    pair = domain.find(same, differ)
    return Outcome(case, None) if pair is None else Outcome(case, True, domain.pair(pair, detail))


def _paper() -> Iterator[Scheme]:
    return (get_scheme(name) for name in PAPER_SCHEMES)


def _relabelled(domain: Domain) -> Domain:
    """The domain together with a randomly relabelled copy of itself."""
    graphs = domain.graphs
    order = graphs.permutation(np.random.default_rng(0))
    return Domain(domain.name, Graphs.concatenate([graphs, graphs.relabelled(order)]))


def _isomorphic_implies(test: str) -> Callable[[Domain], Iterable[Outcome]]:
    def check(domain: Domain) -> Iterator[Outcome]:
        twice = _relabelled(domain)
        half = len(domain.graphs)
        for scheme in _paper():
            same = twice.equal(Method(test, scheme.name), scheme)
            wrong = np.flatnonzero(same[:half] != same[half:])
            if len(wrong):
                g = int(wrong[0])
                yield Outcome(scheme.name, False, twice.pair((g, g + half), "isomorphic copies"))
            else:
                yield Outcome(scheme.name, True)

    return check


def _interaction_implies_partition(domain: Domain) -> Iterator[Outcome]:
    for scheme in _paper():
        parts, both = (
            domain.equal(Method(test, scheme.name), scheme)
            for test in ("partition-isomorphism", "interaction-isomorphism")
        )
        yield _below(domain, scheme.name, parts, both, "PI", "II")


def _interaction_without_isomorphism(domain: Domain) -> Iterator[Outcome]:
    exact = domain.equal(Method("isomorphism"))
    for scheme in _paper():
        both = domain.equal(Method("interaction-isomorphism", scheme.name), scheme)
        yield _exists(domain, scheme.name, both, exact, "interaction-isomorphic, not isomorphic")


def _partition_without_interaction(domain: Domain) -> Iterator[Outcome]:
    for scheme in _paper():
        parts, both = (
            domain.equal(Method(test, scheme.name), scheme)
            for test in ("partition-isomorphism", "interaction-isomorphism")
        )
        detail = "partition-isomorphic, not interaction-isomorphic"
        yield _exists(domain, scheme.name, parts, both, detail)


def _trivial_cross_is_one_wl(domain: Domain) -> Iterator[Outcome]:
    ours = _gpnn(domain, get_scheme("trivial"), "cross")
    one = domain.equal(Method("1-wl"))
    yield _below(domain, "trivial cross ⊑ 1-WL", ours, one, "GPNN", "1-WL")
    yield _below(domain, "1-WL ⊑ trivial cross", one, ours, "1-WL", "GPNN")


def _variants_rise(schemes: Iterable[Scheme], domain: Domain) -> Iterator[Outcome]:
    for scheme in schemes:
        for low, high in (("cross", "edges"), ("edges", "pairs")):
            a, b = _gpnn(domain, scheme, low), _gpnn(domain, scheme, high)
            yield _below(domain, f"{scheme.name}: {low} ⊑ {high}", a, b, low, high)


def _trivial_pairs_below_three_wl(domain: Domain) -> Iterator[Outcome]:
    ours = _gpnn(domain, get_scheme("trivial"), "pairs")
    yield _below(domain, "trivial pairs", ours, domain.equal(Method("3-wl")), "GPNN", "3-WL")


def _refines(domain: Domain, fine: Scheme, coarse: Scheme) -> bool:
    """Whether vertices, of any graphs, with equal ``fine`` colours have equal ``coarse`` ones."""
    keys = domain.cut(fine).part.astype(np.int64), domain.cut(coarse).part.astype(np.int64)
    return len(unique_pairs(*keys)) == domain.cut(fine).num_parts


def unique_pairs(a: IntArray, b: IntArray) -> IntArray:
    return np.unique(a * (b.max(initial=0) + 1) + b)


def _order_of_vertex_colours(domain: Domain) -> Iterator[Outcome]:
    schemes = [get_scheme(name) for name in CHAINS]
    for fine, coarse in permutations(schemes, 2):
        if not _refines(domain, fine, coarse):
            continue
        for kind in INTERACTION_TYPES:
            a, b = _gpnn(domain, coarse, kind), _gpnn(domain, fine, kind)
            case = f"{coarse.name} ⊑ {fine.name}, {kind}"
            yield _below(domain, case, a, b, coarse.name, fine.name)


def _order_of_graph_equivalence(domain: Domain) -> Iterator[Outcome]:
    schemes = [get_scheme(name) for name in CHAINS]
    schemes += [graph_level(scheme) for scheme in _paper()]
    for fine, coarse in permutations(schemes, 2):
        if domain.find(_lambda(domain, fine), _lambda(domain, coarse)) is not None:
            continue
        for kind in INTERACTION_TYPES:
            a, b = _gpnn(domain, coarse, kind), _gpnn(domain, fine, kind)
            case = f"{coarse.name} ⊑ {fine.name}, {kind}"
            yield _below(domain, case, a, b, f"{coarse.name} GPNN", f"{fine.name} GPNN")


def _lower_bound(domain: Domain) -> Iterator[Outcome]:
    one = domain.equal(Method("1-wl"))
    for scheme in _paper():
        for kind in INTERACTION_TYPES:
            ours = _gpnn(domain, scheme, kind)
            yield _below(domain, f"1-WL ⊑ {scheme.name} {kind}", one, ours, "1-WL", "GPNN")
            floor = _lambda(domain, scheme)
            yield _below(domain, f"λ ⊑ {scheme.name} {kind}", floor, ours, "λ", "GPNN")


def _upper_bound_below(domain: Domain) -> Iterator[Outcome]:
    three = domain.equal(Method("3-wl"))
    for scheme in _paper():
        for kind in INTERACTION_TYPES:
            ours = _gpnn(domain, scheme, kind)
            yield _below(domain, f"{scheme.name} {kind} ⊑ 3-WL", ours, three, "GPNN", "3-WL")


def _upper_bound_above(domain: Domain) -> Iterator[Outcome]:
    scheme = three_wl_and_cliques()
    floor = _lambda(domain, scheme)
    for kind in INTERACTION_TYPES:
        ours = _gpnn(domain, scheme, kind)
        yield _below(domain, f"{scheme.name} {kind} ⊑ λ", ours, floor, "GPNN", "λ")


def _variants_coincide(domain: Domain) -> Iterator[Outcome]:
    scheme = three_wl_and_cliques()
    for high, low in (("edges", "cross"), ("pairs", "edges")):
        a, b = _gpnn(domain, scheme, high), _gpnn(domain, scheme, low)
        yield _below(domain, f"{scheme.name}: {high} ⊑ {low}", a, b, high, low)


def _below_one_wl(names: tuple[str, ...]) -> Callable[[Domain], Iterable[Outcome]]:
    def check(domain: Domain) -> Iterator[Outcome]:
        one = domain.equal(Method("1-wl"))
        for name in names:
            yield _below(domain, name, _lambda(domain, get_scheme(name)), one, "λ", "1-WL")

    return check


def _triangle_not_below_one_wl(domain: Domain) -> Iterator[Outcome]:
    one = domain.equal(Method("1-wl"))
    counts = _lambda(domain, get_scheme("triangle"))
    yield _exists(domain, "triangle", one, counts, "equal for 1-WL, different triangle counts")


CLAIMS = (
    Claim(
        "isomorphic-implies-interaction",
        "Theorem, isomorphism (a)",
        "If G ≃ H then G and H are interaction-isomorphic. Checked on relabelled copies.",
        _isomorphic_implies("interaction-isomorphism"),
    ),
    Claim(
        "interaction-without-isomorphism",
        "Theorem, isomorphism (a), converse",
        "Some interaction-isomorphic graphs are not isomorphic. The paper fixes any scheme.",
        _interaction_without_isomorphism,
    ),
    Claim(
        "interaction-implies-partition",
        "Theorem, isomorphism (b)",
        "Interaction-isomorphic graphs are partition-isomorphic.",
        _interaction_implies_partition,
    ),
    Claim(
        "partition-without-interaction",
        "Theorem, isomorphism (b), converse",
        "Some partition-isomorphic graphs are not interaction-isomorphic.",
        _partition_without_interaction,
    ),
    Claim(
        "trivial-cross-is-1-wl",
        "Proposition, trivial λ (1)",
        "λ⊥-GPNN cross ≡ 1-WL.",
        _trivial_cross_is_one_wl,
    ),
    Claim(
        "trivial-variants-rise",
        "Proposition, trivial λ (2)",
        "λ⊥-GPNN: cross ⊑ edges ⊑ pairs.",
        lambda domain: _variants_rise([get_scheme("trivial")], domain),
    ),
    Claim(
        "trivial-pairs-below-3-wl",
        "Proposition, trivial λ (3)",
        "λ⊥-GPNN pairs ⊑ 3-WL.",
        _trivial_pairs_below_three_wl,
    ),
    Claim(
        "order-carries-over-vertices",
        "Theorem, two colourings, read as its proof reads it",
        "If λ₁ refines λ₂ vertex by vertex then λ₁-GPNN ⊒ λ₂-GPNN for every interaction type.",
        _order_of_vertex_colours,
    ),
    Claim(
        "order-carries-over-graphs",
        "Theorem, two colourings, read as it is stated",
        "If λ₁ ⊒ λ₂, by λ-equivalence of graphs, then λ₁-GPNN ⊒ λ₂-GPNN.",
        _order_of_graph_equivalence,
    ),
    Claim(
        "lower-bound",
        "Theorem, bounds, lower",
        "λ and 1-WL are both ⊑ λ-GPNN for every interaction type.",
        _lower_bound,
    ),
    Claim(
        "upper-bound-below-3-wl",
        "Theorem, bounds, upper, λ ⊑ 3-WL",
        "λ-GPNN ⊑ 3-WL for schemes below 3-WL.",
        _upper_bound_below,
    ),
    Claim(
        "upper-bound-above-3-wl",
        "Theorem, bounds, upper, λ ⊒ 3-WL",
        "λ-GPNN ⊑ λ for an incomplete λ above 3-WL: its class joined with K4 counts.",
        _upper_bound_above,
    ),
    Claim(
        "variants-coincide-above-3-wl",
        "Lemma, λ ⊒ 3-WL",
        "The three interaction types are equally strong for an incomplete λ above 3-WL.",
        _variants_coincide,
    ),
    Claim(
        "variants-rise",
        "Lemma, λ ⊏ 3-WL, and main theorem",
        "λ-GPNN: cross ⊑ edges ⊑ pairs for every scheme.",
        lambda domain: _variants_rise([*_paper(), three_wl_and_cliques()], domain),
    ),
    Claim(
        "core-and-degree-below-1-wl",
        "Theorem, k-core",
        "λ ⊑ 1-WL for core and degree, and by the remark after it for core-degree and core-onion.",
        _below_one_wl(("core", "degree", "core-degree", "core-degree-literal", "core-onion")),
    ),
    Claim(
        "triangle-not-below-1-wl",
        "Remark after the k-core theorem",
        "Triangle counts distinguish graphs that 1-WL does not.",
        _triangle_not_below_one_wl,
    ),
)
