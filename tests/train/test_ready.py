"""What is ready before the device is touched: the same in any thread, and only read."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch

from gpnn.train.ready import Ready, make_ready
from gpnn.train.replica import Schedule
from gpnn.train.setup import CPU, set_up
from gpnn.train.trainer import Engine
from train.sets import replica, samples

MODEL = {"hidden": 8, "layers": 2, "interactions": "edges"}


def ready(**apart: float) -> Ready:
    """Two replicas of one origin, which may differ in something else, and another one."""
    data = samples("regression")
    replicas = [replica(len(data), 1), replica(len(data), 2), replica(len(data), 1, **apart)]
    return make_ready(set_up(data, MODEL, replicas), replicas, Schedule(epochs=2, batch_size=6))


def state(engine: Engine) -> dict[str, Any]:
    return {name: value.clone() for name, value in engine.state().items()}


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(torch.allclose(one[k], other[k], 0, 0, equal_nan=True) for k in one)


def test_it_neither_reads_nor_moves_the_random_state_of_others() -> None:
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    wanted = ready()
    assert torch.equal(torch.random.get_rng_state(), before)
    found: list[Ready] = []
    thread = threading.Thread(target=lambda: found.extend(ready() for _ in range(5)))
    thread.start()
    while thread.is_alive():
        torch.manual_seed(0)
        torch.rand(10)
    thread.join()
    for one in found:
        assert same(state(Engine(one, CPU)), state(Engine(wanted, CPU)))


@pytest.mark.parametrize("apart", [{"lr": 0.5}, {"dropout": 0.5}, {"weight_decay": 0.5}])
def test_replicas_of_one_origin_share_a_network_but_not_its_training(
    apart: dict[str, float],
) -> None:
    one = ready(**apart)
    first, other, again = one.nets
    assert first is again and first is not other
    engine = Engine(one, CPU)
    start = state(engine)
    for _ in range(3):
        engine.train_step()
    trained = dict(engine.net.named_parameters())
    assert any(not torch.equal(value[0], value[2]) for value in trained.values())
    assert not same(state(engine), start)
    assert same(state(Engine(one, CPU)), start)  # what is ready was only read


@pytest.mark.parametrize("part", ["train", "measure"])
def test_the_device_gets_the_plan(part: str) -> None:
    one = ready()
    engine = Engine(one, CPU)
    sent = engine.plan if part == "train" else engine.measured
    assert torch.equal(sent, getattr(one.plan, part))
    assert engine.batches.room == one.room and engine.checks.room == one.check_room
