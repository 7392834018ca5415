"""Output of a training with several processes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["be_quiet_unless_first"]


def be_quiet_unless_first() -> None:
    """Silence all processes of a training except the first: they would print the same. An error in
    another process shows in its exit code."""
    from ..nn.ranks import rank

    if rank() > 0:
        sys.stdout = sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
