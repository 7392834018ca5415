"""Record a step once as a CUDA graph and replay it; on a CPU, call it directly."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from ..nn.branch import rejoin

if TYPE_CHECKING:
    from .trainer import Trainer

__all__ = ["Capture"]

WARM = 2
AHEAD = 4


class Capture:
    """Calls a step of a trainer; on a GPU the step is captured at the first call.

    The warm-up changes the state, so the state is restored afterwards.
    """

    def __init__(self, trainer: Trainer, step: Callable[[], None]) -> None:
        self.trainer, self.step = trainer, step
        self.graph: torch.cuda.CUDAGraph | None = None
        self.events: list[torch.cuda.Event] = []

    @property
    def captures(self) -> bool:
        """Whether the step can be captured: on a GPU, with batches assembled there."""
        return self.trainer.device.type == "cuda" and self.trainer.staged.plan is not None

    @property
    def captured(self) -> bool:
        return self.graph is not None

    def __call__(self) -> None:
        if not self.captures:
            self.step()
            return
        if self.graph is None:
            with warnings.catch_warnings():
                # The gradient of a branch comes from the branch's stream, and torch warns of that.
                warnings.filterwarnings("ignore", message="The AccumulateGrad node's stream")
                self.graph = self._record()
        self.graph.replay()

    def keep_up(self) -> None:
        """Wait until the device is at most a few epochs behind."""
        if self.trainer.device.type != "cuda":
            return
        event = torch.cuda.Event()
        event.record()
        self.events.append(event)
        if len(self.events) > AHEAD:
            self.events.pop(0).synchronize()

    def _record(self) -> torch.cuda.CUDAGraph:
        state = self.trainer.state()
        before = {name: value.clone() for name, value in state.items()}
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM):
                self.step()
                self._put_back(state, before)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            try:
                self.step()
            except BaseException:
                rejoin()
                raise
        self._put_back(state, before)
        return graph

    def _put_back(self, state: dict[str, torch.Tensor], before: dict[str, torch.Tensor]) -> None:
        for name, value in state.items():
            value.copy_(before[name])
        self.trainer.source.reset(self.trainer.step)
