"""Device of a training, and settings of torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ..errors import InputError

__all__ = ["deterministic", "device_name", "one_thread", "pick_device"]


def pick_device(name: str) -> torch.device:
    """The device of a name; ``auto`` is the first GPU, or the CPU where there is none."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).split("\n")[0]
        raise InputError(f"The device {name!r} cannot be used ({reason}). Try 'auto'.") from None
    return device


def device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"


@contextmanager
def deterministic(device: torch.device) -> Iterator[None]:
    """Isolate torch's random state, and use deterministic algorithms on a CPU."""
    before = torch.are_deterministic_algorithms_enabled()
    settings: Any = torch.utils.deterministic
    fills = settings.fill_uninitialized_memory
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices):
        if device.type != "cpu":
            yield
            return
        torch.use_deterministic_algorithms(True)
        settings.fill_uninitialized_memory = False  # every kernel writes its whole output
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(before)
            settings.fill_uninitialized_memory = fills


@contextmanager
def one_thread() -> Iterator[None]:
    """Use one thread in this block: for small batches it is faster than several threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
