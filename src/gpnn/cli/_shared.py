"""Shared by all commands: options, output and errors."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from ..graph.graphs import Graphs
    from ..graph.registry import Scheme as Rule

__all__ = [
    "Data",
    "Engine",
    "Json",
    "Scheme",
    "Schemes",
    "Source",
    "TrainScheme",
    "command_line",
    "emit",
    "load",
    "notes",
    "scheme_rule",
    "show",
    "working",
    "writable",
]

Source = Annotated[
    str,
    typer.Argument(
        help="A file or folder (edge list, CSV, GraphML, graph6, TU, SMILES), a dataset name "
        "(MUTAG, ogbg-molhiv, …), one graph of it (MUTAG:5), or a graph itself "
        "(g6:TEXT, smiles:TEXT)."
    ),
]
Scheme = Annotated[
    str, typer.Option("--scheme", "-s", help="Partitioning scheme; see 'gpnn schemes'.")
]
TrainScheme = Annotated[
    str,
    typer.Option(
        "--scheme",
        "-s",
        help="Partitioning scheme, see 'gpnn schemes'; auto: chosen on inner folds of the training "
        "and validation samples, the base GNN alone among the candidates; learned-4: four parts "
        "that are learned with the network; mix:core,degree: several schemes with learned weights.",
    ),
]
Schemes = Annotated[
    list[str] | None, typer.Option("--scheme", "-s", help="Partitioning scheme; may be repeated.")
]
Data = Annotated[
    str | None,
    typer.Option("--data", help="Folder with datasets.", envvar="GPNN_DATA", show_envvar=True),
]
Engine = Annotated[
    str,
    typer.Option(
        help="local: processes of this machine; ray: a Ray cluster on this machine; "
        "ray://HOST:PORT: your own Ray cluster."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")]


def notes() -> Console:
    """Return the console on standard error, for everything except results."""
    from ._console import PlainConsole

    return PlainConsole(stderr=True, highlight=False, markup=False)


def scheme_rule(name: str) -> Rule:
    """Return a scheme by its name, or the scheme of the model in a folder, including learned
    schemes. A name of a scheme comes before that of a folder."""
    from ..errors import InputError
    from ..files import exists, user_path
    from ..graph.schemes import get_scheme

    folder = user_path(name)
    try:
        rule = get_scheme(name)
    except InputError as error:
        if not exists(folder) or folder.is_file():
            of_folder = "" if re.search(r"[+,:]|^learned-", name) else " Or name a model's folder."
            raise InputError(f"{error}{of_folder}") from None
    else:
        if exists(folder / "model.json"):
            notes().print(f"'{name}' is the scheme of that name; './{name}' is the folder.")
        return rule
    from ..train.model_file import load_model

    loaded = load_model(name)
    schemes = {one.model.config.structure.scheme for one in loaded.members}
    if not loaded.config.gpnn:
        notes().print(f"The model in {name} is not a GPNN: all vertices are in one part.")
    elif len(schemes) > 1:
        notes().print(
            f"The {len(loaded.members)} networks of the model in {name} have learned "
            f"{len(schemes)} schemes: that of the first network is shown."
        )
    return get_scheme(loaded.config.structure.scheme)


def command_line(*left_out: str) -> str:
    """Return the command as typed, without options (and their values) that do not affect the
    result, for the head of a generated page."""
    words, skip = [], False
    for word in sys.argv[1:]:
        if skip:
            skip = False
        elif word in left_out:
            skip = True
        elif word not in ("--json", "--fresh", "--resume"):
            words.append(word)
    return shlex.join(["gpnn", *words]).replace("`", "'")


def emit(document: Any) -> None:
    """Print the JSON document of a command on standard output."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def show(*tables: RenderableType) -> None:
    """Print human-readable results on standard output."""
    from ._console import PlainConsole

    width = None if sys.stdout.isatty() else 120
    console = PlainConsole(highlight=False, markup=False, width=width)
    for table in tables:
        console.print(table)


def styled(text: str, style: str) -> Text:
    """Return text in a style. The consoles do not interpret markup, so that brackets in user texts,
    such as the atom [nH], are printed unchanged."""
    from rich.text import Text

    return Text(text, style)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show a spinner on standard error during a long operation, if it is a terminal."""
    console = notes()
    if not console.is_terminal:
        yield
        return
    with console.status(styled(what, "")):
        yield


def writable(out: Path | None) -> Path | None:
    """Check ``--out`` before the work, so that its result is not lost."""
    if out is not None:
        from ..files import check_writable

        check_writable(out)
    return out


def load(source: str, data: str | None) -> Graphs:
    """Load the graphs of a source and report what had to be normalised."""
    from ..data.sources import resolve

    with working(f"reading {source} …"):
        graphs = resolve(source, data)
    if graphs.num_nodes == 0:
        notes().print(f"{source} holds no vertices.", style="yellow")
    if str(graphs.normalised):
        notes().print(f"{source}: {graphs.normalised}", style="dim")
    return graphs
