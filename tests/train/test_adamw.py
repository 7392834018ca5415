"""The stacked optimiser against PyTorch's, replica by replica."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from gpnn.nn.model import GPNN
from gpnn.nn.parts import PartLinear
from gpnn.train.adamw import StackedAdamW, decayed, parameter_groups

LR, DECAY = (0.1, 0.01, 0.003), (0.0, 0.1, 0.02)


class Small(nn.Module):
    """A matrix and a bias, maps of parts, a table and a number."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 5)
        self.maps = PartLinear(torch.arange(3), 4, bias=True)
        self.table = nn.Parameter(torch.randn(6, 2))
        self.epsilon = nn.Parameter(torch.randn(()))


def stacked(nets: list[Small]) -> Small:
    out = Small().double()
    for name, parameter in out.named_parameters():
        parameter.data = torch.stack([net.get_parameter(name).detach() for net in nets])
    return out


@pytest.mark.parametrize("decays", [DECAY, (0.0, 0.0, 0.0)])
def test_every_replica_as_if_alone(decays: tuple[float, ...]) -> None:
    torch.manual_seed(0)
    alone = [Small().double() for _ in range(3)]
    net = stacked(alone)
    step = torch.zeros(1, dtype=torch.int64)
    lr, decay = (torch.tensor(part, dtype=torch.float64) for part in (LR, decays))
    ours = StackedAdamW(net, lr, decay, step)
    theirs = [
        torch.optim.AdamW(parameter_groups(one, decays[r]), LR[r]) for r, one in enumerate(alone)
    ]
    names = [name for name, _ in net.named_parameters()]
    for epoch in range(12):
        factor = 0.5 ** (epoch // 4)
        slopes: list[torch.Tensor | None] = [torch.randn_like(p) for p in net.parameters()]
        if epoch % 3 == 2:
            slopes[2] = None  # a parameter that a loss did not reach counts as gradient zero
        ours.update(slopes, torch.tensor([factor], dtype=torch.float64))
        step += 1
        for r, (one, adam) in enumerate(zip(alone, theirs, strict=True)):
            for group in adam.param_groups:
                group["lr"] = LR[r] * factor
            for name, slope in zip(names, slopes, strict=True):
                own = one.get_parameter(name)
                own.grad = torch.zeros_like(own) if slope is None else slope[r].clone()
            adam.step()
            for name, value in net.named_parameters():
                other = one.get_parameter(name)
                assert torch.allclose(value[r], other, atol=1e-12, rtol=1e-12)


def test_decay_shrinks_matrices_alone() -> None:
    assert decayed(Small()) == {"linear.weight", "maps.weight"}
    net = GPNN(outputs=2, parts=3, codes=(4,), edge_labels=2, base="gat", layers=2)
    shrunk = decayed(net)
    assert {
        "head.second.weight",
        "layers.0.beta_map.weight",
        "layers.1.phi.second.weight",
    } <= shrunk
    for name, parameter in net.named_parameters():
        assert (name in shrunk) == name.endswith("weight") * (parameter.dim() > 1), name
    before = {name: value.clone() for name, value in Small().named_parameters()}
    one = Small()
    one.load_state_dict(before)
    group = torch.optim.AdamW(parameter_groups(one, 0.5), 0.1)
    for parameter in one.parameters():
        parameter.grad = torch.zeros_like(parameter)
    group.step()
    moved = {name for name, value in one.named_parameters() if not torch.equal(value, before[name])}
    assert moved == {"linear.weight", "maps.weight"}


def test_parameters_are_views_of_one_vector() -> None:
    net = stacked([Small(), Small()])
    before = [parameter.detach().clone() for parameter in net.parameters()]
    adam = StackedAdamW(net, torch.ones(2), torch.zeros(2), torch.zeros(1, dtype=torch.int64))
    assert all(torch.equal(a, b) for a, b in zip(net.parameters(), before, strict=True))
    adam.value.fill_(7)
    assert all((parameter == 7).all() for parameter in net.parameters())
