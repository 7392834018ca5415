"""CPU functions that ``torch.compile`` does not compile.

This module is imported only while a network is compiled: marking a function imports torch's
compiler, which takes seconds.
"""

from __future__ import annotations

import torch

from .conv import read_structure as _read_structure
from .from_pyg import batch_of as _batch_of

__all__ = ["batch_of", "read_structure"]

batch_of = torch.compiler.disable(_batch_of)
read_structure = torch.compiler.disable(_read_structure)
