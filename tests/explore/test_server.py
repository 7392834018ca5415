"""HTTP: what is answered, what is refused, and that refusals leave the server up."""

from __future__ import annotations

import json
import os
import socket
import statistics
import time
from http.client import HTTPConnection
from pathlib import Path

import networkx as nx
import pytest

from explore.graphs import LOLLIPOP, RING, TRIANGLES, wire
from gpnn import InputError
from gpnn.explore import guard
from gpnn.explore.api import Api, schemes
from gpnn.explore.server import MAX_BODY, Explorer
from gpnn.explore.static import pages
from gpnn.graph.schemes import get_scheme

GOOD = {"graphs": [LOLLIPOP], "scheme": "core", "interactions": "cross", "d": 1}


def test_page_and_its_files(ask):
    status, content = ask("GET", "/?from=mail")
    assert status == 200 and b"<title>gpnn explorer</title>" in content
    headers = ask.headers
    assert headers["Content-Security-Policy"].startswith("default-src 'self'")
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert {"/main.js", "/style.css", "/cytoscape.js", "/icon.svg"} <= set(pages())
    for path, (kind, content) in pages().items():
        status, got = ask("GET", path)
        assert (status, got) == (200, content)
        assert ask.headers["Content-Type"] == kind


def test_the_page_names_only_files_that_are_served():
    import re

    for path, (_, content) in pages().items():
        if path == "/cytoscape.js" or path.endswith(".txt"):
            continue
        text = content.decode()
        for found in re.findall(r'(?:from |src=|href=)"(?:\./)?([^"#]+)"', text):
            assert f"/{found}" in pages(), (path, found)
        without_names = text.replace("http://www.w3.org/2000/svg", "")
        assert "http" not in without_names.replace("https-", ""), path
        assert "style=" not in text and "onclick" not in text


def test_questions_and_tasks(ask):
    status, about = ask("GET", "/api/start")
    assert status == 200 and about["graphs"] == [] and about["model"] is None
    assert about["limits"] == {"vertices": 400, "edges": 10000, "pairwise": 250, "d": 4}
    assert len(ask("GET", "/api/gallery")[1]["entries"]) > 10
    assert ask("GET", "/api/schemes")[1] == schemes()
    status, found = ask("POST", "/api/analyse", GOOD)
    assert status == 200 and found["graphs"][0]["n"] == 4
    assert ask("POST", "/api/parse", {"kind": "graph6", "text": "Bw"})[1]["graph"]["n"] == 3
    assert len(ask("POST", "/api/place", {"graph": RING})[1]["at"]) == 6


def test_every_scheme_listed_exists():
    names = [row["name"] for row in schemes()["schemes"]]
    assert len(names) == len(set(names)) and "ego-2-fast" in names and "wl-3" in names
    for name in names:
        assert get_scheme(name).name == name


@pytest.mark.parametrize(
    "path",
    ["/nothing", "/index.html", "/../server.py", "/page/index.html", "/%2e%2e/server.py",
     "//etc/passwd", "/..%2f..%2fetc/passwd", "/main.js/", "/api/", "/api/predict"],
)  # fmt: skip
def test_unknown_paths(ask, path):
    for method, body in (("GET", None), ("POST", {})):
        status, content = ask(method, path, body)
        assert status == 404 and content == {"error": "There is nothing at this address."}


def test_wrong_methods(ask):
    assert ask("GET", "/api/analyse")[0] == 405
    assert ask("POST", "/api/gallery", {})[0] == 405
    assert ask("POST", "/", {})[0] == 405
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "BREW"):
        status, content = ask(method, "/api/analyse")
        assert status == 405 and "error" in content
    assert ask("HEAD", "/")[0] == 405


def test_foreign_hosts_and_origins(ask, explorer):
    port = explorer.server_port
    for host in ("example.org", "127.0.0.1", f"127.0.0.1:{port + 1}", f"evil.org:{port}", ""):
        status, content = ask("GET", "/", headers={"Host": host})
        assert status == 403 and "for this machine alone" in content["error"]
    for host in (f"localhost:{port}", f"[::1]:{port}"):
        assert ask("GET", "/", headers={"Host": host})[0] == 200
    for origin in ("https://example.org", "null", f"https://127.0.0.1:{port}", "http://localhost"):
        status, content = ask("POST", "/api/analyse", GOOD, {"Origin": origin})
        assert status == 403 and content == {"error": "Requests of other pages are refused."}
    assert ask("POST", "/api/analyse", GOOD, {"Origin": f"http://localhost:{port}"})[0] == 200


def test_guard_alone():
    assert guard.refusal({"Host": "LOCALHOST:80"}, 80) is None
    assert guard.refusal({}, 80) is not None


