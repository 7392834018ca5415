"""Branches change when work is done, not what comes out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gpnn.data.samples import load_samples
from gpnn.nn.branch import Branch
from gpnn.train.loop import train_replicas
from gpnn.train.replica import Curves, Replica, Schedule


def test_outside_a_capture_a_branch_is_nothing_special() -> None:
    x = torch.ones(3)
    with Branch("here", x) as beside:
        y = x + 1
    beside.bring(y)
    assert beside.side is None and y.tolist() == [2, 2, 2]


def train(model: dict[str, Any]) -> Curves:
    samples, rng = load_samples("MUTAG"), np.random.default_rng(0)
    orders = [rng.permutation(188) for _ in range(3)]
    replicas = [Replica(o[:120], o[120:150], o[150:], seed=k) for k, o in enumerate(orders)]
    options = {"hidden": 16, "layers": 3, **model}
    return train_replicas(samples, options, replicas, Schedule(10, 32), device="cuda")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="only a GPU captures its steps")
@pytest.mark.parametrize("kind", ["cross", "edges", "pairs"])
def test_a_captured_step_gives_the_same_with_branches(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the last bit, twice: memory that is used again too early would show."""
    model = {"base": "gin", "interactions": kind}
    found, again = train(model), train(model)

    def in_line(self: Branch, *_: object) -> None:
        self.main = self.side = None

    monkeypatch.setattr(Branch, "__init__", in_line)
    plain = train(model)
    assert np.array_equal(found.loss, again.loss) and np.array_equal(found.loss, plain.loss)
    assert np.array_equal(found.test, plain.test)
