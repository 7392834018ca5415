"""Time of the parts of a training step, and the time that its memory traffic alone takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..train.capture import Capture
from ..train.trainer import Trainer
from .layer import race

__all__ = ["bandwidth", "breakdown", "floor_bytes", "repeated"]

PARTS = ("forward", "backward", "optimiser", "assemble")
COPIED = {"cuda": 2**30, "cpu": 2**27}


def breakdown(make: Callable[[], Trainer], steps: int, repeats: int) -> dict[str, Any]:
    """Return the seconds of the parts of a step, by difference. The step is truncated after every
    part, and each truncated step is captured (on a GPU) and timed like a whole step, on a separate
    trainer. The next batch is assembled concurrently; only the additional time counts."""
    runs = []
    for last in range(1, len(PARTS) + 1):
        trainer = make()
        step = trainer.train_step if last == len(PARTS) else _beginning(trainer, last)
        runs.append(repeated(trainer, Capture(trainer, step), steps))
    whole = [seconds / steps for seconds in race(runs, repeats, str(trainer.device))]
    before = [0.0, *whole[:-1]]
    parts = {name: max(0.0, b - a) for name, a, b in zip(PARTS, before, whole, strict=True)}
    return {"seconds": whole[-1], "parts": parts, "kernels": _kernels(trainer)}


def _beginning(trainer: Trainer, last: int) -> Callable[[], None]:
    """Return a function for only the first parts of :meth:`Trainer.train_step`."""

    def step() -> None:
        if last == len(PARTS) - 1:
            trainer.learn()
        else:
            losses = trainer.losses(*trainer.source.take(trainer.step))
            if last > 1:
                trainer.gradients(losses)
        trainer.step += 1

    return step


def repeated(trainer: Trainer, step: Callable[[], None], steps: int) -> Callable[[], None]:
    """Return a function that runs the given number of steps from the first batch."""

    def run() -> None:
        trainer.step.zero_()
        for _ in range(steps):
            step()

    return run


def _kernels(trainer: Trainer) -> int | None:
    """Count the kernels and copies of a step on a GPU with the profiler."""
    if trainer.device.type != "cuda":
        return None
    from torch.profiler import ProfilerActivity, profile

    trainer.step.zero_()
    trainer.train_step()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        trainer.train_step()
        torch.cuda.synchronize()
    trainer.step.zero_()
    return sum(str(event.device_type).endswith("CUDA") for event in seen.events()) or None


def floor_bytes(trainer: Trainer) -> dict[str, int]:
    """Return the minimum memory traffic of a step in bytes: parameters and both moments are read
    and written once, and everything saved for the gradient is written and read once."""
    own = trainer.adam.value.untyped_storage().data_ptr()
    kept: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        if tensor.untyped_storage().data_ptr() != own:
            place, size = tensor.data_ptr(), tensor.numel() * tensor.element_size()
            kept[place] = max(size, kept.get(place, 0))
        return tensor

    trainer.step.zero_()
    trainer.source.reset(trainer.step)
    batch, _ = trainer.source.take(trainer.step)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = trainer.net(batch)
    value = trainer.adam.value
    del out
    return {
        "parameters": 2 * 3 * value.numel() * value.element_size(),
        "activations": 2 * sum(kept.values()),
    }


def bandwidth(device: torch.device) -> float:
    """Return the bytes per second that a large copy reads and writes."""
    size = COPIED[device.type]
    source = torch.ones(size // 4, device=device)
    target = torch.empty_like(source)

    def copy() -> None:
        target.copy_(source)

    return 2 * size / race([copy], 9, str(device))[0]
