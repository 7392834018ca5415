"""Exchange of arrays between processes through shared memory."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic

from ...graph.kernels._jit import jit

__all__ = ["arrived", "post", "take_sum"]


@intrinsic
def _fence(typing_context: Any) -> Any:  # noqa: ARG001
    """Memory fence: other processes see earlier writes before later ones."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), code


@jit
def post(own, slot, flags, rank, number):
    """Publish an array as the ``number``-th of this process."""
    for i in range(len(own)):
        slot[i] = own[i]
    _fence()
    flags[rank] = number
    _fence()


@jit
def arrived(flags, number, spins):
    """The first process that has not published its ``number``-th array after ``spins`` polls, or
    -1."""
    for r in range(len(flags)):
        left = spins
        while flags[r] < number:
            if left == 0:
                return r
            left -= 1
            _fence()
    _fence()
    return -1


@jit
def take_sum(slots, out):
    """The sum of the arrays of all processes, in process order."""
    for i in range(len(out)):
        total = slots[0, i]
        for r in range(1, len(slots)):
            total += slots[r, i]
        out[i] = total
