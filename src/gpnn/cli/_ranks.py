"""Several processes, one voice."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["be_quiet_unless_first"]


def be_quiet_unless_first() -> None:
    """All processes of a training print the same: the first one speaks, an error of another is
    told by its exit code."""
    from ..nn.ranks import rank

    if rank() > 0:
        sys.stdout = sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
