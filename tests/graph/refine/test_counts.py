"""Known figures on the benchmark families."""

from __future__ import annotations

import zipfile
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from gpnn.graph.graphs import Graphs
from gpnn.graph.refine import Refinement, fwl, gpnn, wl
from gpnn.graph.schemes import PAPER_SCHEMES, get_scheme
from graph.refine.samples import to_set

pytestmark = pytest.mark.data


def read(data_dir: Path, suite: str, member: str) -> Graphs:
    with zipfile.ZipFile(data_dir / "expressivity" / f"{suite}.zip") as archive:
        lines = archive.read(member).split()
    return to_set([nx.from_graph6_bytes(line) for line in lines])


@pytest.fixture(scope="module")
def brec(data_dir: Path) -> Graphs:
    return read(data_dir, "BREC", "BREC/brec_pairs.g6")


def distinguishes(found: Refinement) -> int:
    return int((found.digest[0::2] != found.digest[1::2]).any(axis=1).sum())


def test_wl_and_fwl_on_brec(brec: Graphs) -> None:
    assert len(brec) == 800
    assert distinguishes(wl(brec)) == 0
    assert distinguishes(fwl(brec)) == 270


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        ("trivial", (0, 168, 267)),
        ("core", (8, 168, 267)),
        ("core-degree", (66, 168, 267)),
        ("core-onion", (81, 168, 267)),
        ("degree", (95, 168, 267)),
        ("triangle", (152, 168, 267)),
    ],
)
def test_gpnn_on_brec(brec: Graphs, scheme: str, expected: tuple[int, int, int]) -> None:
    """Measured with this code, whose classes are those of the slow reference on small graphs."""
    assert scheme in PAPER_SCHEMES
    rows = get_scheme(scheme)(brec)
    found = tuple(distinguishes(gpnn(brec, rows, i)) for i in ("cross", "edges", "pairs"))
    assert found == expected


def test_every_difference_on_brec_reaches_the_vertices(brec: Graphs) -> None:
    found = gpnn(brec, None, "pairs")
    for p in range(400):
        differ = found.first_difference(2 * p, 2 * p + 1) is not None
        assert differ == found.distinguishes(2 * p, 2 * p + 1)


def test_trivial_cross_equals_wl_on_graph8c(data_dir: Path) -> None:
    graphs = read(data_dir, "graph8c", "graph8c/raw/graph8c.g6")
    assert len(graphs) == 11117
    classes = wl(graphs).classes
    assert np.array_equal(classes, gpnn(graphs, None, "cross").classes)
    assert classes.max() + 1 == 10897
