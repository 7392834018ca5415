"""Shared by train, evaluate and predict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from ._shared import notes, working

if TYPE_CHECKING:
    from ..data.samples import Samples

__all__ = [
    *("Device", "Model", "Smiles", "Strict", "Target", "Threads", "TrainSource"),
    *("samples_of", "use_threads"),
]

TrainSource = Annotated[
    str,
    typer.Argument(
        help="A dataset name (MUTAG, ogbg-molhiv, …), a CSV of SMILES with a target column, a TU "
        "or OGB folder, a folder that 'gpnn prepare' wrote, or a folder of graph files: a "
        "subfolder per class, or a labels.csv with the columns file and label."
    ),
]
Model = Annotated[Path, typer.Argument(help="The folder that 'gpnn train' wrote.")]
Target = Annotated[
    list[str] | None,
    typer.Option("--target", "-t", help="Column to predict; may be repeated. Default: detected."),
]
Smiles = Annotated[
    str | None, typer.Option("--smiles", help="Column of the SMILES. Default: detected.")
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Refuse rows that cannot be read instead of skipping them.")
]
Device = Annotated[str, typer.Option("--device", help="auto, cpu, cuda, cuda:1, …")]
Threads = Annotated[
    int, typer.Option("--threads", help="CPU threads. More do not speed up small batches.")
]


def use_threads(threads: int) -> None:
    """Set the number of CPU threads of torch; the last bits of results may depend on it."""
    if threads < 1:
        raise InputError(f"--threads must be 1 or more; got {threads}.")
    import torch

    torch.set_num_threads(threads)


def chosen_descriptors(words: list[str] | None) -> list[str] | None:
    """Return the value of ``--descriptors``; ``None`` if it is not given."""
    if words is not None and "none" in words:
        if len(words) > 1:
            raise InputError(
                "--descriptors none cannot be combined with others. Leave out one of them."
            )
        return []
    return words or None


def samples_of(
    source: str,
    target: list[str] | None,
    smiles: str | None,
    task: str | None,
    data: str | None,
    strict: bool,
    **options: Any,
) -> Samples:
    """Load the samples of a source and report what had to be normalised."""
    from ..data.samples import load_samples

    with working(f"reading {source} …"):
        samples = load_samples(source, target or None, smiles, task, data, strict, **options)
    if smiles is not None and not samples.from_smiles:
        raise InputError(
            f"--smiles names a column of a table of molecules, which {source} is not. Leave it out."
        )
    if str(samples.graphs.normalised):
        notes().print(f"{source}: {samples.graphs.normalised}", style="dim")
    return samples
