"""Let every write of a command fail once, and kill it at every write and at random times.

``python -m faults.run`` does all of it for a training, a prediction and a reproduced table;
``--kills 100`` adds kills of a training at random times. After every fault the same command is
given again, and must end with the result of an undisturbed run.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import hashlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from faults.inject import HIT, KINDS, Injector

__all__ = ["COMMANDS", "Command", "Faults", "kill_at_random", "warm"]

WORDS = (
    "C",
    "CC",
    "CCO",
    "CCN",
    "c1ccccc1",
    "C1CC1",
    "CC(=O)O",
    "CCCl",
    "C1CCC1",
    "CN",
    "CO",
    "CS",
)
RECIPE = 'name = "MUTAG"\nepochs = 2\nhidden = 4\nlayers = 1\nseeds = 1\nbatch_size = 64\n'
TIMED = ("seconds", "about", "device", "versions", "commit", "histories")


@dataclass(frozen=True)
class Command:
    """A command, what has to be there before it, and its result without times."""

    words: tuple[str, ...]
    before: tuple[str, ...]
    result: Callable[[Path], Any]


def _model(folder: Path) -> Any:
    card = json.loads((folder / "model" / "model.json").read_bytes())
    curves = (folder / "model" / "curves.png").is_file()
    about = {k: v for k, v in card["about"].items() if k not in TIMED}
    return card["weights"], card["encoder"], about["metrics"], about["best_epochs"], curves


def _records(folder: Path) -> Any:
    lines = [json.loads(line) for line in (folder / "out" / "runs.jsonl").read_text().splitlines()]
    rows = [{k: v for k, v in line.items() if k not in TIMED} for line in lines]
    return sorted(rows, key=lambda row: str(row["key"])), (
        folder / "out" / "graph-classification.png"
    ).exists()


TRAIN = ("train", "data.csv", "--out", "model", "--epochs", "3", "--hidden", "4", "--layers", "1",
         "--device", "cpu")  # fmt: skip
COMMANDS = {
    "train": Command(TRAIN, (), _model),
    "predict": Command(
        ("predict", "model", "data.csv", "--out", "out.csv", "--device", "cpu"),
        TRAIN,
        lambda folder: hashlib.sha256((folder / "out.csv").read_bytes()).hexdigest(),
    ),
    "reproduce": Command(
        ("reproduce", "graph-classification", "--only", "MUTAG/GIN", "--quick", "--out", "out",
         "--recipe", "MUTAG.toml", "--device", "cpu"),
        (),
        _records,
    ),
}  # fmt: skip


class Faults:
    """A command and its result when nothing fails; everything runs in forks of this process, which
    has imported and compiled all that is needed."""

    def __init__(self, name: str) -> None:
        self.name, self.command = name, COMMANDS[name]
        warm(name)
        self.start = Path(tempfile.mkdtemp(prefix="faults-"))
        prepare(self.start)
        if self.command.before:
            self._run(self.start, self.command.before)
        folder = self._copy()
        code, said, operations = self._run(folder, self.command.words)
        assert code == 0, said
        self.operations: list[str] = operations
        self.expected = self.command.result(folder)
        shutil.rmtree(folder)

    def close(self) -> None:
        shutil.rmtree(self.start, ignore_errors=True)

    def _copy(self) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="faults-"))
        shutil.copytree(self.start, folder, dirs_exist_ok=True)
        return folder

    def _run(
        self, folder: Path, words: Sequence[str], at: int = 0, kind: str = "ENOSPC"
    ) -> tuple[int, str, list[str]]:
        child = os.fork()
        if child == 0:
            _child(folder, words, at, kind)
        _, status = os.waitpid(child, 0)
        said = (folder / "said.log").read_text(errors="replace")
        seen = folder / "seen.log"
        operations = seen.read_text().splitlines() if seen.exists() else []
        return os.waitstatus_to_exitcode(status), said, operations

    def fail(self, at: int, kind: str) -> None:
        """Let operation ``at`` fail, then give the command again."""
        place = f"{self.name}: {self.operations[at - 1]} ({kind})"
        folder = self._copy()
        try:
            code, said, _ = self._run(folder, self.command.words, at, kind)
            if not (folder / HIT).exists():
                # A picture is written in a few pieces more or less: times stand in it.
                assert code == 0 and at > 0.8 * len(self.operations), (place, code, said)
            elif kind == "kill":
                assert code == -signal.SIGKILL, (place, code)
            else:
                assert code in (0, 2), (place, code, said)
                assert "Traceback" not in said, (place, said)
                if self.operations[at - 1].startswith(("write", "fsync", "replace")):
                    told = os.strerror(getattr(errno, kind))
                    assert code == 2 and "gpnn: Cannot write" in said and told in said, (
                        place,
                        said,
                    )
            code, said, _ = self._run(folder, self.command.words)
            assert code == 0, (place, said)
            assert self.command.result(folder) == self.expected, (place, "another result")
            left = [str(p) for p in folder.rglob(".writing-*") if "cache" not in p.parts]
            assert not left, (place, left)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


_WARM: set[str] = set()


def warm(name: str) -> None:
    """Run a command in this process, so that its forks need not import and compile."""
    if name in _WARM:
        return
    _WARM.add(name)
    from gpnn.cli import main

    before = sys.argv, Path.cwd()
    with tempfile.TemporaryDirectory() as folder, Path(os.devnull).open("w") as nowhere:
        prepare(Path(folder))
        os.chdir(folder)
        try:
            for words in filter(None, (COMMANDS[name].before, COMMANDS[name].words)):
                sys.argv = ["gpnn", *words]
                with (
                    contextlib.redirect_stdout(nowhere),
                    contextlib.redirect_stderr(nowhere),
                    contextlib.suppress(SystemExit),
                ):
                    main()
        finally:
            sys.argv = before[0]
            os.chdir(before[1])


def prepare(folder: Path) -> None:
    """The inputs of all commands."""
    rows = [f"{word},{'yes' if 'C1' in word or 'O' in word else 'no'}" for word in WORDS * 2]
    (folder / "data.csv").write_text("\n".join(["smiles,target", *rows]) + "\n")
    (folder / "MUTAG.toml").write_text(RECIPE)


def _child(folder: Path, words: Sequence[str], at: int, kind: str) -> None:
    code = 70
    try:
        log = os.open(folder / "said.log", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", 1) for number in (1, 2))
        os.chdir(folder)
        os.environ["GPNN_CACHE"] = str(folder / "cache")
        from gpnn import files
        from gpnn.cli import main
        from gpnn.train import loop

        files._tidy.clear()
        loop.SAVE_SECONDS = 0.0
        seen = folder / "seen.log"
        sys.argv = ["gpnn", *words]
        injector = Injector(folder, at, kind)
        injector.install()
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        sys.stdout.flush()
        if not at:
            seen.write_text("\n".join(injector.seen))
    except BaseException:
        import traceback

        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)


def kill_at_random(faults: Faults, kills: int, seed: int, most: float = 2.0) -> int:
    """Kill a command at random times, again and again until it is done, until so many kills have
    hit; the trainings that were finished in between, each with the result of an undisturbed one."""
    rng, hit, finished, folder = Random(seed), 0, 0, faults._copy()
    while hit < kills:
        child = os.fork()
        if child == 0:
            _child(folder, faults.command.words, 0, "")
        time.sleep(rng.uniform(0.0, most))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        if code == -signal.SIGKILL:
            hit += 1
            continue
        said = (folder / "said.log").read_text(errors="replace")
        assert code == 0, said
        assert faults.command.result(folder) == faults.expected, "another result"
        finished += 1
        shutil.rmtree(folder)
        folder = faults._copy()
    code, said, _ = faults._run(folder, faults.command.words)
    assert code == 0, said
    assert faults.command.result(folder) == faults.expected, "another result"
    shutil.rmtree(folder)
    return finished + 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commands", nargs="*", choices=list(COMMANDS), default=list(COMMANDS))
    parser.add_argument("--kills", type=int, default=0, help="of a training, at random times")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for name in given.commands:
        began, faults = time.perf_counter(), Faults(name)
        for at in range(1, len(faults.operations) + 1):
            for kind in KINDS:
                faults.fail(at, kind)
        print(f"{name}: {len(faults.operations)} operations, {len(KINDS)} faults each, in "
              f"{time.perf_counter() - began:.0f} s", flush=True)  # fmt: skip
        faults.close()
    if given.kills:
        began, faults = time.perf_counter(), Faults("train")
        finished = kill_at_random(faults, given.kills, given.seed)
        print(f"{given.kills} kills at random times, {finished} trainings finished with the same "
              f"result, in {time.perf_counter() - began:.0f} s")  # fmt: skip
        faults.close()


if __name__ == "__main__":
    main()
