"""The ``gpnn`` command. Each command is one module; heavy imports happen inside the commands."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, Any

import typer
import typer.core

from ..errors import InputError
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
    reproduce,
    schemes,
    search,
    stats,
    train,
    verify,
)

__all__ = ["app", "main"]

_GO_ON = ("train", "search", "reproduce")


class _Commands(typer.core.TyperGroup):
    """The commands, which say so when they are interrupted."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            kept = ctx.invoked_subcommand in _GO_ON and "--fresh" not in sys.argv
            held = ": the same command goes on" if kept else ""
            sys.stderr.write(f"gpnn: interrupted{held}\n")
            raise typer.Exit(130) from None


app = typer.Typer(
    name="gpnn",
    cls=_Commands,
    help="Cut graphs into permutation-invariant parts and see how the parts interact.",
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
app.command("train")(train.train)
app.command("evaluate")(evaluate.evaluate)
app.command("predict")(predict.predict)
app.command("explain")(explain.explain)
app.command("explore")(explore.explore)
app.command("demo")(demo.demo)
app.command("reproduce")(reproduce.reproduce)
app.command("search")(search.search)
app.command("datasets")(datasets.datasets)
app.command("doctor")(doctor.doctor)
app.add_typer(bench.app, name="bench")


def _note(message: Warning | str, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"gpnn: {message}\n")


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
) -> None:
    """Cut graphs into permutation-invariant parts and see how the parts interact."""


def main() -> None:
    """Run the command line; a user's mistake ends with its message and exit code 2."""
    warnings.showwarning = _note
    try:
        app()
    except InputError as error:
        sys.stderr.write(f"gpnn: {error}\n")
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except KeyboardInterrupt:  # before a command has begun
        sys.stderr.write("gpnn: interrupted\n")
        sys.exit(130)
