"""Large batches: Equation 2 in chunks of tuples, layers computed again for their gradient."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest
import torch

from gpnn.errors import InputError
from gpnn.graph.convert import as_graphs
from gpnn.nn import memory
from gpnn.nn.model import GPNN
from gpnn.nn.prepare import prepare
from strategies import hub_graph


@pytest.fixture(autouse=True)
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def ready(**options):
    graphs = as_graphs([hub_graph(), nx.gnm_random_graph(30, 60, seed=1), nx.lollipop_graph(5, 3)])
    x = torch.randn(graphs.num_nodes, 3, generator=torch.Generator().manual_seed(0))
    return prepare(graphs, x=x, node_level=True, **options)


def step(prepared, training=True, **options):
    """Outputs, gradients and running statistics of a network, always the same one."""
    torch.manual_seed(1)
    options = {"base": "gin", "hidden": 6, **options}
    model = GPNN(outputs=2, **options, **prepared.options).train(training)
    out = model(prepared.batch())
    slopes = torch.autograd.grad(out.sin().sum(), list(model.parameters()), allow_unused=True)
    assert sum(slope is not None and bool(slope.abs().max() > 1e-6) for slope in slopes) > 20
    return [out.detach(), *slopes, *(b for b in model.buffers() if b.is_floating_point())]


def assert_equal(ours, theirs, **tolerance):
    for one, other in zip(ours, theirs, strict=True):
        assert (one is None) == (other is None)
        assert one is None or torch.allclose(one, other, **tolerance)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(
    "options",
    [{}, {"combine": "linear"}, {"pair_update": "sum"}, {"pair_activation": "sine"}],
)
def test_chunks_equal_all_tuples_at_once(monkeypatch, options, training):
    prepared = ready(scheme="core-degree", interactions="edges", layers=3)
    assert prepared.classes.shares
    whole = step(prepared, training, **options)
    tuples = max(len(table.first) for table in prepared.classes.tables)
    assert tuples > 70 and tuples % 7  # the last chunk is cut short
    for size in (7, tuples):
        monkeypatch.setattr("gpnn.nn.layer.tuple_chunk", lambda *_, n=size: n)
        assert_equal(step(prepared, training, **options), whole, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("combine", ["pairwise", "linear"])
def test_pairs_and_wider_balls_go_in_chunks_too(monkeypatch, combine):
    prepared = ready(scheme="core", interactions="pairs", d=2, layers=2)
    whole = step(prepared, combine=combine)
    monkeypatch.setattr("gpnn.nn.layer.tuple_chunk", lambda *_: 50)
    assert_equal(step(prepared, combine=combine), whole, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    "options",
    [
        {"dropout": 0.3},
        {"combine": "linear", "base": "gat", "block": "residual"},
        {"base": None, "block": "feed-forward"},
        {"join": "inside"},
    ],
)
@pytest.mark.parametrize("chunk", [None, 9])
def test_layers_that_are_computed_again_give_the_same_numbers(monkeypatch, options, chunk):
    """The running statistics too, which must move once."""
    prepared = ready(scheme="core-degree", interactions="edges", layers=2)
    monkeypatch.setattr("gpnn.nn.layer.tuple_chunk", lambda *_: chunk)
    kept = step(prepared, **options)
    monkeypatch.setattr("gpnn.nn.model.recomputes", lambda *_: True)
    assert_equal(step(prepared, **options), kept, rtol=0, atol=0)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux")
def test_the_peak_is_lower_in_chunks():
    """A million tuples of 16 numbers: a row of each is 128 MB."""
    script = Path(__file__).with_name("chunk_peak.py")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["equal"]
    assert found["whole"] > 3 * 128e6 and found["chunked"] < 64e6


def test_what_is_held_follows_from_stated_limits(monkeypatch):
    row = torch.zeros(1, 64, dtype=torch.float32)
    assert memory.tuple_chunk(1_000_000, row) is None
    assert memory.tuple_chunk(10_000_000, row) == 2**28 // (6 * 64 * 4)
    batch = ready(layers=2).batch()
    assert not memory.recomputes(batch, 64, row)
    monkeypatch.setattr(memory, "MOST", 2**16)
    assert not memory.recomputes(batch, 64, row)
    monkeypatch.setattr(memory, "free_bytes", lambda _: 2**20)
    assert memory.recomputes(batch, 64, row)
    with torch.no_grad():
        assert not memory.recomputes(batch, 64, row)


def test_freed_memory_is_kept_where_there_is_room(monkeypatch):
    row, batch = torch.zeros(1, 64, dtype=torch.float32), ready(layers=2).batch()
    kept = memory._kept_bytes(batch, 64, row)
    assert kept > 64 * 4 * 2 * 20 * batch.num_nodes
    monkeypatch.setattr(memory, "free_bytes", lambda _: 3 * kept)
    assert memory.fits_often(batch, 64, row) and not memory.fits_often(batch, 64, row, 2)
    monkeypatch.setattr(memory, "free_bytes", lambda _: 2 * kept)  # and the batch itself
    assert not memory.fits_often(batch, 64, row)


def test_replicas_that_do_not_fit_are_refused(monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda _: 2**30)
    row = torch.zeros(1, 64, dtype=torch.float32)
    with pytest.raises(InputError, match=r"7,600,000 tuples, which need about 10\.9 GiB; 1\.0 "):
        memory.tuple_chunk(7_600_000, row.unsqueeze(0))
