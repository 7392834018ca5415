"""The finished pairs of ``gpnn expressivity brec --realised``, one JSON line each, from which an
interrupted run resumes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..lock import sole_writer
from ..options import Flag, Number, Whole
from ..schema import Anything, Maybe, Table, Text, read_rows, write_lines

__all__ = ["PairLog", "PairResult", "locked_log"]

THRESHOLD = 72.34
"""95 % critical value of T² for 16 dimensions and 32 samples."""
ABOVE_NOISE, LEAST_NOISE = 1_000.0, 1e-12
FIX = "Choose another file with --log."
MEASURED = ("signal", "noise", "statistic", "reliability")


@dataclass(frozen=True)
class PairResult:
    """The results of the exact refinement and of the network for one pair.

    Attributes:
        exact: whether the refinement distinguishes the pair; ``None`` if no refinement is known.
        layers: number of layers of the network.
        signal, noise: untrained, the largest difference between the mean outputs of the graphs, and
            between outputs of copies of one graph.
        statistic, reliability: trained, T² between the graphs and between copies of one graph.
        epochs: number of training epochs.

    A value is NaN if the network diverged; such a pair is neither distinguished nor reliable.
    """

    exact: bool | None
    layers: int
    signal: float
    noise: float
    statistic: float
    reliability: float
    epochs: int

    @property
    def untrained(self) -> bool:
        return self.signal > ABOVE_NOISE * max(self.noise, LEAST_NOISE)

    @property
    def reliable(self) -> bool:
        return self.reliability < THRESHOLD

    @property
    def distinguishes(self) -> bool:
        return self.reliable and self.statistic > THRESHOLD


class PairLog:
    """Finished pairs by method and number. A pair that is too large for a method has the reason, a
    text, in place of a result.

    Args:
        path: the file, or ``None`` to keep nothing.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.lines: list[dict[str, Any]] = []
        if path is not None and path.is_file():
            self.lines = read_rows(path, _LINE, FIX)
            for number, line in enumerate(self.lines, start=1):
                if ("result" in line) == ("refused" in line):
                    raise InputError(
                        f"Line {number} of {path} must have a result, or why the pair is "
                        f"refused. {FIX}"
                    )

    def of(self, method: Mapping[str, Any]) -> dict[int, PairResult | str]:
        """The finished pairs of a method."""
        return {
            line["pair"]: line["refused"] if "refused" in line else _restored(line["result"])
            for line in self.lines
            if line["method"] == method
        }

    def add(self, method: Mapping[str, Any], pair: int, result: PairResult | str) -> None:
        if self.path is None:
            return
        line: dict[str, Any] = {"method": dict(method), "pair": pair}
        if isinstance(result, str):
            line["refused"] = result
        else:
            values = asdict(result)
            line["result"] = values | {
                name: values[name] if math.isfinite(values[name]) else None for name in MEASURED
            }
        self.lines.append(line)
        write_lines(self.path, self.lines)


@contextmanager
def locked_log(path: Path | None) -> Iterator[PairLog]:
    """The log of a file that no other process writes meanwhile."""
    if path is None:
        yield PairLog()
        return
    with sole_writer(path):
        yield PairLog(path)


def _restored(content: Mapping[str, Any]) -> PairResult:
    unknown = {name: math.nan for name in MEASURED if content[name] is None}
    return PairResult(**{**content, **unknown})


_RESULT = Table(
    {
        "exact": Maybe(Flag()),
        **{name: Whole(0) for name in ("layers", "epochs")},
        **{name: Maybe(Number(-math.inf)) for name in MEASURED},
    }
)
_LINE = Table(
    {"method": Table(more=Anything()), "pair": Whole(0)}, {"result": _RESULT, "refused": Text()}
)
