"""CUDA kernels that replace several PyTorch operations each; all have plain equivalents.

On small graphs a GPU mostly waits for kernel launches, so a step should have few kernels, and none
should run on only a few multiprocessors. The kernels need Triton, which most CUDA builds of PyTorch
include; without it the plain code is used (:mod:`gpnn.nn.kernels.dispatch`).
"""

from .dots import replica_dots
from .dropout import drop
from .maps import all_rows, map_rows, outer_rows
from .norm import normalise
from .sums import segment_sums

__all__ = [
    "all_rows",
    "drop",
    "map_rows",
    "normalise",
    "outer_rows",
    "replica_dots",
    "segment_sums",
]
