"""Download a public file into the cache, over https, atomically, and with a checksum.

A file whose checksum differs from the catalogue is rejected. Partial downloads are discarded, so
that they are never resumed or used.
"""

from __future__ import annotations

import hashlib
import http.client
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import InputError, OutputError
from ..files import atomic_path
from ..graph.readers.files import note

__all__ = ["MAX_DOWNLOAD_BYTES", "TIMEOUT_SECONDS", "Progress", "download"]

TIMEOUT_SECONDS = 20
MAX_DOWNLOAD_BYTES = 4 * 2**30
Progress = Callable[[int, int | None], None]
"""Called with the bytes so far and the total (None if the server does not report it)."""


class _OnlyHttps(urllib.request.HTTPRedirectHandler):
    """Follows redirects to https only."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, url: str
    ) -> Any:
        _check_address(url)
        return super().redirect_request(req, fp, code, msg, headers, url)


def _check_address(url: str) -> None:
    if not url.lower().startswith("https://"):
        raise InputError(f"{url} is not fetched: only https addresses are.")


def open_https(request: urllib.request.Request, timeout: float) -> Any:
    """The response to a request; redirects to addresses other than https raise."""
    return urllib.request.build_opener(_OnlyHttps).open(request, timeout=timeout)


def download(
    url: str, target: Path, progress: Progress | None = None, sha256: str | None = None
) -> None:
    """Download ``url`` to ``target``; raises if the checksum differs."""
    _check_address(url)
    try:
        with atomic_path(target) as draft:
            checksum = _fetch(url, draft, progress)
            if sha256 is not None and checksum != sha256:
                raise InputError(
                    f"{url} gave another file than expected (SHA-256 {checksum}, not {sha256}): it "
                    "was discarded."
                )
    except OutputError as error:
        raise OutputError(f"{error} Set GPNN_CACHE to a folder of yours.") from None
    if sha256 is None:
        note(f"Fetched {url}, for which no checksum is known: SHA-256 {checksum}.")


def _fetch(url: str, draft: Path, progress: Progress | None) -> str:
    """Write the file and return its SHA-256."""
    request = urllib.request.Request(url, headers={"User-Agent": "gpnn"})
    try:
        with open_https(request, TIMEOUT_SECONDS) as answer:
            stated = answer.headers.get("Content-Length")
            total = int(stated) if stated and stated.isdigit() else None
            return _store(url, answer, draft, total, progress)
    except (
        urllib.error.URLError,
        http.client.HTTPException,
        TimeoutError,
        ConnectionError,
        ssl.SSLError,
    ) as error:
        reason = getattr(error, "reason", None) or error
        raise InputError(f"{url} could not be downloaded ({reason}).") from None


def _store(url: str, answer: Any, draft: Path, total: int | None, progress: Progress | None) -> str:
    done, digest = 0, hashlib.sha256()
    with draft.open("wb") as sink:
        while chunk := answer.read(2**18):
            done += len(chunk)
            if done > MAX_DOWNLOAD_BYTES:
                raise InputError(f"{url} is larger than {MAX_DOWNLOAD_BYTES // 2**30} GiB.")
            sink.write(chunk)
            digest.update(chunk)
            if progress is not None:
                progress(done, total)
    if total is not None and done != total:
        raise InputError(
            f"{url} could not be downloaded (the connection ended after {done:,} of {total:,} "
            "bytes)."
        )
    return digest.hexdigest()
