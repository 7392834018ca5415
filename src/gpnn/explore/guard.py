"""Which requests are refused, and the headers that restrict a browser to this page.

The server listens on the loopback address, but any page that is open in a browser can send requests
there, and a name that resolves to 127.0.0.1 makes such a page look local. So the Host header must
name this server, and so must the Origin header, which browsers add to requests of scripts.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["HEADERS", "refusal"]

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; object-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def refusal(headers: Mapping[str, str | None], port: int) -> str | None:
    """Return why a request is refused, or ``None``."""
    hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
    host = (headers.get("Host") or "").lower()
    if host not in hosts:
        return f"This server is for this machine alone: open http://127.0.0.1:{port}/."
    origin = headers.get("Origin")
    if origin is not None and origin.lower() not in {f"http://{name}" for name in hosts}:
        return "Requests of other pages are refused."
    return None
