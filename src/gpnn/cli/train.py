"""``gpnn train``: train a model on a source with labels."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from ._fanout import fanout_numbers
from ._learn import (
    Device,
    Smiles,
    Strict,
    Target,
    TrainSource,
    chosen_descriptors,
    samples_of,
    use_threads,
)
from ._progress import progress
from ._ranks import be_quiet_unless_first
from ._scheme_choice import AUTO, choice_table, choose, draw_choice
from ._shared import Data, Json, TrainScheme, emit, notes, show
from ._table_steps import compare_baselines, search_setting
from ._train_checks import check_options_together, check_ranks, check_source, is_given
from ._train_report import (
    comparison,
    document,
    kind_of,
    show_fitted,
    tell_cells,
    tell_samples,
    write_folds,
)

if TYPE_CHECKING:
    from ..data.prepared_folder import PreparedSamples

__all__ = ["train"]

Option = typer.Option
ENSEMBLE = 5
MANY_EDGES = 100_000
"""Number of edges of one graph above which several threads speed up a step."""


def train(
    context: typer.Context,
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
            help="Numbers of the whole molecule to read beside its graph: rdkit, morgan, a column "
            "of the table, or none; may be repeated. Default: rdkit for tables of molecules."
        ),
    ] = None,
    effort: Annotated[
        str, Option(help="quick, standard or thorough, for tables of molecules.")
    ] = "standard",
    minutes: Annotated[
        float | None,
        Option(help="Time budget of --scheme auto or of --effort thorough. Default: 10."),
    ] = None,
    jobs: Annotated[
        int | None,
        Option(
            "--jobs",
            "-j",
            help="Processes that try candidates of --scheme auto at once. Default: one per core, "
            "at most 8; 1 on a GPU.",
            min=1,
        ),
    ] = None,
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
            help="Maximum number of epochs. Default: 200 (molecules of a table: 40), fewer for "
            "more than 1,000 samples."
        ),
    ] = None,
    patience: Annotated[
        int | None,
        Option(
            help="Stop after this many epochs without improvement. Default: 0.3 x epochs, at "
            "least 10; never for molecules of a table."
        ),
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
    scheme: TrainScheme = "core-degree",
    interactions: Annotated[
        str | None,
        Option("--interactions", "-i", help="cross, edges or pairs. Default: edges."),
    ] = None,
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
    layers: Annotated[
        int | None, Option(help="Number of layers. Default: 3, or half the numbers of --fanout.")
    ] = None,
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
        Option(
            help="Graphs (vertices with --fanout) per batch. Default: 32, more for more than 1,000 "
            "samples."
        ),
    ] = None,
    nodes: Annotated[
        bool,
        Option(
            "--nodes",
            help="Classify the vertices of one graph: a .npz with edge_index and y, and x and "
            "train_mask, val_mask, test_mask where there are any.",
        ),
    ] = False,
    fanout: Annotated[
        str | None,
        Option(
            metavar="N N …",
            help="Train on blocks of one large graph: neighbours drawn of every vertex, hop by "
            "hop, two numbers for every layer; -1 for all.",
        ),
    ] = None,
    lr: Annotated[
        float,
        Option(
            help="Step size of AdamW, halved after every quarter of the epochs; for molecules of a "
            "table it falls to zero along a cosine."
        ),
    ] = 0.01,
    weight_decay: Annotated[float, Option(help="Decoupled decay of weight matrices.")] = 0.0,
    seed: Annotated[
        int, Option(help="Random seed for split, weights, batch order and dropout.")
    ] = 0,
    device: Device = "auto",
    threads: Annotated[
        int | None,
        Option(
            help="CPU threads. Default: 1, as more do not speed up small batches; one per core for "
            "vertices of more than 100,000 edges."
        ),
    ] = None,
    fresh: Annotated[
        bool, Option("--fresh/--resume", help="Start over, or resume a run in --out.")
    ] = False,
    strict: Strict = False,
    data: Data = None,
    json: Json = False,
) -> None:
    """Train a GPNN on a dataset, a table of molecules or a folder of graphs.

    Run the same command again to resume an interrupted training. Several processes train one
    network with 'torchrun --nproc-per-node N -m gpnn train …'.
    """
    from ..data.prepared_folder import PreparedSamples
    from ..data.split import calibration_splits, make_folds, make_split
    from ..nn.ranks import join_ranks, rank, ranks
    from ..plots.curves import draw_curves
    from ..plots.save import save
    from ..train.effort import MOLECULES, schedule_for
    from ..train.fit import fit
    from ..train.train_config import TrainConfig

    check_options_together(context)
    use_threads(1 if threads is None else threads)
    device = join_ranks(device)
    if ranks() > 1:
        check_ranks(context)
        be_quiet_unless_first()
        if rank() == 0 and device != "cpu":
            notes().print("Several processes: steps are not captured as CUDA graphs.")
    given = {
        "epochs": epochs, "patience": patience, "batch_size": batch_size, "lr": lr,
        "weight_decay": weight_decay, "class_weights": class_weights, "seed": seed,
        "device": device, "fanout": fanout_numbers(fanout),
    }  # fmt: skip
    drawn = TrainConfig.sized(1, **given).fanout  # refuses values that do not exist
    if layers is None:
        layers = 3 if drawn is None else max(1, len(drawn) // 2)
    network = {
        "layers": layers, "hidden": hidden, "block": block, "walks": walks, "labels": labels,
        "virtual_node": virtual_node, "d": d, "distances": distances, "join": join,
        "dropout": dropout, "base": base, "gpnn": not baseline,
    }  # fmt: skip
    options = _model_options(network, model, scheme, interactions)
    folder = out if out is not None else Path("models") / _stem(source)
    if folder.is_file():
        raise InputError(f"{folder} is a file. Name a folder with --out.")

    samples = samples_of(
        source, target, smiles, task, data, strict, descriptors=chosen_descriptors(descriptors),
        split_column=split_column, valid=valid, test=test, nodes=nodes,
    )  # fmt: skip
    check_source(context, samples)
    large = samples.task.node_level and samples.graphs.num_edges > MANY_EDGES
    if threads is None and large and ranks() == 1:
        use_threads(os.cpu_count() or 1)
    if isinstance(samples, PreparedSamples):
        options |= _structure_of(context, samples, options)

    splits = None
    if folds is not None:
        if samples.split is not None:
            warnings.warn(
                f"--folds splits {source} itself: the split that comes with it is not used.",
                stacklevel=2,
            )
        splits = make_folds(samples, folds, seed, split)
    parts = make_split(samples, seed, kind=split) if splits is None else splits[0]
    thorough, auto = effort == "thorough", scheme == AUTO
    if thorough:
        ensemble = max(ensemble, ENSEMBLE)
    if calibrate:
        pool = parts.train if thorough else None  # the search uses valid
        splits = calibration_splits(samples, parts, ensemble, seed, pool)
    first = (splits or [parts])[0]

    if samples.from_smiles:
        asked = {name: value for name, value in given.items() if value is not None}
        given = schedule_for(len(first.train), effort, epochs) | asked
        options = (MOLECULES if options["gpnn"] and not auto else {}) | options
    config = TrainConfig.sized(len(first.train), **given)
    tell_samples(source, samples, first, config, folds)
    tell_cells(model, samples)
    if thorough:
        options, config = search_setting(samples, parts, options, config, folder, minutes, fresh)
    choice, files, facts = None, [folder / "curves.png"], dict[str, Any]()
    if auto:
        choice = choose(samples, parts, options, config, folder, split, minutes, fresh, jobs)
        options, facts = choice.applied(options), {"choice": choice.to_dict()}
        files += draw_choice(choice, folder, _stem(source))
    with progress(folder, config.epochs) as (started, tick):
        fitted = fit(
            samples, options, config, splits or parts, ensemble=1 if splits else ensemble,
            folder=folder, report=tick, started=started, fresh=fresh, facts=facts,
        )  # fmt: skip
    if rank() > 0:
        return

    compared = compare_baselines(samples, options, config, parts, fitted, seed) if baselines else []
    metric = fitted.loaded.about["metric"]
    reached = fitted.metrics.get("test", {}).get(metric)
    title = f"{_stem(source)}: {kind_of(fitted)}"
    save(draw_curves(fitted.histories, metric, fitted.best_epochs, title, reached), files[0])
    if fitted.out_of_fold is not None:
        files.append(folder / "folds.csv")
        write_folds(files[-1], samples, fitted)
    if fitted.resumed and fitted.resumed == max(fitted.loaded.about["epochs"]):
        notes().print("the run was finished already: nothing was trained")
    if json:
        emit(document(source, samples, fitted, folder) | {"baselines": compared} | facts)
        return
    if choice is not None:
        show(choice_table(choice))
    show_fitted(fitted, folder, files)
    if compared:
        show(comparison(compared, len(parts.test)))


def _model_options(
    given: dict[str, Any], model: str, scheme: str, interactions: str | None
) -> dict[str, Any]:
    """The options of the network, without those that are left to their defaults."""
    from ..graph.learned import learned_parts
    from ..graph.refine import interaction_type
    from ..graph.schemes import get_scheme
    from ..graph.structure import Structure
    from ..train.setup import named_model

    options = {name: value for name, value in given.items() if value is not None}
    if given["base"] == "none":
        options["base"] = None
    options |= named_model(model)
    if interactions is not None or scheme != AUTO:
        options["interactions"] = interaction_type(interactions or "edges")
    if scheme != AUTO:
        options["scheme"] = scheme if learned_parts(scheme) else get_scheme(scheme).name
    Structure.split(options)  # refuses values that do not exist
    return options


def _structure_of(
    context: typer.Context, samples: PreparedSamples, options: dict[str, Any]
) -> dict[str, Any]:
    """Return the structure that a folder was prepared for, without options given on the command
    line; these are checked later."""
    known = samples.structure.to_dict()
    return {
        name: value
        for name, value in known.items()
        if name not in options or not is_given(context, name)
    }


def _stem(source: str) -> str:
    from ..data.generated import is_generated

    if is_generated(source):
        return source.replace(":", "-").split(",")[0]
    return Path(source.split(":")[0]).name.split(".")[0] or "model"
