"""The record of all runs: ``runs.jsonl``, one line each, beside ``curves/KEY.npz``.

A line is written whole or not at all, by one process at a time, and every key once. A process that
is killed in the middle of a line leaves a torn last one: readers pass it over, and the next writer
removes it.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from ..errors import InputError
from ..files import atomic_path, write_text
from ..train.replica import Curves
from .lock import locked
from .protocols import Member

__all__ = ["Record", "Runs"]

Record = dict[str, Any]


class Runs:
    """The runs of an output folder."""

    def __init__(self, out: str | Path) -> None:
        self.out = Path(out)
        self.path = self.out / "runs.jsonl"

    def read(self) -> dict[str, Record]:
        """Every record by its key; a torn last line does not count."""
        try:
            whole, _ = _whole_lines(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise InputError(f"Cannot read {self.path}: {error.strerror}.") from None
        records: dict[str, Record] = {}
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                record = json.loads(line)
                _check(record)
                records.setdefault(record["key"], record)
            except (ValueError, KeyError, TypeError):
                raise InputError(
                    f"Line {number} of {self.path} is no record of a run. Fix or remove the line; "
                    "what it held is computed again."
                ) from None
        return records

    def append(self, record: Record) -> bool:
        """Add a record, unless its key is there; whether it was added."""
        line = json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
        with locked(self.out / ".runs.lock"), self.path.open("a+b") as file:
            file.seek(0)
            whole, torn = _whole_lines(file.read())
            if torn:
                file.truncate(len(whole))
            if record["key"] in self.read():
                return False
            file.seek(0, os.SEEK_END)
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())
        return True

    def forget(self, keys: Collection[str]) -> None:
        """Remove records and curves of jobs, and what was begun of them."""
        with locked(self.out / ".runs.lock"):
            kept = [r for key, r in self.read().items() if key.partition(":")[0] not in keys]
            if self.path.is_file():
                lines = (json.dumps(r, ensure_ascii=False, allow_nan=False) for r in kept)
                write_text(self.path, "".join(f"{line}\n" for line in lines))
        for key in keys:
            self.curves_path(key).unlink(missing_ok=True)
            shutil.rmtree(self.work(key), ignore_errors=True)

    def curves_path(self, key: str) -> Path:
        return self.out / "curves" / f"{key}.npz"

    def work(self, key: str) -> Path:
        """The folder of a job that is not finished."""
        return self.out / "work" / key

    def save_curves(
        self, path: Path, members: Sequence[Member], curves: Curves, about: Record
    ) -> None:
        """Write curves, who is who among their rows, and what else is known of the training."""
        facts = {
            "metric": curves.metric,
            "parameters": curves.parameters,
            "seconds": curves.seconds,
            "device": curves.device,
            "about": dict(curves.about),
            **about,
        }
        table = np.array([[*asdict(member).values()] for member in members], np.int64)
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(
                file,
                members=table,
                loss=curves.loss,
                valid=curves.valid,
                test=curves.test,
                facts=np.array(json.dumps(facts)),
            )

    def load_curves(self, path: Path) -> tuple[list[Member], Curves, Record] | None:
        """What :meth:`save_curves` wrote; ``None`` where there is nothing, or a damaged file."""
        try:
            with np.load(path, allow_pickle=False) as file:
                facts: Record = json.loads(str(file["facts"]))
                members = [Member(*row) for row in file["members"].tolist()]
                arrays = [file[name] for name in ("loss", "valid", "test")]
        except (ValueError, KeyError, TypeError, OSError, EOFError, BadZipFile):
            return None
        known = {name: facts.pop(name) for name in ("parameters", "seconds", "device", "about")}
        curves = Curves(facts.pop("metric"), *arrays, **known)
        return members, curves, facts


def _check(record: Record) -> None:
    """Refuse, by a KeyError or TypeError, what no table could be made from."""
    if not isinstance(record["key"], str):
        raise TypeError
    if "mean" in record:
        for one in record["values"]:
            float(one["value"]), int(one["fold"]), int(one["seed"])
        float(record["mean"])


def _whole_lines(content: bytes) -> tuple[bytes, bytes]:
    """The content up to its last line end, and what lies behind it."""
    end = content.rfind(b"\n") + 1
    return content[:end], content[end:]
