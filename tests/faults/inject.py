"""Let one operation on files fail, or kill the process, in the middle of a command.

Counted are the operations that change what lies below a folder: files that are made, every write,
truncation, fsync, rename and new folder. Number ``at`` of them raises an error of the system, or
writes half of what it should and kills the process.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["HIT", "KINDS", "Injector"]

KINDS = ("ENOSPC", "EIO", "kill")
HIT = "hit.log"
"""Made when the operation is reached."""


class Injector:
    """Counts operations below a folder in this process; ``at`` is the one that fails, from 1."""

    def __init__(self, root: Path, at: int = 0, kind: str = "ENOSPC") -> None:
        self.root, self.at, self.kind = str(root.resolve()), at, kind
        self.seen: list[str] = []

    def count(self, what: str, path: Any, halve: Callable[[], object] | None = None) -> None:
        """One operation."""
        place = self._inside(path)
        if place is None:
            return
        self.seen.append(f"{what} {place.removeprefix(self.root + os.sep)}")
        if len(self.seen) != self.at:
            return
        Path(self.root, HIT).touch()
        if halve is not None:
            halve()
        if self.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        number = getattr(errno, self.kind)
        raise OSError(number, os.strerror(number), place)

    def _inside(self, path: Any) -> str | None:
        """The path, where it lies in the folder and is no log of ours."""
        try:
            place = os.path.abspath(os.fsdecode(path))  # noqa: PTH100
        except TypeError:
            return None
        mine = place.startswith(self.root + os.sep) and not place.endswith(".log")
        return place if mine else None

    def install(self) -> None:
        """From now on; there is no way back, so it belongs into a process of its own."""
        for name in ("replace", "rename", "mkdir"):
            setattr(os, name, self._counted(name, getattr(os, name)))
        make, flush, opened = os.open, os.fsync, io.open

        def os_open(path: Any, flags: int, *rest: Any, **more: Any) -> int:
            if flags & os.O_CREAT:
                self.count("make", path)
            return make(path, flags, *rest, **more)

        def fsync(handle: Any) -> None:
            number = handle if isinstance(handle, int) else handle.fileno()
            link = Path(f"/proc/self/fd/{number}")
            self.count("fsync", link.resolve() if link.exists() else Path(self.root) / "a file")
            flush(number)

        def open_(file: Any, mode: str = "r", *rest: Any, **more: Any) -> Any:
            if isinstance(file, int) or not set(mode) & set("wax+") or not self._inside(file):
                return opened(file, mode, *rest, **more)
            return self._open(file, mode, *rest, **more)

        os.open, os.fsync = os_open, fsync
        builtins.open = io.open = open_  # type: ignore[assignment]

    def _counted(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(path: Any, *rest: Any, **more: Any) -> Any:
            self.count(name, path)
            return call(path, *rest, **more)

        return counted

    def _open(
        self, file: Any, mode: str, buffering: int = -1, encoding: str | None = None,
        errors: str | None = None, newline: str | None = None, *_: Any, **__: Any,
    ) -> Any:  # fmt: skip
        """What ``open`` gives for a file to write, its writes counted."""
        raw = _Raw(self, file, mode.replace("t", "").replace("b", ""))
        if "b" in mode and buffering == 0:
            return raw
        buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        if "b" in mode:
            return buffered
        return io.TextIOWrapper(buffered, encoding or "utf-8", errors, newline)


class _Raw(io.FileIO):
    def __init__(self, injector: Injector, file: Any, mode: str) -> None:
        injector.count("open", file)
        self.injector = injector
        super().__init__(os.fspath(file), mode)

    def write(self, content: Any) -> int:
        half = bytes(content)[: len(content) // 2]
        self.injector.count("write", self.name, lambda: super(_Raw, self).write(half))
        return super().write(content)

    def truncate(self, size: int | None = None) -> int:
        self.injector.count("truncate", self.name)
        return super().truncate(size)
