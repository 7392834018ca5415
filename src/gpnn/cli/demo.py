"""``gpnn demo``: the main job on the embedded molecules, in under two minutes."""

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
    from ..train.duel import Duel
    from ..train.fit import Epoch

__all__ = ["demo"]

MOLECULE = 2
ATOMS = ("C", "N", "O", "F", "I", "Cl", "Br")  # the labels 0 … 6 of MUTAG
ABOUT = (
    "This is a small demonstration split, not a benchmark: {graphs} molecules, {folds} folds, one "
    "run each, {epochs} epochs, nothing tuned. "
    "Always naming the larger class gives {majority:.1%}.\n"
    "GPNN less GIN, fold by fold: {gap:+.1%} ± {error:.1%} (standard error){verdict}"
)
NOISE = ": no difference can be told from these folds."


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of pictures and model.")] = Path(
        "demo"
    ),
    folds: Annotated[int, typer.Option(help="Folds: each tests once.")] = 8,
    epochs: Annotated[int, typer.Option(help="Epochs of every training run.")] = 20,
) -> None:
    """Cut the 188 embedded MUTAG molecules, train GPNN beside GIN, and explain a prediction."""
    _parts(out)
    from ..data.samples import load_samples
    from ..plots.rivals import draw_rivals
    from ..plots.save import save
    from ..train.duel import MODELS, duel

    samples = load_samples("MUTAG")
    with _progress(len(MODELS) * folds * epochs) as tick:
        found = duel(samples, folds, epochs, out / "model", tick)
    _table(found, len(samples), folds, epochs)
    histories = {name: [run.history for run in runs] for name, runs in found.runs.items()}
    title = f"MUTAG: {len(samples)} molecules, {folds} folds"
    save(draw_rivals(histories, found.scores, title), out / "curves.png")
    _explained(found, samples, out)
    names = ("molecule.png", "distribution.png", "curves.png", "explanation.png", "model")
    notes().print("wrote " + ", ".join(str(out / name) for name in names), soft_wrap=True)


def _parts(out: Path) -> None:
    """The dataset and one molecule cut into parts."""
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
        f"\nMolecule {MOLECULE} cut by core-degree: {one.num_parts} parts, {inside} edges within "
        f"parts, {across} across, {int(one.border.sum())} of {one.graphs.num_nodes} atoms on the "
        "border."
    )
    for label, size in zip(one.labels, one.sizes.tolist(), strict=True):
        show(f"  {'■' * size} {size} atoms, core {label}")
    save(
        draw_partition(one, f"MUTAG molecule {MOLECULE}, cut by core-degree"), out / "molecule.png"
    )
    cuts = [partition(graphs, name) for name in PAPER_SCHEMES if name != "trivial"]
    save(draw_distribution(cuts, "MUTAG: 188 molecules"), out / "distribution.png")


def _table(found: Duel, graphs: int, folds: int, epochs: int) -> None:
    from rich.table import Table

    table = Table(title="Accuracy on the fold left out", title_justify="left")
    table.add_column("model")
    for heading in ("mean", "spread (s.d.)", "lowest", "highest", "parameters", "s per epoch"):
        table.add_column(heading, justify="right")
    for name, scores in found.scores.items():
        mean, deviation = found.mean(name)
        about = found.runs[name][0].loaded.about
        seconds = sum(run.loaded.about["seconds"] for run in found.runs[name])
        table.add_row(
            *(name, f"{mean:.1%}", f"{deviation:.1%}", f"{min(scores):.1%}", f"{max(scores):.1%}"),
            *(f"{about['parameters']:,}", f"{seconds / (len(scores) * epochs):.2f}"),
        )
    gap, error = found.difference()
    verdict = NOISE if abs(gap) < 2 * error else "."
    said = ABOUT.format(
        graphs=graphs, folds=folds, epochs=epochs, majority=found.majority,
        gap=gap, error=error, verdict=verdict,
    )  # fmt: skip
    show("", table, said, "Both read atoms only, for GIN has no use for bond types.")


def _explained(found: Duel, samples: Samples, out: Path) -> None:
    """The molecule with most parts among those that the first fold kept for testing."""
    import torch

    from ..plots.explain import draw_explanation
    from ..plots.save import save
    from ..train.duel import without_edge_labels
    from ..train.explain import explain

    samples = without_edge_labels(samples)
    assert samples.y is not None and samples.x is not None
    run = next(iter(found.runs.values()))[0]
    cut = run.loaded.prepare(samples).components[run.split.test]
    graph = int(run.split.test[int((cut > 0).sum(axis=1).argmax())])
    why = explain(run.loaded, samples, graph)
    vertices = torch.from_numpy(samples.graphs.graph_of == graph)
    names = [ATOMS[code] for code in samples.x[vertices, 0].tolist()]
    truth = samples.class_names[int(samples.y[graph])]
    title = f"MUTAG molecule {graph}: class {why.output}, probability {why.score:.4f}"
    save(draw_explanation(samples.graphs[graph], why, title, names), out / "explanation.png")
    show(
        f"\nMolecule {graph}, which the model of fold 1 has not seen: predicted {why.output}, "
        f"labelled {truth} (1: mutagenic)",
        explanation_table(why),
        summary(why),
    )
    notes().print(f"another one: gpnn explain {out / 'model'} MUTAG:1", markup=False)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[str, int, Epoch], None]]:
    """Live on a terminal, else a line per run; on standard error."""
    console = notes()
    if not console.is_terminal:

        def line(name: str, fold: int, epoch: Epoch) -> None:
            if epoch.epoch == epoch.epochs:
                accuracy = epoch.best["valid_accuracy"]
                text = f"fold {fold + 1}, {name}: best validation accuracy {accuracy:.3f}"
                console.print(text, markup=False, soft_wrap=True)

        yield line
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:32}"), BarColumn(bar_width=24), TimeRemainingColumn())
    with Progress(*columns, console=console) as bar:
        job = bar.add_task("training …", total=total)
        yield lambda name, fold, _: bar.update(
            job, advance=1, description=f"training {name}, fold {fold + 1}"
        )
