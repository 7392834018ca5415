"""Sums over processes through shared memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gpnn.nn import board

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="files of memory are Linux's")


def run(folder: Path, ranks: int, *more: str) -> list[str]:
    worker = Path(__file__).with_name("board_worker.py")
    every = [
        subprocess.Popen(
            [sys.executable, str(worker), str(folder / "store"), str(rank), str(ranks), *more],
            stdout=subprocess.PIPE, text=True,
        )
        for rank in range(ranks)
    ]  # fmt: skip
    for one in reversed(every):  # one that has ended counts as alive until it is waited for
        one.wait(timeout=120)
    found = [one.stdout.read().strip() for one in every]
    assert [one.returncode for one in every] == [0] * ranks
    return found


@pytest.mark.parametrize("ranks", [2, 5])
def test_sums_are_the_same_in_every_process(tmp_path, ranks):
    """More processes than cores, arrays longer than a slot, whole numbers too."""
    before = set(Path("/dev/shm").glob("gpnn-board-*"))
    assert run(tmp_path, ranks) == ["summed"] * ranks
    assert set(Path("/dev/shm").glob("gpnn-board-*")) <= before


def test_a_process_that_has_ended_is_noticed(tmp_path):
    first, _ = run(tmp_path, 2, "stop")
    assert first.startswith("Process 2 of 2 has ended. Start all of them again")


def test_where_no_memory_can_be_had_there_is_no_board(monkeypatch):
    before = set(Path("/dev/shm").glob("gpnn-board-*"))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(board.os, "posix_fallocate", full)
    assert board._make(2**20) == ""
    assert set(Path("/dev/shm").glob("gpnn-board-*")) <= before
