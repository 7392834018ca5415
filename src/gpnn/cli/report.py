"""``gpnn report``: a page about the predictions of a model for a table of molecules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from ._learn import Device, Model, Smiles, Strict, samples_of
from ._shared import Data, notes, working
from .explain import DESCRIPTORS_APART

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..data.samples import Samples
    from ..plots.report import Page
    from ..train.model_file import Loaded

__all__ = ["report"]

LEVELS = tuple(k / 20 for k in range(2, 20))
SCAFFOLDS = 15


def report(
    model: Model,
    source: Annotated[str, typer.Argument(help="A table of molecules: CSV, TSV, SDF, Parquet.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Page to write.")] = Path("report.html"),
    output: Annotated[
        str | None,
        typer.Option(
            "--class",
            "-c",
            help="Class or target to report. Default: the first target, "
            "or of two classes the second.",
        ),
    ] = None,
    part: Annotated[
        str,
        typer.Option(
            help="all, or the part of the training table: train, valid, test. Default: "
            "test of the training table, all of others."
        ),
    ] = "auto",
    shown: Annotated[int, typer.Option(help="Molecules per section.", min=1, max=100)] = 9,
    smiles: Smiles = None,
    device: Device = "cpu",
    strict: Strict = False,
    data: Data = None,
) -> None:
    """Write one HTML file: plots, worst errors, largest contributions, results by scaffold.

    The file needs no network and contains no scripts, so it can be sent by mail. Without labels in
    the table, only predictions and contributions are shown.
    """  # fmt: skip
    from ..files import refuse_overwriting, write_text
    from ..plots.report import Page
    from ..train.device import pick_device
    from ..train.model_file import load_model

    if out.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"Cannot write '{out}': give a name that ends in .html.")
    if part not in ("auto", "all", "train", "valid", "test"):
        raise InputError(f"--part cannot be {part!r}. Choose all, train, valid or test.")
    refuse_overwriting(out, source)
    loaded = load_model(model, pick_device(device))
    samples = _samples(source, smiles, data, strict, loaded)
    if not samples.from_smiles:
        raise InputError(f"A report is about molecules, and {source} holds other graphs.")
    column = _column(loaded, output)
    rows, which = _rows(loaded, samples, part)
    name = loaded.encoder.outputs[column]
    page = Page(f"{name}: {Path(source).name}")
    page.text(f"Model {model}, {len(rows):,} molecules ({which}) of {source}.")
    with working(f"explaining {len(rows):,} molecules …"):
        _fill(page, loaded, _take(samples, rows), column, shown)
    write_text(out, str(page))
    notes().print(f"wrote {out}")


def _samples(
    source: str, smiles: str | None, data: str | None, strict: bool, loaded: Loaded
) -> Samples:
    """Load the samples, with labels if the table has all targets."""
    from ..data.table import is_table, read_columns
    from ..files import user_path

    path = user_path(source)
    labelled = False
    if path.is_file() and is_table(path):
        names = read_columns(path)[0]
        labelled = all(name in names for name in loaded.encoder.target_names)
    return samples_of(
        source, None, smiles, None, data, strict, like=loaded.encoder, labelled=labelled
    )


def _column(loaded: Loaded, wanted: str | None) -> int:
    names = loaded.encoder.outputs
    if wanted is None:
        return 1 if loaded.task.has_classes and len(names) == 2 else 0
    if wanted not in names:
        raise InputError(f"The model has no output {wanted!r}. Choose one of {', '.join(names)}.")
    return names.index(wanted)


def _rows(loaded: Loaded, samples: Samples, part: str) -> tuple[NDArray[np.int64], str]:
    import numpy as np

    splits = loaded.about.get("splits", [])
    own = samples.y is not None and loaded.about.get("run", {}).get("data") == samples.digest()
    shared = bool(splits) and all(one["test"] == splits[0]["test"] for one in splits)
    if part == "auto":
        part = "test" if own and shared and splits[0]["test"] else "all"
    if part == "all":
        seen = ", most of which trained the model" if own else ""
        return np.arange(len(samples)), f"all{seen}"
    if not own or not (shared if part == "test" else len(splits) == 1):
        raise InputError(
            f"The table is not the one that the model was trained on, or its networks have several "
            f"{part} parts. Leave out --part."
        )
    return np.array(splits[0][part], np.int64), part


def _take(samples: Samples, rows: NDArray[np.int64]) -> Samples:
    import numpy as np

    keep = np.zeros(len(samples), np.bool_)
    keep[rows] = True
    return replace(samples.take(keep), skipped=())


def _fill(page: Page, loaded: Loaded, samples: Samples, column: int, shown: int) -> None:
    import numpy as np

    from ..plots.report import molecule_cards
    from ..train.atoms import atom_contributions

    name = loaded.encoder.outputs[column]
    scores = loaded.predict(samples)
    column_scores = scores[:, column].numpy()
    shares = atom_contributions(loaded, samples, name)
    truth = _truth(loaded, samples, column)
    known = ~np.isnan(truth)
    number = _is_number(loaded, column)
    if samples.y is not None:
        metrics = loaded.measure(scores, samples.y) | loaded.coverage(scores, samples.y)
        page.table(("metric", "value"), [(key, f"{value:.4f}") for key, value in metrics.items()])
        if known.any():
            page.plots(_plots(loaded, truth[known], column_scores[known], column, name))

    def cards(order: NDArray[np.int64]) -> None:
        own = order[:shown].tolist()
        page.cards(
            molecule_cards(
                [int(samples.rows[g]) + 1 for g in own],
                [samples.ids[g] for g in own],
                [_line(column_scores[g], truth[g], number) for g in own],
                [shares.of(g) for g in own],
                [shares.parts_of(g) for g in own],
            )
        )

    note = (
        "Orange atoms add to the output, purple ones take from it. Atoms with outlines of one "
        "colour are in one part; colours are assigned anew in every molecule."
    )
    if loaded.encoder.descriptors is not None:
        note += f" {DESCRIPTORS_APART}"
    if known.any():
        page.heading("Worst errors", note)
        cards(np.argsort(np.where(known, -np.abs(column_scores - truth), np.inf), kind="stable"))
        page.heading(
            "Scaffold by scaffold",
            "Bemis–Murcko scaffolds with the most molecules.",
        )
        header = ("scaffold", "molecules", "mean error", "bias", "mean truth")
        page.table(header, _by_scaffold(samples, column_scores, truth))
    page.heading("Largest contributions of an atom", note)
    largest = [np.abs(shares.of(g)).max(initial=0) for g in range(len(samples))]
    cards(np.argsort(-np.array(largest), kind="stable"))


def _truth(loaded: Loaded, samples: Samples, column: int) -> NDArray[np.float64]:
    """Return the values, or 1 and 0 for a class; NaN if unknown."""
    import numpy as np

    if samples.y is None:
        return np.full(len(samples), np.nan)
    y = samples.y.numpy()
    if loaded.task.has_classes:
        return np.where(y >= 0, (y == column).astype(np.float64), np.nan)
    return y[:, column].astype(np.float64)


def _is_number(loaded: Loaded, column: int) -> bool:
    from ..data.tasks import Task

    if loaded.encoder.binary:
        return not loaded.encoder.binary[column]
    return loaded.task is Task.REGRESSION


def _plots(
    loaded: Loaded,
    truth: NDArray[np.float64],
    found: NDArray[np.float64],
    column: int,
    name: str,
) -> dict[str, Any]:
    import numpy as np

    from ..plots.report import calibration_plot, coverage_plot, parity_plot, roc_plot

    if not _is_number(loaded, column):
        positive = truth == 1
        if not 0 < positive.sum() < len(positive):
            return {}
        return {
            "ROC curve": roc_plot(found, positive, name),
            "calibration": calibration_plot(found, positive, name),
        }
    known = loaded.calibration
    half = None if known is None else known.half_widths()[column]
    plots = {"predicted against true": parity_plot(truth, found, half, name)}
    if known is not None and half is not None:
        widths = {level: known.half_widths(level)[column] for level in LEVELS}
        inside = {level: float((np.abs(found - truth) <= width).mean())
                  for level, width in widths.items() if width is not None}  # fmt: skip
        plots["coverage"] = coverage_plot(list(inside), list(inside.values()))
    return plots


def _line(found: float, truth: float, number: bool) -> str:
    kind = "predicted" if number else "probability"
    known = f", true {truth:.4g}" if truth == truth else ""
    return f"{kind} {found:.4g}{known}"


def _by_scaffold(
    samples: Samples, found: NDArray[np.float64], truth: NDArray[np.float64]
) -> list[tuple[Any, ...]]:
    import numpy as np

    from ..data.scaffolds import scaffold_names

    names = np.array(scaffold_names(samples), dtype=object)
    known = ~np.isnan(truth)
    kinds, counts = np.unique(names[known].astype(str), return_counts=True)
    rows = []
    for place in np.argsort(-counts, kind="stable")[:SCAFFOLDS]:
        own = known & (names == kinds[place])
        error = found[own] - truth[own]
        mean, bias, level = np.abs(error).mean(), error.mean(), truth[own].mean()
        name = kinds[place] or "(no rings)"
        rows.append((name, counts[place], f"{mean:.3f}", f"{bias:+.3f}", f"{level:.3f}"))
    return rows
