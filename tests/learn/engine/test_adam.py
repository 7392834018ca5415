"""The stacked optimiser against PyTorch's, replica by replica."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from gpnn.learn.engine.adam import StackedAdam

LR, DECAY = (0.1, 0.01, 0.003), (0.0, 0.1, 0.02)


class Stacked(nn.Module):
    def __init__(self, *values: torch.Tensor) -> None:
        super().__init__()
        self.values = nn.ParameterList(nn.Parameter(value.clone()) for value in values)


@pytest.mark.parametrize("decays", [DECAY, (0.0, 0.0, 0.0)])
def test_every_replica_as_if_alone(decays: tuple[float, ...]) -> None:
    torch.manual_seed(0)
    shapes = ((3, 4, 5), (3,), (3, 2))
    values = [torch.randn(shape, dtype=torch.float64) for shape in shapes]
    net = Stacked(*values)
    step = torch.zeros(1, dtype=torch.int64)
    lr, decay = (torch.tensor(part, dtype=torch.float64) for part in (LR, decays))
    ours = StackedAdam(net, lr, decay, step)
    alone = [[nn.Parameter(value[r].clone()) for value in values] for r in range(3)]
    theirs = [torch.optim.Adam(own, LR[r], weight_decay=decays[r]) for r, own in enumerate(alone)]
    for epoch in range(12):
        factor = 0.5 ** (epoch // 4)
        slopes: list[torch.Tensor | None] = [torch.randn_like(value) for value in values]
        if epoch % 3 == 2:
            slopes[2] = None  # a parameter that a loss did not reach counts as gradient zero
        ours.update(slopes, torch.tensor([factor], dtype=torch.float64))
        step += 1
        for r, adam in enumerate(theirs):
            adam.param_groups[0]["lr"] = LR[r] * factor
            for parameter, slope in zip(alone[r], slopes, strict=True):
                parameter.grad = torch.zeros_like(parameter) if slope is None else slope[r].clone()
            adam.step()
            for stacked, parameter in zip(net.parameters(), alone[r], strict=True):
                assert torch.allclose(stacked[r], parameter, atol=1e-12, rtol=1e-12)


def test_parameters_are_views_of_one_vector() -> None:
    net = Stacked(torch.randn(2, 3), torch.randn(2))
    before = [parameter.detach().clone() for parameter in net.parameters()]
    adam = StackedAdam(net, torch.ones(2), torch.zeros(2), torch.zeros(1, dtype=torch.int64))
    assert all(torch.equal(a, b) for a, b in zip(net.parameters(), before, strict=True))
    adam.value.fill_(7)
    assert all((parameter == 7).all() for parameter in net.parameters())
