"""The logs of ``gpnn bench schemes``, from which it resumes: for every source, finished trainings
in ``SOURCE.jsonl`` and finished choices of ``auto`` in ``SOURCE.choices.jsonl``.

The first line holds everything that the others depend on, except run and method. A training of
``auto`` holds the options that were chosen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..lock import sole_writer
from ..options import AUTO, Flag, Number, Whole
from ..schema import Anything, Table, Text, read_rows, write_lines
from ..train.checkpoint import describe_difference

__all__ = ["CHOICE", "TRAINING", "check_names", "log_path", "opened_log", "read_log"]

Record = dict[str, Any]

TRAINING = Table(
    {
        **{name: Whole(0) for name in ("run", "trained", "tested", "parameters")},
        "value": Number(-np.inf),
        "seconds": Number(),
        **{name: Text() for name in ("method", "metric")},
    },
    {"options": Table(more=Anything())},
)
CHOICE = Table(
    {
        "run": Whole(0),
        "chosen": Text(),
        "options": Table(more=Anything()),
        "complete": Flag(),
        "seconds": Number(),
    }
)
FIX = "Name another folder with --log."


def log_path(log: Path, source: str, rule: Table) -> Path:
    """The file of a source."""
    name = re.sub("[^A-Za-z0-9_.-]+", "-", source)
    return log / (name + (".choices.jsonl" if rule is CHOICE else ".jsonl"))


def check_names(log: Path, sources: Sequence[str]) -> None:
    """Raise an error if two sources have one file."""
    of: dict[Path, str] = {}
    for source in sources:
        other = of.setdefault(log_path(log, source, TRAINING), source)
        if other != source:
            raise InputError(
                f"The logs of {other} and {source} have the same name. Compare them one by one, "
                "each with a folder of its own for --log."
            )


def read_log(path: Path, about: Mapping[str, Any], rule: Table) -> list[Record]:
    """The records of a log, none if there is no file; the log of another comparison raises."""
    if not path.is_file():
        return []
    rows = read_rows(path, (Table({"comparison": Table(more=Anything())}), rule), FIX)
    known, own = rows[0]["comparison"] if rows else {}, json.loads(json.dumps(about))
    if known != own:
        what = describe_difference(known, own) if known else "it has no comparison"
        raise InputError(f"{path} holds another comparison ({what}). {FIX}")
    lines: dict[tuple[int, str], int] = {}
    for number, row in enumerate(rows[1:], start=2):
        first = lines.setdefault((row["run"], row.get("method", AUTO)), number)
        if first != number:
            raise InputError(f"Lines {first} and {number} of {path} are of one run. Remove one.")
    return rows[1:]


@contextmanager
def opened_log(
    log: Path | None, about: Mapping[str, Any], rule: Table
) -> Iterator[tuple[list[Record], Callable[[], None]]]:
    """The records of a log, and a function that stores the list. The log is locked for other
    processes."""
    if log is None:
        yield [], lambda: None
        return
    path = log_path(log, about["source"], rule)
    with sole_writer(path):
        records = read_log(path, about, rule)

        def keep() -> None:
            write_lines(path, [{"comparison": about}, *records])

        yield records, keep
