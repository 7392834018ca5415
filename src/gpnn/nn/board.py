"""Sums over the processes of one machine, through shared memory.

A training step takes about fifty sums over all processes, most of them of a few hundred numbers.
With sockets, each sum wakes another thread in every process, which takes up to milliseconds when
all cores are busy; with shared memory it takes a few microseconds.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from torch import Tensor
from torch.distributed import Store

from ..errors import InputError
from .kernels.exchange import arrived, post, take_sum

__all__ = ["Board"]

SLOT = 2**20
"""Bytes that a process publishes at a time; longer arrays are sent in pieces."""
HEAD = 4_096
"""Bytes before the slots: for every process, the number of arrays it has published and its process
id."""
SPINS = 4_000
"""Polls, about 20 µs in all, before a waiting process yields its core."""
PATIENCE = 0.002
"""Seconds after which a waiting process sleeps between polls."""
WATCH = 1.0
"""Seconds between checks that the awaited process is still alive."""


class Board:
    """Shared memory of all processes of a machine, with two slots for each: a process may publish
    its next array while others still read the previous one."""

    def __init__(self, memory: mmap.mmap, rank: int, ranks: int) -> None:
        self.rank, self.ranks, self.number = rank, ranks, 0
        whole = np.frombuffer(memory, np.uint8)
        self.flags, self.pids = whole[:HEAD].view(np.int64).reshape(2, -1)[:, :ranks]
        self.slots = whole[HEAD:].reshape(2, ranks, SLOT)
        self.pids[rank] = os.getpid()

    @classmethod
    def join(cls, store: Store, rank: int, ranks: int) -> Board | None:
        """Join the board of all processes, which the first process creates; ``None`` if the system
        cannot share memory through unlinked files."""
        key = "gpnn-board"
        if rank == 0:
            store.set(key, _make(HEAD + 2 * ranks * SLOT))
        name = store.get(key).decode()
        if not name:
            return None
        with Path(name).open("r+b") as file:
            memory = mmap.mmap(file.fileno(), 0)
        if store.add(f"{key}-opened", 1) == ranks:
            Path(name).unlink()
        board = cls(memory, rank, ranks)
        board._show(np.zeros(1))
        return board

    def add_up(self, x: Tensor) -> None:
        """Replace a contiguous tensor by its sum over all processes, bit-identical in each."""
        flat = x.detach().view(-1).numpy()
        step = SLOT // flat.itemsize
        for low in range(0, len(flat), step):
            piece = flat[low : low + step]
            take_sum(self._show(piece), piece)

    def _show(self, own: np.ndarray) -> np.ndarray:
        """Publish an array and wait for the arrays of all processes, [ranks, entries]."""
        self.number += 1
        slots = self.slots[self.number % 2].view(own.dtype)[:, : len(own)]
        post(own, slots[self.rank], self.flags, self.rank, self.number)
        began = watched = time.monotonic()
        while (late := arrived(self.flags, self.number, SPINS)) >= 0:
            now = time.monotonic()
            if now - watched > WATCH:
                self._look_for(late)
                watched = now
            time.sleep(PATIENCE / 10 if now - began > PATIENCE else 0)
        return slots

    def _look_for(self, late: int) -> None:
        try:
            os.kill(int(self.pids[late]), 0)
        except ProcessLookupError:
            raise InputError(
                f"Process {late + 1} of {self.ranks} has ended. Start all of them again: the "
                "training goes on from its last checkpoint."
            ) from None


def _make(size: int) -> str:
    """Create a file of ``size`` zero bytes in memory or on disk; an empty name if that fails."""
    if os.name != "posix":
        return ""
    memory = "/dev/shm"
    folder = memory if os.access(memory, os.W_OK) else None
    name = ""
    try:
        number, name = tempfile.mkstemp(prefix="gpnn-board-", dir=folder)
        with os.fdopen(number, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, size)
    except OSError:
        if name:
            Path(name).unlink()
        return ""
    return name
