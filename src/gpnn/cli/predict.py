"""``gpnn predict``: a CSV with one line per row of the input."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from ._learn import Device, Model, Smiles, Strict, Threads, samples_of, use_threads
from ._progress import row_progress
from ._shared import Data, Json, Source, emit, notes, show, working

if TYPE_CHECKING:
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
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", help="Processes that read and predict a table.")
    ] = 1,
    fresh: Annotated[
        bool, typer.Option("--fresh/--resume", help="Start over, or resume a run of --out.")
    ] = False,
    device: Device = "auto",
    threads: Threads = 1,
    strict: Strict = False,
    data: Data = None,
    json: Json = False,
) -> None:
    """Predict for every graph of a source: one output row per input row, in input order.

    A row that cannot be read gets an empty prediction and the reason. Several networks (--ensemble,
    --folds) give their mean and, in separate columns, their standard deviation; a calibrated
    model (--calibrate) also gives the ends of intervals. '-' reads standard input.

    Tables of molecules are read and written in pieces, in constant memory for any length
    (except with --json, which keeps one document in memory and starts over). Run the same command
    again to resume an interrupted run: FILE.csv appears when it is complete.
    """
    from ..files import refuse_overwriting, user_path
    from ..options import Whole
    from ..train.answers import write_csv
    from ..train.device import pick_device
    from ..train.model_file import load_model
    from ..train.stream import StreamedTable, is_streamed

    use_threads(threads)
    Whole(1).read("--jobs", jobs)
    if out is not None and out.suffix.lower() != ".csv":
        raise InputError(f"Cannot write '{out}': give a name that ends in .csv.")
    if out is not None:
        refuse_overwriting(out, source)
    where = pick_device(device)
    loaded = load_model(model, where)
    level = _level(loaded, interval)
    rows: list[list[Any]] = []
    if is_streamed(source, loaded):
        with working(f"reading {source} …"):
            asked = StreamedTable(
                user_path(model), loaded, source, smiles, keep or (), level, str(where), threads,
                jobs, strict,
            )  # fmt: skip
        header = asked.header
        with row_progress() as (started, tick):
            if out is None:
                started(0, asked.rows)
                pieces = asked.answers()
            else:
                pieces = asked.write(out, fresh or json, started)
            for piece in pieces:
                rows += piece.rows if json or len(rows) < SHOWN else []
                tick(asked.count)
        count, skipped = asked.count, asked.skipped
    else:
        if keep:
            raise InputError(
                f"--keep copies columns of a table of molecules, which {source} is not."
            )
        if jobs > 1:
            raise InputError(f"--jobs is for tables of molecules, which {source} is not.")
        header, rows, skipped = _at_once(loaded, source, smiles, data, strict, level)
        count = len(rows)
        if out is not None:
            write_csv(out, header, rows)
    if out is not None:
        notes().print(f"wrote {out}: {count:,} rows, {skipped:,} without a prediction")
    if json:
        emit({"model": str(model), "source": source,
              "rows": [dict(zip(header, row, strict=True)) for row in rows]})  # fmt: skip
    elif out is None:
        _show(header, rows, count)


def _at_once(
    loaded: Loaded, source: str, smiles: str | None, data: str | None, strict: bool, level: float
) -> tuple[list[str], list[list[Any]], int]:
    """Return header and rows of a source that is not a table, and the number of rows without a
    prediction."""
    from ..train.answers import answer_header, answer_rows

    samples = samples_of(
        source, None, smiles, None, data, strict, like=loaded.encoder, labelled=False
    )
    with working(f"predicting {len(samples):,} rows …"):
        scores = loaded.predict_members(samples)
    skipped = samples.skipped
    rows = answer_rows(loaded, level, samples.rows.tolist(), samples.ids, scores, skipped)
    return answer_header(loaded, level), rows, len(skipped)


def _level(loaded: Loaded, wanted: float | None) -> float:
    """Return the level of the intervals; report if the model has no intervals of this level."""
    from ..train.conformal import LEVEL

    if loaded.calibration is None and wanted is not None:
        raise InputError("The model has no intervals: train it with --ensemble 5 --calibrate.")
    level = LEVEL if wanted is None else wanted
    known = loaded.calibration
    if known is not None:
        pairs = zip(known.errors, known.half_widths(level), strict=True)
        if any(errors and half is None for errors, half in pairs):
            notes().print(f"too few rows were calibrated on for intervals of level {level:g}: left "
                          "out")  # fmt: skip
    return level


def _show(header: list[str], rows: list[list[Any]], count: int) -> None:
    from rich.table import Table
    from rich.text import Text

    width = min(len(header), 8)
    table = Table()
    for name in header[: width - 1] + header[-1:]:
        table.add_column(Text(name), overflow="fold")
    for row in rows[:SHOWN]:
        cells = row[: width - 1] + row[-1:]
        table.add_row(*(Text("" if value is None else str(value)) for value in cells))
    hidden = count - SHOWN
    show(table, *([f"and {hidden:,} more rows: --out FILE.csv writes all"] if hidden > 0 else []))
