"""Output of a training: its samples before, its networks after."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..text import plural
from ._shared import notes, show, working

if TYPE_CHECKING:
    from ..data.samples import Samples
    from ..data.split import Split
    from ..train.fit import Fitted
    from ..train.train_config import TrainConfig

__all__ = [
    "comparison",
    "document",
    "kind_of",
    "show_fitted",
    "tell_cells",
    "tell_samples",
    "write_folds",
]

FEW, METRICS = 10, 14


def tell_samples(
    source: str, samples: Samples, split: Split, config: TrainConfig, folds: int | None
) -> None:
    encoder, console = samples.encoder, notes()
    _tell_alike(encoder.class_names)
    of = "vertices" if samples.task.node_level else "graphs"
    counts = samples.counts()
    names = ", ".join(f"{name} ({count:,})" for name, count in list(counts.items())[:8])
    more = f" and {len(counts) - 8:,} more" if len(counts) > 8 else ""
    kind = "classes" if samples.task.has_classes else "labels"
    shown = f"{plural(encoder.features, 'number')} per vertex"
    if not encoder.features:
        low, high = min(encoder.codes, default=0), max(encoder.codes, default=0)
        values = plural(high, "value") if low == high else f"{low} to {high} values each"
        shown = f"{plural(len(encoder.codes), 'label')} per vertex, {values}"
    edges = f"; {plural(len(encoder.edges), 'kind')} of edges" if encoder.edges else ""
    if encoder.edge_features:
        edges = f"; {plural(encoder.edge_features, 'number')} per edge"
    validation = len(split.valid)
    few = (
        f"\nnote      only {plural(validation, 'validation sample')}: the best epoch is mostly "
        "chance"
        if validation < FEW
        else ""
    )
    sizes = ", ".join(f"{size:,} {part}" for part, size in split.sizes.items())
    how = f"{folds} folds, the first: " if folds else ""
    chosen = samples.task.chosen_by(samples.outputs)
    counted = ", ".join(f"{count:,} {name}" for name, count in samples.counted.items())
    known = f"molecules {counted} (all kept as written)\n" if counted else ""
    if encoder.descriptors is not None:
        shown += f"; descriptors: {encoder.descriptors.summary}"
    if chosen == "roc_auc" and not _has_both(samples, split):
        chosen = "loss (ROC-AUC is undefined: valid holds one class)"
    falling = "to zero by a cosine" if config.cosine else f"halved every {config.halve_every}"
    console.print(
        f"source    {source}: {len(samples):,} {of}\n"
        f"task      {samples.task}, metric {samples.metric}\n"
        f"target    {', '.join(samples.target_names[:8])}"
        f"{' …' if len(samples.target_names) > 8 else ''}\n"
        f"{kind:9} {names}{more}\n{known}"
        f"features  {encoder.kind}: {shown}{edges}\n"
        f"split     {how}{sizes} ({split.how}){few}\n"
        f"schedule  at most {plural(config.epochs, 'epoch')} in batches of {config.batch_size}, "
        f"step size {config.lr:g} {falling}; patience {config.patience}; epoch chosen by {chosen} "
        "on valid",
    )


def _tell_alike(names: tuple[str, ...]) -> None:
    """Warn about classes whose names differ only in case, which is rarely intended."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            warnings.warn(f"The classes {other!r} and {name!r} differ in case alone.", stacklevel=2)


def _has_both(samples: Samples, split: Split) -> bool:
    """Return whether the validation part of a binary task has both classes, which ROC-AUC needs."""
    assert samples.y is not None
    y = samples.y[split.valid].reshape(len(split.valid), -1)
    return bool(((y == 0).any(0) & (y == 1).any(0)).any())


def tell_cells(model: str, samples: Samples) -> None:
    """Report the cells of the graphs that a peer reads, computed or from the cache."""
    import time

    from ..data.structure_cache import cached_peer
    from ..nn.peers import peer_of

    peer = peer_of(model)
    if peer is None:
        return
    began = time.perf_counter()
    with working(f"preparing what {peer} reads …"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the training repeats the notes
        edged = bool(samples.encoder.edges or samples.encoder.edge_features)
        structure = cached_peer(samples.graphs, peer, edged)
    cells = ", ".join(f"{len(one.graph):,} {name}" for name, one in structure.cells.items())
    took = f"{time.perf_counter() - began:.1f} s"
    notes().print(f"cells     {cells or 'none beside vertices'} ({took})")


def kind_of(fitted: Fitted) -> str:
    config = fitted.loaded.config
    base = str(config.base).upper() if config.base else ""
    if config.peer is not None:
        return config.peer.kind.title
    if not config.gpnn:
        return f"{base} alone"
    structure = config.structure
    return f"GPNN {structure.scheme} {structure.interactions}" + (f" on {base}" if base else "")


def document(source: str, samples: Samples, fitted: Fitted, folder: Path) -> dict[str, Any]:
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
        **{name: about[name] for name in ("learned", "mixture") if name in about},
    }


