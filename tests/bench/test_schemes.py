"""Which trainings of ``gpnn bench schemes`` run together; ``tests/cli`` tests the command."""

from __future__ import annotations

from typing import Any

import pytest

from gpnn.bench.schemes import _Comparison, run_schemes_bench
from gpnn.bench.schemes_report import summarise
from gpnn.errors import InputError
from gpnn.train.halving import PIECE

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


def test_many_runs_are_trained_in_pieces_and_a_peer_as_base_alone() -> None:
    about = {"splits": "random", "train": {"device": "cuda"}, "model": {}}
    missing = [(run, name) for run in range(PIECE + 3) for name in ("core", "base:base=ppgn")]
    items = [item[:2] for item in _Comparison(about, 1.0, None, None)._items(missing, {})]
    assert sorted(len(runs) for runs, name in items if name == "core") == [3, PIECE]
    assert [runs for runs, name in items if name != "core"] == [(k,) for k in range(PIECE + 3)]
    assert sorted((k, name) for runs, name in items for k in runs) == sorted(missing)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("mix:core,degree:interactions=cross", "has several kinds of cross edges. Give edges"),
        ("learned-2:interactions=star", "learns which edges are cross edges"),
        ("core:labels=true", "labels=True needs labels"),
        ("core:interactions=sideways", "Unknown interactions 'sideways'"),
    ],
)
def test_methods_are_checked_before_anything_is_trained(method: str, message: str) -> None:
    """The alias of ``cross`` included."""
    trained: list[str] = []
    with pytest.raises(InputError, match=message):
        run_schemes_bench(
            ["planted:core,graphs=20"],
            methods=["base", method],
            runs=2,
            model={"interactions": "star", "hidden": 4, "layers": 1},
            train={"epochs": 1, "device": "cpu"},
            progress=trained.append,
        )
    assert not trained


def test_a_choice_for_all_runs_is_shared_by_their_seconds() -> None:
    """On an official split, ``auto`` chooses once."""
    same: dict[str, Any] = {"metric": "mae", "value": 1.0, "parameters": 7}
    records = [
        {**same, "run": run, "method": name, "seconds": 10.0 if name == "auto" else 5.0}
        for run in range(4)
        for name in ("base", "auto")
    ]
    choices = [{"run": 0, "chosen": "core cross", "complete": True, "seconds": 100.0}]
    rows = summarise(("base", "auto"), records, choices, 0.0)
    assert [row["seconds"] for row in rows] == [5.0, 35.0]
    rows = summarise(("base", "auto"), records, [{**choices[0], "run": k} for k in range(4)], 0.0)
    assert [row["seconds"] for row in rows] == [5.0, 110.0]
