"""The ``gpnn`` command. Each command is one module; heavy imports happen inside the commands."""

from __future__ import annotations

import io
import sys
import warnings
from functools import cache
from typing import Annotated, Any

import typer
import typer.core

from ..errors import InputError, explained
from ..text import printable, shortened
from . import (
    bench,
    compare,
    datasets,
    demo,
    doctor,
    draw,
    evaluate,
    explain,
    explore,
    expressivity,
    partition,
    predict,
    prepare,
    report,
    reproduce,
    schemes,
    search,
    stats,
    train,
    verify,
)
from ._fanout import FanoutCommand

__all__ = ["app", "main"]

_GO_ON = ("predict", "prepare", "reproduce", "search", "train")


class _Commands(typer.core.TyperGroup):
    """The group of commands. It loads plugins, wherever ``--plugin`` is on the command line, and
    reports interruptions."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        rest, files = _plugins(args)
        if rest and not ({"--help", "--version"} & set(rest)):
            from ..plugins import load_installed_plugins, load_plugin

            load_installed_plugins()
            for file in files:
                load_plugin(file)
        return super().parse_args(ctx, rest)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            logged = any(word.split("=")[0] == "--log" for word in sys.argv)
            kept = logged or (ctx.invoked_subcommand in _GO_ON and "--fresh" not in sys.argv)
            hint = ": the same command resumes" if kept else ""
            sys.stderr.write(f"gpnn: interrupted{hint}\n")
            raise typer.Exit(130) from None


def _plugins(args: list[str]) -> tuple[list[str], list[str]]:
    """Return the arguments without ``--plugin FILE``, and the files."""
    rest: list[str] = []
    files: list[str] = []
    words = iter(args)
    for word in words:
        if word == "--":
            rest += [word, *words]
        elif word == "--plugin":
            file = next(words, None)
            if file is None:
                raise InputError("--plugin needs the name of a Python file.")
            files.append(file)
        elif word.startswith("--plugin="):
            files.append(word.removeprefix("--plugin="))
        else:
            rest.append(word)
    return rest, files


app = typer.Typer(
    name="gpnn",
    cls=_Commands,
    help="Partition graphs by structure, and learn how the parts interact.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("schemes")(schemes.schemes)
app.command("partition")(partition.partition)
app.command("stats")(stats.stats)
app.command("draw")(draw.draw)
app.command("compare")(compare.compare)
app.command("verify")(verify.verify)
app.command("expressivity")(expressivity.expressivity)
app.command("train", cls=FanoutCommand)(train.train)
app.command("prepare")(prepare.prepare)
app.command("evaluate")(evaluate.evaluate)
app.command("predict")(predict.predict)
app.command("explain")(explain.explain)
app.command("report")(report.report)
app.command("explore")(explore.explore)
app.command("demo")(demo.demo)
app.command("reproduce")(reproduce.reproduce)
app.command("search")(search.search)
app.command("datasets")(datasets.datasets)
app.command("doctor")(doctor.doctor)
app.add_typer(bench.app, name="bench")


@cache
def _note_once(text: str) -> None:
    sys.stderr.write(f"gpnn: {shortened(printable(text))}\n")


def _note(message: Warning | str, *_: Any, **__: Any) -> None:
    _note_once(str(message))


def _version(asked: bool) -> None:
    if asked:
        from .. import __version__

        typer.echo(f"gpnn {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    plugin: Annotated[
        list[str] | None,
        typer.Option(
            "--plugin",
            metavar="FILE.py",
            help="Python file that registers schemes, base GNNs or datasets; may be repeated; "
            "allowed before or after the command.",
        ),
    ] = None,
) -> None:
    """Partition graphs by structure, and learn how the parts interact."""


def main() -> None:
    """Run the command line. Mistakes of the user and failures of the system (a full disk, out of
    memory) end with a message and exit code 2; a traceback is a bug."""
    warnings.showwarning = _note
    _note_once.cache_clear()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
        sys.stdout.flush()
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except Exception as error:
        message = explained(error)
        if message is None:
            raise
        sys.stderr.write(f"gpnn: {message}\n")
        sys.exit(2)
