"""Starting weights from a seed, without the random state that threads share; or none at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

__all__ = ["Seeded", "undrawn"]

DRAWS = frozenset(
    [
        nn.init.kaiming_uniform_,
        nn.init.normal_,
        nn.init.uniform_,
        Tensor.normal_,
        Tensor.random_,
        Tensor.uniform_,
    ]
)
"""What networks draw their weights with, as torch hands it over (the rest of ``nn.init`` ends in
these); a draw by another name would miss the seed."""


class Seeded(TorchFunctionMode):
    """In this block, weights are drawn from a generator of their own.

    They are the numbers that follow ``torch.manual_seed(seed)``. That call sets one state for all
    threads, and for the GPU; this block concerns the thread that enters it alone. Without a seed
    nothing is drawn.
    """

    def __init__(self, seed: int | None) -> None:
        super().__init__()
        self.generator = None if seed is None else torch.Generator().manual_seed(seed)

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        options = dict(kwargs or {})
        if func in DRAWS:
            if self.generator is None:
                return args[0] if args else options["tensor"]
            options["generator"] = self.generator
        return func(*args, **options)


@contextmanager
def undrawn() -> Iterator[None]:
    """Networks that are made in this block have shapes and no weights; nothing is allocated.

    Without this, torch draws on its meta device by way of its compiler. To import that takes
    seconds, and fails where two threads do so at once.
    """
    with torch.device("meta"), Seeded(None):
        yield
