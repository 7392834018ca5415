"""``gpnn explore`` as a user meets it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from urllib.request import urlopen


def test_serves_until_interrupted():
    """Ctrl-C counts even where the tests themselves run in the background, deaf to it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "gpnn", "explore", "rings", "--no-browser", "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("exploring at http://127.0.0.1:")
        url = line.split()[2]
        with urlopen(f"{url}api/start", timeout=60) as answer:
            about = json.load(answer)
        assert [graph["title"] for graph in about["graphs"]] == ["C6", "2 × C3"]
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0
    assert err.strip() == "stopped" and out == ""


def test_refusals(gpnn, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = gpnn("explore", "--no-browser", "--port", port)
        assert result.code == 2 and f"Port {port} cannot be used" in result.err
    for words, said in (
        (("MUTAG",), "'MUTAG' holds 188 graphs; the explorer opens one. Pick it, as in MUTAG:0"),
        (("MUTAG:0", "MUTAG:1", "MUTAG:2"), "opens one or two graphs; got 3"),
        (("no-such-graph",), "is no file or folder"),
        (("--model", tmp_path), "is not a model"),
        (("--port", "70000"), "65535"),
    ):
        result = gpnn("explore", "--no-browser", *words)
        assert result.code == 2 and said in result.err, result.err
        assert "Traceback" not in result.err


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from gpnn.cli import app\n"
        "try: app(['explore', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = ('torch', 'numba', 'networkx', 'matplotlib', 'http.server')\n"
        "print([m for m in heavy if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Open a local web page" in done.stdout and "--no-browser" in done.stdout
    assert done.stderr.strip().endswith("[]")
