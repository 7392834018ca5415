"""The record of runs: whole lines, each key once, whatever happens to the processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpnn.errors import InputError
from gpnn.lock import locked
from gpnn.reproduce.protocols import Member
from gpnn.reproduce.runs import Runs
from gpnn.train.replica import Curves

WRITER = """
import sys
from gpnn.reproduce.runs import Runs
runs, who = Runs(sys.argv[1]), sys.argv[2]
added = 0
for number in range(60):
    added += runs.append({"key": f"shared-{number}", "by": who, "text": "é" * 3000})
    runs.append({"key": f"{who}-{number}"})
print(added)
"""


def test_two_processes_write_every_key_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen([*command, who], stdout=subprocess.PIPE, text=True) for who in "ab"]
    added = [int(writer.communicate(timeout=120)[0]) for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0]
    lines = (tmp_path / "runs.jsonl").read_text(encoding="utf-8").splitlines()
    keys = [json.loads(line)["key"] for line in lines]
    assert len(keys) == len(set(keys)) == 180
    assert sum(added) == 60


def test_a_torn_last_line_is_passed_over_and_then_removed(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    assert runs.read() == {}
    assert runs.append({"key": "a", "value": 1})
    assert not runs.append({"key": "a", "value": 2})
    with runs.path.open("ab") as file:
        file.write(b'{"key": "torn", "value')
    assert list(runs.read()) == ["a"]
    assert runs.append({"key": "b"})
    assert runs.path.read_bytes() == b'{"key": "a", "value": 1}\n{"key": "b"}\n'
    with runs.path.open("ab") as file:
        file.write(b'{"key": "c"}')  # whole but for its line end
    assert list(runs.read()) == ["a", "b"]
    assert runs.append({"key": "c", "value": 3})
    assert list(runs.read()) == ["a", "b", "c"]


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    runs.path.write_text('{"key": "a"}\n{"key": \n{"key": "b"}\n')
    with pytest.raises(InputError, match=r"Line 2 of .* is damaged: not JSON .* Fix or remove"):
        runs.read()


def test_jobs_are_forgotten(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    for key in ("one:tu-1", "one:tu-2", "two:ogb"):
        runs.append({"key": key})
    runs.curves_path("one").parent.mkdir()
    runs.curves_path("one").touch()
    runs.forget({"one"})
    assert list(runs.read()) == ["two:ogb"]
    assert not runs.curves_path("one").exists()


def test_curves_come_back_and_damage_is_noticed(tmp_path: Path) -> None:
    runs, path = Runs(tmp_path), tmp_path / "curves" / "k.npz"
    rng = np.random.default_rng(0)
    loss, valid, test = rng.random((3, 2, 5))
    valid[0] = np.nan
    held = Curves("accuracy", loss, valid, test, 7, 1.5, "cpu", {"note": "x"})
    members = [Member(0, 1), Member(3, 2, 4)]
    assert runs.load_curves(path) is None
    runs.save_curves(path, members, held, {"commit": "abc"})
    found = runs.load_curves(path)
    assert found is not None
    assert found[0] == members and found[2] == {"commit": "abc"}
    for name in ("loss", "valid", "test"):
        np.testing.assert_array_equal(getattr(found[1], name), getattr(held, name))
    assert (found[1].parameters, found[1].about) == (7, {"note": "x"})
    path.write_bytes(path.read_bytes()[:-40])
    assert runs.load_curves(path) is None


def test_a_record_of_another_version_is_replaced(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    record = {"key": "a:tu-1", "mean": 0.5, "values": [], "versions": {"gpnn": "0.1.0"}}
    other = {**record, "key": "b:tu-1"}
    assert runs.append(record) and runs.append(other) and not runs.append({**record, "mean": 0.9})
    path = tmp_path / "runs.jsonl"
    path.write_bytes(path.read_bytes() + b'{"key": "torn')
    new = {**record, "mean": 0.7, "versions": {"gpnn": "0.1.0", "results": "0.2.0"}}
    assert runs.append(new) and not runs.append({**new, "mean": 0.8})
    assert runs.read() == {"a:tu-1": new, "b:tu-1": other}
    assert path.read_bytes().count(b"\n") == 2


def test_a_lock_is_held_by_one(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "lock"
    with locked(path) as first:
        assert first
        with locked(path, wait=False) as second:
            assert not second
    with locked(path, wait=False) as third:
        assert third


def test_a_lock_file_that_was_deleted_is_not_held(tmp_path: Path) -> None:
    """Who waited for a lock whose file is gone must not work beside one who made it anew."""
    path = tmp_path / "job.lock"
    with locked(path) as first:
        assert first
        path.unlink()
        with locked(path, wait=False) as second, locked(path, wait=False) as third:
            assert second and not third


@pytest.mark.parametrize(
    "change", [{"mean": None}, {"values": "x"}, {"values": [{"fold": 0}]}, {"key": 7}]
)
def test_a_record_of_the_wrong_shape_is_named(tmp_path: Path, change: dict[str, Any]) -> None:
    record = {"key": "a:tu-1", "mean": 0.5, "values": [{"fold": 0, "seed": 0, "value": 0.5}]}
    (tmp_path / "runs.jsonl").write_text(f"{json.dumps(record)}\n", encoding="utf-8")
    assert list(Runs(tmp_path).read()) == ["a:tu-1"]
    (tmp_path / "runs.jsonl").write_text(f"{json.dumps(record | change)}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"Line 1 of .* is damaged: "):
        Runs(tmp_path).read()
