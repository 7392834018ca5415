"""Enter all doors many times: ``python -m fuzz.run --count 100000 --seed 1``.

Case ``number`` of a door under a seed is always the same: ``--replay DOOR:SEED:NUMBER`` enters it
once, in this process, and shows what it does. A case that takes longer than ``SECONDS``, or more
memory than the worker allows, is a defect; the worker is then replaced.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz.doors import DOORS

__all__ = ["SECONDS", "Outcome", "run"]

SECONDS = 30.0
"""That a case may take; the first of a door may compile kernels and take ten times as long."""
WEIGHT = {"command_line": 0.3, "explorer": 0.5, "archive": 0.5}
"""How often slow doors are entered, beside once for others."""


@dataclass
class Outcome:
    """How many cases of a door ended how, and the defects."""

    endings: Counter[tuple[str, str]] = field(default_factory=Counter)
    defects: list[tuple[str, str]] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")

    @property
    def count(self) -> int:
        return sum(self.endings.values())


class Worker:
    """A process that enters doors."""

    def __init__(self) -> None:
        here = Path(__file__).parent
        paths = [
            str(here.parent),
            str(here.parent.parent / "src"),
            os.environ.get("PYTHONPATH", ""),
        ]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        self.answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        self.warm: set[str] = set()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.answers.put(line)
        self.answers.put("")

    def enter(self, door: str, seed: int, number: int | str) -> tuple[str, str, float]:
        """How a case ended."""
        if door not in self.warm:
            self.warm.add(door)
            ending = self._ask(door, seed, "warm", 10 * SECONDS)
            if ending[1] in ("hang", "death"):
                return ending
        return self._ask(door, seed, number, SECONDS)

    def _ask(
        self, door: str, seed: int, number: int | str, seconds: float
    ) -> tuple[str, str, float]:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(f"{door} {seed} {number}\n")
            self.process.stdin.flush()
            line = self.answers.get(timeout=seconds)
        except (queue.Empty, BrokenPipeError):
            return "defect", "hang", seconds
        if not line:
            return "defect", "death", 0.0
        answer = json.loads(line)
        return answer["ending"], answer["detail"], answer["seconds"]

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def run(count: int, seed: int, doors: list[str] | None = None, make: Any = Worker) -> Outcome:
    """Enter so many cases, all doors in turn."""
    names, outcome, worker = doors or list(DOORS), Outcome(), make()
    credit = dict.fromkeys(names, 0.0)
    numbers = Counter[str]()
    try:
        while outcome.count < count:
            for door in names:
                credit[door] += WEIGHT.get(door, 1.0)
                if credit[door] < 1 or outcome.count >= count:
                    continue
                credit[door] -= 1
                number = numbers[door]
                numbers[door] += 1
                ending, detail, took = worker.enter(door, seed, number)
                outcome.endings[door, ending] += 1
                outcome.slowest = max(outcome.slowest, (took, f"{door}:{seed}:{number}"))
                if ending == "defect":
                    outcome.defects.append((f"{door}:{seed}:{number}", detail))
                    if detail in ("hang", "death"):
                        worker.end()
                        worker = make()
    finally:
        worker.end()
    return outcome


class Here:
    """Enters doors in this process, without limits: for measuring what is covered."""

    def enter(self, door: str, seed: int, number: int) -> tuple[str, str, float]:
        from fuzz.worker import case

        return (*case(door, seed, number), 0.0)

    def end(self) -> None: ...


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=3_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--doors", nargs="*", choices=list(DOORS))
    parser.add_argument("--replay", metavar="DOOR:SEED:NUMBER")
    parser.add_argument("--here", action="store_true", help="in this process, without limits")
    given = parser.parse_args()
    if given.replay:
        from fuzz.worker import case

        door, seed, number = given.replay.split(":")
        print(*case(door, int(seed), int(number)), sep="\n")
        return
    began = time.perf_counter()
    outcome = run(given.count, given.seed, given.doors, Here if given.here else Worker)
    for door in given.doors or DOORS:
        told = ", ".join(f"{n:,} {e}" for (d, e), n in sorted(outcome.endings.items()) if d == door)
        print(f"{door:14} {told}")
    for place, detail in outcome.defects:
        print(f"\n{place}\n{detail}")
    took, place = outcome.slowest
    print(f"{outcome.count:,} cases of seed {given.seed} in {time.perf_counter() - began:.0f} s; "
          f"{len(outcome.defects)} defects; the slowest took {took:.1f} s ({place})")  # fmt: skip
    sys.exit(bool(outcome.defects))


if __name__ == "__main__":
    main()