def _calibration(fitted: Fitted) -> dict[str, Any] | None:
    """Summarise the calibration, without the list of all errors."""
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


def show_fitted(fitted: Fitted, folder: Path, files: list[Path]) -> None:
    show(f"{fitted.loaded.model}")
    if len(fitted.members) == 1:
        show(*_one_network(fitted))
    else:
        show(_networks(fitted), *_together(fitted))
    known = _calibration(fitted)
    if known is not None:
        widths = ", ".join(f"{name} ± {width:.4g}" for name, width in known["half_widths"].items())
        shown = f": 90 % intervals {widths}" if widths else ": probabilities"
        show(f"calibrated on {known['rows']:,} rows that chose no epoch{shown}")
        show(*(f"note: {text}" for text in known["warned"]))
    for number, one in enumerate(fitted.loaded.about.get("learned", ())):
        of = f" of network {number + 1}" if len(fitted.members) > 1 else ""
        show(*learned_lines(one, of))
    for number, one in enumerate(fitted.loaded.about.get("mixture", ())):
        of = f" of network {number + 1}" if len(fitted.members) > 1 else ""
        show(*mixture_lines(one, of))
    show(f"model {folder}, {', '.join(map(str, files))}")


def learned_lines(learned: dict[str, Any], of: str = "") -> list[str]:
    """Describe the parts of a learned scheme, and the tree that approximates it."""
    from ..graph.learned import part_name

    sizes, dead = learned["vertices"], learned["dead"]
    total = max(1, sum(sizes))
    shares = ", ".join(f"part {part_name(j)} {n / total:.0%}" for j, n in enumerate(sizes) if n)
    unused = f"; dead: part {', '.join(dead)}" if dead else ""
    return [
        f"scheme {learned['scheme']}{of}: {shares} of the training vertices{unused}; "
        f"{learned['cross']:.0%} cross edges",
        f"a tree that gives the same part for {learned['fidelity']:.1%} of the vertices:",
        learned["tree"].rstrip(),
    ]


def mixture_lines(mixture: dict[str, Any], of: str = "") -> list[str]:
    """List the weights of the schemes in every layer."""
    lines = [f"mixture{of}:"]
    for number, row in enumerate(mixture["weights"]):
        shares = zip(mixture["schemes"], row, strict=True)
        shown = ", ".join(f"{name} {share:.0%}" for name, share in shares)
        lines.append(f"  {f'layer {number}' if number else 'first features'}: {shown}")
    return lines


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
    """Format the metrics; if there are many, only the first ones."""
    pairs = [f"{name} {value:.4f}" for name, value in values.items()]
    more = f" and {len(pairs) - METRICS} more (--json)" if len(pairs) > METRICS else ""
    return ", ".join(pairs[:METRICS]) + more


def _networks(fitted: Fitted) -> Any:
    """Return a table with one line per network."""
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
        spread, names = fitted.spread(part), list(values)[:METRICS]
        alone = {name: sum(one[part][name] for one in fitted.members) / count for name in spread}
        means = values if folds else alone
        each = ", ".join(
            f"{name} {means.get(name, values[name]):.4f}"
            + (f" ± {spread[name]:.4f}" if name in spread else "")
            for name in names
        )
        if folds:
            lines.append(f"{part:5} {each} (mean over {folds} folds ± s.d.)")
            continue
        together = ", ".join(f"{name} {values[name]:.4f}" for name in names)
        lines.append(f"{part:5} {together} for the mean of {count} predictions; each network "
                     f"alone: {each} (mean ± s.d.)")  # fmt: skip
    return [*lines, f"{about['seconds']:.1f} s on {about['device']}"]


def comparison(rows: list[dict[str, Any]], count: int) -> Any:
    """Return a table with one line per method: the metric, its interval, and the lead of the first
    method."""
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


def write_folds(path: Path, samples: Samples, fitted: Fitted) -> None:
    """Write one line per sample: its label, and the prediction of the network that was not trained
    on it."""
    from ..train.answers import header_of, write_csv, written

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
    """Return a label as in the source, or an empty text if it is missing."""
    if names:
        return names[int(value)] if value >= 0 else ""
    return float(f"{value:.7g}") if value == value else ""
