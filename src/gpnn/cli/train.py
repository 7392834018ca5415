"""``gpnn train``: from a source with labels to a model."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from ._learn import Device, Smiles, Strict, Target, Threads, TrainSource, samples_of, use_threads
from ._progress import progress
from ._shared import Data, Json, Scheme, emit, notes, show, working

if TYPE_CHECKING:
    from ..data.samples import Samples
    from ..data.split import Split
    from ..train.fit import Fitted
    from ..train.train_config import TrainConfig

__all__ = ["train"]

Option = typer.Option
FEW = 10


def train(
    source: TrainSource,
    target: Target = None,
    smiles: Smiles = None,
    task: Annotated[
        str | None,
        Option(help="classification, multitask or regression; inferred from the target."),
    ] = None,
    folds: Annotated[
        int | None,
        Option(help="Cross-validation with this many folds, trained side by side."),
    ] = None,
    ensemble: Annotated[
        int, Option(help="Train this many networks side by side; predict gives mean and spread.")
    ] = 1,
    epochs: Annotated[
        int | None,
        Option(help="Maximum number of epochs. Default: 200, fewer for more than 1,000 samples."),
    ] = None,
    patience: Annotated[
        int | None,
        Option(help="Stop after this many epochs without improvement. Default: 0.3 x epochs."),
    ] = None,
    model: Annotated[
        str,
        Option(
            help="gpnn; another method: graphsnn, esan, cin, gin-ak, kp-gin, ppgn, dgn, lrp, with "
            "options as in cin:rings=8; or a base GNN alone."
        ),
    ] = "gpnn",
    out: Annotated[
        Path | None, Option("--out", "-o", help="Folder of the model. Default: models/NAME.")
    ] = None,
    scheme: Scheme = "core-degree",
    interactions: Annotated[
        str, Option("--interactions", "-i", help="cross, edges or pairs.")
    ] = "edges",
    d: Annotated[int, Option("--d", help="Radius of the neighbourhoods, 1 to 5.")] = 1,
    distances: Annotated[
        bool, Option("--distances", help="Include the hop distance in the colour of a pair.")
    ] = False,
    labels: Annotated[
        bool,
        Option("--labels", help="Include the labels of both vertices in the colour of a pair."),
    ] = False,
    walks: Annotated[
        int, Option(help="Add random-walk return probabilities for this many walk lengths.")
    ] = 0,
    block: Annotated[
        str, Option(help="What surrounds a layer: plain, residual or feed-forward.")
    ] = "residual",
    join: Annotated[
        str,
        Option(
            help="beside (GPNN and base have features of their own, joined in the head) or inside "
            "(both share features in every layer)."
        ),
    ] = "beside",
    virtual_node: Annotated[
        bool, Option("--virtual-node", help="Add a vertex that is joined to all others.")
    ] = False,
    layers: Annotated[int, Option(help="Number of layers.")] = 3,
    hidden: Annotated[int, Option(help="Width of the layers.")] = 64,
    base: Annotated[
        str | None,
        Option(
            help="gin, gine, gcn, gat, sage, a registered name, or none. Default: gine where edges "
            "have labels or features, else gin."
        ),
    ] = None,
    baseline: Annotated[
        bool, Option("--baseline", help="Train the base GNN alone, without GPNN.")
    ] = False,
    dropout: Annotated[float | None, Option(help="Default: 0.5, or 0 for a regression.")] = None,
    batch_size: Annotated[
        int | None,
        Option(help="Graphs per batch. Default: 32, more for more than 1,000 samples."),
    ] = None,
    lr: Annotated[
        float, Option(help="Step size of AdamW, halved after every quarter of the epochs.")
    ] = 0.01,
    weight_decay: Annotated[float, Option(help="Decoupled decay of weight matrices.")] = 0.0,
    seed: Annotated[
        int, Option(help="Random seed for split, weights, batch order and dropout.")
    ] = 0,
    device: Device = "auto",
    threads: Threads = 1,
    fresh: Annotated[
        bool, Option("--fresh/--resume", help="Start over, or resume a run in --out.")
    ] = False,
    strict: Strict = False,
    data: Data = None,
    json: Json = False,
) -> None:
    """Train a GPNN on a dataset, a CSV of SMILES or a folder of graphs.

    Run the same command again to resume an interrupted training.
    """
    from ..data.split import make_folds, make_split
    from ..graph.schemes import get_scheme
    from ..graph.structure import Structure
    from ..plots.curves import draw_curves
    from ..plots.save import save
    from ..train.fit import fit
    from ..train.setup import named_model
    from ..train.train_config import TrainConfig

    chosen = named_model(model)
    if chosen and (base is not None or d != 1 or distances or labels or join != "beside"):
        raise InputError(
            f"--model {model} trains without GPNN: leave out --base, --d, --distances, --labels "
            "and --join."
        )
    if baseline and (d != 1 or distances or labels or join != "beside"):
        raise InputError(
            "--baseline trains without GPNN: leave out --d, --distances, --labels and --join."
        )
    if folds is not None and ensemble != 1:
        raise InputError("Give either --folds or --ensemble, not both.")
    use_threads(threads)
    given = {
        "epochs": epochs, "patience": patience, "batch_size": batch_size, "lr": lr,
        "weight_decay": weight_decay, "seed": seed, "device": device,
    }  # fmt: skip
    TrainConfig.sized(1, **given)
    options: dict[str, Any] = {
        "structure": Structure(
            get_scheme(scheme).name, interactions, d, layers, distances, labels, walks
        ),
        "block": block,
        "join": join,
        "virtual_node": virtual_node,
        "hidden": hidden,
        "gpnn": not baseline,
    }
    if base is not None:
        options["base"] = None if base == "none" else base
    if dropout is not None:
        options["dropout"] = dropout
    options |= chosen
    folder = out if out is not None else Path("models") / _stem(source)
    if folder.is_file():
        raise InputError(f"{folder} is a file. Name a folder with --out.")
    samples = samples_of(source, target, smiles, task, data, strict)
    splits = None if folds is None else make_folds(samples, folds, seed)
    if splits is not None and samples.split is not None:
        warnings.warn(
            f"--folds splits {source} itself: the split that comes with it is not used.",
            stacklevel=2,
        )
    split = make_split(samples, seed) if splits is None else splits[0]
    config = TrainConfig.sized(len(split.train), **given)
    _tell_samples(source, samples, split, config, folds)
    _tell_cells(model, samples)
    with progress(folder, config.epochs) as (started, tick):
        fitted = fit(
            samples, options, config, splits or split, ensemble=ensemble, folder=folder,
            report=tick, started=started, fresh=fresh,
        )  # fmt: skip
    metric = fitted.loaded.about["metric"]
    test = fitted.metrics.get("test", {}).get(metric)
    files = [folder / "curves.png"]
    title = f"{_stem(source)}: {_kind(fitted)}"
    save(draw_curves(fitted.histories, metric, fitted.best_epochs, title, test), files[0])
    if fitted.out_of_fold is not None:
        files.append(folder / "folds.csv")
        _write_folds(files[1], samples, fitted)
    if fitted.resumed and fitted.resumed == max(fitted.loaded.about["epochs"]):
        notes().print("the run was finished already: nothing was trained")
    if json:
        emit(_document(source, samples, fitted, folder))
    else:
        _show(fitted, folder, files)


def _stem(source: str) -> str:
    return Path(source.split(":")[0]).name.split(".")[0] or "model"


def _kind(fitted: Fitted) -> str:
    config = fitted.loaded.config
    base = str(config.base).upper() if config.base else ""
    if config.peer is not None:
        return config.peer.kind.title
    if not config.gpnn:
        return f"{base} alone"
    structure = config.structure
    return f"GPNN {structure.scheme} {structure.interactions}" + (f" on {base}" if base else "")


def _tell_alike(names: tuple[str, ...]) -> None:
    """Classes that are spelled in two ways are rarely meant as two."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            warnings.warn(f"The classes {other!r} and {name!r} differ in case alone.", stacklevel=2)


