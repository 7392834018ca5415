"""Flat tensors sent to a device."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from gpnn.train.replica import Replica
from gpnn.train.setup import CPU, set_up
from train.sets import samples


def tensors(value: Any) -> list[torch.Tensor]:
    found = []
    for leaf in tree_leaves(vars(value)):
        if isinstance(leaf, torch.Tensor):
            found.append(leaf)
        elif hasattr(leaf, "__dict__"):
            found += tensors(leaf)
    return found


def test_everything_is_sent_and_what_is_shared_once() -> None:
    """The meta device stands for a GPU."""
    model = {"hidden": 4, "layers": 2, "interactions": "edges"}
    setup = set_up(samples(), model, [Replica([0], [], [])])
    there, meta = setup.resident(CPU), torch.device("meta")
    sent = setup.resident(meta)
    assert setup.resident(meta) is sent
    before, after = tensors(there), tensors(sent)
    assert [(t.shape, t.dtype) for t in before] == [(t.shape, t.dtype) for t in after]
    assert {t.device for t in before} == {CPU} and {t.device for t in after} == {meta}
    assert len(set(map(id, after))) == len(set(map(id, before))) < len(after)
    assert (sent.graphs, sent.rounds, sent.parts) == (there.graphs, there.rounds, there.parts)
