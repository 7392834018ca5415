"""``--fanout N N …``: an option with several numbers."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

from ..errors import InputError

__all__ = ["FanoutCommand", "fanout_numbers"]


class FanoutCommand(TyperCommand):
    """A command whose ``--fanout`` takes all numbers that follow it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--fanout" in args:
            at = args.index("--fanout") + 1
            end = at
            while end < len(args) and args[end].lstrip("-").replace(",", "").isdecimal():
                end += 1
            if end > at:
                args = [*args[:at], ",".join(args[at:end]), *args[end:]]
        return super().parse_args(ctx, args)


def fanout_numbers(fanout: str | None) -> list[int] | None:
    """The numbers of ``--fanout``."""
    if fanout is None:
        return None
    words = fanout.replace(",", " ").split()
    if not words or not all(word.removeprefix("-").isdecimal() for word in words):
        raise InputError(f"--fanout takes whole numbers, such as --fanout 15 10; got {fanout!r}.")
    return [int(word) for word in words]
