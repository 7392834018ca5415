"""``gpnn explore``: the local web page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from ._shared import Data, load, notes, working

if TYPE_CHECKING:
    from ..explore.predict import Predictor

__all__ = ["explore"]


def explore(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[G] [H]",
            help="One or two graphs to open: graph6, SMILES, a file, MUTAG:5; or a named pair such "
            "as decalin.",
        ),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", "-p", help="Port; 0 takes any free one.", min=0, max=65535)
    ] = 8765,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address without opening a browser.")
    ] = False,
    model: Annotated[
        Path | None, typer.Option("--model", "-m", help="A folder that 'gpnn train' wrote.")
    ] = None,
    data: Data = None,
) -> None:
    """Open a local web page that shows parts, interactions and refinement.

    The server listens on this machine only and works offline. Stop it with Ctrl-C.
    """
    import webbrowser

    from ..explore.api import Api
    from ..explore.server import Explorer
    from ..explore.warm import warm

    predictor = _predictor(model) if model is not None else None
    server = Explorer(Api(_cards(sources or [], data), predictor), port)
    try:
        typer.echo(f"exploring at {server.url} (Ctrl-C ends)")
        warm(server)
        if not no_browser:
            webbrowser.open(server.url)
        server.serve_forever()
    except KeyboardInterrupt:
        notes().print("stopped")
    finally:
        server.server_close()


def _predictor(model: Path) -> Predictor:
    from ..explore.predict import Predictor

    with working(f"loading {model} …"):
        return Predictor(model)


def _cards(sources: list[str], data: str | None) -> list[dict[str, Any]]:
    """Return the graphs to open, in the format of the page."""
    from ..explore.gallery import open_sources

    if len(sources) > 2:
        raise InputError(f"The explorer opens one or two graphs; got {len(sources)}.")
    return open_sources(sources, lambda source: load(source, data))
