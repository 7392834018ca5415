"""Independent parts of a network side by side in a captured step."""

from __future__ import annotations

from types import TracebackType

import torch
from torch import Tensor

__all__ = ["Branch", "rejoin"]


class Branch:
    """Work that need not wait for what is done beside it.

    While a CUDA graph is being captured, what is done inside ``with branch:`` goes to a stream of
    its own, so that the graph may run it at the same time as the rest, and its gradient too: a
    small kernel leaves most of a GPU idle. Otherwise nothing is special about the block. The
    numbers are the same either way.

    Tensors that the branch reads and that its caller may let go of before the branch is brought, or
    before its gradient is taken, must be named, so that their memory is not used again too early.
    Everything a branch does must be brought before the end of the capture; a network brings its
    branches before it returns, so the batch it was called with may go then, unless a gradient will
    be taken.

    Args:
        name: branches with different names run beside each other.
        read: tensors made before, which the branch reads.
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
        """Wait for what the branch has made so far; these tensors of it are used outside."""
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
    """Bring all branches of the capture under way: one that an error cut short must end whole, or
    the end of the capture fails and hides the error."""
    main = torch.cuda.current_stream()
    for side in _STREAMS.values():
        with torch.cuda.stream(side):
            capturing = torch.cuda.is_current_stream_capturing()
        if capturing:
            main.wait_stream(side)
