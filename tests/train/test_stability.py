"""Rounding must not decide what a training ends with: no weight may live on rounding noise.

Every weight that training starts from is changed in its last bits, by a factor 1 + 1e-13 · noise
that leaves zeros zero, as another CPU would change them. What the networks say after four epochs,
in evaluation mode, may differ by rounding alone. A parameter whose gradient is rounding noise (a
bias that a normalisation cancels) would be moved by Adam and decay as far as any other.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch

from gpnn.data.raw import DEGREE, Raw
from gpnn.data.samples import Samples, encode_samples
from gpnn.graph.convert import as_graphs
from gpnn.graph.graphs import Graphs
from gpnn.train.fit import fit
from gpnn.train.replica import Schedule
from gpnn.train.setup import set_up
from gpnn.train.stage import Staged, stage
from gpnn.train.train_config import TrainConfig
from gpnn.train.trainer import Trainer
from train.sets import node_samples, samples, some_replicas
from train.test_replica_equality import CASES, SMALL

pytestmark = pytest.mark.usefixtures("one_thread")

EPOCHS = 4
CPU = torch.device("cpu")
NODE = {
    f"node {base} {kind}": {"base": base, **({"interactions": kind} if kind else {"gpnn": False})}
    for base in ("gcn", "gat", "sage", "gin")
    for kind in (None, "edges")
}


def changed(staged: Staged, size: float) -> Staged:
    """The same training from weights that differ in their last bits."""
    generator = torch.Generator().manual_seed(0)
    nets = []
    for net in staged.nets:
        other = copy.deepcopy(net)
        for parameter in other.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.data *= 1 + size * noise
        nets.append(other)
    return replace(staged, nets=tuple(nets))


@torch.no_grad()
def outcome(staged: Staged) -> torch.Tensor:
    """What every replica says of all graphs it is measured on, after four epochs."""
    trainer = Trainer(staged, CPU)
    for _ in range(EPOCHS * trainer.steps):
        with torch.enable_grad():
            trainer.train_step()
    trainer.net.eval()
    return torch.cat([trainer.outputs(batch) for batch, *_ in trainer.source.measured()], 1)


def make(case: str, decay: float) -> Staged:
    data: Samples
    options: dict[str, Any]
    if case in NODE:
        data, options = node_samples(), NODE[case]
    else:
        task, options = CASES[case]
        data = samples(task, floats=options.get("base") == "gcn")
    replicas = [replace(one, weight_decay=decay) for one in some_replicas(len(data))]
    setup = set_up(data, {**SMALL, **options}, replicas)
    return stage(setup, replicas, Schedule(EPOCHS, 10), torch.float64)


@pytest.mark.parametrize("decay", [0.0, 0.01])
@pytest.mark.parametrize("case", [*CASES, *NODE])
def test_the_last_bits_of_the_first_weights_do_not_matter(case: str, decay: float) -> None:
    staged = make(case, decay)
    plain, other = outcome(staged), outcome(changed(staged, 1e-13))
    assert not torch.equal(plain, other)  # the change is there
    assert float((plain - other).abs().max()) < 1e-6
    assert float((plain - outcome(changed(staged, 1e-2))).abs().max()) > 1e-6  # and it can be seen


@pytest.mark.parametrize("batch_size", [50, 2])
def test_features_that_are_equal_everywhere_do_not_amplify_rounding(batch_size: int) -> None:
    """In single precision; with few steps per epoch and with many (running averages)."""
    made = [nx.random_regular_graph(3, 8 + 2 * (seed % 4), seed=seed) for seed in range(100)]
    graphs = Graphs.concatenate([as_graphs(one) for one in made])
    triangles = np.array([sum(nx.triangles(one).values()) > 0 for one in made], np.float64)
    ids = tuple(map(str, range(len(made))))
    nodes = graphs.degree[:, None].astype(np.int64)
    data = encode_samples(
        Raw(graphs, DEGREE, nodes, {"class": triangles}, ids, np.arange(len(made)))
    )
    options = {"base": "gin", "gpnn": False, "layers": 3, "hidden": 16}
    found = fit(data, options, TrainConfig(epochs=4, batch_size=batch_size))
    assert max(record["valid_loss"] for record in found.history) < 5
