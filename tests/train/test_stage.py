"""What is staged before the device is touched: the same in any thread, and only read."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch

from gpnn.train.replica import Schedule
from gpnn.train.setup import CPU, set_up
from gpnn.train.sources import ResidentSource
from gpnn.train.stage import Staged, stage
from gpnn.train.trainer import Trainer
from train.sets import replica, samples

MODEL = {"hidden": 8, "layers": 2, "interactions": "edges"}


def staged(resident: bool = False, **apart: float) -> Staged:
    """Two replicas of one origin, which may differ in something else, and another one."""
    data = samples("regression")
    replicas = [replica(len(data), 1), replica(len(data), 2), replica(len(data), 1, **apart)]
    setup, schedule = set_up(data, MODEL, replicas), Schedule(epochs=2, batch_size=6)
    return stage(setup, replicas, schedule, resident=resident)


def state(trainer: Trainer) -> dict[str, Any]:
    return {name: value.clone() for name, value in trainer.state().items()}


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(torch.allclose(one[k], other[k], 0, 0, equal_nan=True) for k in one)


def test_it_neither_reads_nor_moves_the_random_state_of_others() -> None:
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    wanted = staged(True)
    assert torch.equal(torch.random.get_rng_state(), before)
    found: list[Staged] = []
    thread = threading.Thread(target=lambda: found.extend(staged(True) for _ in range(5)))
    thread.start()
    while thread.is_alive():
        torch.manual_seed(0)
        torch.rand(10)
    thread.join()
    for one in found:
        assert same(state(Trainer(one, CPU)), state(Trainer(wanted, CPU)))


@pytest.mark.parametrize("apart", [{"lr": 0.5}, {"dropout": 0.5}, {"weight_decay": 0.5}])
def test_replicas_of_one_origin_share_a_network_but_not_its_training(
    apart: dict[str, float],
) -> None:
    one = staged(**apart)
    first, other, again = one.nets
    assert first is again and first is not other
    trainer = Trainer(one, CPU)
    start = state(trainer)
    for _ in range(3):
        trainer.train_step()
    trained = dict(trainer.net.named_parameters())
    assert any(not torch.equal(value[0], value[2]) for value in trained.values())
    assert not same(state(trainer), start)
    assert same(state(Trainer(one, CPU)), start)  # what is staged was only read


def test_the_device_gets_the_plan() -> None:
    one = staged(True)
    source = Trainer(one, CPU).source
    assert isinstance(source, ResidentSource) and one.plan is not None and one.rooms is not None
    assert torch.equal(source.plan, one.plan.train)
    assert torch.equal(source.measure_plan, one.plan.measure)
    assert (source.batches.room, source.checks.room) == (one.rooms[0], one.rooms[2])
