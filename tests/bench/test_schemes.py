"""Which trainings of ``gpnn bench schemes`` run together; ``tests/cli`` tests the command."""

from __future__ import annotations

from typing import Any

import pytest

from gpnn.bench.schemes import _Comparison

MISSING = [(run, name) for run in range(2) for name in ("base", "core", "cin", "auto")]
APART = [((run,), name) for run, name in MISSING]
TOGETHER = [((0,), "cin"), ((0, 1), "base"), ((0, 1), "core"), ((1,), "cin")]
CORE = {"options": {"scheme": "core"}}


@pytest.mark.parametrize(
    ("splits", "device", "items"),
    [
        ("random", "cpu", APART),
        ("official", "cpu", APART),
        ("graphs", "cuda", APART),
        ("random", "cuda", [*TOGETHER, ((0,), "auto"), ((1,), "auto")]),
        ("official", "cuda", [*TOGETHER, ((0, 1), "auto")]),
    ],
)
def test_runs_on_the_same_samples_are_trained_side_by_side_on_a_gpu(
    splits: str, device: str, items: list[Any]
) -> None:
    """Not those of a peer, which may need much memory, nor runs in which auto chose differently."""
    about = {"splits": splits, "train": {"device": device}, "model": {}}
    other = CORE if splits == "official" else {"options": {"scheme": "degree"}}
    compared = _Comparison(about, 1.0, None, None)
    made = [item[:2] for item in compared._items(MISSING, {0: CORE, 1: other})]
    assert sorted(made) == sorted(items)
