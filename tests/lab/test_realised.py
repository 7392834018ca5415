"""BREC's protocol on trained networks: the test statistic, and pairs whose answer is known."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from gpnn.graph.graphs import Graphs
from gpnn.lab.named import named_pair
from gpnn.lab.realised import EPSILON, THRESHOLD, hotelling, realise, realise_suite
from gpnn.lab.suites import CONTROL, Suite, load_suite


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
        found = realise(left, right, CONTROL, epochs=2)
        assert not found.untrained and not found.distinguishes and found.reliable


@pytest.mark.parametrize("pair", [278, 300])
def test_pairs_that_need_ten_rounds_are_not_lost(pair):
    """CFI pairs that a network with ReLU in Equation 2 loses in rounding."""
    suite = load_suite("brec")
    found = realise(suite.graphs[2 * pair], suite.graphs[2 * pair + 1], "core-degree", "pairs")
    assert found.exact and found.layers >= 10
    assert found.untrained and found.distinguishes
    assert found.signal > 1e6 * found.noise


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
