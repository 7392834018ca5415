"""The widened base has the parameters of its rival; a sample of a dataset is what it says."""

from __future__ import annotations

import numpy as np
import pytest

from gpnn.data.samples import Samples, load_samples
from gpnn.reproduce.data import load_data
from gpnn.reproduce.jobs import Job, Row
from gpnn.reproduce.recipe import Recipe, load_recipe
from gpnn.reproduce.width import count_parameters, widen
from gpnn.train.loop import train_replicas
from gpnn.train.replica import Replica, Schedule

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def mutag() -> Samples:
    return load_data(load_recipe("MUTAG"))


@pytest.mark.parametrize("base", ["GIN", "GCN", "GAT", "GraphSAGE"])
def test_the_widened_base_is_as_large_as_gpnn(base: str, mutag: Samples) -> None:
    recipe = Recipe("MUTAG", "MUTAG", layers=3, hidden=12)
    gpnn = Job(recipe, Row(base, "core-degree", "edges"), "tu")
    wide = Job(recipe, gpnn.row.widened, "tu")
    assert wide.rival is not None
    wanted = count_parameters(mutag, gpnn.options)
    assert wanted == count_parameters(mutag, wide.rival)
    options = widen(mutag, wide.options, wanted)
    found = {
        step: count_parameters(mutag, {**options, "hidden": options["hidden"] + step})
        for step in (-1, 0, 1)
    }
    assert abs(found[0] - wanted) <= min(abs(found[-1] - wanted), abs(found[1] - wanted))
    assert found[0] == pytest.approx(wanted, rel=0.1)
    assert not options["gpnn"] and options["base"] == gpnn.options["base"]


def test_the_count_is_that_of_the_trainer(mutag: Samples) -> None:
    job = Job(Recipe("MUTAG", "MUTAG", layers=1, hidden=6), Row("GIN", "degree", "cross"), "tu")
    one = Replica(np.arange(40), np.array([], int), np.arange(40, 50))
    curves = train_replicas(mutag, job.options, [one], Schedule(1, 20), device="cpu")
    assert curves.parameters == count_parameters(mutag, job.options)


def test_edge_labels_are_read_where_the_recipe_says_so() -> None:
    plain, labelled = (
        load_data(Recipe("MUTAG", "MUTAG", edge_labels=wanted)) for wanted in (False, True)
    )
    assert plain.edge_labels is None and plain.encoder.edges == ()
    assert labelled.edge_labels is not None and len(labelled.encoder.edges) == 4


def test_graphs_are_taken_whole() -> None:
    whole = load_samples("MUTAG")
    keep = np.zeros(188, bool)
    keep[[3, 5, 100]] = True
    found = whole.take(keep)
    assert len(found) == 3 and found.encoder == whole.encoder
    assert found.x is not None and whole.x is not None and whole.y is not None
    for place, number in enumerate((3, 5, 100)):
        ours, theirs = found.graphs[place], whole.graphs[number]
        assert (ours.indices == theirs.indices).all() and (ours.indptr == theirs.indptr).all()
        rows = slice(found.graphs.ptr[place], found.graphs.ptr[place + 1])
        other = slice(whole.graphs.ptr[number], whole.graphs.ptr[number + 1])
        assert (found.x[rows] == whole.x[other]).all()
        first, last = (found.graphs.indptr[edge] for edge in (rows.start, rows.stop))
        begin, end = (whole.graphs.indptr[edge] for edge in (other.start, other.stop))
        assert found.edge_labels is not None and whole.edge_labels is not None
        assert (found.edge_labels[first:last] == whole.edge_labels[begin:end]).all()
    assert (found.y == whole.y[[3, 5, 100]]).all()  # type: ignore[union-attr]
    assert found.ids == tuple(whole.ids[k] for k in (3, 5, 100))


def test_a_quick_sample_is_small_and_fixed() -> None:
    first, second = (load_data(load_recipe("MUTAG"), quick=True) for _ in range(2))
    assert len(first) == 120 and first.digest() == second.digest()


@pytest.mark.data
def test_a_quick_sample_keeps_the_official_parts(data_dir: object) -> None:
    found = load_data(load_recipe("ogbg-moltoxcast"), str(data_dir), quick=True)
    assert found.split is not None and found.y is not None
    assert {part: len(ids) for part, ids in found.split.items()} == {
        "train": 160,
        "valid": 240,
        "test": 240,
    }
    assert found.y.shape == (640, 617)
