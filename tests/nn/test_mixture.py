from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from gpnn.data.planted import planted
from gpnn.data.raw import Raw, vertex_table
from gpnn.data.samples import Samples, encode_samples
from gpnn.errors import InputError
from gpnn.graph.convert import as_graphs
from gpnn.graph.graphs import Graphs
from gpnn.graph.schemes import get_scheme
from gpnn.graph.vocabulary import Vocabulary
from gpnn.nn.mixture import MixedGPNN, _Member
from gpnn.nn.model import GPNN
from gpnn.train.replica import Replica
from gpnn.train.setup import Setup, prepare_samples, set_up
from strategies import graph_sets, permutation_of
from train.cycles import samples as labelled

pytestmark = pytest.mark.usefixtures("one_thread")

SCHEMES = ("core", "core-degree", "triangle")
MIX = "mix:" + ",".join(SCHEMES)


def made(samples: Samples, scheme: str, **options: Any) -> tuple[GPNN, Setup]:
    every = np.arange(len(samples))
    replica = Replica(every, every[:0], every[:0], seed=3)
    plain = {"hidden": 8, "layers": 2, "component_feature": False, "part_weights": "own"}
    setup = set_up(samples, {**plain, "scheme": scheme, **options}, [replica])
    net = setup.network(replica, torch.float64)
    if isinstance(net, MixedGPNN):
        torch.manual_seed(0)
        torch.nn.init.normal_(net.mixture)
        net.temperature.fill_(0.7)
    return net, setup


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"interactions": "pairs", "distances": True, "d": 2},
        {"labels": True, "combine": "linear", "block": "residual"},
    ],
)
@pytest.mark.parametrize("training", [False, True])
def test_it_is_the_weighted_sum_of_what_every_scheme_makes(
    options: dict[str, Any], training: bool
) -> None:
    """Layer by layer, against networks of one scheme on graphs that were prepared under it."""
    samples = labelled(12)
    net, setup = made(samples, MIX, **options)
    assert isinstance(net, MixedGPNN)
    (batch,) = setup.prepared.batches(size=len(samples))
    net.train(training)
    x = net._encoded(batch)
    with torch.no_grad():
        for norm in [m for m in net.modules() if hasattr(m, "running_var")]:
            norm.running_var.uniform_(0.5, 2)
    found = [gamma[batch._rank] for gamma in net.interact(x, batch)]
    weights = torch.softmax(net.mixture / 0.7, -1)
    alone, batches = [], []
    for member, scheme in zip(net.members, SCHEMES, strict=True):
        assert isinstance(member, _Member)
        one, own = made(samples, scheme, **options)
        state = {k: v for k, v in member.state_dict().items() if k != "assigned"}
        assert not one.load_state_dict(state, strict=False).unexpected_keys
        alone.append(one.train(training))
        batches += own.prepared.batches(size=len(samples))
    gamma = x[batch._rank]
    for w, one, own in zip(weights[0], alone, batches, strict=True):
        gamma = gamma + w * one.colour[own.part][own._rank]
    alphas = [one.pair(own.start) for one, own in zip(alone, batches, strict=True)]
    starts = list(alphas)
    for number in range(2):
        total = torch.zeros_like(gamma)
        for m, (one, own) in enumerate(zip(alone, batches, strict=True)):
            there = torch.empty_like(gamma)
            there[own._rank] = gamma
            layer: Any = one.layers[number]
            new, alphas[m] = layer(there, alphas[m], starts[m], own, number)
            total = total + weights[number + 1, m] * new[own._rank]
        block: Any = net.blocks[number]
        gamma = block.eval()(gamma, total, batch) if not training else _fresh(block, gamma, total)
        assert torch.allclose(found[number], gamma, rtol=1e-9, atol=1e-10)
    slopes = torch.autograd.grad(found[-1].sin().sum(), [net.mixture])
    wanted = torch.autograd.grad(gamma.sin().sum(), [net.mixture])
    assert torch.allclose(slopes[0], wanted[0], rtol=1e-6, atol=1e-9) and wanted[0].abs().sum() > 0


