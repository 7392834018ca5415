"""Commands run in this process, as the shell would run them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from gpnn.cli import main


@dataclass
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def gpnn(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Outcome]:
    """``gpnn("stats", "MUTAG")`` gives exit code, standard output and standard error."""

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["gpnn", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        seen = capsys.readouterr()
        return Outcome(code, seen.out, seen.err)

    return run
