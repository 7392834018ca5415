"""Batches read back as tables, against Equation 2 carried out pair by pair; one model and many."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gpnn.graph.graphs import Graphs
from gpnn.graph.partition import Partition, unique_rows
from gpnn.graph.registry import Scheme
from gpnn.graph.structure import Structure
from gpnn.nn.batch import GraphBatch
from gpnn.nn.collate import collate
from gpnn.nn.prepare import Prepared, prepare_graphs
from gpnn.nn.segments import Segments
from graph.class_reference import Palette, Slow, expand, slow_set, weigh
from graph.test_classes import OPTIONS, VARIANTS, sample, symmetric_labels
from strategies import graph_sets, hub_graph, to_graphs

GIVEN = Scheme("given", lambda _: np.zeros(0), "given", "none", "any")


def prepared(
    graphs: Graphs, part: Any, which: str, d: int, rounds: int, labels: Any, distances: bool,
    merge: bool,
) -> Prepared:  # fmt: skip
    """With parts as they are given."""
    colours = np.asarray(part, np.int64)[:, None]
    parts, place = unique_rows(colours)
    cut = Partition(graphs, GIVEN, colours, parts, place.astype(np.int32))
    structure = Structure("given", which, d, rounds, distances)
    return prepare_graphs(graphs, structure, cut=cut, edge_labels=labels, direct=not merge)


@dataclass
class Table:
    """One round of a batch as ``expand`` reads it."""

    size: int
    previous: np.ndarray
    first: np.ndarray
    second: np.ndarray
    entry_ptr: np.ndarray
    entry_tuple: np.ndarray
    entry_count: np.ndarray
    class_weight: np.ndarray
    tuple_weight: np.ndarray
    shared: np.ndarray
    shared_ptr: np.ndarray
    shared_tuple: np.ndarray
    shared_count: np.ndarray


class Replica:
    """What one replica of a batch says, without its padding."""

    def __init__(self, batch: GraphBatch, number: int, replicas: int, merged: Prepared) -> None:
        self.batch, self.number, self.replicas = batch, number, replicas
        vertex = self.own(batch.vertex_weight, batch.num_nodes)
        self.rows = np.flatnonzero(vertex) + number * (len(batch.part))
        assert (merged.part[self.flat(batch.vertex_id)[self.rows]]
                == np.tile(batch.part.numpy(), replicas)[self.rows]).all()  # fmt: skip
        self.start, self.start_place = self._start()
        self.tables, self.pair_rows = [], []
        before = self.start_place
        for one in batch.rounds:
            before = self._round(one, before)

    def own(self, weight: Any, count: int) -> np.ndarray:
        """Which rows of this replica are real."""
        if weight is None:
            return np.ones(count, bool)
        return weight.reshape(self.replicas, -1)[self.number].numpy() > 0

    def flat(self, values: torch.Tensor) -> np.ndarray:
        return values.reshape(-1).numpy()

    def _start(self) -> tuple[np.ndarray, dict[int, int]]:
        """Start rows that some pair or tuple refers to, and their numbers."""
        start = self.batch.start.reshape(self.replicas, -1, 7)[self.number].numpy()
        used = set()
        height = start.shape[0]
        for k, one in enumerate(self.batch.rounds):
            learned = one.part.shape[0] - height
            rows = [one.pairs.source.numpy()]
            inside = [r - self.number * one.part.shape[0] for r in rows[0]]
            used |= {r - learned for r in inside if learned <= r < learned + height}
            size = self.batch.rounds[k - 1].part.shape[0] if k else height
            lead = size - height
            for r in np.concatenate([one.previous.source.numpy(), one.met.source.numpy() // 2]):
                at = r - self.number * size
                if lead <= at < size:
                    used.add(at - lead)
        places = {row: i for i, row in enumerate(sorted(used))}
        return start[sorted(used)], places

    def _round(self, one: Any, before: dict[int, int]) -> dict[int, int]:
        high, tuples = self.own(one.weight, 0), self.own(one.tuple_weight, 0)
        weight, heavy = (part.reshape(self.replicas, -1)[self.number].numpy() for part in
                         (one.weight, one.tuple_weight))  # fmt: skip
        classes = np.flatnonzero(weight > 0)
        met = np.flatnonzero([len(line) for line in entries(one.met, len(heavy), self.number)])
        assert high.sum() == len(classes)
        assert tuples.sum() == len(met) or (one.shared is not None and tuples.sum() < len(met))
        size = len(before.keys()) and max(before) + 1
        shift = self.number * self._height(before, one)
        lines = entries(one.previous, len(weight), self.number)
        previous = np.array([before[line[0] - shift] for line in lines if line], np.int64)
        both = [[entry - 2 * shift for entry in line] for line in
                entries(one.met, len(heavy), self.number)]  # fmt: skip
        first = np.array([before[a // 2] for a, b in (x for x in both if x)], np.int64)
        second = np.array([before[b // 2] for a, b in (x for x in both if x)], np.int64)
        assert all(a % 2 == 0 and b % 2 == 1 for a, b in (x for x in both if x)), size
        place = {int(t): i for i, t in enumerate(met)}
        sums = entries(one.tuples, len(weight), self.number)
        counts = entries(one.tuples, len(weight), self.number, one.tuples.weight)
        ends = np.concatenate(([0], np.cumsum([len(sums[c]) for c in classes]))).astype(int)
        low = self.number * len(heavy)
        entry = np.array([place[t - low] for c in classes for t in sums[c]], int)
        count = np.array([w for c in classes for w in counts[c]])
        self.tables.append(Table(len(classes), previous, first, second, ends, entry, count,
                                 weight[classes], heavy[met],
                                 *self._shared(one, classes, place, low)))  # fmt: skip
        start_height = len(self.batch.start.reshape(self.replicas, -1, 7)[0])
        own = {int(c): i for i, c in enumerate(classes)}
        own |= {len(weight) + row: len(classes) + i for row, i in self.start_place.items()}
        assert len(weight) + start_height == len(one.part)
        pairs = entries(one.pairs, len(self.batch.part), self.number)
        low = self.number * len(one.part)
        self.pair_rows.append([[own[r - low] for r in line] for line in pairs])
        return own

    def _shared(self, one: Any, classes: np.ndarray, place: dict[int, int], low: int) -> Any:
        """What classes share, in the arrays of a table."""
        if one.shared is None:
            return np.full(len(classes), -1), np.zeros(1, int), np.zeros(0, int), np.zeros(0)
        rows = (len(one.shared.ptr) - 1) // self.replicas
        takes = entries(one.takes, len(one.weight.reshape(self.replicas, -1)[0]), self.number)
        own = [takes[c][0] - self.number * rows if takes[c] else -1 for c in classes]
        sums = entries(one.shared, rows, self.number)
        counts = entries(one.shared, rows, self.number, one.shared.weight)
        ends = np.concatenate(([0], np.cumsum([len(line) for line in sums]))).astype(int)
        return (np.array(own), ends, np.array([place[t - low] for line in sums for t in line]),
                np.array([int(w) for line in counts for w in line]))  # fmt: skip

    def _height(self, before: dict[int, int], one: Any) -> int:  # noqa: ARG002
        k = [id(r) for r in self.batch.rounds].index(id(one))
        if k == 0:
            return self.batch.start.reshape(self.replicas, -1, 7).shape[1]
        return len(self.batch.rounds[k - 1].part)


def entries(one: Segments, rows: int, number: int, values: Any = None) -> list[list[Any]]:
    """The entries of every row of a replica."""
    held = one.source if values is None else values
    ptr = one.ptr.tolist()[number * rows : (number + 1) * rows + 1]
    return [held[a:b].tolist() for a, b in itertools.pairwise(ptr)]


def check(ready: Prepared, batch: GraphBatch, replicas: list[list[int]], palette: Palette,
          expected: list[Slow]) -> None:  # fmt: skip
    graphs = ready.graphs
    for number, ids in enumerate(replicas):
        found = Replica(batch, number, len(replicas), ready)
        alpha = expand(palette, found.start, found.tables)
        chosen = [expected[g] for g in ids]
        sizes = [int(graphs.ptr[g + 1] - graphs.ptr[g]) for g in ids]
        shifts = np.cumsum([0, *sizes])
        rank = entries(batch.order, batch.order.ptr.shape[0] // len(replicas), number)
        rank = [line[0] for line in rank if line]
        height = len(batch.part)
        low = number * height
        back = {row: v for v, row in enumerate(rank)}
        near = entries(batch.near, height, number)
        pairs = [
            (v + s - graphs.ptr[g], u + s - graphs.ptr[g])
            for g, s in zip(ids, shifts, strict=False)
            for v, u in expected[g].near
        ]
        ours = [(v, back[r]) for v, row in enumerate(rank) for r in near[row - low]]
        assert sorted(ours) == sorted(pairs)
        for i, table in enumerate(found.tables, start=1):
            rows = found.pair_rows[i - 1]
            got = Counter(
                (v, back[r], alpha[i][a])
                for v, row in enumerate(rank)
                for r, a in zip(near[row - low], rows[row - low], strict=True)
            )
            assert got == Counter(
                (v + s - graphs.ptr[g], u + s - graphs.ptr[g], expected[g].alpha[i][v, u])
                for g, s in zip(ids, shifts, strict=False)
                for v, u in expected[g].near
            )
            learned = Counter(one.alpha[i][p] for one in chosen for p in one.learned[i])
            assert weigh(alpha[i][: table.size], table.class_weight) == learned
            tuples = [
                (alpha[i - 1][a], alpha[i - 1][b])
                for a, b in zip(table.first, table.second, strict=True)
            ]
            read: Counter[tuple[int, int]] = Counter()
            for one in chosen:
                read.update(one.tuples[i])
            assert weigh(tuples, table.tuple_weight) == read  # type: ignore[arg-type]
            if ready.classes.merged:
                assert table.size == len(learned) and len(set(tuples)) == len(tuples)
        readout = entries(batch.readout, batch.readout.ptr.shape[0] // len(replicas), number)
        lines = [[back[r] for r in line] for line in readout[: len(ids)]]
        assert lines == [list(range(a, b)) for a, b in itertools.pairwise(shifts.tolist())]


def transposes(batch: GraphBatch) -> None:
    """What the gradient takes is the transpose, entry by entry."""
    names = ("previous", "met", "tuples", "pairs", "takes", "shared")
    rounds = [one for r in batch.rounds for n in names if (one := getattr(r, n)) is not None]
    edges = [] if batch.edges is None else [batch.edges.gather, batch.edges.collect]
    for one in (batch.neighbours, batch.near, batch.readout, batch.order, *rounds, *edges):
        row = torch.repeat_interleave(one.ptr.diff())
        column = torch.repeat_interleave(one.back_ptr.diff())
        forth = sorted(zip(row.tolist(), one.source.tolist(), strict=True))
        back = sorted(zip(one.back_source.tolist(), column.tolist(), strict=True))
        assert forth == back


@pytest.mark.parametrize(("which", "d", "rounds"), VARIANTS)
def test_batches_hold_equation_2(which: str, d: int, rounds: int) -> None:
    graphs = sample(VARIANTS.index((which, d, rounds)))
    part = np.random.default_rng(rounds).integers(0, 3, graphs.num_nodes)
    rng = np.random.default_rng(d)
    for labelled, distances, merge in OPTIONS:
        labels = symmetric_labels(graphs, d) if labelled else None
        ready = prepared(graphs, part, which, d, rounds, labels, distances, merge)
        palette = Palette()
        expected = slow_set(palette, graphs, part, labels, which, d, rounds, distances)
        for ids in ([], [3], rng.integers(0, len(graphs), 12).tolist(), list(range(len(graphs)))):
            batch = ready.batch(ids)
            check(ready, batch, [ids], palette, expected)
            transposes(batch)


@given(graph_sets(max_nodes=7), st.sampled_from(VARIANTS), st.sampled_from(OPTIONS), st.data())
@settings(max_examples=40)
def test_replicas_hold_what_each_holds_alone(
    graphs: Graphs, variant: tuple[str, int, int], option: tuple[bool, bool, bool], data: Any
) -> None:
    labelled, distances, merge = option
    n, numbers = graphs.num_nodes, st.integers(0, max(0, len(graphs) - 1))
    drawn = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), np.int64)
    part = np.unique(drawn, return_inverse=True)[1]  # so that parts are their own numbers
    labels = symmetric_labels(graphs, 1) if labelled else None
    ready = prepared(graphs, part, *variant, labels, distances, merge)
    palette = Palette()
    expected = slow_set(palette, graphs, part, labels, *variant, distances)
    lists = st.lists(numbers, max_size=4) if len(graphs) else st.just([])
    replicas = data.draw(st.lists(lists, min_size=2, max_size=4))
    batch = collate(ready, [np.array(ids, np.int64) for ids in replicas], True, stacked=True)
    check(ready, batch, replicas, palette, expected)
    transposes(batch)
    assert batch.features.shape[:2] == (len(replicas), len(batch.part))


def test_replicas_hold_the_sums_that_classes_share() -> None:
    graphs = Graphs.concatenate([to_graphs(hub_graph()), sample(1), to_graphs(hub_graph(29))])
    part = (graphs.degree > 20).astype(np.int64)
    palette, last = Palette(), len(graphs) - 1
    ready = prepared(graphs, part, "edges", 1, 3, None, False, True)
    expected = slow_set(palette, graphs, part, None, "edges", 1, 3, False)
    assert ready.classes.shares
    for replicas in ([[0, 3]], [[0, 3, last], [5], [last, last, 1]]):
        ids = [np.array(own) for own in replicas]
        batch = collate(ready, ids, True, stacked=len(ids) > 1)
        assert batch.rounds[-1].shared is not None
        check(ready, batch, replicas, palette, expected)
        transposes(batch)


def test_edges_of_replicas_and_their_labels() -> None:
    graphs = Graphs.concatenate([to_graphs(g) for g in (nx.path_graph(3), nx.cycle_graph(4))])
    labels = symmetric_labels(graphs, 2)
    ready = prepared(graphs, [0, 1, 0, 1, 1, 0, 1], "edges", 1, 1, labels, False, True)
    batch = collate(ready, [np.array([0]), np.array([1, 0])], True, stacked=True)
    assert batch.edges is not None and batch.edges.label.shape == (2, 12)
    assert (batch.edges.label[0] > 0).sum() == 4 and (batch.edges.label[1] > 0).sum() == 12
    for number, ids in enumerate(([0], [1, 0])):
        ends = [label for g in ids for label in labels[slice(
            *graphs.indptr[graphs.ptr[g : g + 2]].tolist())].tolist()]  # fmt: skip
        own = batch.edges.label[number]
        assert sorted((own[own > 0] - 1).tolist()) == sorted(ends)