def _tell_samples(
    source: str, samples: Samples, split: Split, config: TrainConfig, folds: int | None
) -> None:
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
    if encoder.edge_features:
        edges = f"; {encoder.edge_features} numbers per edge"
    validation = len(split.valid)
    few = (
        f"\nnote      only {validation} validation samples: the best epoch is mostly chance"
        if validation < FEW
        else ""
    )
    sizes = ", ".join(f"{size:,} {part}" for part, size in split.sizes.items())
    how = f"{folds} folds, the first: " if folds else ""
    chosen = samples.task.chosen_by(samples.outputs)
    if chosen == "roc_auc" and not _has_both(samples, split):
        chosen = "loss (ROC-AUC is undefined: valid holds one class)"
    console.print(
        f"source    {source}: {len(samples):,} {of}\n"
        f"task      {samples.task}, metric {samples.metric}\n"
        f"target    {', '.join(samples.target_names[:8])}"
        f"{' …' if len(samples.target_names) > 8 else ''}\n"
        f"{kind:9} {names}{more}\n"
        f"features  {encoder.kind}: {shown}{edges}\n"
        f"split     {how}{sizes} ({split.how}){few}\n"
        f"schedule  at most {config.epochs} epochs in batches of {config.batch_size}, step size "
        f"{config.lr:g} halved every {config.halve_every}; patience {config.patience}; epoch "
        f"chosen by {chosen} on valid",
        soft_wrap=True,
    )


def _has_both(samples: Samples, split: Split) -> bool:
    """Whether the validation part of a binary task holds both classes, so that ROC-AUC exists."""
    assert samples.y is not None
    y = samples.y[split.valid].reshape(len(split.valid), -1)
    return bool(((y == 0).any(0) & (y == 1).any(0)).any())


