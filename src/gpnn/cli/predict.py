"""``gpnn predict``: a CSV with one line per row of the input."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from ._learn import Device, Model, Smiles, Strict, Threads, samples_of, use_threads
from ._predictions import header_of, interval_of, rounded, spread_of, write_csv, written
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
        Path | None,
        typer.Option("--out", "-o", help="CSV to write. Default: print the first predictions."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", help="Input column to copy to the output; may be repeated."),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option("--interval", help="Level of the intervals of a calibrated model. [0.9]"),
    ] = None,
    smiles: Smiles = None,
    device: Device = "auto",
    threads: Threads = 1,
    strict: Strict = False,
    data: Data = None,
    json: Json = False,
) -> None:
    """Predict for every graph of a source: one output row per input row, in input order.

    A row that cannot be read gets an empty prediction and the reason. Several networks (--ensemble,
    --folds) give their mean and, in columns of their own, their standard deviation; a calibrated
    model (--calibrate) also gives the ends of intervals. '-' reads standard input.
    """
    from ..files import refuse_overwriting
    from ..train.device import pick_device
    from ..train.model_file import load_model

    use_threads(threads)
    if out is not None and out.suffix.lower() != ".csv":
        raise InputError(f"Cannot write '{out}': give a name that ends in .csv.")
    if out is not None:
        refuse_overwriting(out, source)
    loaded = load_model(model, pick_device(device))
    level = _level(loaded, interval)
    header, kept = _header(loaded, level), _columns(source, keep or [], loaded)
    if twice := [name for name in kept if name in header]:
        raise InputError(f"The column {twice[0]!r} cannot be kept: the answer has one of its own.")
    samples = samples_of(
        source, None, smiles, None, data, strict, like=loaded.encoder, labelled=False
    )
    with working(f"predicting {len(samples):,} rows …"):
        scores = loaded.predict_members(samples)
    rows = list(_rows(loaded, samples, scores, level))
    header[2:2] = kept
    for row in rows:
        row[2:2] = [values[row[0] - 1] for values in kept.values()]
    if out is not None:
        write_csv(out, header, rows)
        notes().print(f"wrote {out}: {len(rows):,} rows, {len(samples.skipped):,} without a "
                      "prediction", soft_wrap=True)  # fmt: skip
    if json:
        emit({"model": str(model), "source": source,
              "rows": [dict(zip(header, row, strict=True)) for row in rows]})  # fmt: skip
    elif out is None:
        _show(header, rows)


def _level(loaded: Loaded, wanted: float | None) -> float:
    """The level of the intervals; a word where there are none of it."""
    from ..train.conformal import LEVEL

    if loaded.calibration is None and wanted is not None:
        raise InputError("The model has no intervals: train it with --ensemble 5 --calibrate.")
    level = LEVEL if wanted is None else wanted
    known = loaded.calibration
    if known is not None:
        pairs = zip(known.errors, known.half_widths(level), strict=True)
        if any(errors and half is None for errors, half in pairs):
            notes().print(f"too few rows were calibrated on for intervals of level {level:g}: left "
                          "out", soft_wrap=True)  # fmt: skip
    return level


def _columns(source: str, names: list[str], loaded: Loaded) -> dict[str, list[str]]:
    """Columns of a table of molecules, by name."""
    from ..data.raw import MOLECULE
    from ..data.table import is_table, read_columns
    from ..files import user_path

    if not names:
        return {}
    path = user_path(source)
    if not path.is_file() or not is_table(path) or loaded.encoder.kind != MOLECULE:
        raise InputError(f"--keep copies columns of a table of molecules, and {source} is none.")
    found, columns, _ = read_columns(path)
    if absent := [name for name in names if name not in columns]:
        raise InputError(f"{path} has no column {absent[0]!r}; its columns are {', '.join(found)}.")
    return {name: columns[name] for name in names}


def _header(loaded: Loaded, level: float) -> list[str]:
    spread = spread_of(loaded.encoder) if len(loaded.members) > 1 else []
    ends = [name for own in interval_of(loaded, level).values() for name in own[:2]]
    return ["row", "input", *header_of(loaded.encoder), *ends, *spread, "reason"]


def _rows(loaded: Loaded, samples: Samples, scores: Tensor, level: float) -> Iterator[list[Any]]:
    """In the order of the input, the rows that gave no graph among them."""
    encoder, several = loaded.encoder, len(loaded.members) > 1
    width, intervals = len(_header(loaded, level)) - 3, interval_of(loaded, level)
    found: list[tuple[int, list[Any]]] = [
        (skipped.row, [skipped.row + 1, skipped.id, *[None] * width, skipped.reason])
        for skipped in samples.skipped
    ]
    mean = scores.mean(0).tolist()
    spread = scores.std(0).tolist() if several else [[]] * len(mean)
    rows = zip(samples.rows.tolist(), samples.ids, mean, spread, strict=True)
    for row, name, values, apart in rows:
        ends = [values[k] + sign * half for k, (_, _, half) in intervals.items() for sign in
                (-1, 1)]  # fmt: skip
        answer = [*written(encoder, values), *rounded(ends), *rounded(apart)]
        found.append((row, [row + 1, name, *answer, None]))
    return (line for _, line in sorted(found, key=lambda item: item[0]))


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
