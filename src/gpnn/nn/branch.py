"""Runs independent parts of a network concurrently in a captured step."""

from __future__ import annotations

from types import TracebackType

import torch
from torch import Tensor

__all__ = ["Branch", "rejoin"]


class Branch:
    """Work that can run concurrently with the rest of a step.

    While a CUDA graph is being captured, the work inside ``with branch:`` goes to a separate
    stream, so that the graph can run it, and its gradient, at the same time as the rest: a small
    kernel leaves most of a GPU idle. Otherwise the ``with`` block has no effect. Results are the
    same either way.

    Tensors that the branch reads and that its caller may release before the branch is joined with
    :meth:`bring`, or before its gradient is computed, must be listed in ``read``, so that their
    memory is not reused too early. Every branch must be joined before the end of the capture; a
    network joins its branches before it returns, so its batch may then be released, unless a
    gradient will be computed.

    Args:
        name: branches with different names run concurrently.
        read: existing tensors that the branch reads.
    """

    def __init__(self, name: str, *read: Tensor) -> None:
        self.main = self.side = None
        if torch.compiler.is_compiling():
            return
        if not (read[0].is_cuda and torch.cuda.is_current_stream_capturing()):
            return
        self.main = torch.cuda.current_stream()
        self.side = _stream(read[0].device, name)
        self.side.wait_stream(self.main)
        for tensor in read:
            tensor.record_stream(self.side)

    def __enter__(self) -> Branch:
        if self.side is not None:
            torch.cuda.set_stream(self.side)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.main is not None:
            torch.cuda.set_stream(self.main)

    def bring(self, *made: Tensor) -> None:
        """Wait for the work of the branch so far; its tensors ``made`` are used outside."""
        if self.main is not None and self.side is not None:
            self.main.wait_stream(self.side)
            for tensor in made:
                tensor.record_stream(self.main)


_STREAMS: dict[tuple[torch.device, str], torch.cuda.Stream] = {}


def _stream(device: torch.device, name: str) -> torch.cuda.Stream:
    if (device, name) not in _STREAMS:
        _STREAMS[device, name] = torch.cuda.Stream(device)
    return _STREAMS[device, name]


def rejoin() -> None:
    """Join all branches of the current capture. If an error has interrupted one, the end of the
    capture would otherwise fail and hide the error."""
    main = torch.cuda.current_stream()
    for side in _STREAMS.values():
        with torch.cuda.stream(side):
            capturing = torch.cuda.is_current_stream_capturing()
        if capturing:
            main.wait_stream(side)
