"""What one of several processes does in tests/train/test_ranks.py: ``torchrun … FILE FOLDER``."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from gpnn.data.samples import Samples, load_samples
from gpnn.errors import InputError
from gpnn.nn.ranks import join_ranks, rank
from gpnn.train import loop
from gpnn.train.replica import Curves, Replica, Schedule

EPOCHS = 4


def train(
    samples: Samples,
    networks: int,
    folder: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
    batch_size: int = 31,
) -> Curves:
    """Curves in float64, with dropout and batches of uneven size."""
    ids = np.arange(len(samples))
    replicas = [
        Replica(ids[:110], ids[110:150], ids[150:], seed, dropout=0.4) for seed in range(networks)
    ]
    schedule = Schedule(epochs=EPOCHS, batch_size=batch_size, halve_every=None)
    options = {"hidden": 8, "layers": 2, "scheme": "core", "virtual_node": True}
    return loop.train_replicas(
        samples, options, replicas, schedule, device="cpu", dtype=torch.float64, folder=folder,
        progress=progress,
    )  # fmt: skip


def kill_once(done: int, _: int) -> None:
    """The second process is killed after two epochs, the first time."""
    if rank() == 1 and done == 2 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        os.kill(os.getpid(), signal.SIGKILL)


def main(out: Path) -> None:
    torch.set_num_threads(1)
    join_ranks()
    loop.SAVE_SECONDS = 0.0
    samples, resumed = load_samples("MUTAG"), (out / "kept").exists()
    found = {"killed": train(samples, 1, out / "kept", kill_once)}
    found |= {"one": train(samples, 1), "two": train(samples, 2)}
    refused = ""
    try:
        train(samples, 1, batch_size=1)
    except InputError as error:
        refused = str(error)
    if rank() == 0:
        arrays = {f"{name} {part}": getattr(curves, part) for name, curves in found.items()
                  for part in ("loss", "valid", "test")}  # fmt: skip
        np.savez(out / "found.npz", **arrays, resumed=resumed)
        (out / "refused.txt").write_text(refused)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
