"""The race on tiny graphs: shape and correctness, never timings."""

import dataclasses
import json

import numpy as np
import pytest

from gpnn.bench import race, run_race, to_markdown
from gpnn.bench.answers import WrongAnswer, check
from gpnn.bench.catalogue import Spec
from gpnn.bench.memory import peak_mb, save
from gpnn.bench.peers import PEERS, TASKS, installed
from gpnn.bench.workloads import molecules, power_law, shuffled, workload
from gpnn.errors import InputError

KEYS = {"task", "workload", "peer", "seconds", "ratio", "peak_mb", "note"}
SPECS = (
    Spec("small", "a small graph", lambda: power_law(60, 150), growth=True),
    Spec("larger", "a larger graph", lambda: power_law(200, 600), growth=True),
    Spec("many", "a few molecules", lambda: molecules(30)),
)


@pytest.fixture(scope="module")
def result():
    return run_race(workloads=SPECS, quick=True, repeats=1)


def test_rows_have_the_promised_shape(result):
    assert set(result) == {"rows", "growth", "environment"}
    assert all(set(row) == KEYS for row in result["rows"])
    assert {row["task"] for row in result["rows"]} == set(TASKS)
    for spec in SPECS:
        for task in TASKS:
            here = [
                row for row in result["rows"] if (row["workload"], row["task"]) == (spec.name, task)
            ]
            assert [row["peer"] for row in here] == [p.name for p in PEERS if task in p.solve]
            ours = here[0]
            assert ours["peer"] == "gpnn" and ours["ratio"] == 1
            for row in here:
                if row["seconds"] is not None:
                    assert row["ratio"] == pytest.approx(row["seconds"] / ours["seconds"])
    json.dumps(result, allow_nan=False)


def test_growth_and_environment(result):
    assert result["growth"]["edges"] == [150, 600]
    assert np.isfinite(result["growth"]["slope"])
    assert result["environment"]["threads"] == 1
    assert {"numpy", "numba", "networkx"} <= set(result["environment"]["versions"])


def test_one_size_has_no_slope():
    lone = run_race(tasks=["components"], workloads=SPECS[:1], repeats=1)
    assert lone["growth"]["slope"] is None
    assert "Not measured" in to_markdown(lone)


def test_markdown_names_every_library(result):
    page = to_markdown(result)
    for spec in SPECS:
        assert f"## {spec.name}\n" in page
    assert all(peer.name in page for peer in PEERS)
    assert "time grows as edges to the power" in page
    assert "core numbers only" in page and "on the disjoint union" in page


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("mixed", [False, True])
def test_every_peer_gives_our_answer(task, mixed):
    edge_index, ptr = power_law(80, 200, seed=3)
    work = workload("drawn", shuffled(edge_index) if mixed else edge_index, ptr)
    ours, *others = (peer for peer in PEERS if task in peer.solve)
    answer = ours.solve[task](work)
    for peer in filter(installed, others):
        check(task, peer.name, work, answer, peer.solve[task](work))


def test_a_wrong_answer_voids_the_race(monkeypatch):
    liar = dataclasses.replace(
        PEERS[1], solve={"triangles": lambda work: np.full(work.num_nodes, 7)}
    )
    monkeypatch.setattr(race, "PEERS", (PEERS[0], liar))
    monkeypatch.setattr(race, "installed", lambda _: True)
    with pytest.raises(WrongAnswer, match="igraph and gpnn disagree on triangles of small at"):
        run_race(tasks=["triangles"], workloads=SPECS[:1], repeats=1)


def test_absent_and_too_slow_peers_are_listed(monkeypatch):
    slow = dataclasses.replace(PEERS[-1], largest={"components": 100})
    gone = dataclasses.replace(PEERS[1], module="no_such_module_anywhere")
    monkeypatch.setattr(race, "PEERS", (PEERS[0], gone, slow))
    out = run_race(tasks=["components"], workloads=SPECS[:1], repeats=1)
    notes = {row["peer"]: (row["seconds"], row["note"]) for row in out["rows"]}
    assert notes["igraph"] == (None, "not installed: pip install igraph")
    assert notes["networkx"] == (None, "not run above 100 edges")
    assert out["environment"]["absent"] == ["igraph"]
    assert "Not installed, so not raced: igraph." in to_markdown(out)


def test_per_graph_sample_is_scaled_and_said(monkeypatch):
    monkeypatch.setattr(race, "_SAMPLE", 10)
    monkeypatch.setattr(race, "PEERS", (PEERS[0], PEERS[-1]))
    out = run_race(tasks=["core+onion"], workloads=SPECS[2:], repeats=1)
    assert out["rows"][1]["note"] == "graph by graph; 10 graphs timed and scaled up"


def test_memory_is_measured_in_another_process(tmp_path):
    """A copy of the edges, at least, and not hundreds of megabytes."""
    edges = 600_000
    file = save(workload("drawn", *power_law(200_000, edges)), tmp_path)
    peak = peak_mb("core+onion", "gpnn", file)
    assert peak is not None and edges * 2 * 4 / 2**20 < peak < 500


def test_bad_requests():
    with pytest.raises(InputError, match=r"no task 'pagerank'\. Choose from: core"):
        run_race(tasks=["pagerank"])
    with pytest.raises(InputError, match="at least one run per contestant, not 0"):
        run_race(repeats=0)
