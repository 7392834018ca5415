"""``gpnn demo``: the main workflow on the included molecules, in under two minutes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._shared import notes, show
from .explain import explanation_table, summary
from .stats import stats

if TYPE_CHECKING:
    from ..data.samples import Samples
    from ..train.fit import Fitted
    from ..train.loop import EpochReport

__all__ = ["demo"]

OPTIONS = {"base": "gin", "scheme": "core-degree", "interactions": "edges", "hidden": 32}
MODELS = {"GPNN on GIN": True, "GIN": False}
MOLECULE = 2
ATOMS = ("C", "N", "O", "F", "I", "Cl", "Br")  # the labels 0 … 6 of MUTAG
ABOUT = (
    "This is a small demonstration split, not a benchmark: {graphs} molecules, {folds} folds, one "
    "run each, {epochs} epochs, nothing tuned. "
    "Always naming the larger class gives {majority:.1%}.\n"
    "GPNN less GIN, fold by fold: {gap:+.1%} ± {error:.1%} (standard error, corrected for "
    "folds that share molecules){verdict}"
)
NOISE = ": these folds show no difference."


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of pictures and model.")] = Path(
        "demo"
    ),
    folds: Annotated[int, typer.Option(help="Number of cross-validation folds.")] = 8,
    epochs: Annotated[int, typer.Option(help="Number of epochs.")] = 20,
) -> None:
    """Partition the 188 included MUTAG molecules, train GPNN and GIN, explain a prediction."""
    _parts(out)
    from ..data.samples import load_samples, without_edge_labels
    from ..plots.rivals import draw_rivals
    from ..plots.save import save

    samples = without_edge_labels(load_samples("MUTAG"))
    with _progress(len(MODELS) * epochs) as tick:
        runs = {
            name: _cross_validate(samples, gpnn, folds, epochs, out / "model", name, tick)
            for name, gpnn in MODELS.items()
        }
    scores = {name: [one["test"]["accuracy"] for one in run.members] for name, run in runs.items()}
    _table(runs, scores, samples, epochs)
    histories = {name: list(run.histories) for name, run in runs.items()}
    title = f"MUTAG: {len(samples)} molecules, {folds} folds"
    save(draw_rivals(histories, scores, title), out / "curves.png")
    _explained(runs["GPNN on GIN"], samples, out)
    names = ("molecule.png", "distribution.png", "curves.png", "explanation.png", "model")
    notes().print("wrote " + ", ".join(str(out / name) for name in names))


def _cross_validate(
    samples: Samples,
    gpnn: bool,
    folds: int,
    epochs: int,
    folder: Path,
    name: str,
    tick: Callable[[str, EpochReport], None],
) -> Fitted:
    """Train all folds side by side for the same number of epochs; save the networks of GPNN."""
    from ..data.split import make_folds
    from ..train.device import one_thread
    from ..train.fit import fit
    from ..train.train_config import TrainConfig

    train = TrainConfig(epochs=epochs, patience=epochs, device="cpu")
    with one_thread():
        return fit(
            samples,
            OPTIONS | {"gpnn": gpnn},
            train,
            make_folds(samples, folds),
            folder=folder if gpnn else None,
            report=lambda report: tick(name, report),
            fresh=True,
        )


def _parts(out: Path) -> None:
    """Draw the dataset, and one molecule with its parts."""
    from ..data.datasets import load_graphs
    from ..graph.partition import partition
    from ..graph.schemes import PAPER_SCHEMES
    from ..plots.bars import draw_distribution
    from ..plots.draw import draw_partition
    from ..plots.save import save

    graphs = load_graphs("MUTAG")
    stats("MUTAG")
    one = partition(graphs[MOLECULE], "core-degree")
    inside, across = one.within_edges().shape[1], one.cross_edges().shape[1]
    show(
        f"\nMolecule {MOLECULE} partitioned by core-degree: {one.num_parts} parts, {inside} edges "
        f"within parts, {across} across, {int(one.border.sum())} of {one.graphs.num_nodes} atoms "
        "on the border."
    )
    for label, size in zip(one.labels, one.sizes.tolist(), strict=True):
        show(f"  {'■' * size} {size} atoms, core {label}")
    save(
        draw_partition(one, f"MUTAG molecule {MOLECULE}, partitioned by core-degree"),
        out / "molecule.png",
    )
    cuts = [partition(graphs, name) for name in PAPER_SCHEMES if name != "trivial"]
    save(draw_distribution(cuts, "MUTAG: 188 molecules"), out / "distribution.png")


def _table(
    found: dict[str, Fitted], scores: dict[str, list[float]], samples: Samples, epochs: int
) -> None:
    import numpy as np
    import torch
    from rich.table import Table

    from ..train.paired import paired

    table = Table(title="Accuracy on the fold left out", title_justify="left")
    table.add_column("model")
    for heading in ("mean", "s.d.", "lowest", "highest", "parameters", "s per epoch and fold"):
        table.add_column(heading, justify="right")
    for name, values in scores.items():
        about = found[name].loaded.about
        each = about["seconds"] / (len(values) * epochs)
        table.add_row(
            *(name, f"{np.mean(values):.1%}", f"{np.std(values, ddof=1):.1%}"),
            *(f"{min(values):.1%}", f"{max(values):.1%}"),
            *(f"{about['parameters']:,}", f"{each:.3f}"),
        )
    first, second = scores.values()
    fold = next(iter(found.values())).splits[0]
    mean, error = paired(first, second, True, len(fold.test) / len(fold.train))
    assert samples.y is not None and error is not None
    text = ABOUT.format(
        graphs=len(samples), folds=len(first), epochs=epochs, gap=mean, error=error,
        majority=float(torch.bincount(samples.y).max() / len(samples.y)),
        verdict=NOISE if abs(mean) < 2 * error else ".",
    )  # fmt: skip
    show("", table, text, "Both read atoms only, since GIN does not read bond types.")


def _explained(found: Fitted, samples: Samples, out: Path) -> None:
    """Explain the molecule with the most parts in the test set of the first fold."""
    import torch

    from ..plots.explain import draw_explanation
    from ..plots.save import save
    from ..train.explain import explain

    assert samples.y is not None and samples.x is not None
    test = found.splits[0].test
    counts = found.loaded.members[0].prepare(samples).components[test]
    graph = int(test[int((counts > 0).sum(axis=1).argmax())])
    why = explain(found.loaded, samples, graph, member=0)
    vertices = torch.from_numpy(samples.graphs.graph_of == graph)
    names = [ATOMS[code] for code in samples.x[vertices, 0].tolist()]
    truth = samples.class_names[int(samples.y[graph])]
    title = f"MUTAG molecule {graph}: class {why.output}, probability {why.score:.4f}"
    save(draw_explanation(samples.graphs[graph], why, title, names), out / "explanation.png")
    show(
        f"\nMolecule {graph}, which the network of fold 1 has not seen: predicted {why.output}, "
        f"labelled {truth} (1: mutagenic)",
        explanation_table(why),
        *summary(why),
    )
    notes().print(f"another one: gpnn explain {out / 'model'} MUTAG:1 --member 0")


@contextmanager
def _progress(total: int) -> Iterator[Callable[[str, EpochReport], None]]:
    """Show progress on standard error: live on a terminal, else one line per model."""
    console = notes()
    if not console.is_terminal:

        def line(name: str, report: EpochReport) -> None:
            if report.epoch == report.epochs:
                accuracy = report.valid["accuracy"]
                text = f"{name}: {len(accuracy)} folds, validation accuracy {accuracy.mean():.3f}"
                console.print(text)

        yield line
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description:32}", markup=False),
        BarColumn(bar_width=24),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bar:
        job = bar.add_task("training …", total=total)
        yield lambda name, _: bar.update(job, advance=1, description=f"training {name}, all folds")
