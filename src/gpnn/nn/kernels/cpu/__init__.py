"""CPU kernels that replace several PyTorch operations each; all have plain equivalents.

On small graphs, most of the time of a PyTorch step is the overhead of calling operations. These
loops, compiled by numba, do the work of several operations in one pass over the rows, in a fixed
order, so that results do not depend on the number of threads.
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
