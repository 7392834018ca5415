"""A file that is written chunk by chunk and gets its final name when it is complete.

Next to ``NAME`` there are ``NAME.part``, the content so far, and ``NAME.journal``, one line of JSON
per chunk: the length of the content and a SHA-256 chain over all bytes and states up to it. A run
that was killed resumes after the last chunk on which both files agree.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import RawIOBase
from pathlib import Path
from typing import Any

from .errors import InputError
from .files import reading, to_disk, write_text, writing
from .lock import locked
from .options import Whole
from .schema import Anything, Table, Text, parse_json

__all__ = ["Journal", "journalled"]

_FIRST = Table({"run": Table(more=Anything())})
_PIECE = Table({"bytes": Whole(0), "chain": Text(64), "state": Table(more=Anything())})


class Journal:
    """The chunks of a file that is being written; created by :func:`journalled`.

    Attributes:
        state: the state stored with the last chunk, empty before the first.
        dropped: number of bytes discarded because they did not agree with the journal.
    """

    def __init__(self, path: Path, run: Mapping[str, Any], fresh: bool) -> None:
        self.path, self.run = path, json.loads(json.dumps(run))
        self.part, self.log = names(path)
        self.state: dict[str, Any] = {}
        self.dropped = 0
        lines = [] if fresh else self._lines()
        if lines and lines[0]["run"] != self.run:
            other = sorted(k for k in self.run if lines[0]["run"].get(k) != self.run[k])
            raise InputError(
                f"{self.part} is the beginning of another run (other {', '.join(other)}). Finish "
                "that one, choose another name with --out, or start over with --fresh."
            )
        self.chain = hashlib.sha256(json.dumps(self.run, sort_keys=True).encode()).hexdigest()
        kept = self._verified(lines[1:])
        with writing(self.part):
            size = self.part.stat().st_size if self.part.is_file() else 0
            self.bytes = kept[-1]["bytes"] if kept else 0
            self.dropped = size - self.bytes
            # Unbuffered: a write that fails on a full disk is not repeated when the file is closed.
            self.file = self.part.open("r+b" if size else "wb", buffering=0)
            self.file.truncate(self.bytes)
            self.file.seek(self.bytes)
            content = [{"run": self.run}, *kept]
            write_text(self.log, "".join(json.dumps(line) + "\n" for line in content))
            self.lines = self.log.open("ab", buffering=0)

    def _lines(self) -> list[dict[str, Any]]:
        """The lines of the journal, up to the first incomplete or damaged line."""
        lines: list[dict[str, Any]] = []
        with reading(self.log), contextlib.suppress(FileNotFoundError):
            for line in self.log.read_bytes().split(b"\n")[:-1]:
                try:
                    lines.append(parse_json(line, _PIECE if lines else _FIRST))
                except InputError:
                    break
        return lines

    def _verified(self, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The leading lines that agree with the content."""
        kept: list[dict[str, Any]] = []
        with contextlib.suppress(FileNotFoundError), self.part.open("rb") as file:
            start = 0
            for line in lines:
                content = file.read(max(0, line["bytes"] - start))
                chain = self._next(content, line["state"])
                if start + len(content) != line["bytes"] or chain != line["chain"]:
                    break
                self.chain, self.state, start = chain, line["state"], line["bytes"]
                kept.append(line)
        return kept

    def _next(self, content: bytes, state: Mapping[str, Any]) -> str:
        total = hashlib.sha256(self.chain.encode())
        total.update(content)
        total.update(json.dumps(state, sort_keys=True).encode())
        return total.hexdigest()

    def add(self, content: bytes, state: Mapping[str, Any]) -> None:
        """Write a chunk, and the state needed to resume the run after it."""
        with writing(self.part):
            _write(self.file, content)
            self.bytes += len(content)
            self.chain, self.state = self._next(content, state), dict(state)
            line = {"bytes": self.bytes, "chain": self.chain, "state": self.state}
            _write(self.lines, json.dumps(line).encode() + b"\n")

    def finish(self) -> None:
        """Give the complete file its final name."""
        with writing(self.path):
            self.close()
            if self.path.exists():
                self.part.chmod(stat.S_IMODE(self.path.stat().st_mode))
            to_disk(self.part)
            self.part.replace(self.path)
            self.log.unlink(missing_ok=True)
            to_disk(self.path.parent)

    def discard(self) -> None:
        """Delete the partial file and the journal."""
        self.close()
        self.part.unlink(missing_ok=True)
        self.log.unlink(missing_ok=True)

    def close(self) -> None:
        self.file.close()
        self.lines.close()


def _write(file: RawIOBase, content: bytes) -> None:
    """Write all bytes; a single call may write fewer."""
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) or 0 :]


def names(path: Path) -> tuple[Path, Path]:
    """The paths of the partial content and of the journal."""
    return path.with_name(f"{path.name}.part"), path.with_name(f"{path.name}.journal")


@contextmanager
def journalled(path: Path, run: Mapping[str, Any], fresh: bool = False) -> Iterator[Journal]:
    """Open a file that one process at a time writes in chunks.

    Args:
        run: what determines the content, as JSON-compatible values; a different run is not resumed.
        fresh: discard existing content and start over.
    """
    with writing(path):
        if path.is_dir():
            raise InputError(f"Cannot write {path}: it is a folder. Give a file name.")
    part, _ = names(path)
    with locked(part, wait=False) as mine:
        if not mine:
            raise InputError(f"Another process is writing {part}. Wait for it, or choose --out.")
        journal = Journal(path, run, fresh)
        try:
            yield journal
        finally:
            with contextlib.suppress(OSError):
                journal.close()
