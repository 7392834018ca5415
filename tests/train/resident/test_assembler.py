"""Batches put together on the device are those that ``Prepared.batch`` makes, through a network:
outputs, gradients and running statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from torch import Tensor

from gpnn.data.raw import LABELS, Raw
from gpnn.data.samples import Samples, encode_samples
from gpnn.graph.graphs import Graphs
from gpnn.nn.model import GPNN
from gpnn.train.replica import Replica
from gpnn.train.resident.assembler import Assembler
from gpnn.train.resident.capacity import capacity
from gpnn.train.setup import Setup, set_up
from gpnn.train.stack import stack
from strategies import networkx_graphs, to_graphs
from train.sets import node_samples, random_graph, samples

pytestmark = pytest.mark.usefixtures("one_thread")

CPU, DOUBLE = torch.device("cpu"), torch.float64
SMALL = {"hidden": 4, "layers": 2}


def labelled(graphs: Graphs, seed: int = 0, edges: bool = True) -> Samples:
    """Random labels of vertices, edges and graphs."""
    rng = np.random.default_rng(seed)
    nodes = rng.integers(0, 3, graphs.num_nodes)
    rows, columns = graphs.rows, graphs.indices
    marks = (3 * np.minimum(rows, columns) + 5 * np.maximum(rows, columns)) % 3
    both = replace(graphs, node_labels=nodes, edge_labels=marks if edges else None)
    count = len(graphs)
    names = tuple(map(str, range(count)))
    targets = {"class": np.arange(count) % 2 * 1.0}
    raw = Raw(both, LABELS, nodes[:, None], targets, names, np.arange(count))
    return encode_samples(raw)


def networks(setup: Setup, count: int) -> list[GPNN]:
    """Networks in general position: no ReLU sits on its kink, no part is at zero."""
    nets = []
    for seed in range(count):
        net = setup.network(Replica([0], [], [], seed=seed), DOUBLE)
        generator = torch.Generator().manual_seed(seed)
        for parameter in net.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=DOUBLE)
            parameter.data.add_(0.3 * noise)
        nets.append(net)
    return nets


def joined(nets: Sequence[GPNN]) -> GPNN:
    seeds = torch.arange(len(nets))
    return stack(nets, seeds, torch.zeros(len(nets)), torch.zeros(1, dtype=torch.int64))


def compare(setup: Setup, plan: Tensor, close: float = 1e-7) -> None:
    """Every batch of a plan [steps, R, B], stacked and one by one, in training mode."""
    nets = networks(setup, plan.shape[1])
    together = joined(nets)
    resident = setup.resident(CPU)
    assembler = Assembler(resident, capacity(resident, plan), DOUBLE)
    shapes = set()
    for ids in plan:
        batch = assembler.batch(ids)
        shapes.add(tuple(leaf.shape for leaf in torch.utils._pytree.tree_leaves(batch)
                         if isinstance(leaf, Tensor)))  # fmt: skip
        out = together(batch)
        assert torch.isfinite(out).all()
        keep = ids >= 0
        slopes = torch.autograd.grad(
            (out.sin() * keep.unsqueeze(-1)).sum(), list(together.parameters()), allow_unused=True
        )
        found = dict(zip(dict(together.named_parameters()), slopes, strict=True))
        for r, net in enumerate(nets):
            own = ids[r][keep[r]]
            plain = setup.prepared.batch(own.numpy()).to("cpu", DOUBLE)
            expected = net(plain)
            assert torch.allclose(out[r][keep[r]], expected, atol=close, rtol=close)
            net.zero_grad()
            expected.sin().sum().backward()
            for name, parameter in net.named_parameters():
                slope = found[name]
                given = torch.zeros_like(parameter) if slope is None else slope[r]
                wanted = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
                assert torch.allclose(given, wanted, atol=close, rtol=close), name
            for name, buffer in net.named_buffers():
                stacked = dict(together.named_buffers())[name][r]
                assert torch.allclose(stacked, buffer, atol=close, rtol=close), name
    assert len(shapes) == 1


def the_same_rows(ours: Tensor, plain: Tensor) -> None:
    """Rows that stand for something, whatever their order."""
    assert torch.equal(ours[ours > 0].sort().values, plain.to(ours.dtype).sort().values)


@pytest.mark.parametrize("kind", ["cross", "edges", "pairs"])
def test_a_class_that_graphs_share_has_one_row(kind: str) -> None:
    """As many rows as :meth:`Prepared.batch` has, with its weights: no class comes twice."""
    setup = set_up(samples(), {**SMALL, "interactions": kind}, [Replica([0], [], [])])
    resident = setup.resident(CPU)
    ids = torch.tensor([[0, 1, 2, 3], [4, 4, 5, -1]], dtype=torch.int32)
    batch = Assembler(resident, capacity(resident, ids[None]), DOUBLE).batch(ids)
    shared = 0
    for r, row in enumerate(ids):
        own = row[row >= 0].numpy()
        plain, alone = setup.prepared.batch(own), [setup.prepared.batch([one]) for one in own]
        for layer, (ours, expected) in enumerate(zip(batch.rounds, plain.rounds, strict=True)):
            the_same_rows(ours.weight[r], expected.weight)
            the_same_rows(ours.tuple_weight[r], expected.tuple_weight)
            shared += sum(len(one.rounds[layer].weight) for one in alone) - len(expected.weight)
    assert shared > 0  # or the test would show nothing


MODELS: list[dict[str, Any]] = [
    {"base": "gin", "gpnn": False},
    {"base": "gine", "gpnn": False},
    {"base": "gine", "interactions": "cross", "scheme": "degree"},
    {"base": "gin", "interactions": "cross", "scheme": "trivial"},
    {"base": None, "interactions": "edges"},
    {"base": "gat", "interactions": "edges", "d": 2, "pair_update": "sum"},
    {"base": "gcn", "interactions": "pairs", "distances": True, "readout": "mean"},
    {"base": "sage", "interactions": "pairs", "d": 2, "component_feature": False},
]


@st.composite
def sets_and_plans(draw: st.DrawFn) -> tuple[Graphs, Tensor]:
    """A few graphs, graphs without edges and single vertices among them, and batches of them with
    repetitions and empty slots at the end; the last graph makes sure that there is an edge."""
    graphs = draw(st.lists(networkx_graphs(5), min_size=2, max_size=4))
    graphs = [nx.empty_graph(1) if len(one) == 0 else one for one in graphs]
    whole = Graphs.concatenate(list(map(to_graphs, [*graphs, nx.empty_graph(1), nx.path_graph(3)])))
    steps, replicas, width = draw(
        st.tuples(st.integers(2, 3), st.integers(1, 3), st.integers(1, 4))
    )
    number = st.integers(0, len(whole) - 1)
    plan = torch.full((steps, replicas, width), -1, dtype=torch.int32)
    for at in np.ndindex(steps, replicas):
        ids = draw(st.lists(number, min_size=1 if any(at) else width, max_size=width))
        plan[at][: len(ids)] = torch.tensor(ids)
    return whole, plan


@pytest.mark.parametrize("model", MODELS, ids=str)
@settings(max_examples=8, phases=[Phase.generate])  # to shrink a failure takes minutes
@given(drawn=sets_and_plans())
def test_any_batch(model: dict[str, Any], drawn: tuple[Graphs, Tensor]) -> None:
    graphs, plan = drawn
    compare(set_up(labelled(graphs), {**SMALL, **model}, [Replica([0], [], [])]), plan)


@pytest.mark.parametrize("kind", ["cross", "edges", "pairs"])
def test_batches_without_interactions(kind: str) -> None:
    """Parts that no edge leaves, and graphs without any edge: a round may have no class at all."""
    rng = np.random.default_rng(0)
    whole = [random_graph(rng, n, share) for n, share in ((4, 1), (5, 0), (1, 0), (3, 1))]
    plan = torch.tensor([[[1, 2], [2, 2]], [[0, 3], [1, -1]]], dtype=torch.int32)
    for scheme in ("trivial", "core-degree"):
        model = {**SMALL, "base": "gin", "interactions": kind, "scheme": scheme}
        setup = set_up(labelled(Graphs.concatenate(whole)), model, [Replica([0], [], [])])
        compare(setup, plan)
        compare(setup, plan[:1])
    bare = Graphs.concatenate([random_graph(rng, n, 0) for n in (2, 1, 3, 3)])
    compare(set_up(labelled(bare, edges=False), model, [Replica([0], [], [])]), plan)


def test_a_replica_without_graphs_in_a_step_stays_finite_and_learns_nothing() -> None:
    setup = set_up(samples(), {**SMALL, "interactions": "edges"}, [Replica([0], [], [])])
    resident = setup.resident(CPU)
    ids = torch.tensor([[0, 1], [-1, -1]], dtype=torch.int32)
    batch = Assembler(resident, capacity(resident, ids[None]), DOUBLE).batch(ids)
    net = joined(networks(setup, 2))
    loss = (net(batch).sin() * (ids >= 0).unsqueeze(-1)).sum()
    slopes = torch.autograd.grad(loss, list(net.parameters()), allow_unused=True)
    for slope in slopes:
        assert slope is None or (torch.isfinite(slope).all() and not slope[1].any())
    assert all(torch.isfinite(buffer).all() for buffer in net.buffers())


def test_outputs_do_not_depend_on_the_names_of_vertices() -> None:
    data = samples()
    order = data.graphs.permutation(np.random.default_rng(1))
    back = np.argsort(order)
    renamed = data.graphs.relabelled(order)
    moved = replace(
        data, graphs=renamed, x=data.x[back], edge_labels=renamed.edge_labels.astype(np.int64)
    )
    ids = torch.arange(22, dtype=torch.int32).view(1, 2, 11)
    for model in MODELS[2:]:
        outputs = []
        for one in (data, moved):
            setup = set_up(one, {**SMALL, **model}, [Replica([0], [], [])])
            resident = setup.resident(CPU)
            assembler = Assembler(resident, capacity(resident, ids), DOUBLE)
            outputs.append(joined(networks(setup, 2))(assembler.batch(ids[0])))
        assert torch.allclose(*outputs, atol=1e-9)


@pytest.mark.parametrize("base", ["gcn", "gat"])
def test_vertices_come_in_the_order_of_the_input(base: str) -> None:
    setup = set_up(node_samples(), {**SMALL, "base": base}, [Replica([0], [], [])])
    resident = setup.resident(CPU)
    ids = torch.zeros(1, 2, 1, dtype=torch.int32)
    batch = Assembler(resident, capacity(resident, ids), DOUBLE).batch(ids[0])
    nets = networks(setup, 2)
    out, plain = joined(nets)(batch), setup.prepared.batch().to("cpu", DOUBLE)
    for r, net in enumerate(nets):
        assert torch.allclose(out[r], net(plain), atol=1e-9)
