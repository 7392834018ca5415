"""Kernels for the CPU where plain PyTorch takes many operations, each beside the plain code.

On small graphs a step of PyTorch is mostly the cost of calling operations. These loops, compiled by
numba, do what several of them do in one pass over the rows, one after another, so that the result
does not depend on the number of threads.
"""

from .codes import add_rows, sum_rows
from .dropout import drop
from .norm import normalise, scale_rows
from .pairs import pair_slopes, pair_sums
from .sums import add_to_rows, replica_dots, segment_sums

__all__ = [
    "add_rows",
    "add_to_rows",
    "drop",
    "normalise",
    "pair_slopes",
    "pair_sums",
    "replica_dots",
    "scale_rows",
    "segment_sums",
    "sum_rows",
]
