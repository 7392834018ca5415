"""Stacking networks, and taking one out again."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gpnn.nn.dropout import Dropout
from gpnn.train.replica import Replica, Schedule
from gpnn.train.setup import set_up
from gpnn.train.stack import stack, unstack
from gpnn.train.stage import stage
from gpnn.train.trainer import Trainer
from train.sets import samples, some_replicas


@pytest.mark.parametrize(
    "options", [{"base": "gine"}, {"base": "gat", "scheme": "wl-2"}, {"base": "gin", "gpnn": False}]
)
def test_round_trip(options: dict) -> None:
    data = samples()
    replicas = some_replicas(len(data), (0.5, 0.2, 0.0))
    setup = set_up(data, {"hidden": 4, "layers": 2, **options}, replicas)
    nets = [setup.network(one) for one in replicas]
    for r, net in enumerate(nets):
        net.head.norm.running_mean.fill_(r)
    seeds, rates = torch.tensor([one.seed for one in replicas]), torch.tensor([0.5, 0.2, 0.0])
    step = torch.zeros(1, dtype=torch.int64)
    stacked = stack(nets, seeds, rates, step)
    for name, value in stacked.state_dict().items():
        assert value.shape == (3, *nets[0].state_dict()[name].shape)
    assert len(list(stacked.parameters())) == len(list(nets[0].parameters()))
    for r, net in enumerate(nets):
        alone = setup.network(replicas[0])
        alone.load_state_dict({name: value[r] for name, value in stacked.state_dict().items()})
        for name, value in net.state_dict().items():
            assert torch.equal(alone.state_dict()[name], value), name
    sites = [module.draw.site for module in stacked.modules() if isinstance(module, Dropout)]
    assert sites == list(range(len(sites)))
    assert all(m.draw is None for net in nets for m in net.modules() if isinstance(m, Dropout))
    with torch.no_grad():
        next(stacked.parameters()).fill_(1)
    assert not (next(nets[0].parameters()) == 1).all()  # a copy, not a view


@pytest.mark.parametrize("head", ["mlp", "linear"])
@pytest.mark.parametrize("resident", [False, True])
def test_parts_that_training_never_met_stay_at_zero(head: str, resident: bool) -> None:
    """A count that is constant in training is scaled up by hundreds at test time: its weight must
    be, and stay, zero; and so must all else that belongs to such a part."""
    data = samples()
    highest = np.maximum.reduceat(data.graphs.degree, data.graphs.ptr[:-1])
    few = np.flatnonzero(highest < highest.max())
    replicas = [Replica(few, [], [20, 21], seed=0)]
    setup = set_up(data, {"scheme": "degree", "hidden": 8, "layers": 2, "head": head}, replicas)
    unseen = setup._unseen(replicas[0])
    assert unseen[:-1].any()
    schedule = Schedule(epochs=3, batch_size=4)
    trainer = Trainer(stage(setup, replicas, schedule, resident=resident), torch.device("cpu"))
    for _ in range(schedule.epochs * trainer.steps):
        trainer.train_step()
    (net,) = unstack(trainer.net, trainer.staged.nets, trainer.source.stacked)
    counted = net.head.counts
    assert (counted[unseen] == 0).all() and (counted[~unseen] != 0).any(1).all()
    assert (net.colour[unseen] == 0).all() and (net.pair.table[unseen] == 0).all()
    assert (net.layers[0].beta_map.weight[unseen] == 0).all()
