from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gpnn.data.planted import planted
from gpnn.data.samples import Samples, encode_samples
from gpnn.errors import InputError
from gpnn.graph.graphs import Graphs
from gpnn.graph.invariance import check_invariance
from gpnn.graph.learned import PROFILE, WIDTH, LearnedScheme, learned_parts, profile
from gpnn.graph.partition import partition
from gpnn.nn.learned import Assignment, LearnedGPNN
from gpnn.train.replica import Replica
from gpnn.train.setup import prepare_samples, set_up
from strategies import graph_sets
from train.cycles import samples as labelled

pytestmark = pytest.mark.usefixtures("one_thread")


def drawn(seed: int, parts: int = 4) -> LearnedScheme:
    rng = np.random.default_rng(seed)
    count = len(PROFILE)
    shapes = ((count,), (count,), (count, WIDTH), (WIDTH,), (WIDTH, parts), (parts,))
    arrays = [rng.normal(size=shape) for shape in shapes]
    arrays[1] = np.abs(arrays[1]) + 0.1
    return LearnedScheme(*arrays)


@given(graph_sets(), st.integers(0, 2**16))
def test_a_learned_scheme_is_invariant_and_no_finer_than_the_profile(
    graphs: Graphs, seed: int
) -> None:
    scheme = drawn(seed)
    assert check_invariance(scheme.scheme, graphs, trials=2)
    parts, cells = scheme(graphs), partition(graphs, "profile").part
    for cell in np.unique(cells):
        assert len(np.unique(parts[cells == cell])) == 1


def test_profiles_are_the_invariants_in_bins() -> None:
    import networkx as nx

    graph = nx.karate_club_graph()
    edges = np.array(graph.edges)
    rows = profile(Graphs.from_edges(edges[:, 0], edges[:, 1], len(graph)))
    core, tri = nx.core_number(graph), nx.triangles(graph)
    layer = nx.onion_layers(nx.Graph(graph.edges))
    low = [0, 1, 2, 3, 4, 8, 16, 32]
    a = nx.to_numpy_array(graph, weight=None)
    walk = a / a.sum(1, keepdims=True)
    for v, row in enumerate(rows.tolist()):
        for value, bin_ in zip((graph.degree[v], core[v], layer[v], tri[v]), row[:4], strict=True):
            assert low[bin_] <= value < low[bin_ + 1] or value == low[bin_]
        for steps, eighth in zip((4, 6), row[4:], strict=True):
            assert eighth == np.floor(8 * np.linalg.matrix_power(walk, steps)[v, v] + 0.3137)


def learned(samples: Samples, **options: Any) -> tuple[LearnedGPNN, Any]:
    every = np.arange(len(samples))
    replica = Replica(every, every[:0], every[:0], seed=3)
    model = {"scheme": "learned-3", "hidden": 8, "layers": 2, **options}
    setup = set_up(samples, model, [replica])
    net = setup.network(replica, torch.float64)
    assert isinstance(net, LearnedGPNN)
    return net, setup


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"interactions": "pairs", "distances": True, "d": 2},
        {"labels": True, "combine": "linear", "join": "inside"},
    ],
)
@pytest.mark.parametrize("training", [False, True])
def test_it_is_the_plain_network_of_its_own_scheme(options: dict[str, Any], training: bool) -> None:
    """Outputs, and gradients of all that is not the assignment, are those of an ordinary GPNN."""
    samples = labelled(12)
    net, setup = learned(samples, **options)
    plain, scheme = net.plain()
    net.train(training), plain.train(training)
    (batch,) = setup.prepared.batches(size=len(samples))
    known = plain.vocabulary
    (same,) = prepare_samples(samples, plain.config, known).batches(size=len(samples))
    used = partition(samples.graphs, scheme.scheme.name)
    assert used.num_parts > 1
    one = net(batch.to("cpu", torch.float64))
    two = plain(same.to("cpu", torch.float64))
    assert torch.allclose(one, two, rtol=1e-9, atol=1e-9)
    weight = torch.linspace(-1, 1, one.numel(), dtype=torch.float64).view_as(one)
    (one * weight).sum().backward()
    (two * weight).sum().backward()
    slopes = dict(net.named_parameters())
    for name, parameter in plain.named_parameters():
        ours, theirs = slopes[name].grad, parameter.grad
        assert ours is not None and theirs is not None, name
        assert torch.allclose(ours, theirs, rtol=1e-6, atol=1e-8), name
    own = [p.grad for name, p in slopes.items() if name.startswith("assignment.")]
    assert all(grad is not None and grad.abs().sum() > 0 for grad in own[2:])


def test_backward_is_that_of_the_softmax() -> None:
    cells = np.random.default_rng(0).integers(0, 5, (7, len(PROFILE)))
    torch.manual_seed(0)
    assign = Assignment(np.unique(cells, axis=0), 3).double()
    weight = torch.randn(len(assign.cells) + 1, 4, dtype=torch.float64)
    hard = assign()
    assert torch.equal(hard.sum(-1), torch.ones(len(hard), dtype=torch.float64))
    assert set(hard.unique().tolist()) == {0.0, 1.0}
    (slope,) = torch.autograd.grad((hard * weight).sum(), assign.second)
    soft = (assign.scores().softmax(-1) * weight[:-1, :-1]).sum()
    (wanted,) = torch.autograd.grad(soft, assign.second)
    assert torch.allclose(slope, wanted)
    parts = assign.learned().of_profiles(assign.cells.numpy())
    assert np.array_equal(parts, hard[:-1, :-1].argmax(-1).numpy())


def test_parts_are_soft_first_and_then_what_is_measured() -> None:
    cells = np.random.default_rng(0).integers(0, 5, (7, len(PROFILE)))
    torch.manual_seed(0)
    assign = Assignment(np.unique(cells, axis=0), 3).double()
    hard = assign().detach()
    step = torch.zeros(1, dtype=torch.int64)
    assign.progress = step, 100
    assert torch.allclose(assign()[:-1, :-1], assign.scores().softmax(-1))
    step += 30
    cooler = (assign.scores() / 0.05**0.5).softmax(-1)
    assert torch.allclose(assign()[:-1, :-1], cooler) and not torch.allclose(assign(), hard)
    assert torch.equal(assign.eval()(), hard)
    step += 30
    assert torch.equal(assign.train()(), hard)


def test_the_file_format_is_checked() -> None:
    content = drawn(1).to_dict()
    again = LearnedScheme.from_dict(content)
    assert again.scheme is drawn(1).scheme
    for wrong in (
        {**content, "scale": [0.0] * 6},
        {**content, "first": content["first"][1:]},
        {**content, "shift": "x"},
        {**content, "first": [[1.0], *content["first"][1:]]},
        {**content, "second": []},
        {k: v for k, v in content.items() if k != "second"},
    ):
        with pytest.raises(InputError, match="learned"):
            LearnedScheme.from_dict(wrong)


def test_what_cannot_be_learned_is_refused() -> None:
    assert learned_parts("learned-4") == 4
    assert learned_parts("core") == learned_parts(drawn(2).scheme.name) == 0
    with pytest.raises(InputError, match="needs k from 2 to 16"):
        learned_parts("learned-1")
    samples = encode_samples(planted("core", 8))
    with pytest.raises(InputError, match="learns which edges are cross edges"):
        learned(samples, interactions="cross")
