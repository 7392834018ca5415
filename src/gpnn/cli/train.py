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
FEW, METRICS, ENSEMBLE = 10, 14, 5


def train(
    source: TrainSource,
    target: Target = None,
    smiles: Smiles = None,
    task: Annotated[
        str | None,
        Option(help="classification, multitask, regression or mixed; inferred from the targets."),
    ] = None,
    split: Annotated[
        str | None,
        Option(
            help="random, stratified, scaffold or column. Default: the split of the source, else "
            "stratified by class, else random."
        ),
    ] = None,
    split_column: Annotated[
        str | None,
        Option(help="Column with train, valid and test. Default: one named split."),
    ] = None,
    valid: Annotated[
        Path | None, Option(help="A further table, whose rows choose the epoch.")
    ] = None,
    test: Annotated[Path | None, Option(help="A further table, whose rows test.")] = None,
    descriptors: Annotated[
        list[str] | None,
        Option(
            help="Numbers of the whole molecule to read beside its graph: rdkit, morgan, or a "
            "column of the table; may be repeated."
        ),
    ] = None,
    effort: Annotated[
        str, Option(help="quick, standard or thorough, for tables of molecules.")
    ] = "standard",
    minutes: Annotated[
        float, Option(help="Time budget of the search of --effort thorough.")
    ] = 10.0,
    folds: Annotated[
        int | None,
        Option(help="Cross-validation with this many folds, trained side by side."),
    ] = None,
    ensemble: Annotated[
        int, Option(help="Train this many networks side by side; predict gives mean and spread.")
    ] = 1,
    calibrate: Annotated[
        bool,
        Option(
            "--calibrate",
            help="Let every network of --ensemble leave rows out that measure how wrong it is: "
            "intervals and calibrated probabilities.",
        ),
    ] = False,
    baselines: Annotated[
        bool,
        Option(
            "--baselines",
            help="Also train boosting on descriptors, a forest on fingerprints and the base GNN on "
            "the same split, and compare.",
        ),
    ] = False,
    class_weights: Annotated[
        str, Option(help="none, or balanced: rare classes weigh as much as frequent ones.")
    ] = "none",
    epochs: Annotated[
        int | None,
        Option(
            help="Maximum number of epochs. Default: 200 (molecules of a table: 45), fewer for "
            "more than 1,000 samples."
        ),
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
    d: Annotated[
        int | None,
        Option(
            "--d",
            help="Radius of the neighbourhoods, 1 to 5. Default: 3 for tables of molecules, "
            "else 1.",
        ),
    ] = None,
    distances: Annotated[
        bool | None,
        Option(
            "--distances/--no-distances",
            help="Include the hop distance in the colour of a pair. Default: for tables of "
            "molecules.",
        ),
    ] = None,
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
        str | None,
        Option(
            help="beside (GPNN and base have features of their own, joined in the head) or inside "
            "(both share features in every layer). Default: beside."
        ),
    ] = None,
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
    """Train a GPNN on a dataset, a table of molecules or a folder of graphs.

    Run the same command again to resume an interrupted training.
    """
    from ..data.split import calibration_splits, make_folds, make_split
    from ..graph.schemes import get_scheme
    from ..graph.structure import Structure
    from ..plots.curves import draw_curves
    from ..plots.save import save
    from ..train.effort import MOLECULES, epochs_for
    from ..train.fit import fit
    from ..train.setup import named_model
    from ..train.train_config import TrainConfig

    chosen = named_model(model)
    if chosen and (base is not None or d is not None or distances or labels or join is not None):
        raise InputError(
            f"--model {model} trains without GPNN: leave out --base, --d, --distances, --labels "
            "and --join."
        )
    if baseline and (d is not None or distances or labels or join is not None):
        raise InputError(
            "--baseline trains without GPNN: leave out --d, --distances, --labels and --join."
        )
    if folds is not None and ensemble != 1:
        raise InputError("Give either --folds or --ensemble, not both.")
    if calibrate and ensemble < 3 and effort != "thorough":
        raise InputError("--calibrate needs --ensemble 3 or more.")
    if folds is not None and (baselines or effort == "thorough" or split == "column"):
        raise InputError("--folds goes neither with --baselines nor with --effort thorough, and "
                         "makes its own split.")  # fmt: skip
    epochs_for(1, effort)
    use_threads(threads)
    given = {
        "epochs": epochs, "patience": patience, "batch_size": batch_size, "lr": lr,
        "weight_decay": weight_decay, "class_weights": class_weights, "seed": seed,
        "device": device,
    }  # fmt: skip
    TrainConfig.sized(1, **given)
    asked: dict[str, Any] = {
        "d": d, "distances": distances, "join": join, "dropout": dropout,
        "base": None if base == "none" else base,
    }  # fmt: skip
    options: dict[str, Any] = {
        "scheme": get_scheme(scheme).name,
        "interactions": interactions,
        "layers": layers,
        "labels": labels,
        "walks": walks,
        "block": block,
        "virtual_node": virtual_node,
        "hidden": hidden,
        "gpnn": not baseline,
    } | {name: value for name, value in asked.items() if value is not None}
    if base == "none":
        options["base"] = None
    options |= chosen
    Structure.split(options)
    folder = out if out is not None else Path("models") / _stem(source)
    if folder.is_file():
        raise InputError(f"{folder} is a file. Name a folder with --out.")
    samples = samples_of(
        source, target, smiles, task, data, strict, descriptors=descriptors or (),
        split_column=split_column, valid=valid, test=test,
    )  # fmt: skip
    if folds is not None and samples.split is not None:
        warnings.warn(
            f"--folds splits {source} itself: the split that comes with it is not used.",
            stacklevel=2,
        )
    splits = None if folds is None else make_folds(samples, folds, seed, split)
    parts = make_split(samples, seed, kind=split) if splits is None else splits[0]
    if effort == "thorough":
        ensemble = max(ensemble, ENSEMBLE)
    if calibrate:
        pool = parts.train if effort == "thorough" else None  # valid chooses the setting
        splits = calibration_splits(samples, parts, ensemble, seed, pool)
    first = (splits or [parts])[0]
    if samples.from_smiles:
        given["epochs"] = epochs or epochs_for(len(first.train), effort)
        options = ({} if baseline or chosen else MOLECULES) | options
    elif effort != "standard":
        raise InputError("--effort is for tables of molecules. Set --epochs for other graphs.")
    config = TrainConfig.sized(len(first.train), **given)
    _tell_samples(source, samples, first, config, folds)
    _tell_cells(model, samples)
    if effort == "thorough":
        options, config = _search(samples, parts, options, config, folder, minutes, fresh)
    with progress(folder, config.epochs) as (started, tick):
        fitted = fit(
            samples, options, config, splits or parts, ensemble=1 if splits else ensemble,
            folder=folder, report=tick, started=started, fresh=fresh,
        )  # fmt: skip
    compared = _baselines(samples, options, config, parts, fitted, seed) if baselines else []
    metric = fitted.loaded.about["metric"]
    reached = fitted.metrics.get("test", {}).get(metric)
    files = [folder / "curves.png"]
    title = f"{_stem(source)}: {_kind(fitted)}"
    save(draw_curves(fitted.histories, metric, fitted.best_epochs, title, reached), files[0])
    if fitted.out_of_fold is not None:
        files.append(folder / "folds.csv")
        _write_folds(files[1], samples, fitted)
    if fitted.resumed and fitted.resumed == max(fitted.loaded.about["epochs"]):
        notes().print("the run was finished already: nothing was trained")
    if json:
        emit(_document(source, samples, fitted, folder) | {"baselines": compared})
    else:
        _show(fitted, folder, files)
        if compared:
            show(comparison(compared, len(parts.test)))


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


def _search(
    samples: Samples,
    split: Split,
    model: dict[str, Any],
    config: TrainConfig,
    folder: Path,
    minutes: float,
    fresh: bool,
) -> tuple[dict[str, Any], TrainConfig]:
    """The best setting for the table."""
    from dataclasses import replace

    from ..reproduce.table_search import search_table

    console = notes()

    def tell(trial: Any) -> None:
        setting = ", ".join(f"{name} {value}" for name, value in trial.values.items())
        value = trial.reason or f"{trial.value:.4f}"
        console.print(f"search    {trial.epochs} epochs, {setting}: {value}", soft_wrap=True)

    values, trained, found = search_table(
        samples, split, model, config, folder / "search", minutes, tell, fresh
    )
    cut = "" if found.complete else f" (stopped after {minutes:g} minutes)"
    chosen = ", ".join(f"{k} {v}" for k, v in (values | trained).items())
    console.print(f"search    best on valid{cut}: {chosen}", soft_wrap=True)
    return {**model, **values}, replace(config, **trained)


def _baselines(
    samples: Samples,
    model: dict[str, Any],
    config: TrainConfig,
    split: Split,
    fitted: Fitted,
    seed: int,
) -> list[dict[str, Any]]:
    """The trained network and what it is compared with, on the test rows."""
    import torch

    from ..train.baselines import Contender, base_contender, compare, trees
    from ._shared import working

    scores = fitted.loaded.predict(samples)[torch.from_numpy(split.test)]
    own = Contender(_kind(fitted), scores, float(fitted.loaded.about["seconds"]))
    with working("training the baselines …"):
        others = [*trees(samples, split, seed)]
        if model["gpnn"]:
            others.insert(0, base_contender(samples, model, config, split))
        return compare(samples, split, [own, *others], seed)


def comparison(rows: list[dict[str, Any]], count: int) -> Any:
    """A line per method, with the interval and how much the first is ahead."""
    from rich.table import Table

    from ..data.tasks import higher_is_better

    metric = rows[0]["metric"]
    better = "higher" if higher_is_better(metric) else "lower"
    table = Table(
        title=f"{metric} on {count:,} test rows ({better} is better), 95 % intervals",
        title_justify="left",
    )
    table.add_column("method")
    for heading in (metric, "interval", "first is ahead by", "seconds"):
        table.add_column(heading, justify="right")
    for number, row in enumerate(rows):
        low, high = row["interval"]
        ahead = "" if not number else "{:+.3f} … {:+.3f}".format(*row["ahead"])
        cells = (f"{row['value']:.4f}", f"{low:.3f} … {high:.3f}", ahead, f"{row['seconds']:.1f}")
        table.add_row(row["name"], *cells)
    return table


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
    found = ", ".join(f"{count:,} {name}" for name, count in samples.counted.items())
    known = f"molecules {found} (all kept as written)\n" if found else ""
    if encoder.descriptors is not None:
        shown += f"; descriptors: {encoder.descriptors.summary}"
    if chosen == "roc_auc" and not _has_both(samples, split):
        chosen = "loss (ROC-AUC is undefined: valid holds one class)"
    console.print(
        f"source    {source}: {len(samples):,} {of}\n"
        f"task      {samples.task}, metric {samples.metric}\n"
        f"target    {', '.join(samples.target_names[:8])}"
        f"{' …' if len(samples.target_names) > 8 else ''}\n"
        f"{kind:9} {names}{more}\n{known}"
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
    outputs = encoder.outputs if encoder.mixed else samples.target_names
    truth = [f"true {name}" for name in outputs]
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
    return float(f"{value:.7g}") if value == value else ""


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
        "molecules": dict(samples.counted),
        "calibration": _calibration(fitted),
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


def _calibration(fitted: Fitted) -> dict[str, Any] | None:
    """What is known of the errors, without the long list of them."""
    known, outputs = fitted.loaded.calibration, fitted.loaded.encoder.outputs
    if known is None:
        return None
    widths = dict(zip(outputs, known.half_widths(), strict=True))
    return {
        "rows": known.rows,
        "level": 0.9,
        "half_widths": {name: width for name, width in widths.items() if width is not None},
        "warned": list(known.warned),
    }


def _show(fitted: Fitted, folder: Path, files: list[Path]) -> None:
    show(f"{fitted.loaded.model}")
    if len(fitted.members) == 1:
        show(*_one_network(fitted))
    else:
        show(_networks(fitted), *_together(fitted))
    known = _calibration(fitted)
    if known is not None:
        widths = ", ".join(f"{name} ± {width:.4g}" for name, width in known["half_widths"].items())
        shown = f": 90 % intervals {widths}" if widths else ": probabilities"
        show(f"calibrated on {known['rows']:,} rows that chose nothing{shown}")
        show(*(f"note: {text}" for text in known["warned"]))
    show(f"model {folder}, {', '.join(map(str, files))}")


def _one_network(fitted: Fitted) -> list[str]:
    about = fitted.loaded.about
    ran, run = about["epochs"][0], about["run"]["train"]
    early = f", then {run['patience']} without a better one" if ran < run["epochs"] else ""
    lines = [f"{part:5} {_shown(values)}" for part, values in fitted.metrics.items() if values]
    return [
        *lines,
        f"epoch {fitted.best_epoch} of {ran}{early}, best on valid by {about['chosen_by']}; "
        f"{about['seconds']:.1f} s on {about['device']}",
    ]


def _shown(values: dict[str, float]) -> str:
    """Metrics, of many targets the first ones."""
    pairs = [f"{name} {value:.4f}" for name, value in values.items()]
    more = f" and {len(pairs) - METRICS} more (--json)" if len(pairs) > METRICS else ""
    return ", ".join(pairs[:METRICS]) + more


def _networks(fitted: Fitted) -> Any:
    """A line per network."""
    from rich.table import Table

    folds = fitted.loaded.about["folds"]
    table = Table()
    table.add_column("fold" if folds else "network", justify="right")
    columns = [(part, name) for part, values in fitted.members[0].items() for name in values
               if "[" not in name]  # fmt: skip
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
            f"{name} {value:.4f}" + (f" ± {spread[name]:.4f}" if name in spread else "")
            for name, value in list(values.items())[:METRICS]
        )
        what = (
            f"mean over {folds} folds ± s.d."
            if folds
            else (f"mean answer of {count} networks ± s.d. over them")
        )
        lines.append(f"{part:5} {shown} ({what})")
    return [*lines, f"{about['seconds']:.1f} s on {about['device']}"]
