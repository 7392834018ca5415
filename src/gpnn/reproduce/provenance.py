"""What a result was made with: versions, and the commit where the package lies in its work tree."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .. import __version__

__all__ = ["commit", "versions"]

_DISTRIBUTIONS = ("torch", "torch_geometric", "numpy")


def versions() -> dict[str, str]:
    """Of gpnn, torch, PyG, NumPy and Python."""
    found = {"gpnn": __version__}
    for name in _DISTRIBUTIONS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found | {"python": platform.python_version()}


@cache
def commit() -> str:
    """What ``GPNN_COMMIT`` says, for a source tree that was copied to another machine; else the
    commit the package stands at, with ``+`` where its sources were changed since; else the version
    of the package."""
    if given := os.environ.get("GPNN_COMMIT"):
        return given
    package = Path(__file__).resolve().parents[1]
    if _git(package, "ls-files", "--error-unmatch", "__init__.py") is None:
        return f"gpnn {__version__}"
    found = _git(package, "rev-parse", "--short=12", "HEAD")
    changed = _git(package, "status", "--porcelain", "--", ".")
    return f"{found}{'+' if changed else ''}" if found else f"gpnn {__version__}"


def _git(folder: Path, *words: str) -> str | None:
    """What git says, or ``None`` where it fails or there is none."""
    command = ["git", "-C", str(folder), "--no-optional-locks", *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
