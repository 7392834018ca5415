"""Fetch a public file into the cache: whole or not at all."""

from __future__ import annotations

import contextlib
import http.client
import os
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from ..errors import InputError

__all__ = ["MAX_DOWNLOAD_BYTES", "TIMEOUT_SECONDS", "Progress", "download"]

TIMEOUT_SECONDS = 20
MAX_DOWNLOAD_BYTES = 4 * 2**30
Progress = Callable[[int, int | None], None]
"""Called with the bytes so far and the bytes in all (None where the server does not say)."""


def download(url: str, target: Path, progress: Progress | None = None) -> None:
    """Write what lies at ``url`` to ``target``, by way of a temporary file beside it."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(prefix=".download-", dir=target.parent)
    except OSError as error:
        raise InputError(
            f"The cache {target.parent} cannot be written ({error.strerror or error}). "
            "Set GPNN_CACHE to a folder of yours."
        ) from None
    try:
        with os.fdopen(handle, "wb") as sink:
            _fetch(url, sink.write, progress)
        Path(draft).replace(target)
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise InputError(f"{url} could not be had ({reason}).") from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            Path(draft).unlink()


def _fetch(url: str, write: Callable[[bytes], int], progress: Progress | None) -> None:
    request = urllib.request.Request(url, headers={"User-Agent": "gpnn"})
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
        stated = answer.headers.get("Content-Length")
        total = int(stated) if stated and stated.isdigit() else None
        done = 0
        while chunk := answer.read(2**18):
            done += len(chunk)
            if done > MAX_DOWNLOAD_BYTES:
                raise InputError(f"{url} is larger than {MAX_DOWNLOAD_BYTES // 2**30} GiB.")
            write(chunk)
            if progress is not None:
                progress(done, total)
        if total is not None and done != total:
            raise OSError(f"the connection ended after {done:,} of {total:,} bytes")
