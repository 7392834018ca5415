"""``gpnn bench``: benchmarks against other libraries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import InputError
from ..options import AUTO
from ._learn import Smiles, Target, Threads, chosen_descriptors, use_threads
from ._shared import Data, Json, command_line, emit, notes, show, writable

__all__ = ["app", "partition"]

Out = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", help="Also write the report as Markdown.", dir_okay=False, callback=writable
    ),
]

app = typer.Typer(help="Measure against other libraries.", no_args_is_help=True)


@app.callback()
def bench() -> None:
    """Measure against other libraries."""


@app.command("partition")
def partition(
    quick: Annotated[
        bool, typer.Option("--quick", help="Small graphs only, under a minute.")
    ] = False,
    repeats: Annotated[
        int, typer.Option(help="Timed runs per row; the median is reported.", min=1)
    ] = 5,
    out: Out = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Compare the speed of core+onion, triangles and components with igraph, networkit, rustworkx,
    scikit-network, networkx and SciPy: from a PyG edge_index to the answer, one thread each."""
    from ..bench.race import run_race, to_markdown

    result = run_race(quick=quick, repeats=repeats, data=data, progress=_progress())
    report = to_markdown(result)
    _deliver(result, report, out, json)


@app.command("layer")
def layer(
    device: Annotated[str, typer.Option("--device", help="cpu or cuda.")] = "cpu",
    quick: Annotated[bool, typer.Option("--quick", help="One batch of molecules only.")] = False,
    repeats: Annotated[
        int, typer.Option(help="Timed runs per row; the median is reported.", min=1)
    ] = 11,
    threads: Annotated[int, typer.Option(help="Threads for both sides.", min=1)] = 1,
    workload: Annotated[
        list[str] | None,
        typer.Option("--workload", "-w", help="Only this workload; may be repeated."),
    ] = None,
    out: Out = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Compare one GPNN layer with PyG's GINConv: forward and backward, look-up and direct path."""
    from ..bench.layer import run_layer_bench, to_markdown

    result = run_layer_bench(device, quick, repeats, threads, data, workload, _progress())
    options = f" --device {device}" * (device != "cpu") + f" --threads {threads}" * (threads != 1)
    options += "".join(f" -w {name}" for name in workload or ())
    _deliver(result, to_markdown(result, f"gpnn bench layer{options}"), out, json)


@app.command("engine")
def engine(
    device: Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")] = "auto",
    quick: Annotated[
        bool, typer.Option("--quick", help="Small graphs and few runs, under a minute.")
    ] = False,
    out: Out = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Compare 1, 10 and 40 models trained side by side with one at a time and with PyG's GIN, and
    profile one step."""
    from ..bench.engine import run_engine_bench, to_markdown

    result = run_engine_bench(device, quick, data, _progress())
    _deliver(result, to_markdown(result, _command("engine", device, quick)), out, json)


@app.command("train")
def train(
    device: Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")] = "auto",
    quick: Annotated[
        bool, typer.Option("--quick", help="MUTAG and few runs only, under a minute.")
    ] = False,
    out: Out = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Compare an epoch of gpnn train, one model and five, with a plain PyTorch loop."""
    from ..bench.train import run_train_bench, to_markdown

    result = run_train_bench(device, quick, data, _progress())
    _deliver(result, to_markdown(result, _command("train", device, quick)), out, json)


@app.command("molecules")
def molecules(
    source: Annotated[str, typer.Argument(help="A table of molecules with targets.")],
    target: Target = None,
    smiles: Smiles = None,
    splits: Annotated[int, typer.Option(help="Splits into 80, 10 and 10 %.", min=1)] = 5,
    split: Annotated[
        str | None, typer.Option(help="random, stratified or scaffold; default as 'gpnn train'.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            help="gpnn, base, boosting, forest, chemprop or ensemble; may be repeated. Default: "
            "all but ensemble, and chemprop where it is installed.",
        ),
    ] = None,
    descriptors: Annotated[
        list[str] | None,
        typer.Option(help="As 'gpnn train': rdkit, morgan, a column or none."),
    ] = None,
    effort: Annotated[str, typer.Option(help="quick or standard.")] = "standard",
    epochs: Annotated[int | None, typer.Option(help="Of the networks.", min=1)] = None,
    chemprop: Annotated[
        str | None, typer.Option(help="The command chemprop, run in a process of its own.")
    ] = None,
    runs: Annotated[
        Path | None,
        typer.Option(help="Keep every finished run in this file (JSON lines), and resume there."),
    ] = None,
    threads: Threads = 1,
    out: Out = None,
    json: Json = False,
) -> None:
    """Compare gpnn on your own table with its base GNN, boosting on descriptors, a forest on
    fingerprints and chemprop: the same splits for all, paired differences."""
    from ..bench.molecules import run_molecules_bench, to_markdown

    use_threads(threads)
    result = run_molecules_bench(
        source, target, smiles=smiles, splits=splits, kind=split, methods=only,
        descriptors=chosen_descriptors(descriptors), effort=effort, epochs=epochs,
        chemprop=chemprop, kept=runs, progress=_progress(),
    )  # fmt: skip
    command = command_line("--out", "-o", "--chemprop", "--runs")
    _deliver(result, to_markdown(result, command), out, json)


@app.command("schemes")
def schemes(
    source: Annotated[
        list[str],
        typer.Argument(
            help="Datasets, tables or folders with labels, or planted:core, counts:5-cycle …"
        ),
    ],
    target: Target = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            help="base, auto, learned-k, a scheme, a mixture such as mix:core,degree, or a peer "
            "such as cin; with options of the network, as in base:walks=8 or "
            "core:interactions=pairs,d=2. May be repeated. Default: "
            "base, trivial, core, degree, triangle, core-degree, learned-4 and auto.",
        ),
    ] = None,
    runs: Annotated[
        int,
        typer.Option(
            min=2,
            help="Seeds. Without an official split, each splits the data into 80, 10 and 10 %.",
        ),
    ] = 10,
    interactions: Annotated[
        str | None,
        typer.Option("--interactions", "-i", help="Of all networks. Default: edges; auto chooses."),
    ] = None,
    d: Annotated[int | None, typer.Option("--d", help="Of all networks. Default: 1.")] = None,
    distances: Annotated[
        bool | None, typer.Option("--distances/--no-distances", help="Of all networks.")
    ] = None,
    layers: Annotated[int, typer.Option(help="Number of layers.")] = 3,
    hidden: Annotated[int, typer.Option(help="Width of the layers.")] = 64,
    epochs: Annotated[int | None, typer.Option(help="Default: as 'gpnn train'.", min=1)] = None,
    minutes: Annotated[
        float | None, typer.Option(help="Of a choice of auto, at most. Default: 10.")
    ] = None,
    device: Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")] = "auto",
    threads: Threads = 1,
    log: Annotated[
        Path | None, typer.Option(help="Folder for finished trainings, to resume from.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Trainings at once.", min=1)] = 1,
    out: Out = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Compare the base GNN, fixed and learned schemes, --scheme auto and peers on test samples:
    paired gains over runs with different seeds and splits.

    gpnn bench schemes MUTAG PTC_MR --runs 10 --log trainings --out schemes.md
    """
    from ..bench.scheme_methods import METHODS
    from ..bench.schemes import MINUTES, run_schemes_bench
    from ..bench.schemes_report import to_markdown

    use_threads(threads)
    if out is not None and out.suffix == ".png":
        raise InputError(
            f"--out is the report, and its picture is written beside it; got {out}. Give "
            f"{out.with_suffix('.md')}."
        )
    if minutes is not None and AUTO not in (method or METHODS):
        raise InputError("--minutes is the time of a choice of auto: leave it out, or add -m auto.")
    given = {"interactions": interactions, "d": d, "distances": distances}
    results = run_schemes_bench(
        source, target, method or METHODS, runs,
        {k: v for k, v in given.items() if v is not None} | {"layers": layers, "hidden": hidden},
        {"device": device} | ({} if epochs is None else {"epochs": epochs}),
        MINUTES if minutes is None else minutes, data, log, jobs, _progress(),
    )  # fmt: skip
    picture = ""
    if out is not None:
        from ..plots.save import save
        from ..plots.scheme_gains import draw_scheme_gains

        picture = out.with_suffix(".png").name
        save(draw_scheme_gains(results), out.with_suffix(".png"))
        notes().print(f"wrote {out.with_suffix('.png')}")
    left_out = ("--out", "-o", "--data", "--log", "--jobs", "-j")
    page = to_markdown(results, command_line(*left_out), picture)
    _deliver({"results": results}, page, out, json)


@app.command("peers")
def peers(
    device: Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")] = "auto",
    quick: Annotated[
        bool, typer.Option("--quick", help="Molecules and few runs only, under a minute.")
    ] = False,
    replicas: Annotated[
        int, typer.Option(help="Networks that are trained side by side.", min=1)
    ] = 1,
    out: Out = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Compare a training step of CIN, ESAN, PPGN … with one of GIN: time and memory."""
    from ..bench.methods import run_peer_bench, to_markdown

    result = run_peer_bench(device, quick, replicas, data, _progress())
    command = _command("peers", device, quick) + f" --replicas {replicas}" * (replicas > 1)
    _deliver(result, to_markdown(result, command), out, json)


@app.command("scale")
def scale(
    quick: Annotated[bool, typer.Option("--quick", help="Small inputs, a few minutes.")] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            help="Rows with this word in task, workload, size or way. Rows on tables are selected "
            "by group: predict, prepare or processes, molecules. May be repeated.",
        ),
    ] = None,
    out: Out = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Measure time and memory as data grow, every row in a separate process."""
    from ..bench.scale import run_scale_bench
    from ..bench.scale_report import to_markdown

    result = run_scale_bench(quick, only, data, _progress())
    _deliver(result, to_markdown(result, command_line("--out", "-o", "--data")), out, json)


def _progress() -> Callable[[str], None]:
    """Return a callback that prints the current measurement on standard error."""
    console = notes()
    return lambda text: console.print(text, style="dim")


def _command(name: str, device: str, quick: bool) -> str:
    """Return the command that is printed on the page."""
    return f"gpnn bench {name}" + f" --device {device}" * (device != "auto") + " --quick" * quick


def _deliver(result: dict[str, Any], report: str, out: Path | None, json: bool) -> None:
    from ..files import write_text

    if out is not None:
        write_text(out, report)
        notes().print(f"wrote {out}")
    if json:
        emit(result)
        return
    from rich.markdown import Markdown

    lines = [line for line in report.splitlines() if not line.startswith("![")]
    show(Markdown("\n".join(lines)))  # a terminal shows no pictures
