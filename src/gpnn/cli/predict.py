"""``gpnn predict``: a CSV with one line per row of the input."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from ._learn import Device, Model, Smiles, Strict, Threads, samples_of, use_threads
from ._shared import Data, Json, Source, emit, notes, show, working

if TYPE_CHECKING:
    from torch import Tensor

    from ..data.samples import Samples
    from ..train.model_file import Loaded

__all__ = ["predict"]

SHOWN = 10


def predict(
    model: Model,
    source: Source,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The CSV to write; else a few are shown.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", help="A column of the table to copy beside; may be repeated."),
    ] = None,
    smiles: Smiles = None,
    device: Device = "auto",
    threads: Threads = 1,
    strict: Strict = False,
    data: Data = None,
    json: Json = False,
) -> None:
    """Predict every graph of a source: a line per row, in the order of the input.

    A row that cannot be read gets an empty prediction and the reason.
    """
    from ..train.model_file import load_model
    from ..train.model_setup import pick_device

    use_threads(threads)
    if out is not None and out.suffix.lower() != ".csv":
        raise InputError(f"Cannot write '{out}': give a name that ends in .csv.")
    loaded = load_model(model, pick_device(device))
    header, kept = _header(loaded), _columns(source, keep or [], loaded)
    if twice := [name for name in kept if name in header]:
        raise InputError(f"The column {twice[0]!r} cannot be kept: the answer has one of its own.")
    samples = samples_of(
        source, None, smiles, None, data, strict, like=loaded.encoder, labelled=False
    )
    with working(f"predicting {len(samples):,} rows …"):
        scores = loaded.predict(samples)
    rows = list(_rows(loaded, samples, scores))
    header[2:2] = kept
    for row in rows:
        row[2:2] = [values[row[0] - 1] for values in kept.values()]
    if out is not None:
        _write(out, header, rows)
        notes().print(f"wrote {out}: {len(rows):,} rows, {len(samples.skipped):,} without a "
                      "prediction", markup=False, soft_wrap=True)  # fmt: skip
    if json:
        emit({"model": str(model), "source": source,
              "rows": [dict(zip(header, row, strict=True)) for row in rows]})  # fmt: skip
    elif out is None:
        _show(header, rows)


def _columns(source: str, names: list[str], loaded: Loaded) -> dict[str, list[str]]:
    """Columns of a table of molecules, by name."""
    from ..data.raw import MOLECULE
    from ..data.table import read_columns

    if not names:
        return {}
    path = Path(source).expanduser()
    headed = {".csv", ".tsv"} & {suffix.lower() for suffix in path.suffixes}
    if not headed or not path.is_file() or loaded.encoder.kind != MOLECULE:
        raise InputError(f"--keep copies columns of a CSV of molecules, and {source} is none.")
    found, columns, _ = read_columns(path)
    if absent := [name for name in names if name not in columns]:
        raise InputError(f"{path} has no column {absent[0]!r}; its columns are {', '.join(found)}.")
    return {name: columns[name] for name in names}


def _header(loaded: Loaded) -> list[str]:
    encoder = loaded.encoder
    if encoder.task.has_classes:
        named = ["prediction", *(f"p({name})" for name in encoder.class_names)]
    elif len(encoder.target_names) == 1:
        named = ["prediction"]
        named += ["p(1)"] if encoder.task.metric == "roc_auc" else []
    elif encoder.task.metric == "roc_auc":
        named = [f"p({name})" for name in encoder.target_names]
    else:
        named = list(encoder.target_names)
    return ["row", "input", *named, "reason"]


def _rows(loaded: Loaded, samples: Samples, scores: Tensor) -> Iterator[list[Any]]:
    """In the order of the input, the rows that gave no graph among them."""
    encoder = loaded.encoder
    width = len(_header(loaded)) - 3
    found: list[tuple[int, list[Any]]] = [
        (skipped.row, [skipped.row + 1, skipped.id, *[None] * width, skipped.reason])
        for skipped in samples.skipped
    ]
    ids = samples.ids
    for row, name, values in zip(samples.rows.tolist(), ids, scores.tolist(), strict=True):
        numbers: list[Any] = [float(f"{value:.6g}") for value in values]
        if encoder.task.has_classes:
            best = max(range(len(values)), key=values.__getitem__)
            numbers = [encoder.class_names[best], *numbers]
        elif encoder.task.metric == "roc_auc" and len(values) == 1:
            numbers = [int(values[0] >= 0.5), *numbers]
        found.append((row, [row + 1, name, *numbers, None]))
    return (line for _, line in sorted(found, key=lambda item: item[0]))


def _write(path: Path, header: list[str], rows: list[list[Any]]) -> None:
    import csv

    from ..files import atomic_path

    with atomic_path(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(["" if value is None else value for value in row] for row in rows)


def _show(header: list[str], rows: list[list[Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    width = min(len(header), 8)
    table = Table()
    for name in header[: width - 1] + header[-1:]:
        table.add_column(Text(name), overflow="fold")
    for row in rows[:SHOWN]:
        cells = row[: width - 1] + row[-1:]
        table.add_row(*(Text("" if value is None else str(value)) for value in cells))
    hidden = len(rows) - SHOWN
    show(table, *([f"and {hidden:,} more rows: --out FILE.csv writes all"] if hidden > 0 else []))
