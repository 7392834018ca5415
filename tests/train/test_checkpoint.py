"""A set of replicas that is ended goes on to the same bits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gpnn.errors import InputError
from gpnn.train import loop as module
from gpnn.train.checkpoint import CHECKPOINT, describe_difference
from gpnn.train.loop import train_replicas
from gpnn.train.replica import Curves, Paused, Replica, Schedule
from train.sets import node_samples, samples, some_replicas

pytestmark = pytest.mark.usefixtures("one_thread")

MODEL = {"hidden": 4, "layers": 2, "interactions": "edges"}
SCHEDULE = Schedule(epochs=5, batch_size=10, halve_every=2)


def run(folder: Path | None, stop: int | None = None, **changes: Any) -> Curves:
    data = samples()
    given = {"model": MODEL, "schedule": SCHEDULE, "samples": data}
    given["replicas"] = some_replicas(len(data), (0.5, 0.0, 0.2))
    given = {**given, **changes}

    def progress(done: int, whole: int) -> bool:
        assert whole == given["schedule"].epochs
        return done != stop

    return train_replicas(**given, device="cpu", folder=folder, progress=progress)


def same(one: Curves, other: Curves) -> None:
    for name in ("loss", "valid", "test"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name


@pytest.mark.parametrize("stop", [1, 4])
def test_an_ended_run_goes_on_to_the_same_bits(tmp_path: Path, stop: int) -> None:
    whole = run(None)
    with pytest.raises(Paused):
        run(tmp_path, stop)
    assert [path.name for path in tmp_path.iterdir()] == [CHECKPOINT]
    again = run(tmp_path)
    same(again, whole)
    finished = run(tmp_path)  # nothing is left to do
    same(finished, whole)
    assert finished.seconds >= 0 and finished.device == "CPU"


def test_a_killed_run_goes_on_from_what_was_kept_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SAVE_SECONDS", 0.0)

    def killed(done: int, _: int) -> bool:
        if done == 3:
            raise OSError
        return True

    data = samples()
    replicas = some_replicas(len(data), (0.5, 0.0, 0.2))
    with pytest.raises(OSError):
        train_replicas(data, MODEL, replicas, SCHEDULE, device="cpu", folder=tmp_path,
                       progress=killed)  # fmt: skip
    same(run(tmp_path), run(None))


def test_node_tasks_too(tmp_path: Path) -> None:
    data = node_samples()
    given = {"samples": data, "replicas": some_replicas(len(data), (0.5, 0.0, 0.2))}
    given["model"] = {**MODEL, "base": "gat"}
    with pytest.raises(Paused):
        run(tmp_path, 2, **given)
    same(run(tmp_path, **given), run(None, **given))


def test_a_run_that_was_ended_without_a_folder_is_lost() -> None:
    with pytest.raises(Paused):
        run(None, 2)


def test_a_file_of_another_run_is_refused(tmp_path: Path) -> None:
    run(tmp_path, schedule=Schedule(epochs=1, batch_size=10))
    data = samples()
    replicas = some_replicas(len(data))
    for changes in (
        {"schedule": Schedule(epochs=2, batch_size=10)},
        {"model": {**MODEL, "readout": "mean"}},
        {"replicas": replicas},
        {"samples": samples(seed=1)},
        {"replicas": [replace(one, lr=0.5) for one in replicas]},
    ):
        given = {"schedule": Schedule(epochs=1, batch_size=10), **changes}
        with pytest.raises(InputError, match="holds another run"):
            run(tmp_path, **given)


@pytest.mark.parametrize("content", [b"", b"no tensors", None])
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes | None) -> None:
    with pytest.raises(Paused):
        run(tmp_path, 1)
    whole = (tmp_path / CHECKPOINT).read_bytes()
    (tmp_path / CHECKPOINT).write_bytes(whole[: len(whole) // 2] if content is None else content)
    with pytest.raises(InputError, match=r"is damaged .*Delete it"):
        run(tmp_path)


def test_every_flipped_bit_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(Paused):
        run(tmp_path, 1)
    path = tmp_path / CHECKPOINT
    whole = bytearray(path.read_bytes())
    start = 8 + int.from_bytes(whole[:8], "little")
    for place in np.linspace(start, len(whole) - 1, 25).astype(int).tolist():
        broken = bytearray(whole)
        broken[place] ^= 1 << (place % 8)
        path.write_bytes(broken)
        with pytest.raises(InputError, match=r"is damaged \(its checksum does not match\)"):
            run(tmp_path)
    path.write_bytes(whole)
    same(run(tmp_path), run(None))


def test_differences_are_told() -> None:
    there = {"model": {"hidden": 8, "structure": {"d": 1}}, "data": "a" * 64, "networks": 1}
    here = {"model": {"hidden": 9, "structure": {"d": 2}}, "data": "b" * 64, "networks": 1}
    said = "other data; hidden: 8 there, 9 here; d: 1 there, 2 here"
    assert describe_difference(there, here) == said


def test_what_is_refused() -> None:
    data = samples()
    with pytest.raises(InputError, match="dropout belongs to the replicas"):
        train_replicas(data, {"dropout": 0.1}, some_replicas(len(data)), SCHEDULE)
    with pytest.raises(InputError, match="no replica to train"):
        train_replicas(data, MODEL, [], SCHEDULE)
    with pytest.raises(InputError, match="needs labels"):
        train_replicas(replace(data, y=None), MODEL, some_replicas(len(data)), SCHEDULE)
    for part, wrong in (("train", -1), ("valid", 22), ("test", 23)):
        chosen = {"train": [0, 1], "valid": [], "test": [], part: [0, wrong]}
        with pytest.raises(InputError, match=f"{part} part of a replica names sample {wrong}"):
            train_replicas(data, MODEL, [Replica(**chosen)], SCHEDULE)


def test_without_anything_to_measure() -> None:
    data = samples()
    replicas = [replace(one, valid=np.zeros(0), test=np.zeros(0)) for one in
                some_replicas(len(data))]  # fmt: skip
    found = train_replicas(data, MODEL, replicas, SCHEDULE, device="cpu", dtype=torch.float64)
    assert np.isfinite(found.loss).all() and np.isnan(found.test).all()