def _fresh(block: Any, gamma: Tensor, total: Tensor) -> Tensor:
    """The block with statistics of the batch; rows have weight 1."""
    normed = (total - total.mean(0)) / (total.var(0, correction=0) + block.norm.eps).sqrt()
    normed = normed * block.norm.weight + block.norm.bias
    normed = normed.relu() if block.relu else normed
    return gamma + normed if block.residual else normed


@settings(max_examples=10)
@given(graph_sets(), st.integers(0, 2**16))
def test_a_mixture_is_invariant(graphs: Graphs, seed: int) -> None:
    graphs = Graphs.concatenate([graphs, planted("triangle", 4).graphs])
    order = permutation_of(graphs, seed)
    both = [_outputs(one) for one in (graphs, graphs.relabelled(order))]
    assert torch.allclose(*both, rtol=1e-9, atol=1e-10)


def _samples(graphs: Graphs) -> Samples:
    kind, nodes = vertex_table(graphs)
    count = len(graphs)
    ids = tuple(map(str, range(count)))
    targets = {"class": np.arange(count) % 2 * 1.0}
    return encode_samples(Raw(graphs, kind, nodes, targets, ids, np.arange(count)))


def _outputs(graphs: Graphs) -> Tensor:
    net, setup = made(_samples(graphs), MIX)
    (batch,) = setup.prepared.batches(size=len(graphs))
    out: Tensor = net.eval()(batch).detach()
    return out


@pytest.mark.parametrize("layers", [1, 2])
def test_cells_and_parts_that_training_does_not_meet_are_dropped(layers: int) -> None:
    """Training graphs have no triangles, so that the members lose parts of their own."""
    plain, others = [nx.cycle_graph(5), nx.star_graph(3)], [nx.lollipop_graph(4, 3)] * 2
    samples = _samples(as_graphs(plain * 2 + others))
    few = np.arange(4)
    replica = Replica(few, np.array([4, 5]), few[:0], seed=3)
    setup = set_up(samples, {"scheme": MIX, "hidden": 8, "layers": layers}, [replica])
    net = setup.network(replica, torch.float64).eval()
    assert isinstance(net, MixedGPNN)
    (batch,) = setup.prepared.batches(size=len(samples))
    before = net(batch)
    parts = [len(one.keys) for one in net.members]
    net.keep_parts(setup.own_parts(replica))
    assert all(len(one.keys) < own for one, own in zip(net.members, parts, strict=True))
    again = MixedGPNN(net.config, None, setup.own_vocabulary(replica)).double()
    again.load_state_dict(net.state_dict())
    assert torch.equal(again.members[0].assigned, net.members[0].assigned)
    (own,) = prepare_samples(samples, net.config, net.vocabulary).batches(size=len(samples))
    assert torch.allclose(again.eval()(own), before)


def test_what_cannot_be_mixed_is_refused() -> None:
    samples = encode_samples(planted("core", 8))
    with pytest.raises(InputError, match="use interactions 'edges' or 'pairs'"):
        made(samples, MIX, interactions="cross")
    for wrong in ("mix:core", "mix:core,core"):
        with pytest.raises(InputError, match="two or more different schemes"):
            get_scheme(wrong)
    with pytest.raises(InputError, match="There is no scheme 'cor'"):
        get_scheme("mix:cor,degree")
    assert get_scheme("mix:core, degree").name == "mix:core,degree"
    net, setup = made(samples, MIX)
    with pytest.raises(InputError, match="is a mixture"):
        GPNN(net.config, None, setup.vocabulary)
    many = Vocabulary(MIX, np.arange(4 * 1100).reshape(1100, 4))
    with pytest.raises(InputError, match="1,100 cells"):
        MixedGPNN(net.config, None, many)
