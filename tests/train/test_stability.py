"""Rounding must not decide what a training ends with: no weight may live on rounding noise.

Every weight that training starts from is changed in its last bits, by a factor 1 + 1e-13 · noise
that leaves zeros zero, as another CPU would change them. What the networks say after four epochs,
in evaluation mode, may differ by rounding alone. A parameter whose gradient is rounding noise (a
bias that a normalisation cancels) would be moved by Adam and decay as far as any other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from gpnn.data.samples import Samples
from gpnn.nn.model import GPNN
from gpnn.train.ready import Ready, make_ready
from gpnn.train.replica import Schedule
from gpnn.train.setup import set_up
from gpnn.train.trainer import Engine
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


def changed(ready: Ready, size: float) -> Ready:
    """The same training from weights that differ in their last bits."""
    generator = torch.Generator().manual_seed(0)
    nets = []
    for net in ready.nets:
        other = GPNN(net.config).double()
        other.load_state_dict(net.state_dict())
        for parameter in other.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.data *= 1 + size * noise
        nets.append(other)
    return replace(ready, nets=tuple(nets))


@torch.no_grad()
def outcome(ready: Ready) -> torch.Tensor:
    """What every replica says of all graphs it is measured on, after four epochs."""
    engine = Engine(ready, CPU)
    engine.prime()
    for _ in range(EPOCHS * engine.steps):
        with torch.enable_grad():
            engine.train_step()
    engine.net.eval()
    if engine.whole is not None:
        return engine.net(engine.whole)
    return torch.cat([engine.net(engine.checks.batch(ids)) for ids in engine.measured], 1)


def make(case: str, decay: float) -> Ready:
    data: Samples
    options: dict[str, Any]
    if case in NODE:
        data, options = node_samples(), NODE[case]
    else:
        task, options = CASES[case]
        data = samples(task, floats=options.get("base") == "gcn")
    replicas = [replace(one, weight_decay=decay) for one in some_replicas(len(data))]
    setup = set_up(data, {**SMALL, **options}, replicas)
    return make_ready(setup, replicas, Schedule(EPOCHS, 8), torch.float64)


@pytest.mark.parametrize("decay", [0.0, 0.01])
@pytest.mark.parametrize("case", [*CASES, *NODE])
def test_the_last_bits_of_the_first_weights_do_not_matter(case: str, decay: float) -> None:
    ready = make(case, decay)
    plain, other = outcome(ready), outcome(changed(ready, 1e-13))
    assert not torch.equal(plain, other)  # the change is there
    assert float((plain - other).abs().max()) < 1e-6
    assert float((plain - outcome(changed(ready, 1e-2))).abs().max()) > 1e-6  # and it can be seen
