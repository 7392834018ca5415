"""Arrays handed over between processes through memory that they share."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic

from ...graph.kernels._jit import jit

__all__ = ["arrived", "post", "take_sum"]


@intrinsic
def _fence(typing_context: Any) -> Any:  # noqa: ARG001
    """What was written before it is seen by others before what is written after it."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), code


@jit
def post(own, slot, flags, rank, number):
    """Show an array to the others, as the ``number``-th of this process."""
    for i in range(len(own)):
        slot[i] = own[i]
    _fence()
    flags[rank] = number
    _fence()


@jit
def arrived(flags, number, spins):
    """The first process that has not shown its ``number``-th array after so many looks, or -1."""
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
    """The sum of what all have shown, in the order of the processes."""
    for i in range(len(out)):
        total = slots[0, i]
        for r in range(1, len(slots)):
            total += slots[r, i]
        out[i] = total
