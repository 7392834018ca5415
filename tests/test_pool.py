"""Results in order, workers that cannot start, and interruptions."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gpnn.errors import InputError
from gpnn.pool import ordered_map


def test_results_come_in_order() -> None:
    answers = list(ordered_map(partial, (divmod, 100), range(1, 9), jobs=2))
    assert answers == [divmod(100, k) for k in range(1, 9)]


def test_a_worker_that_cannot_start_says_why() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        list(ordered_map(int, ("x",), range(3), jobs=2))  # type: ignore[arg-type]
    die: Any = os._exit
    with pytest.raises(InputError, match="No worker process could start"):
        list(ordered_map(die, (1,), range(3), jobs=2))


SCRIPT = """
import sys, time
from gpnn.pool import ordered_map

def make():
    return slow

def slow(item):
    if item:
        time.sleep(60)
    return item

if __name__ == "__main__":
    try:
        print("begun", flush=True)
        for one in ordered_map(make, (), range(9), 2):
            print("answered", one, flush=True)
    except KeyboardInterrupt:
        print("stopped", flush=True)
"""


@pytest.mark.parametrize("line", ["begun", "answered 0"])
def test_an_interruption_ends_the_processes_in_silence(tmp_path: Path, line: str) -> None:
    """Ctrl-C reaches all processes of a terminal, also while they import."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    run = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    try:
        assert run.stdout is not None
        while run.stdout.readline().strip() != line:
            pass
        time.sleep(0.5)
        os.killpg(run.pid, signal.SIGINT)
        out, err = run.communicate(timeout=30)
    finally:
        run.kill()
    assert (run.returncode, err) == (0, "") and out.endswith("stopped\n")
