"""A process that enters doors, one case after another, in bounded memory.

It reads ``door seed number`` from standard input and answers each with one line of JSON: ``ending``
(``read``, ``refused`` or ``defect``), ``detail``, ``seconds`` and ``bytes``, by which its memory
grew beyond what it had after its first cases.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from random import Random

from fuzz.doors import DOORS
from gpnn.errors import InputError

__all__ = ["MEMORY", "case", "main"]

MEMORY = 2 * 2**30
"""Bytes that a case may take."""


def case(door: str, seed: int, number: int) -> tuple[str, str]:
    """Enter a door once: how it ended, and what is to be said of it."""
    rng, folder = Random(f"{seed}/{door}/{number}"), Path(tempfile.mkdtemp(prefix="fuzz-"))
    os.environ["GPNN_CACHE"] = str(folder / "cache")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            enter = DOORS[door](rng, folder)
            try:
                enter()
            except InputError as error:
                said = str(error)
                if len(said) > 10_000 or not said:
                    return "defect", f"a message of {len(said)} characters"
                return "refused", said
            except TypeError as error:
                if door in ("options", "objects", "estimator"):
                    return "refused", f"TypeError: {error}"
                raise
        return "read", ""
    except Exception:
        return "defect", traceback.format_exc()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def used() -> int:
    """Address space of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    sys.stdout = sys.stderr
    for line in sys.stdin:
        door, seed, number = line.split()
        if Path("/proc/self/statm").exists():
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
            if number != "warm":
                resource.setrlimit(resource.RLIMIT_AS, (used() + MEMORY, resource.RLIM_INFINITY))
        began = time.perf_counter()
        ending, detail = case(door, int(seed), -1 if number == "warm" else int(number))
        seconds = time.perf_counter() - began
        answers.write(json.dumps({"ending": ending, "detail": detail, "seconds": seconds}) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
