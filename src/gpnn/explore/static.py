"""The files of the page in memory; requests never read from disk."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import PurePath

__all__ = ["pages"]

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}


@cache
def pages() -> dict[str, tuple[str, bytes]]:
    """Return content type and bytes of every file by its path; ``/`` is ``index.html``."""
    folder = resources.files("gpnn.explore").joinpath("page")
    files = {
        f"/{file.name}": (TYPES[PurePath(file.name).suffix], file.read_bytes())
        for file in folder.iterdir()
        if PurePath(file.name).suffix in TYPES
    }
    files["/"] = files.pop("/index.html")
    return files
