"""A server of the explorer in this process."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

from gpnn.explore.api import Api
from gpnn.explore.server import Explorer


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[..., Explorer]]:
    """``serve(start=…, predictor=…)`` starts a server on a free port; all end with the session."""
    running: list[Explorer] = []

    def start(**options: Any) -> Explorer:
        server = Explorer(Api(**options), 0)
        running.append(server)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return server

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="session")
def explorer(serve: Callable[..., Explorer]) -> Explorer:
    """A server without model and without graphs of its own."""
    return serve()


@pytest.fixture
def ask(explorer: Explorer) -> Iterator[Callable[..., tuple[int, Any]]]:
    """``ask(method, path, body, headers)`` gives status and JSON (or bytes) of the answer."""
    opened: list[HTTPConnection] = []

    def request(
        method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        connection = HTTPConnection("127.0.0.1", explorer.server_port, timeout=60)
        opened.append(connection)
        sent = {} if body is None else {"Content-Type": "application/json"}
        raw = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        connection.request(method, path, raw, {**sent, **(headers or {})})
        answer = connection.getresponse()
        content = answer.read()
        request.headers = dict(answer.getheaders())  # type: ignore[attr-defined]
        kind = answer.headers.get_content_type()
        connection.close()
        wanted = kind == "application/json" and content
        return answer.status, json.loads(content) if wanted else content

    yield request
    for connection in opened:
        connection.close()
