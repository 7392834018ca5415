"""``gpnn prepare``: store a table of molecules as arrays on disk, for training with little
memory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._learn import Smiles, Strict, Target
from ._progress import row_progress
from ._shared import Engine, Json, Scheme, emit, notes

__all__ = ["prepare"]

Option = typer.Option


def prepare(
    source: Annotated[
        str,
        typer.Argument(help="A table of molecules: CSV, TSV, SDF (also .gz), Parquet, or - ."),
    ],
    out: Annotated[Path, Option("--out", "-o", help="Folder to write.")],
    target: Target = None,
    smiles: Smiles = None,
    task: Annotated[
        str | None,
        Option(help="classification, multitask, regression or mixed; inferred from the targets."),
    ] = None,
    split_column: Annotated[
        str | None, Option(help="Column with train, valid and test. Default: one named split.")
    ] = None,
    scheme: Scheme = "core-degree",
    interactions: Annotated[
        str, Option("--interactions", "-i", help="cross, edges or pairs.")
    ] = "edges",
    d: Annotated[int, Option("--d", help="Radius of the neighbourhoods, 1 to 5.")] = 3,
    distances: Annotated[
        bool,
        Option(
            "--distances/--no-distances", help="Include the hop distance in the colour of a pair."
        ),
    ] = True,
    labels: Annotated[
        bool,
        Option("--labels", help="Include the labels of both vertices in the colour of a pair."),
    ] = False,
    layers: Annotated[int, Option(help="Number of layers.")] = 3,
    shards: Annotated[
        int | None,
        Option(help="Pieces that are prepared apart. Default: one for every 8,192 rows."),
    ] = None,
    jobs: Annotated[
        int | None,
        Option(
            "--jobs",
            "-j",
            help="Shards at once. Default: 1, or as many as a cluster has room for.",
            min=1,
        ),
    ] = None,
    engine: Engine = "local",
    fresh: Annotated[
        bool, Option("--fresh/--resume", help="Start over, or resume a run in --out.")
    ] = False,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Prepare a table of molecules for training with little memory: 'gpnn train FOLDER'.

    Molecules are read, encoded and partitioned, and the classes of their pairs are numbered, piece
    by piece. The result is plain .npy files with checksums, which training maps into memory. The
    options of the structure (--scheme to --layers) are fixed here. Run the same command again to
    resume an interrupted run. With --engine ray every piece is a task; its rows and arrays are sent
    over the network, so that machines need no shared disk.
    """
    from ..data.prepare_table import prepare_table
    from ..graph.structure import Structure

    structure = Structure(scheme, interactions, d, layers, distances, labels)
    with row_progress() as (started, tick):
        about = prepare_table(
            source, out, target=target or None, smiles=smiles, task=task,
            split_column=split_column, structure=structure, shards=shards, jobs=jobs,
            engine=engine, strict=strict, fresh=fresh, started=started, report=tick,
        )  # fmt: skip
    size = sum(one["bytes"] for one in about["files"].values())
    if json:
        emit({
            "folder": str(out), "graphs": about["graphs"], "vertices": about["vertices"],
            "skipped": len(about["skipped"]), "bytes": size, "structure": about["structure"],
        })  # fmt: skip
    else:
        notes().print(
            f"wrote {out}: {about['graphs']:,} graphs, {about['vertices']:,} vertices, "
            f"{size / 2**30:.2f} GiB for {structure}, {layers} layers; train with: gpnn train "
            f"{out}",
        )  # fmt: skip
