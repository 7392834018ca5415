"""``gpnn train``: from a source with labels to a model."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from ._learn import Device, Smiles, Strict, Target, Threads, TrainSource, samples_of, use_threads
from ._progress import progress
from ._shared import Data, Json, Scheme, emit, notes, show

if TYPE_CHECKING:
    from ..data.samples import Samples
    from ..data.split import Split
    from ..train.fit import Fitted, TrainConfig

__all__ = ["train"]

Option = typer.Option
LARGE = 1_000
FEW = 10


def train(
    source: TrainSource,
    target: Target = None,
    smiles: Smiles = None,
    task: Annotated[
        str | None,
        Option(help="classification, multitask or regression; told by the target if not given."),
    ] = None,
    epochs: Annotated[
        int | None,
        Option(help="Passes over the training part, at most: 200, or 100 for a large set."),
    ] = None,
    patience: Annotated[int, Option(help="Stop after this many epochs without a better one.")] = 60,
    out: Annotated[
        Path | None, Option("--out", "-o", help="Folder of the model; models/NAME by default.")
    ] = None,
    scheme: Scheme = "core-degree",
    interactions: Annotated[
        str, Option("--interactions", "-i", help="cross, edges or pairs.")
    ] = "edges",
    d: Annotated[int, Option("--d", help="Radius of the neighbourhoods, 1 to 5.")] = 1,
    distances: Annotated[
        bool, Option("--distances", help="Let hop distances colour the pairs.")
    ] = False,
    layers: Annotated[int, Option(help="Layers.")] = 3,
    hidden: Annotated[int, Option(help="Width.")] = 64,
    base: Annotated[
        str | None,
        Option(help="gin, gine, gcn, gat, sage or none; gine where edges have labels, else gin."),
    ] = None,
    baseline: Annotated[
        bool, Option("--baseline", help="Train the base GNN alone, without GPNN.")
    ] = False,
    dropout: Annotated[float | None, Option(help="0.5 by default, 0 for a regression.")] = None,
    batch_size: Annotated[
        int | None, Option(help="Graphs in a batch: 32, or 128 for a large set.")
    ] = None,
    lr: Annotated[
        float, Option(help="Step size of Adam, halved after every quarter of the epochs.")
    ] = 0.01,
    seed: Annotated[int, Option(help="Of split, weights, order and dropout.")] = 0,
    device: Device = "auto",
    amp: Annotated[bool, Option("--amp", help="bf16 mixed precision.")] = False,
    threads: Threads = 1,
    fresh: Annotated[
        bool, Option("--fresh/--resume", help="Start over, or go on with a run in --out.")
    ] = False,
    strict: Strict = False,
    data: Data = None,
    json: Json = False,
) -> None:
    """Train a GPNN on a dataset, a CSV of SMILES or a folder of graphs.

    A run that was interrupted goes on where it stopped when the same command is given again.
    """
    from ..data.split import make_split
    from ..graph.schemes import get_scheme
    from ..plots.curves import draw_curves
    from ..plots.save import save
    from ..train.fit import TrainConfig, fit

    if baseline and (d != 1 or distances):
        raise InputError("--baseline trains without GPNN: leave out --d and --distances.")
    use_threads(threads)
    config = TrainConfig(patience=patience, lr=lr, seed=seed, device=device, amp=amp)
    config = _sized(config, 0, epochs, batch_size)
    model: dict[str, Any] = {
        "scheme": get_scheme(scheme).name,
        "interactions": interactions,
        "d": d,
        "distances": distances,
        "layers": layers,
        "hidden": hidden,
        "gpnn": not baseline,
    }
    if base is not None:
        model["base"] = None if base == "none" else base
    if dropout is not None:
        model["dropout"] = dropout
    folder = out if out is not None else Path("models") / _stem(source)
    if folder.is_file():
        raise InputError(f"{folder} is a file. Name a folder with --out.")
    samples = samples_of(source, target, smiles, task, data, strict)
    split = make_split(samples, seed)
    config = _sized(config, len(split.train), epochs, batch_size)
    _tell_samples(source, samples, split)
    with progress(folder, config.epochs) as (started, tick):
        fitted = fit(samples, model, config, split, folder, tick, fresh, started)
    about = fitted.loaded.about
    metric = about["metric"]
    test = fitted.metrics.get("test", {}).get(metric)
    picture = folder / "curves.png"
    title = f"{_stem(source)}: {_kind(fitted)}"
    save(draw_curves(fitted.history, metric, fitted.best_epoch, title, test), picture)
    if json:
        emit(_document(source, samples, fitted, folder))
    else:
        _show(fitted, folder, picture)


def _sized(
    config: TrainConfig, graphs: int, epochs: int | None, batch_size: int | None
) -> TrainConfig:
    """Epochs and batches as given, else by the size of the training part."""
    from dataclasses import replace

    if epochs is None:
        epochs = 100 if graphs > LARGE else 200
    if batch_size is None:
        batch_size = 128 if graphs > LARGE else 32
    return replace(config, epochs=epochs, batch_size=batch_size, halve_every=max(1, epochs // 4))


def _stem(source: str) -> str:
    return Path(source.split(":")[0]).name.split(".")[0] or "model"


def _kind(fitted: Fitted) -> str:
    config = fitted.loaded.config
    base = str(config.base).upper() if config.base else ""
    if not config.gpnn:
        return f"{base} alone"
    return f"GPNN {config.scheme} {config.interactions}" + (f" on {base}" if base else "")


def _tell_alike(names: tuple[str, ...]) -> None:
    """Classes that are spelled in two ways are rarely meant as two."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            warnings.warn(f"The classes {other!r} and {name!r} differ in case alone.", stacklevel=2)


