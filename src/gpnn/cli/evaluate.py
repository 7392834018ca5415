"""``gpnn evaluate``: the metrics of a model on a source with labels."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..errors import InputError
from ._learn import (
    Device,
    Model,
    Smiles,
    Strict,
    Target,
    Threads,
    TrainSource,
    samples_of,
    use_threads,
)
from ._shared import Data, Json, emit, notes, show, working

__all__ = ["evaluate"]


def evaluate(
    model: Model,
    source: TrainSource,
    part: Annotated[
        str,
        typer.Option(
            help="Samples to use: all, or train, valid or test of the split used in training."
        ),
    ] = "all",
    target: Target = None,
    smiles: Smiles = None,
    device: Device = "auto",
    threads: Threads = 1,
    strict: Strict = False,
    data: Data = None,
    json: Json = False,
) -> None:
    """Evaluate a model on graphs with labels."""
    from ..train.device import pick_device
    from ..train.model_file import load_model

    use_threads(threads)
    if part not in ("all", "train", "valid", "test"):
        raise InputError(f"--part cannot be {part!r}. Choose all, train, valid or test.")
    loaded = load_model(model, pick_device(device))
    samples = samples_of(source, target, smiles, None, data, strict, like=loaded.encoder)
    own = loaded.about.get("run", {}).get("data") == samples.digest()
    if part != "all" and not own:
        raise InputError(
            f"{source} is not the data that {model} was trained on, so it has no {part} part. "
            "Leave out --part."
        )
    splits = loaded.about.get("splits", [])
    if part == "all" and own:
        honest = "--part test leaves those out"
        if len(splits) != 1:
            honest = "folds.csv in its folder has the out-of-fold predictions"
        notes().print(
            f"these are the graphs the model was trained on: {honest}",
        )
    if part != "all" and len(splits) != 1:
        raise InputError(
            f"{model} is a cross-validation: every network has a {part} part of its own. Leave out "
            "--part; folds.csv in its folder has the out-of-fold predictions."
        )
    rows = None if part == "all" else splits[0][part]
    with working(f"predicting {len(samples):,} rows …"):
        metrics = loaded.evaluate(samples, rows)
    document: dict[str, Any] = {
        "model": str(model),
        "source": source,
        "part": part,
        "task": str(samples.task),
        "rows": len(samples) if rows is None else len(rows),
        "skipped": len(samples.skipped),
        "metrics": metrics,
    }
    if json:
        emit(document)
        return
    text = ", ".join(f"{name} {value:.4f}" for name, value in metrics.items())
    show(f"{source}, {document['rows']:,} rows ({part}): {text or 'no metric is defined'}")
