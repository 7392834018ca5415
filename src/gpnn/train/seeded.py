"""Initial weights from a seed without torch's global random state, or no weights at all."""

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
"""Functions with which networks draw their weights, as torch passes them to the mode (the rest of
``nn.init`` calls these). A draw by any other function would ignore the seed."""


class Seeded(TorchFunctionMode):
    """In this block, weights are drawn from a separate generator.

    The numbers are the same as after ``torch.manual_seed(seed)``. That call sets one state for all
    threads, and for the GPU; this block affects only the thread that enters it. Without a seed
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
    """Networks created in this block have shapes but no weights; nothing is allocated.

    Without this, torch draws on its meta device through its compiler. Importing the compiler takes
    seconds, and fails if two threads do so at once.
    """
    with torch.device("meta"), Seeded(None):
        yield
