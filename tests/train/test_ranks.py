"""Several processes that share every batch train as one process does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gpnn.data.samples import load_samples
from gpnn.errors import InputError
from gpnn.nn.ranks import device_of_rank
from train.ranks_worker import train

pytestmark = pytest.mark.usefixtures("one_thread")


def torchrun(count: int, *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
               str(count), *map(str, words)]  # fmt: skip
    path = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, env=environment, check=False
    )


def test_two_processes_equal_one(tmp_path: Path) -> None:
    """One network and two side by side, in float64, dropout and batch statistics included; and a
    training one of whose processes was killed, which torchrun starts again."""
    worker = Path(__file__).with_name("ranks_worker.py")
    done = torchrun(2, "--max-restarts", 1, worker, tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    samples, found = load_samples("MUTAG"), np.load(tmp_path / "found.npz")
    one, two = train(samples, 1), train(samples, 2)
    assert found["resumed"]
    for name, wanted in (("one", one), ("killed", one), ("two", two)):
        for part in ("loss", "valid", "test"):
            own = found[f"{name} {part}"]
            np.testing.assert_allclose(own, getattr(wanted, part), rtol=1e-9, atol=1e-12)
    refused = (tmp_path / "refused.txt").read_text()
    assert refused.startswith("2 processes cannot share a batch of 1 graphs.")


def test_the_first_process_writes_and_speaks(tmp_path: Path) -> None:
    words = ["-m", "gpnn", "train", "MUTAG", "--epochs", 2, "--hidden", 8, "--layers", 2, "--out"]
    done = torchrun(2, *words, tmp_path / "m")
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("test  accuracy") == 1 and done.stderr.count("epoch 2/2") == 1
    names = {path.name for path in (tmp_path / "m").iterdir()}
    assert names == {"model.json", "model.safetensors", "curves.png"}


def test_every_process_takes_the_gpu_of_its_number() -> None:
    """The choice alone: several GPUs are not to be had here."""
    for device in ("auto", "cuda"):
        assert [device_of_rank(device, k, 2, 4) for k in range(2)] == ["cuda:0", "cuda:1"]
    assert device_of_rank("auto", 1, 2, 1) == device_of_rank("auto", 0, 2, 0) == "cpu"
    assert device_of_rank("cpu", 1, 2, 8) == "cpu"
    with pytest.raises(InputError, match="4 processes need 4 GPUs, one each; this machine has 1"):
        device_of_rank("cuda", 0, 4, 1)
    with pytest.raises(InputError, match="cannot share --device cuda:1"):
        device_of_rank("cuda:1", 0, 2, 4)
