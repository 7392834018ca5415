"""Methods that distinguish graphs, with a common interface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..graph import isomorphism as notions
from ..graph import refine
from ..graph.graphs import Graphs
from ..graph.isomorphism import Sameness
from ..graph.partition import Partition, partition
from ..graph.schemes import PAPER_SCHEMES

__all__ = ["INTERACTION_TYPES", "TESTS", "Method", "comparison_methods", "suite_methods"]

INTERACTION_TYPES = ("cross", "edges", "pairs")

TESTS = {
    "1-wl": "colour refinement of vertices",
    "3-wl": "2-FWL on pairs of vertices, equivalent to 3-WL",
    "gpnn": "the exact GPNN refinement under a scheme",
    "lambda": "counts of vertex and edge colours under a scheme",
    "partition-isomorphism": "isomorphism of the parts under a scheme",
    "interaction-isomorphism": "isomorphism of the parts and of the boundary under a scheme",
    "isomorphism": "canonical forms",
}

_OF_A_CUT = {
    "lambda": notions.lambda_equivalence,
    "partition-isomorphism": notions.partition_isomorphism,
    "interaction-isomorphism": notions.interaction_isomorphism,
}


@dataclass(frozen=True)
class Method:
    """A test with its options. ``scheme`` applies to all tests under a scheme, ``interactions``,
    ``d`` and ``distances`` only to ``gpnn``."""

    test: str
    scheme: str | None = None
    interactions: str | None = None
    d: int | None = None
    distances: bool = False

    def __str__(self) -> str:
        if not self.test.startswith("gpnn"):
            return self.test if self.scheme is None else f"{self.scheme} {self.test}"
        radius = "" if self.d == 1 else f" d={self.d}"
        return f"{self.scheme} {self.test} {self.interactions}{radius}" + " +dist" * self.distances

    def as_row(self) -> dict[str, Any]:
        """The options in the form of the JSON reports."""
        row = {
            "test": self.test,
            "scheme": self.scheme,
            "interactions": self.interactions,
            "d": self.d,
        }
        return {**row, "distances": True} if self.distances else row

    def refinement(self, graphs: Graphs, cut: Partition | None = None) -> refine.Refinement | None:
        """The colours of every round if the test is a refinement, otherwise ``None``."""
        labels = graphs.node_labels is not None or graphs.edge_labels is not None
        if self.test == "1-wl":
            return refine.wl(graphs, labels=labels)
        if self.test == "3-wl":
            return refine.fwl(graphs, labels=labels)
        if self.test == "gpnn":
            colours = (cut or self.cut(graphs)).colours
            return refine.gpnn(
                graphs, colours, self.interactions or "edges", self.d or 1, self.distances,
                labels=labels,
            )  # fmt: skip
        return None

    def cut(self, graphs: Graphs) -> Partition:
        """The partition under this method's scheme."""
        return partition(graphs, self.scheme or "trivial")

    def sameness(self, graphs: Graphs, cut: Partition | None = None) -> Sameness:
        """One digest per graph of the set; equal exactly if the method does not distinguish two."""
        import numpy as np

        if self.test == "isomorphism":
            return notions.isomorphism(graphs)
        if self.test in _OF_A_CUT:
            return _OF_A_CUT[self.test](cut or self.cut(graphs))
        refinement = self.refinement(graphs, cut)
        assert refinement is not None
        return Sameness(refinement.digest, np.ones(len(graphs), np.bool_))


def suite_methods(
    tests: list[str] | None = None,
    schemes: list[str] | None = None,
    interactions: list[str] | None = None,
    d: list[int] | None = None,
    distances: bool = False,
) -> list[Method]:
    """The selected methods; without a selection 1-WL, 3-WL and GPNN under the paper's six schemes
    with all interaction types at d = 1."""
    chosen = tests or ["1-wl", "3-wl", "gpnn"]
    methods = []
    for test in chosen:
        if test in ("1-wl", "3-wl", "isomorphism"):
            methods.append(Method(test))
            continue
        for scheme in schemes or PAPER_SCHEMES:
            if test != "gpnn":
                methods.append(Method(test, scheme))
                continue
            methods += [
                Method(test, scheme, kind, radius, distances)
                for radius in d or [1]
                for kind in interactions or INTERACTION_TYPES
            ]
    return methods


def comparison_methods(schemes: list[str] | None = None, d: int = 1) -> list[Method]:
    """All methods for comparing two graphs: k-WL, every notion of the paper, isomorphism."""
    methods = [Method("1-wl"), Method("3-wl")]
    for scheme in schemes or PAPER_SCHEMES:
        methods += [Method(test, scheme) for test in _OF_A_CUT]
        methods += [Method("gpnn", scheme, kind, d) for kind in INTERACTION_TYPES]
    return [*methods, Method("isomorphism")]
