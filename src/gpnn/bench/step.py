"""Where the time of one training step goes, and the time that its memory traffic alone takes."""

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
    """Seconds of the parts of a step, by difference: the step is cut short after every part, and
    each of these beginnings is captured (on a GPU) and timed as a whole step is, on an trainer of
    its own. The next batch is put together beside the rest: what counts is the time it adds."""
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
    """The first parts of :meth:`Trainer.train_step`, without the rest."""

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
    """Some steps from the first batch on."""

    def run() -> None:
        trainer.step.zero_()
        for _ in range(steps):
            step()

    return run


def _kernels(trainer: Trainer) -> int | None:
    """Kernels and copies of a step on a GPU, as the profiler counts them."""
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
    """Bytes that a step cannot do without: parameters and both moments read and written once, and
    everything that is kept for the gradient written and read once."""
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
    """Bytes a second that a large copy reads and writes."""
    size = COPIED[device.type]
    source = torch.ones(size // 4, device=device)
    target = torch.empty_like(source)

    def copy() -> None:
        target.copy_(source)

    return 2 * size / race([copy], 9, str(device))[0]
