"""Writing at once or not at all, and the words for what the system refuses."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpnn.errors import InputError, OutputError, explained
from gpnn.files import PREFIX, atomic_path, reading, user_path, write_text, writing


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_have_the_permissions_that_the_umask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "a", "x")
        assert mode(tmp_path / "a") == 0o640
        (tmp_path / "a").chmod(0o600)
        write_text(tmp_path / "a", "y")
        assert mode(tmp_path / "a") == 0o600, "as the file that was replaced"
    finally:
        os.umask(before)


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    script = (
        "import sys, time\nfrom gpnn.files import atomic_path\n"
        "with atomic_path(sys.argv[1]) as t:\n    t.write_text('half')\n    print(1, flush=True)\n"
        "    time.sleep(60)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "a.txt")], stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    child.stdout.readline()
    write_text(tmp_path / "b.txt", "x")
    assert [p for p in tmp_path.iterdir() if p.name.startswith(PREFIX)], "it still lives"
    child.send_signal(signal.SIGKILL)
    child.wait()
    from gpnn import files

    files._tidy.clear()
    write_text(tmp_path / "b.txt", "y")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["b.txt"]


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "old")
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(OutputError) as caught, atomic_path(path) as temporary:
        temporary.write_text("half")
        raise full
    assert str(caught.value) == (
        f"Cannot write {path}: No space left on device. Free some space or choose another place, "
        "then run the same command again."
    )
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_names_that_the_system_refuses(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"File name too long\. Give a shorter name"):
        write_text(tmp_path / ("a" * 300), "x")
    with pytest.raises(InputError, match="a part of it is a file"):
        (tmp_path / "f").write_text("")
        write_text(tmp_path / "f" / "g", "x")
    with pytest.raises(InputError, match="it is a folder"):
        write_text(tmp_path, "x")
    with pytest.raises(InputError, match="holds a NUL character"), reading("a\0b"):
        Path("a\0b").read_bytes()
    with pytest.raises(InputError, match="holds a NUL character"), writing("a\0b"):
        Path("a\0b").write_bytes(b"")
    assert user_path("~nobody-of-this-name/x") == Path("~nobody-of-this-name/x")


def test_errors_that_are_no_defects_are_explained() -> None:
    assert "Memory ran out" in str(explained(MemoryError()))
    assert "Memory ran out" in str(explained(RuntimeError("[enforce] DefaultCPUAllocator: …")))
    lost = OSError(errno.EIO, os.strerror(errno.EIO), "a.npz")
    assert str(explained(lost)).startswith("Cannot use a.npz: Input/output error. Check the device")
    assert explained(RuntimeError("a defect")) is None


def test_ctrl_c_in_the_first_import_ends_in_words() -> None:
    code = (
        "import sys, time, builtins\nreal = builtins.__import__\n"
        "def slow(name, *rest):\n"
        "    if name.startswith('typer'):\n        print('now', flush=True)\n"
        "        time.sleep(30)\n"
        "    return real(name, *rest)\n"
        "builtins.__import__ = slow\nfrom gpnn.__main__ import main\nmain()\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert child.stdout is not None and child.stdout.readline() == "now\n"
    time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=30)
    assert (child.returncode, said) == (130, "gpnn: interrupted\n")
