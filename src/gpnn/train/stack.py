"""Many networks of one shape as one network with stacked parameters."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..nn.dropout import Draw, Dropout
from ..nn.model import GPNN

__all__ = ["stack"]


def stack(nets: Sequence[GPNN], seeds: Tensor, rates: Tensor, step: Tensor) -> GPNN:
    """One network whose parameters and buffers are those of all, with a leading dimension.

    Args:
        seeds, rates: the seed and the dropout of every replica, [R].
        step: how many steps were taken, [1]; the engine counts it up in place.
    """
    out = copy.deepcopy(nets[0])
    every = [dict(net.named_modules()) for net in nets]
    site = 0
    for path, module in out.named_modules():
        peers = [modules[path] for modules in every]
        for name in list(module._parameters):
            if module._parameters[name] is not None:
                together = torch.stack([getattr(peer, name).detach() for peer in peers])
                module._parameters[name] = nn.Parameter(together)
        for name in list(module._buffers):
            module._buffers[name] = torch.stack([getattr(peer, name) for peer in peers])
        if isinstance(module, Dropout):
            module.draw = Draw(seeds, step, rates, site)
            site += 1
    return out