def _tell_cells(model: str, samples: Samples) -> None:
    """What a peer reads of the graphs, computed or found in the cache."""
    import time

    from ..data.structure_cache import cached_peer
    from ..nn.peers import peer_of

    peer = peer_of(model)
    if peer is None:
        return
    began = time.perf_counter()
    with working(f"preparing what {peer} reads …"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # notes come with the training
        edged = bool(samples.encoder.edges or samples.encoder.edge_features)
        found = cached_peer(samples.graphs, peer, edged)
    cells = ", ".join(f"{len(one.graph):,} {name}" for name, one in found.cells.items())
    took = f"{time.perf_counter() - began:.1f} s"
    notes().print(f"cells     {cells or 'none beside vertices'} ({took})", soft_wrap=True)


def _write_folds(path: Path, samples: Samples, fitted: Fitted) -> None:
    """A line per sample: what the network that did not see it says, beside the truth."""
    from ._predictions import header_of, write_csv, written

    assert samples.y is not None and fitted.out_of_fold is not None
    encoder = samples.encoder
    fold = {row: k + 1 for k, one in enumerate(fitted.splits) for row in one.test.tolist()}
    names = encoder.class_names if encoder.task.has_classes else ()
    truth = [f"true {name}" for name in samples.target_names]
    header = ["row", "input", "fold", *truth, *header_of(encoder)]
    lines = []
    for number, values in enumerate(fitted.out_of_fold.tolist()):
        own = samples.y[number].reshape(-1).tolist()
        known = [_truth(value, names) for value in own]
        shown = written(encoder, values) if number in fold else [""] * len(header_of(encoder))
        row = int(samples.rows[number]) + 1
        lines.append([row, samples.ids[number], fold.get(number, ""), *known, *shown])
    write_csv(path, header, lines)


def _truth(value: float, names: tuple[str, ...]) -> Any:
    """A label as the source has it, nothing where it is missing."""
    if names:
        return names[int(value)] if value >= 0 else ""
    return value if value == value else ""


def _document(source: str, samples: Samples, fitted: Fitted, folder: Path) -> dict[str, Any]:
    about = fitted.loaded.about
    return {
        "source": source,
        "model": str(folder),
        "task": about["task"],
        "metric": about["metric"],
        "chosen_by": about["chosen_by"],
        "targets": list(samples.target_names),
        "counts": samples.counts(),
        "split": {"how": fitted.split.how, **fitted.split.sizes},
        "skipped": [{"row": s.row + 1, "reason": s.reason} for s in samples.skipped],
        "config": fitted.loaded.config.to_dict(),
        "parameters": about["parameters"],
        "folds": about["folds"],
        "networks": len(fitted.members),
        "epochs": about["epochs"],
        "best_epochs": list(fitted.best_epochs),
        "resumed": fitted.resumed,
        "seconds": about["seconds"],
        "device": about["device"],
        "metrics": fitted.metrics,
        "spread": {part: fitted.spread(part) for part in fitted.metrics},
        "members": list(fitted.members),
        "histories": list(fitted.histories),
    }


def _show(fitted: Fitted, folder: Path, files: list[Path]) -> None:
    show(f"{fitted.loaded.model}")
    if len(fitted.members) == 1:
        show(*_one_network(fitted))
    else:
        show(_networks(fitted), *_together(fitted))
    show(f"model {folder}, {', '.join(map(str, files))}")


def _one_network(fitted: Fitted) -> list[str]:
    about = fitted.loaded.about
    ran, run = about["epochs"][0], about["run"]["train"]
    early = f", then {run['patience']} without a better one" if ran < run["epochs"] else ""
    lines = [
        f"{part:5} {', '.join(f'{name} {value:.4f}' for name, value in values.items())}"
        for part, values in fitted.metrics.items()
        if values
    ]
    return [
        *lines,
        f"epoch {fitted.best_epoch} of {ran}{early}, best on valid by {about['chosen_by']}; "
        f"{about['seconds']:.1f} s on {about['device']}",
    ]


def _networks(fitted: Fitted) -> Any:
    """A line per network."""
    from rich.table import Table

    folds = fitted.loaded.about["folds"]
    table = Table()
    table.add_column("fold" if folds else "network", justify="right")
    columns = [(part, name) for part, values in fitted.metrics.items() for name in values]
    for part, name in columns:
        table.add_column(f"{part} {name}", justify="right")
    table.add_column("epoch", justify="right")
    for number, one in enumerate(fitted.members):
        cells = [one[part].get(name) for part, name in columns]
        shown = ["" if value is None else f"{value:.4f}" for value in cells]
        table.add_row(str(number + 1), *shown, str(fitted.best_epochs[number]))
    return table


def _together(fitted: Fitted) -> list[str]:
    about = fitted.loaded.about
    folds, count = about["folds"], len(fitted.members)
    lines = []
    for part, values in fitted.metrics.items():
        spread = fitted.spread(part)
        shown = ", ".join(
            f"{name} {value:.4f} ± {spread.get(name, float('nan')):.4f}"
            for name, value in values.items()
        )
        what = (
            f"mean over {folds} folds ± s.d."
            if folds
            else (f"mean answer of {count} networks ± s.d. over them")
        )
        lines.append(f"{part:5} {shown} ({what})")
    return [*lines, f"{about['seconds']:.1f} s on {about['device']}"]
