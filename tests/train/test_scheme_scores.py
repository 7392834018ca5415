"""Schemes measured without training."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch

from gpnn.data.samples import Samples, load_samples
from gpnn.data.split import make_split
from gpnn.graph.convert import as_graphs
from gpnn.graph.partition import partition
from gpnn.train.scheme_scores import CANDIDATES, explained, part_histogram, score_schemes


@pytest.fixture(scope="module")
def mutag() -> Samples:
    return load_samples("MUTAG")


def test_every_column_counts_what_it_says(mutag: Samples) -> None:
    """Against loops over the graphs."""
    found = partition(mutag.graphs, "degree")
    split = make_split(mutag, 0)
    row = next(iter(score_schemes(mutag, ["degree"], layers=2)))
    degrees = [dict(mutag.graphs[g].to_networkx().degree()) for g in range(len(mutag))]
    train = {d for g in split.train for d in degrees[g].values()}
    assert row.parts == len(train)
    valid = [d for g in split.valid for d in degrees[g].values()]
    assert row.unseen == pytest.approx(np.mean([d not in train for d in valid]))
    counts = np.bincount([d for own in degrees for d in own.values()])
    assert row.largest == pytest.approx(counts.max() / counts.sum())
    cross = [
        degrees[g][u] != degrees[g][v]
        for g in range(len(mutag))
        for u, v in mutag.graphs[g].to_networkx().edges
    ]
    assert row.cross == pytest.approx(np.mean(cross))
    histogram = part_histogram(mutag, found)
    for g in range(0, len(mutag), 17):
        by_part = [sum(d == colour for d in degrees[g].values()) for colour in found.parts[:, 0]]
        assert histogram[g, :-1].tolist() == by_part and histogram[g, -1] == 0


def planted(random: bool) -> Samples:
    """Graphs whose label is whether they hold triangles, or is drawn at random."""
    rng = np.random.default_rng(0)
    made = [nx.cycle_graph(12) for _ in range(60)]
    label = np.arange(60) % 2
    for number, graph in enumerate(made):
        if label[number]:
            graph.remove_edges_from([(0, 1), (3, 4)])
            graph.add_edges_from([(0, 10), (3, 5)])  # two triangles, as many edges
    chosen = rng.permutation(label) if random else label
    like = load_samples("MUTAG")
    return Samples(
        as_graphs(made), like.encoder, None, None, torch.from_numpy(chosen.astype(np.int64)),
        tuple(map(str, range(60))), np.arange(60),
    )  # fmt: skip


def test_the_planted_scheme_explains_and_random_labels_are_not_explained() -> None:
    scores = {row.scheme: row for row in score_schemes(planted(False), ["trivial", "triangle"])}
    assert scores["trivial"].explained == pytest.approx(0.5, abs=0.01)
    assert scores["triangle"].explained == pytest.approx(1.0)
    none = next(iter(score_schemes(planted(True), ["triangle"])))
    assert none.explained is not None and abs(none.explained - 0.5) < 0.2


def test_test_graphs_are_not_looked_at(mutag: Samples) -> None:
    split = make_split(mutag, 0)
    seen = np.concatenate([split.train, split.valid])
    features = part_histogram(mutag, partition(mutag.graphs, "core-degree"))
    before = explained(mutag, features, seen)
    features[split.test] = 1e6
    assert explained(mutag, features, seen) == before


def test_a_scheme_that_is_refused_says_why(mutag: Samples, monkeypatch: Any) -> None:
    from gpnn.graph.refine import inputs

    monkeypatch.setattr(inputs, "available_bytes", lambda: 1)
    row = next(iter(score_schemes(mutag, ["core"])))
    assert row.reason and row.explained is None
    assert set(CANDIDATES) >= {"trivial", "core-degree"}
