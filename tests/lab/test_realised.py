"""BREC's protocol on trained networks: the test statistic, and pairs whose answer is known."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from gpnn.errors import InputError
from gpnn.graph.graphs import Graphs
from gpnn.lab import realised
from gpnn.lab.named import named_pair
from gpnn.lab.pair_log import PairLog, PairResult, locked_log
from gpnn.lab.realised import EPSILON, THRESHOLD, hotelling, realise, realise_suite
from gpnn.lab.suites import Suite, columns_of, load_suite, quoted_of, to_markdown
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


@pytest.mark.data
@pytest.mark.parametrize(
    ("pair", "changes", "kept"),
    [
        (278, {}, True),
        (300, {}, True),
        (300, {"combine": "linear", "block": "plain"}, True),
        (300, {"pair_activation": "relu"}, False),
    ],
)
def test_a_sine_keeps_pairs_that_need_ten_rounds(pair, changes, kept, monkeypatch, data_dir):
    """CFI pairs: with a ReLU in Equation 2 they are lost, with a linear Equation 3 they are not."""
    monkeypatch.setattr(realised, "GPNN", lambda **options: GPNN(**(options | changes)))
    suite = load_suite("brec", str(data_dir))
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
    gin = {**row, "test": "gin", "refused": []}
    assert columns_of(row, [gin, row])["refused"] == "1"
    assert columns_of(gin, [gin, row])["refused"] == "0"
    assert "refused" not in columns_of(gin, [gin])
    assert row["published"] is None and row["bound"] is None
    assert quoted_of("esan", 400) == {"published": 221, "bound": 270}
    assert quoted_of("kp-gin:hops=8", 400)["published"] == quoted_of("kp-gin", 400)["published"]
    assert quoted_of("esan:policy=edge", 400)["bound"] is None
    assert quoted_of("esan", 100) == {"published": None, "bound": None}
    result = {"suite": "brec", "pairs": 100, "results": [row]}
    part = to_markdown(result | {"categories": ["Regular"]}, "…")
    assert part.startswith("# brec: 100 pairs, Regular\n")
    assert "quoted" not in to_markdown(result, "gpnn expressivity brec")
    assert "| KP-GNN (quoted) | 275 |" in to_markdown(result | {"pairs": 400}, "…")


def test_finished_pairs_are_not_run_again(gpnn_suite, tmp_path, monkeypatch):
    path = tmp_path / "pairs.jsonl"
    first = realise_suite(gpnn_suite, "core-degree", "cross", pairs=[0], log=PairLog(path))
    assert sum(first["by_category"].values()) == first["distinguished"]
    run, wanted = [], realise_suite(gpnn_suite, "core-degree", "cross")

    def counted(*words, **options):
        run.append(options["seed"])
        return realise(*words, **options)

    monkeypatch.setattr(realised, "realise", counted)
    log = PairLog(path)
    told = []
    row = realise_suite(
        gpnn_suite, "core-degree", "cross", log=log, progress=lambda p, _: told.append(p)
    )
    assert row == wanted and run == list(range(1, gpnn_suite.size))
    assert sorted(told) == list(range(gpnn_suite.size))
    assert realise_suite(gpnn_suite, "core-degree", "edges", pairs=[0], log=PairLog(path))
    assert len(run) == gpnn_suite.size  # another method is run
    lines = len(path.read_text().splitlines())
    path.write_text(path.read_text()[:-5])
    with pytest.warns(UserWarning, match=r"last line of .* is incomplete"):
        assert len(PairLog(path).lines) == lines - 1
    path.write_text('{"method": {}, "pair": 0}\n')
    with pytest.raises(InputError, match=r"Line 1 of .* must have a result"):
        PairLog(path)


def test_a_network_that_diverged_is_kept_and_does_not_count(tmp_path):
    path = tmp_path / "pairs.jsonl"
    diverged = PairResult(True, 3, 1.0, 0.0, float("nan"), float("inf"), 3)
    PairLog(path).add({"model": "cin"}, 0, diverged)
    restored = PairLog(path).of({"model": "cin"})[0]
    assert (restored.signal, restored.epochs) == (1.0, 3)
    assert np.isnan([restored.statistic, restored.reliability]).all()
    for one in (diverged, restored):
        assert not one.distinguishes and not one.reliable


def test_two_processes_do_not_share_a_log(tmp_path):
    path = tmp_path / "pairs.jsonl"
    with locked_log(path) as log:
        log.add({"model": "cin"}, 0, "too large")
        with pytest.raises(InputError, match="Another process writes"), locked_log(path):
            pass
    with locked_log(path) as log:
        assert log.of({"model": "cin"}) == {0: "too large"}
    assert [one.name for one in tmp_path.iterdir()] == ["pairs.jsonl"]


def test_pairs_of_another_suite_are_run(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path_of_4 = Graphs.from_edges(np.array([0, 1, 2]), np.array([1, 2, 3]), 4)
    star = Graphs.from_edges(np.array([0, 0, 0]), np.array([1, 2, 3]), 4)
    found = []
    for pair in ((path_of_4, path_of_4), (path_of_4, star)):
        suite = Suite("brec", Graphs.concatenate(pair), ("a",), True)
        row = realise_suite(suite, gpnn=False, log=PairLog(path))
        found.append(row["distinguished"])
    assert found == [0, 1]
    other = replace(suite, name="other")
    realise_suite(other, gpnn=False, pairs=[0], log=PairLog(path))
    assert len(path.read_text().splitlines()) == 3


def test_options_at_their_default_are_the_same_method(gpnn_suite, tmp_path, monkeypatch):
    path = tmp_path / "pairs.jsonl"
    first = realise_suite(gpnn_suite, model="kp-gin", pairs=[0], log=PairLog(path))
    monkeypatch.setattr(realised, "realise", lambda *_, **__: pytest.fail("run again"))
    again = realise_suite(gpnn_suite, model="kp-gin:hops=3", pairs=[0], log=PairLog(path))
    assert again == first | {"test": "kp-gin:hops=3"}


def test_only_limits_are_refusals(gpnn_suite, monkeypatch):
    def broken(*_, **__):
        raise InputError("no size")

    monkeypatch.setattr(realised, "realise", broken)
    with pytest.raises(InputError, match="no size"):
        realise_suite(gpnn_suite, model="cin")


def test_a_rejected_pair_is_kept_too(tmp_path):
    path = tmp_path / "pairs.jsonl"
    PairLog(path).add({"model": "cin"}, 3, "too many rings")
    assert PairLog(path).of({"model": "cin"}) == {3: "too many rings"}
    assert PairLog(path).of({"model": "ppgn"}) == {}
