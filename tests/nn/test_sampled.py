"""Blocks of a large graph against the whole graph, and their sums against the exact ones."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch

from gpnn.errors import InputError
from gpnn.graph.convert import as_graphs
from gpnn.nn.model import GPNN
from gpnn.nn.prepare import Prepared, prepare
from gpnn.nn.sampled import Sampler, check_fanout, read_fanout
from strategies import hub_graph


@pytest.fixture(autouse=True)
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def graph(seed: int = 0) -> nx.Graph:
    """A hub, a random graph of moderate degree, and isolated vertices."""
    whole = nx.disjoint_union(hub_graph(30), nx.gnm_random_graph(60, 110, seed=seed))
    whole.add_edges_from((v, v + 70) for v in range(0, 40, 3))
    whole.add_nodes_from(range(len(whole), len(whole) + 2))
    return whole


def ready(which: str, layers: int, **options) -> Prepared:
    whole = as_graphs(graph())
    rng = np.random.default_rng(1)
    x = torch.from_numpy(rng.normal(size=(whole.num_nodes, 3)))
    return prepare(whole, interactions=which, layers=layers, scheme="core", x=x, node_level=True,
                   y=torch.arange(whole.num_nodes) % 3, **options)  # fmt: skip


def network(prepared: Prepared, **options) -> GPNN:
    """With statistics of normalisation that are not the first ones, and frozen."""
    torch.manual_seed(0)
    model = GPNN(outputs=3, hidden=6, component_feature=False, **prepared.options, **options)
    model.train()
    with torch.no_grad():
        for _ in range(3):
            model(prepared.batch())
    return model.eval()


@pytest.mark.parametrize("which", ["cross", "edges"])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("options", [{"base": "gin"}, {"base": "sage", "combine": "linear",
                         "block": "residual"}, {"base": None, "pair_update": "sum"}])  # fmt: skip
def test_a_block_of_all_neighbours_gives_what_the_whole_graph_gives(which, layers, options):
    prepared = ready(which, layers)
    model = network(prepared, **options)
    roots = np.random.default_rng(2).permutation(prepared.graphs.num_nodes)[:20]
    batch = Sampler(prepared, [-1] * 2 * layers).batch(roots, seed=5)
    assert torch.equal(batch.y, prepared.y[roots])
    ours, whole = model(batch), model(prepared.batch())[roots]
    assert torch.allclose(ours, whole, atol=1e-10, rtol=1e-10)
    slope = torch.randn(ours.shape)
    weights = list(model.parameters())
    slopes = [torch.autograd.grad((one * slope).sum(), weights, allow_unused=True)
              for one in (ours, whole)]  # fmt: skip
    for mine, theirs in zip(*slopes, strict=True):
        if theirs is None:
            assert mine is None or not mine.any()
        else:
            assert mine is not None and torch.allclose(mine, theirs, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("layers", [1, 2])
def test_statistics_over_all_roots_are_those_of_the_whole_graph(layers):
    """With all vertices as roots and all neighbours, in training mode too."""
    prepared = ready("edges", layers)
    model = network(prepared, base="gin").train()
    roots = np.random.default_rng(2).permutation(prepared.graphs.num_nodes)
    batch = Sampler(prepared, [-1] * 2 * layers).batch(roots, seed=5)
    assert torch.allclose(model(batch), model(prepared.batch())[roots], atol=1e-5, rtol=1e-5)


def test_drawn_neighbours_are_neighbours_and_as_many_as_asked_for():
    prepared = ready("edges", 1)
    sampler, graphs = Sampler(prepared, [4, 2]), prepared.graphs
    roots = np.arange(0, 40)
    batch = sampler.batch(roots, seed=3)
    assert (sampler.place == -1).all()
    base = batch.base_layers[0]
    counts = np.diff(base.neighbours.ptr.numpy())
    assert (counts == np.minimum(graphs.degree[roots], 4)).all()
    again, other = sampler.batch(roots, seed=3), sampler.batch(roots, seed=4)
    assert torch.equal(again.base_layers[0].neighbours.source, base.neighbours.source)
    assert not torch.equal(again.features, other.features)
    scale = base.neighbours.weight.numpy()
    assert np.allclose(np.bincount(np.repeat(roots, counts), scale, 40), graphs.degree[roots])


def test_sums_over_drawn_neighbours_are_unbiased():
    """The mean over 1,000 draws is the sum over all neighbours, within five standard errors."""
    prepared = ready("edges", 1)
    x, root = prepared.x, np.array([0])
    sampler = Sampler(prepared, [5, 1])
    exact = x[
        torch.from_numpy(prepared.graphs.indices[slice(*prepared.graphs.indptr[:2])]).long()
    ].sum(0)
    draws = []
    for seed in range(1_000):
        batch = sampler.batch(root, seed)
        rows = batch.base_layers[0].neighbours
        draws.append(rows.sum(batch.features[: len(rows.back_ptr) - 1])[0])
    drawn = torch.stack(draws)
    error = drawn.std(0) / len(draws) ** 0.5
    assert ((drawn.mean(0) - exact).abs() < 5 * error).all()


def test_gradients_flow_in_training_mode_and_blocks_are_small():
    prepared = ready("edges", 1)
    model = network(prepared, base="gin").train()
    batch = Sampler(prepared, [3, 2]).batch(np.array([0, 7]), seed=0)
    assert len(batch.features) <= 2 * (1 + 3 + 3 * 2 + 2)
    model(batch).square().sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize(
    ("fanout", "options", "said"),
    [
        ([15, 10, 5], {}, "fanout has 3 numbers, and 2 layers look 4 hops far, two each. Give 4"),
        ([5] * 4, {"base": "gat"}, "fanout needs the base gin, sage or none"),
        ([5] * 4, {"component_feature": True}, "fanout cannot be used with component_feature"),
    ],
)
def test_what_does_not_go_with_samples_is_refused(fanout, options, said):
    prepared = ready("edges", 2)
    options = {"base": "gin", "component_feature": False} | options
    model = GPNN(outputs=3, hidden=6, **prepared.options, **options)
    with pytest.raises(InputError) as caught:
        check_fanout(read_fanout(fanout), model.config)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("fanout", [0, [0, 3], [3, -2], "15", [2.5, 1]])
def test_numbers_that_are_no_fanout_are_refused(fanout):
    with pytest.raises(InputError, match="fanout must be"):
        read_fanout(fanout)
