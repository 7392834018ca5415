"""BREC's protocol on trained networks: the test statistic, and pairs whose answer is known."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from gpnn.graph.graphs import Graphs
from gpnn.lab import realised
from gpnn.lab.named import named_pair
from gpnn.lab.realised import EPSILON, THRESHOLD, hotelling, realise, realise_suite
from gpnn.lab.suites import Suite, load_suite
from gpnn.nn.model import GPNN


def test_the_threshold_is_the_95_percent_value():
    from scipy.stats import f

    p, n = 16, 32
    assert pytest.approx(p * (n - 1) / (n - p) * f.ppf(0.95, p, n - p), abs=0.01) == THRESHOLD


def test_hotelling_equals_numpy():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(32, 4)), rng.normal(0.3, 1, size=(32, 4))
    gap = (left - right).mean(0)
    spread = np.cov((left - right).T) + EPSILON * np.eye(4)
    expected = 32 * gap @ np.linalg.inv(spread) @ gap
    assert hotelling(torch.tensor(left), torch.tensor(right)) == pytest.approx(expected)
    assert hotelling(torch.tensor(left), torch.tensor(left)) == 0


@pytest.mark.parametrize(
    ("pair", "kind", "apart"),
    [("rings", "edges", True), ("rings", "cross", False), ("shrikhande", "edges", False)],
)
def test_the_network_agrees_with_the_refinement(pair, kind, apart):
    _, left, right = named_pair(pair)
    found = realise(left, right, "core-degree", kind, epochs=3)
    assert found.exact is apart
    assert found.reliable
    assert found.distinguishes is apart
    assert found.untrained is apart


def test_a_gin_distinguishes_nothing_of_this():
    for name in ("rings", "shrikhande"):
        _, left, right = named_pair(name)
        found = realise(left, right, gpnn=False, epochs=2)
        assert (
            not found.exact and not found.untrained and not found.distinguishes and found.reliable
        )


def test_a_gin_distinguishes_what_1_wl_does():
    path, star = (Graphs.from_edges(*np.array(e).T, 4) for e in
                  ([(0, 1), (1, 2), (2, 3)], [(0, 1), (0, 2), (0, 3)]))  # fmt: skip
    found = realise(path, star, gpnn=False, epochs=2)
    assert found.exact and found.untrained and found.distinguishes


@pytest.mark.parametrize(
    ("pair", "changes", "kept"),
    [
        (278, {}, True),
        (300, {}, True),
        (300, {"combine": "linear", "block": "plain"}, True),
        (300, {"pair_activation": "relu"}, False),
    ],
)
def test_a_sine_keeps_pairs_that_need_ten_rounds(pair, changes, kept, monkeypatch):
    """CFI pairs: with a ReLU in Equation 2 they are lost, with a linear Equation 3 they are not."""
    monkeypatch.setattr(realised, "GPNN", lambda **options: GPNN(**(options | changes)))
    suite = load_suite("brec")
    found = realise(
        suite.graphs[2 * pair], suite.graphs[2 * pair + 1], "core-degree", "pairs", epochs=1
    )
    assert found.exact and found.layers >= 10
    assert found.untrained is kept
    if kept:
        assert found.distinguishes and found.signal > 1e6 * found.noise


def test_a_suite_is_summed_up(gpnn_suite):
    row = realise_suite(gpnn_suite, "core-degree", "pairs")
    assert (row["distinguished"], row["exact"], row["untrained"], row["unreliable"]) == (2, 2, 2, 0)
    assert row["lost"] == row["beyond"] == []
    assert row["by_category"] == {"a": 1, "b": 1}
    json.dumps(row)


@pytest.fixture
def gpnn_suite():
    pairs = [named_pair(name)[1:] for name in ("rings", "decalin")]
    graphs = Graphs.concatenate([graph for pair in pairs for graph in pair])
    return Suite("brec", graphs, ("a", "b"), True)


def test_peers_are_judged_like_gpnn(monkeypatch):
    _, left, right = named_pair("rings")
    for model, exact in (("ppgn", True), ("cin", None), ("kp-gin:hops=2", None)):
        found = realise(left, right, model=model, epochs=2)
        assert found.exact is exact and found.untrained and found.distinguishes
    _, left, right = named_pair("shrikhande")
    found = realise(left, right, model="ppgn", epochs=2)
    assert found.exact is False and not found.untrained and not found.distinguishes
    suite = Suite("brec", Graphs.concatenate([left, right]), ("Basic",), True)
    monkeypatch.setattr("gpnn.graph.peers.rings.MOST_RINGS", 3)
    row = realise_suite(suite, model="cin")
    assert row["refused"] == [0] and row["distinguished"] == 0 and row["exact"] is None
    assert row["by_category"] == {"Basic": 0} and row["test"] == "cin"
