"""Kernels for CUDA where plain PyTorch takes many, each beside the plain code it stands in for.

Small graphs leave a GPU waiting for launches, so what counts is how few kernels a step has, and
that none of them runs on a few processors only. They need Triton, which most CUDA builds of PyTorch
bring along; the plain code does without (:mod:`gpnn.nn.kernels.dispatch`).
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
