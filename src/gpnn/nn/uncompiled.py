"""Work of the CPU that a compiler leaves as it is.

Only a network that is being compiled imports this: marking a function imports torch's compiler,
seconds that nobody else should wait for.
"""

from __future__ import annotations

import torch

from .conv import read_structure as _read_structure
from .from_pyg import batch_of as _batch_of

__all__ = ["batch_of", "read_structure"]

batch_of = torch.compiler.disable(_batch_of)
read_structure = torch.compiler.disable(_read_structure)
