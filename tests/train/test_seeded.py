"""Weights depend on their seed alone, whatever other threads draw meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gpnn.nn.model import GPNN
from gpnn.train.seeded import Seeded, undrawn

CASES: dict[str, dict[str, Any]] = {
    "gin": {"base": "gin", "features": 3},
    "gine": {"base": "gine", "codes": (3, 4), "edge_labels": 3},
    "gine with features": {"base": "gine", "features": 2, "edge_features": 3},
    "gcn": {"base": "gcn", "features": 3},
    "gat": {"base": "gat", "features": 3, "level": "node"},
    "sage": {"base": "sage", "features": 3},
    "no base": {"base": None, "features": 3, "interactions": "edges"},
    "no features": {"base": "gin", "head": "linear"},
    "base alone": {"base": "gin", "features": 3, "gpnn": False},
    "scaled maps": {"base": "gin", "features": 3, "parts": 5, "part_weights": "scaled"},
    "in blocks": {
        "base": "gin",
        "codes": (3,),
        "block": "feed-forward",
        "join": "inside",
        "walks": 4,
        "labels": True,
        "virtual_node": True,
    },
    "shared maps": {"base": "gin", "features": 3, "parts": 40, "part_weights": "basis"},
}


def make(options: dict[str, Any]) -> GPNN:
    return GPNN(**{"outputs": 2, "parts": 4, "hidden": 8, "layers": 2, **options})


@pytest.mark.parametrize("case", CASES)
def test_weights_are_those_of_the_global_seed(case: str) -> None:
    """Drawn beside the global state, which stays as it was."""
    with torch.random.fork_rng([]):
        torch.manual_seed(7)
        wanted = make(CASES[case]).state_dict()
        before = torch.random.get_rng_state()
        with Seeded(7):
            found = make(CASES[case]).state_dict()
        assert torch.equal(torch.random.get_rng_state(), before)
    assert wanted.keys() == found.keys()
    assert all(torch.equal(wanted[name], found[name]) for name in wanted)


@pytest.mark.parametrize("case", CASES)
def test_undrawn_networks_have_the_shapes_alone(case: str) -> None:
    wanted = make(CASES[case]).state_dict()
    before = torch.random.get_rng_state()
    with undrawn():
        found = make(CASES[case]).state_dict()
    assert torch.equal(torch.random.get_rng_state(), before)
    assert {k: v.shape for k, v in found.items()} == {k: v.shape for k, v in wanted.items()}
    assert all(v.is_meta for v in found.values())