@pytest.mark.parametrize(
    ("body", "headers", "status", "said"),
    [
        (b"{", {}, 400, "The body is not JSON"),
        (b"\xff\xfe\x00", {}, 400, "The body is not JSON"),
        (b"[" * 100_000, {}, 400, "The body is not JSON"),
        (b"1" * 5000, {}, 400, "The body is not JSON"),
        (b"[]", {}, 400, "must be a JSON object; got []"),
        (b'{"graphs": [{"n": NaN, "edges": []}]}', {}, 400, "got nan"),
        (b"{}", {"Content-Type": "text/plain"}, 415, "Send application/json."),
        (b"{}", {"Content-Length": "-1"}, 411, "Send a body with its Content-Length."),
        (b"{}", {"Content-Length": "many"}, 411, "Send a body with its Content-Length."),
        (b"{}", {"Content-Length": str(MAX_BODY + 1)}, 413, "the limit is 1,000,000"),
        (b"{}", {"Content-Length": "9" * 40}, 411, "Send a body"),
    ],
)
def test_bad_bodies(ask, body, headers, status, said):
    got, content = ask(
        "POST", "/api/analyse", body, {"Content-Type": "application/json", **headers}
    )
    assert got == status and said in content["error"]
    assert ask("POST", "/api/analyse", GOOD)[0] == 200


def test_a_body_that_is_really_too_large(ask):
    for _ in range(5):
        status, content = ask("POST", "/api/analyse", b"x" * (3 * MAX_BODY))
        assert status == 413 and "The request has 3,000,000 bytes" in content["error"]


def test_broken_requests(explorer):
    for raw, status in (
        (b"\x00\x01\x02\r\n\r\n", b" 400 "),
        (b"GET / HTTP/9.9\r\n\r\n", b" 505 "),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", b" 414 "),
        (b"POST /api/analyse HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b" 403 "),
    ):
        with socket.create_connection(
            ("127.0.0.1", explorer.server_port), timeout=10
        ) as raw_socket:
            raw_socket.sendall(raw)
            answer = raw_socket.recv(4096)
        assert status in answer.split(b"\r\n")[0] and b'"error"' in answer, answer[:200]
        assert b"Traceback" not in answer


def test_a_defect_is_told_without_details(serve, monkeypatch, caplog):
    server = serve()

    def broken() -> dict[str, object]:
        raise RuntimeError("secret detail")

    monkeypatch.setitem(server.api.get, "/api/gallery", broken)
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.request("GET", "/api/gallery")
    answer = connection.getresponse()
    assert answer.status == 500 and b"secret" not in answer.read()
    assert "secret detail" in caplog.text


def test_port_in_use(explorer):
    with pytest.raises(InputError, match=r"cannot be used .* Choose another with --port"):
        Explorer(Api(), explorer.server_port)


def _resident() -> float:
    """Memory of this process in MB."""
    pages_used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages_used * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_a_thousand_requests_leave_memory_and_latency_flat(explorer):
    connection = HTTPConnection("127.0.0.1", explorer.server_port, timeout=60)
    dense = wire(nx.gnm_random_graph(60, 300, seed=1))
    mixed = [
        ("/api/analyse", GOOD, 200),
        ("/api/analyse", {"graphs": [RING, TRIANGLES]}, 200),
        ("/api/analyse", {"graphs": [dense], "interactions": "pairs"}, 200),
        ("/api/analyse", {"graphs": [{"n": 10**9, "edges": []}]}, 400),
        ("/api/parse", {"kind": "edges", "text": "0 1\n1 2\n"}, 200),
        ("/api/parse", {"kind": "graph6", "text": "not graph6"}, 400),
        ("/api/nothing", {}, 404),
        ("/api/analyse", b"{", 400),
        ("/../../etc/passwd", {}, 404),
        ("/api/analyse", {"graphs": [RING], "scheme": "x" * 90}, 400),
    ]
    took: list[float] = []
    memory: list[float] = []
    for number in range(1000):
        path, body, status = mixed[number % len(mixed)]
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        began = time.perf_counter()
        connection.request("POST", path, raw, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        took.append(time.perf_counter() - began)
        assert answer.status == status, (path, answer.status)
        if number % 100 == 99:
            memory.append(_resident())
    connection.close()
    assert memory[-1] - memory[1] < 40, memory
    early, late = (statistics.median(part) for part in (took[100:300], took[800:]))
    assert late < 5 * early + 0.05, (early, late)


@pytest.mark.parametrize("outer", ["POST /api/analyse", "PUT /api/analyse", "GET /api/schemes"])
def test_an_unread_body_is_not_the_next_request(explorer, outer):
    """A foreign page may not smuggle a request of its own in the body of a refused one."""
    port = explorer.server_port
    inner = f"GET /api/schemes HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    head = (
        f"{outer} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://evil.example\r\n"
        f"Content-Type: text/plain\r\nContent-Length: {len(inner)}\r\n\r\n"
    ).encode()
    with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        client.sendall(head + inner)
        got = b""
        while piece := client.recv(65536):
            got += piece
    assert got.count(b"HTTP/1.1 ") == 1 and b" 403 " in got.split(b"\r\n")[0]
