"""Provenance of a result: versions, and the commit if the package is in its work tree."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .. import RESULTS, __version__

__all__ = ["commit", "is_current", "version_of", "versions"]

_DISTRIBUTIONS = ("torch", "torch_geometric", "numpy")


def versions() -> dict[str, str]:
    """Return the versions of gpnn, torch, PyG, NumPy and Python; ``results`` is
    :data:`gpnn.RESULTS`."""
    installed = {"gpnn": __version__, "results": RESULTS}
    for name in _DISTRIBUTIONS:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
    return installed | {"python": platform.python_version()}


def version_of(record: Mapping[str, Any]) -> str:
    """Return the version of gpnn whose results a record has (:data:`gpnn.RESULTS`)."""
    versions = record.get("versions", {})
    return str(versions.get("results", versions.get("gpnn")))


def is_current(record: Mapping[str, Any]) -> bool:
    """Whether a training of today would give the result of a record, up to rounding."""
    return version_of(record) == RESULTS


@cache
def commit() -> str:
    """Return ``GPNN_COMMIT`` if it is set, for a source tree copied to another machine; else the
    current commit of the package, with ``+`` if its sources were changed since; else the version of
    the package."""
    if given := os.environ.get("GPNN_COMMIT"):
        return given
    package = Path(__file__).resolve().parents[1]
    if _git(package, "ls-files", "--error-unmatch", "__init__.py") is None:
        return f"gpnn {__version__}"
    revision = _git(package, "rev-parse", "--short=12", "HEAD")
    changed = _git(package, "status", "--porcelain", "--", ".")
    return f"{revision}{'+' if changed else ''}" if revision else f"gpnn {__version__}"


def _git(folder: Path, *words: str) -> str | None:
    """Return the output of git, or ``None`` if git fails or is not installed."""
    command = ["git", "-C", str(folder), "--no-optional-locks", *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
