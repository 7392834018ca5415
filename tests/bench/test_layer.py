"""The layer bench: rows as documented, and memory that is really counted. Never timings."""

from __future__ import annotations

import json

import pytest
import torch

from gpnn.bench import layer
from gpnn.bench.live import peak_bytes
from gpnn.data.datasets import load_graphs
from gpnn.errors import InputError
from gpnn.graph.graphs import Graphs


@pytest.fixture
def small(monkeypatch):
    molecules = load_graphs("MUTAG")
    few = Graphs.concatenate([molecules[g] for g in range(20)])
    one = Graphs.concatenate([molecules[0]])
    monkeypatch.setattr(
        layer,
        "cases",
        lambda *_: [
            layer.Case("molecules-8", "eight", few, 8, ("cross", "edges", "pairs"), ("edges",)),
            layer.Case("large", "one graph", one, 1, ("edges",), ()),
        ],
    )


@pytest.mark.usefixtures("small")
def test_rows_and_report():
    result = layer.run_layer_bench(repeats=1)
    assert [row["combine"] for row in result["rows"]] == ["linear", "pairwise"] * 5
    assert all(row["times_linear"] == 1 for row in result["rows"][::2])
    rows = result["rows"][::2]
    kinds = [(row["workload"], row["interactions"], row["path"]) for row in rows]
    assert kinds == [
        ("molecules-8", "cross", "lookup"),
        ("molecules-8", "edges", "lookup"),
        ("molecules-8", "edges", "direct"),
        ("molecules-8", "pairs", "lookup"),
        ("large", "edges", "lookup"),
    ]
    for row in result["rows"]:
        assert row["ratio"] > 0 and row["memory_ratio"] > 0 and row["rounds"] == 3
    lookup, direct = rows[1], rows[2]
    assert lookup["classes"] < direct["classes"]
    assert lookup["memory_ratio"] < direct["memory_ratio"]
    json.dumps(result, allow_nan=False)
    page = layer.to_markdown(result, "gpnn bench layer")
    assert "Made by `gpnn bench layer`" in page and "| molecules-8 | edges | direct |" in page


@pytest.mark.usefixtures("small")
def test_what_does_not_fit_is_said(monkeypatch):
    monkeypatch.setattr(layer, "_free_bytes", lambda _: 10)
    result = layer.run_layer_bench(repeats=1, workloads=["large"])
    assert result["rows"][0]["ratio"] is None and "would need" in result["rows"][0]["note"]
    assert "would need" in layer.to_markdown(result, "x")
    with pytest.raises(InputError, match="There is no workload"):
        layer.run_layer_bench(workloads=["tiny"])


def test_ego_graphs_are_dense():
    graphs = layer._ego_graphs(20)
    assert len(graphs) == 20
    assert 12 <= graphs.num_nodes / 20 <= 28 and graphs.num_edges / 20 > 40


def test_peak_counts_what_is_alive_at_once():
    def one_at_a_time():
        for _ in range(5):
            torch.ones(1000) + 1

    def all_together():
        kept = [torch.ones(1000) + i for i in range(5)]
        return len(kept)

    assert 4000 <= peak_bytes(one_at_a_time) <= 12_000
    assert peak_bytes(all_together) >= 20_000
