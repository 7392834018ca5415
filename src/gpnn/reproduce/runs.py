"""The records of all runs: ``runs.jsonl``, one line each, next to ``curves/KEY.npz``.

Only one process writes at a time, and every key is written once; a version of gpnn with other
results replaces it. A process that is killed in the middle of a line leaves an incomplete last
line: readers skip it, and the next writer removes it.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from ..array_files import read_arrays, write_arrays
from ..errors import InputError
from ..files import writing
from ..graph.readers.files import note
from ..lock import locked
from ..options import Flag, Number, Whole
from ..schema import (
    Anything,
    Lines,
    ListOf,
    Maybe,
    Numbers,
    Table,
    Text,
    parse_json,
    read_lines,
    write_lines,
)
from ..train.replica import Curves
from .protocols import Member
from .provenance import version_of

__all__ = ["Record", "Runs"]

Record = dict[str, Any]


class Runs:
    """The runs of an output folder."""

    def __init__(self, out: str | Path) -> None:
        self.out = Path(out)
        self.path = self.out / "runs.jsonl"

    def read(self) -> dict[str, Record]:
        """Return every record by its key; an incomplete last line is skipped."""
        return self._read()[0]

    def _read(self) -> tuple[dict[str, Record], Lines]:
        """Return the records and the lines they came from."""
        if not self.path.exists():
            return {}, Lines([], 0, 0)
        fix = "Fix or remove the line; what it held is computed again."
        lines = read_lines(self.path, RECORD, fix)
        records: dict[str, Record] = {}
        for record in lines.rows:
            records.setdefault(record["key"], record)
        return records, lines

    def append(self, record: Record) -> bool:
        """Add a record unless its key exists with results of the same version; return whether it
        was added. A record of another version is replaced."""
        line = json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
        with locked(self.out / ".runs.lock"), writing(self.path):
            records, lines = self._read()
            known = records.get(record["key"])
            if known is not None and version_of(known) == version_of(record):
                return False
            if known is not None:
                write_lines(
                    self.path, [r for r in lines.rows if r["key"] != record["key"]] + [record]
                )
                return True
            with self.path.open("ab", buffering=0) as file:
                if lines.torn:
                    file.truncate(lines.whole)
                try:
                    rest = line.encode()
                    while rest:
                        rest = rest[file.write(rest) :]
                    os.fsync(file.fileno())
                except OSError:
                    with suppress(OSError):
                        file.truncate(lines.whole)
                    raise
        return True

    def forget(self, keys: Collection[str]) -> None:
        """Remove records, curves and unfinished work of jobs."""
        with locked(self.out / ".runs.lock"):
            kept = [r for key, r in self.read().items() if key.partition(":")[0] not in keys]
            if self.path.is_file():
                write_lines(self.path, kept)
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
        """Write curves, the members that their rows belong to, and other facts on the training."""
        facts = {
            "metric": curves.metric,
            "parameters": curves.parameters,
            "seconds": curves.seconds,
            "device": curves.device,
            "about": dict(curves.about),
            **about,
        }
        table = np.array([[*asdict(member).values()] for member in members], np.int64)
        arrays = {"members": table, "loss": curves.loss, "valid": curves.valid, "test": curves.test}
        write_arrays(path, {**arrays, "facts": np.array(json.dumps(facts))})

    def load_curves(self, path: Path) -> tuple[list[Member], Curves, Record] | None:
        """Read what :meth:`save_curves` wrote. Return ``None`` if the file is missing or damaged;
        a damaged file is reported and computed again."""
        if not path.is_file():
            return None
        try:
            file = read_arrays(path)
            facts: Record = parse_json(str(file["facts"]), FACTS, "facts")
            table = file["members"]
            loss, valid, test = (file[name] for name in ("loss", "valid", "test"))
            rows = {len(np.atleast_1d(array)) for array in (table, loss, valid, test)}
            if len(rows) > 1 or table.shape[1:] != (len(fields(Member)),) or loss.ndim != 2:
                raise InputError("its arrays do not fit together.")
            if not valid.shape == test.shape == loss.shape or table.dtype.kind != "i":
                raise InputError("its arrays do not fit together.")
        except InputError as error:
            note(f"{path} is damaged and computed again: {error}")
            return None
        known = {name: facts.pop(name) for name in ("parameters", "seconds", "device", "about")}
        curves = Curves(facts.pop("metric"), loss, valid, test, **known)
        return [Member(*row) for row in table.tolist()], curves, facts


_VALUE = Table({"value": Number(-math.inf), "fold": Whole(0), "seed": Whole(0)}, more=Anything())
_TRAINING = Table(
    {"key": Text(), "mean": Number(-math.inf), "values": ListOf(_VALUE)},
    {
        **{name: Maybe(Number(-math.inf)) for name in ("std", "error", "seconds")},
        **{name: Text() for name in ("protocol", "dataset", "method", "metric", "device")},
        **{name: Whole(0) for name in ("seeds", "folds", "replicas", "parameters")},
        **{
            name: Table(more=Anything()) for name in ("model", "row", "recipe", "about", "versions")
        },
        "quick": Flag(),
    },
    more=Anything(),
)
_COUNT = Table(
    {"key": Text()},
    {
        **{name: Whole(0) for name in ("graphs", "vertices", "partitions")},
        **{name: Number() for name in ("cross_edges", "within_edges", "seconds")},
        **{name: Text() for name in ("protocol", "dataset", "scheme")},
        "parts": ListOf(Text()),
        "sizes": Numbers(0),
        "quick": Flag(),
    },
    more=Anything(),
)


class _Record:
    """A line of ``runs.jsonl``: the record of a training or of counted partitions."""

    def read(self, name: str, value: Any) -> Record:
        known = value if isinstance(value, dict) else {}
        trained = "mean" in known or known.get("protocol", "partition") != "partition"
        return (_TRAINING if trained else _COUNT).read(name, value)


RECORD = _Record()
FACTS = Table(
    {
        "metric": Text(),
        "parameters": Whole(0),
        "seconds": Number(),
        "device": Text(),
        "about": Table(more=Anything()),
    },
    more=Anything(),
)
"""Facts that are stored with curves."""
