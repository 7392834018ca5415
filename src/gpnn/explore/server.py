"""An HTTP server on the loopback address, using only the standard library."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any
from urllib.parse import urlsplit

from ..errors import InputError
from .api import Api
from .guard import HEADERS, refusal
from .static import pages

__all__ = ["MAX_BODY", "Explorer"]

HOST = "127.0.0.1"
MAX_BODY = 1_000_000
MAX_DRAINED = 100_000_000
PATIENCE = 120.0  # seconds a request waits for earlier requests; kernels may be compiling
IDLE = 30.0  # seconds a connection may be idle

_log = logging.getLogger(__name__)


class Explorer(ThreadingHTTPServer):
    """The server. ``serve_forever`` runs it, ``shutdown`` and ``server_close`` stop it."""

    daemon_threads = True
    request_queue_size = 32

    def __init__(self, api: Api, port: int) -> None:
        self.api = api
        self.work = threading.Lock()
        """Only one request computes at a time: concurrent use of numba and warnings is not safe."""
        try:
            super().__init__((HOST, port), Handler)
        except OSError as error:
            raise InputError(
                f"Port {port} cannot be used ({error.strerror}). Choose another with --port, or "
                "--port 0 for any free one."
            ) from None

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}/"

    def server_bind(self) -> None:
        """Bind without a host name look-up, which can take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, int(self.server_address[1])


class _Refused(Exception):
    """Raised for a refused request, with status and message."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: Explorer
    server_version = "gpnn"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = IDLE
    wbufsize = -1  # send headers and body together; else the body waits for an acknowledgement
    disable_nagle_algorithm = True
    unread = 0  # bytes of a refused body

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self._answer(self._post)

    def do_other(self) -> None:
        self._answer(self._other)

    do_HEAD = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_other

    def _answer(self, respond: Callable[[str], tuple[str, bytes]]) -> None:
        """Send the result of ``respond`` for the path, or the error as JSON."""
        try:
            self._end_unread()
            refused = refusal({name: self.headers.get(name) for name in ("Host", "Origin")},
                           self.server.server_port)  # fmt: skip
            if refused is not None:
                length = self.headers.get("Content-Length", "")
                self.unread = int(length) if length.isdecimal() and len(length) < 12 else 0
                raise _Refused(HTTPStatus.FORBIDDEN, refused)
            kind, body = respond(urlsplit(self.path).path)
            self._send(HTTPStatus.OK, kind, body)
        except _Refused as refused:
            self.close_connection = True
            self._fail(refused.status, str(refused))
            self._drain()
        except InputError as error:
            self._fail(HTTPStatus.BAD_REQUEST, str(error))
        except (ConnectionError, TimeoutError):
            self.close_connection = True
        except Exception:
            _log.exception("the explorer could not answer %s %s", self.command, self.path[:200])
            self._fail(
                HTTPStatus.INTERNAL_SERVER_ERROR,
                "The explorer could not answer: a defect. The terminal has the details.",
            )

    def _end_unread(self) -> None:
        """Close the connection after an unread body, which must not be parsed as a request."""
        sized = self.headers.get("Content-Length", "0") != "0"
        if (sized or self.headers.get("Transfer-Encoding")) and self.command != "POST":
            self.close_connection = True

    def _get(self, path: str) -> tuple[str, bytes]:
        if path in pages():
            return pages()[path]
        question = self.server.api.get.get(path)
        if question is None:
            raise self._unknown(path, self.server.api.post)
        return self._compute(question)

    def _post(self, path: str) -> tuple[str, bytes]:
        document = self._document()
        task = self.server.api.post.get(path)
        if task is None:
            raise self._unknown(path, {**self.server.api.get, **pages()})
        return self._compute(lambda: task(document))

    def _other(self, path: str) -> tuple[str, bytes]:
        raise self._unknown(path, {**self.server.api.get, **self.server.api.post, **pages()})

    def _unknown(self, path: str, elsewhere: dict[str, Any]) -> _Refused:
        if path in elsewhere:
            return _Refused(HTTPStatus.METHOD_NOT_ALLOWED, f"{self.command} is not for {path}.")
        return _Refused(HTTPStatus.NOT_FOUND, "There is nothing at this address.")

    def _document(self) -> Any:
        """Read the JSON body. A body that is refused unread ends the connection."""
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or len(length) > 12:
            self.close_connection = True
            raise _Refused(HTTPStatus.LENGTH_REQUIRED, "Send a body with its Content-Length.")
        if int(length) > MAX_BODY:
            self.close_connection = True
            self.unread = int(length)
            raise _Refused(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"The request has {int(length):,} bytes; the limit is {MAX_BODY:,}. Send a "
                "smaller graph.",
            )
        body = self.rfile.read(int(length))
        if self.headers.get_content_type() != "application/json":
            raise _Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Send application/json.")
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise _Refused(HTTPStatus.BAD_REQUEST, f"The body is not JSON: {error}.") from None

    def _compute(self, task: Callable[[], dict[str, Any]]) -> tuple[str, bytes]:
        if not self.server.work.acquire(timeout=PATIENCE):
            raise _Refused(HTTPStatus.SERVICE_UNAVAILABLE, "The explorer is busy. Try again.")
        try:
            result = task()
        finally:
            self.server.work.release()
        return "application/json", json.dumps(result, allow_nan=False).encode()

    def _fail(self, status: HTTPStatus, message: str) -> None:
        body = json.dumps({"error": message}).encode()
        try:
            self._send(status, "application/json", body)
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def _drain(self) -> None:
        """Read the rest of a refused body, so that the client can read the response."""
        if not self.unread:
            return
        left = min(self.unread, MAX_DRAINED)
        self.connection.settimeout(1.0)
        try:
            self.wfile.flush()
            while left > 0 and (piece := self.rfile.read1(2**16)):
                left -= len(piece)
        except OSError:
            return

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer requests that the standard library refuses: broken request lines, unknown
        methods."""
        status = HTTPStatus.METHOD_NOT_ALLOWED if code == 501 else HTTPStatus(code)
        self.close_connection = True
        self.request_version = self.protocol_version  # always answer with a status line
        self._fail(status, message or explain or status.phrase)

    def log_message(self, format: str, *args: Any) -> None:
        """Do not log requests."""
