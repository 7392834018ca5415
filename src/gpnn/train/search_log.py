"""The log of a search: every trial of every rung, one JSON line each, in ``trials.jsonl``.

The first line describes the search; a folder holds one search. The file is replaced as a whole
after every training, so that an interrupted search resumes after the last finished training.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .. import RESULTS
from ..errors import InputError
from ..lock import locked
from ..options import Number, Whole
from ..schema import Anything, ListOf, Maybe, Table, Text, read_rows, write_lines
from .checkpoint import describe_difference

__all__ = ["LOG", "Trial", "TrialLog", "search_folder"]

LOG = "trials.jsonl"


@dataclass(frozen=True)
class Trial:
    """A setting that was trained for the epochs of a rung.

    Attributes:
        number: number of the setting, from 1; ``rung``: from 1; ``epochs``: epochs of this rung.
        values: values of the fields searched.
        value, std: mean and standard deviation of the validation metric over the models, at
            ``epoch``; ``None`` if the trial failed.
        parameters: parameters of one model; ``seconds``: training time, shared by the trials that
            were trained together.
        reason: why it failed, or "".
        models: the value of every model; ``value`` is their mean.
    """

    number: int
    rung: int
    epochs: int
    values: Mapping[str, Any]
    value: float | None = None
    std: float | None = None
    epoch: int | None = None
    parameters: int | None = None
    seconds: float = 0.0
    reason: str = ""
    models: tuple[float, ...] = ()


@contextmanager
def search_folder(folder: Path, fresh: bool, *more: str) -> Iterator[None]:
    """Lock the folder of a search for one process. ``fresh`` deletes the log, checkpoints and the
    further files named in ``more``."""
    with locked(folder / "search.lock", wait=False) as mine:
        if not mine:
            raise InputError(
                f"Another search is running in {folder}. Wait, or choose another folder."
            )
        if fresh:
            for name in (LOG, *more):
                (folder / name).unlink(missing_ok=True)
            shutil.rmtree(folder / "work", ignore_errors=True)
        yield


class TrialLog:
    """The trials of a folder; ``about`` holds the settings that identify the search. The log of a
    version of gpnn with other results is another search."""

    def __init__(self, folder: Path, about: Mapping[str, Any]) -> None:
        self.path = folder / LOG
        self.about: dict[str, Any] = json.loads(json.dumps({**about, "gpnn": RESULTS}))
        self.trials: list[Trial] = []
        if not self.path.is_file():
            return
        fix = "Choose another folder with --out, or start over there with --fresh."
        rows = read_rows(self.path, (_HEAD, _TRIAL), fix)
        if not rows:
            raise InputError(f"{self.path} is not the log of a search. {fix}")
        there = rows[0]["search"]
        self.trials = [Trial(**{**row, "models": tuple(row.get("models", ()))}) for row in rows[1:]]
        if there != self.about:
            raise InputError(
                f"{folder} holds another search ({describe_difference(there, self.about)}). {fix}"
            )

    def find(self, number: int, rung: int) -> Trial | None:
        """The finished trial of a setting in a rung, or ``None``."""
        return next((t for t in self.trials if (t.number, t.rung) == (number, rung)), None)

    def add(self, trials: Sequence[Trial]) -> None:
        """Add finished trials and write the log. Lines are sorted by rung and number, whichever
        trial was finished first."""
        for trial in trials:
            _TRIAL.read("", asdict(trial))
        self.trials = sorted([*self.trials, *trials], key=lambda trial: (trial.rung, trial.number))
        write_lines(self.path, [{"search": self.about}, *map(asdict, self.trials)])


_HEAD = Table({"search": Table(more=Anything())})
_TRIAL = Table(
    {
        **{name: Whole(1) for name in ("number", "rung", "epochs")},
        "values": Table(more=Anything()),
        **{name: Maybe(Number(-math.inf)) for name in ("value", "std")},
        **{name: Maybe(Whole(0)) for name in ("epoch", "parameters")},
        "seconds": Number(),
        "reason": Text(),
    },
    {"models": ListOf(Number(-math.inf))},
)