def _tell_samples(source: str, samples: Samples, split: Split) -> None:
    encoder, console = samples.encoder, notes()
    _tell_alike(encoder.class_names)
    of = "vertices" if samples.task.node_level else "graphs"
    counts = samples.counts()
    names = ", ".join(f"{name} ({count:,})" for name, count in list(counts.items())[:8])
    more = f" and {len(counts) - 8:,} more" if len(counts) > 8 else ""
    kind = "classes" if samples.task.has_classes else "labels"
    codes = f"{len(encoder.codes)} columns of {', '.join(map(str, encoder.codes))} values"
    shown = f"{encoder.features:,} numbers" if encoder.features else codes
    edges = f"; {len(encoder.edges)} kinds of edges" if encoder.edges else ""
    held = len(split.valid)
    few = f"\nfew       {held} validate: which epoch is best is mostly chance" if held < FEW else ""
    sizes = ", ".join(f"{size:,} {part}" for part, size in split.sizes.items())
    console.print(
        f"source    {source}: {len(samples):,} {of}\n"
        f"task      {samples.task}, metric {samples.task.metric}\n"
        f"target    {', '.join(samples.target_names[:8])}"
        f"{' …' if len(samples.target_names) > 8 else ''}\n"
        f"{kind:9} {names}{more}\n"
        f"features  {encoder.kind}: {shown}{edges}\n"
        f"split     {sizes} ({split.how}){few}",
        markup=False,
        soft_wrap=True,
    )


def _document(source: str, samples: Samples, fitted: Fitted, folder: Path) -> dict[str, Any]:
    about = fitted.loaded.about
    return {
        "source": source,
        "model": str(folder),
        "task": about["task"],
        "metric": about["metric"],
        "targets": list(samples.target_names),
        "counts": samples.counts(),
        "split": {"how": fitted.split.how, **fitted.split.sizes},
        "skipped": [{"row": s.row + 1, "reason": s.reason} for s in samples.skipped],
        "config": fitted.loaded.config.to_dict(),
        "parameters": about["parameters"],
        "epochs": about["epochs"],
        "best_epoch": fitted.best_epoch,
        "resumed": fitted.resumed,
        "seconds": about["seconds"],
        "device": about["device"],
        "metrics": fitted.metrics,
        "history": fitted.history,
    }


def _show(fitted: Fitted, folder: Path, picture: Path) -> None:
    about = fitted.loaded.about
    name = about["metric"]
    found = {part: values.get(name) for part, values in fitted.metrics.items()}
    said = ", ".join(f"{part} {value:.4f}" for part, value in found.items() if value is not None)
    ran, run = about["epochs"], about["run"]["train"]
    early = f", then {run['patience']} without a better one" if ran < run["epochs"] else ""
    if fitted.resumed == ran:
        notes().print("the run was finished already: nothing was trained", markup=False)
    show(
        f"{fitted.loaded.model}",
        f"{name}: {said} (epoch {fitted.best_epoch} of {ran}{early}, best on valid; "
        f"{about['seconds']:.1f} s on {about['device']})",
        f"model {folder}, curves {picture}",
    )
