"""Many networks of one shape as one network with stacked parameters."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..nn.dropout import Draw, Dropout
from ..nn.model import GPNN

__all__ = ["stack", "unstack"]


def stack(
    nets: Sequence[GPNN], seeds: Tensor, rates: Tensor, step: Tensor, stacked: bool = True
) -> GPNN:
    """One network with the parameters and buffers of all networks, stacked along a new first
    dimension.

    Args:
        seeds, rates: seed and dropout of every replica, [R].
        step: number of steps taken, [1]; the trainer increments it in place.
        stacked: ``False`` leaves a single network without that dimension.
    """
    out = copy.deepcopy(nets[0])
    every = [dict(net.named_modules()) for net in nets]
    site = 0
    for path, module in out.named_modules():
        peers = [modules[path] for modules in every]
        if stacked:
            for name in list(module._parameters):
                if module._parameters[name] is not None:
                    together = torch.stack([getattr(peer, name).detach() for peer in peers])
                    module._parameters[name] = nn.Parameter(together)
            for name in list(module._buffers):
                module._buffers[name] = torch.stack([getattr(peer, name) for peer in peers])
        if isinstance(module, Dropout):
            own = torch.full_like(rates, module.p) if module.fixed else rates
            module.draw = Draw(seeds, step, own, site)
            site += 1
    return out


@torch.no_grad()
def unstack(net: GPNN, like: Sequence[GPNN], stacked: bool = True) -> list[GPNN]:
    """The networks that were stacked, with the current weights of the stack."""
    state = net.state_dict()
    out = []
    for r, one in enumerate(like):
        made = copy.deepcopy(one)
        own = {name: value[r] if stacked else value for name, value in state.items()}
        made.load_state_dict(own)
        out.append(made)
    return out
