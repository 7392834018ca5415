"""``gpnn prepare``: a table of molecules of any length as memory-mapped arrays on disk.

1. The targets of all rows are read, so that rows without a label are left out.
2. Shards are written (:mod:`gpnn.data.shards`), in any number of processes; an interrupted run
   resumes with the missing ones.
3. They are joined into the arrays of the whole set (:mod:`gpnn.data.join_shards`).
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from ..errors import InputError
from ..files import exists, user_path, write_text
from ..graph.partition import unique_rows
from ..graph.schemes import get_scheme
from ..graph.structure import Structure
from ..lock import locked
from ..options import Whole
from ..pool import ordered_map
from ..ray_engine import LOCAL, RemoteTask, cluster, run_tasks
from ..schema import Anything, Maybe, Table, read_json
from . import targets as labels
from .encoder import Encoder
from .join_shards import JoinedShards
from .npy_files import check_npy
from .pieces import TableFile
from .prepared_manifest import (
    AGAIN,
    MANIFEST,
    RUN,
    VERSION,
    digest,
    read_manifest,
    write_manifest,
)
from .raw import MOLECULE, Skipped
from .samples import SHOWN, tell_skipped
from .shards import Shard, ShardMaker, ShardTask, is_whole, open_shard
from .sources import no_source
from .table import choose_targets, is_table, smiles_name, split_parts
from .targets import MISSING
from .tasks import Task, get_task

__all__ = ["prepare_table"]

ROWS = 8_192
"""Default number of rows of a shard."""


def prepare_table(
    source: str,
    out: str | Path,
    *,
    target: str | Sequence[str] | None = None,
    smiles: str | None = None,
    task: str | None = None,
    split_column: str | None = None,
    structure: Structure | None = None,
    shards: int | None = None,
    jobs: int | None = None,
    engine: str = LOCAL,
    strict: bool = False,
    fresh: bool = False,
    started: Callable[[int, int], None] | None = None,
    report: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Write a table of molecules as arrays that :func:`~gpnn.train.fit.fit` trains from without
    loading them into memory. Returns the manifest. The same call resumes an interrupted run.

    Args:
        source: CSV, TSV, SDF (also as .gz) or Parquet, with SMILES and targets.
        out: a folder.
        target, smiles, task, split_column: as in :func:`~gpnn.data.samples.load_samples`.
        structure: the structure that networks will read.
        shards: number of shards, which are prepared separately; by default 8,192 rows each.
        jobs: number of shards prepared in parallel, each in a process; by default one, or as many
            as the cluster has capacity for.
        engine: ``local``, ``ray`` or ``ray://HOST:PORT``, see ``gpnn.ray_engine``.
        started: called with the number of rows done and in total.
        report: called with the number of rows done.
    """
    path, folder = user_path(source), Path(out)
    structure = structure or Structure(d=3, distances=True)
    jobs = Maybe(Whole(1)).read("jobs", jobs)
    if structure.walks:
        raise InputError("gpnn prepare stores no random walks. Leave out walks.")
    get_scheme(structure.scheme)
    if source != "-" and path.suffix and not exists(path):
        raise InputError(no_source(source, "Name a table."))
    if not (source == "-" or (path.is_file() and is_table(path))):
        raise InputError(
            f"{source} is not a table of molecules. gpnn prepare takes CSV, SDF, Parquet."
        )
    if folder.is_file():
        raise InputError(f"{folder} is a file. Name a folder with --out.")
    table = TableFile(path)
    at = smiles_name(path, table.names, table.head, smiles)
    wanted = None if target is None else [target] if isinstance(target, str) else list(target)
    columns, ragged = _texts(table, at, wanted, split_column)
    split = split_parts(path, columns, ragged, split_column)
    names = choose_targets(path, table.names, columns, at, wanted)
    if not names:
        raise InputError(f"{source} has no labels to learn from: its one column is {at!r}.")
    columns = {name: columns[name] for name in names}
    reasons = _without_label(columns, ragged)
    labelled = [row for row in range(table.rows) if row not in reasons and row not in ragged]
    _encoded(columns, labelled, task, source)  # raises before any work is done
    count = Whole(1).read("shards", shards) if shards is not None else -(-table.rows // ROWS)
    size = -(-table.rows // count)
    run = {
        "version": VERSION, "source": table.sha256, "smiles": at, "targets": names, "task": task,
        "split": split_column, "structure": structure.to_dict(), "rows": size, "strict": strict,
    }  # fmt: skip
    with cluster(engine), locked(folder / ".lock", wait=False) as mine:
        if not mine:
            raise InputError(f"Another process is preparing {folder}. Wait for it.")
        _check_run(folder, run, fresh)
        if (folder / MANIFEST).is_file():
            known = read_manifest(folder)
            check_npy(folder, known["files"], AGAIN)
            shutil.rmtree(folder / "shards", ignore_errors=True)
            if started is not None:
                started(table.rows, table.rows)
            return known
        inside = folder / "shards"
        numbers = range(-(-table.rows // size))
        done = {k for k in numbers if is_whole(inside / str(k))}
        reached = sum(min(size, table.rows - k * size) for k in done)
        if started is not None:
            started(reached, table.rows)
        about = (path, table.names, at, structure)
        met: list[int] = []
        pending = _pending(table, size, done, reasons, met)
        if engine == LOCAL:
            made = ordered_map(ShardMaker, (inside, *about), pending, jobs or 1)
        else:
            made = _on_cluster(inside, about, pending, jobs)
        for rows in made:
            reached += rows
            if report is not None:
                report(reached)
        shard_list = [open_shard(inside / str(k)) for k in met]
        skipped = [Skipped(*one) for shard in shard_list for one in shard.about["skipped"]]
        skipped.sort(key=lambda one: one.row)
        tell_skipped(skipped[:SHOWN], len(skipped), table.rows, strict, source)
        manifest = _join(
            folder, shard_list, run, columns, split, task, at, structure, skipped, source, jobs or 1
        )
        shutil.rmtree(inside)
        return manifest


def _texts(
    table: TableFile, smiles: str, targets: Sequence[str] | None, split: str | None
) -> tuple[dict[str, list[str]], dict[int, int]]:
    """The columns that may be targets or the split, and the ragged rows."""
    columns: dict[str, list[str]] = {
        name: []
        for name in table.names
        if name != smiles
        and (targets is None or name in (*targets, split) or name.lower() == "split")
    }
    ragged: dict[int, int] = {}
    for piece in table.pieces(ROWS):
        for name, values in columns.items():
            values.extend(piece.columns[name])
        ragged |= piece.ragged
    return columns, ragged


def _without_label(columns: Mapping[str, list[str]], ragged: Mapping[int, int]) -> dict[int, str]:
    """Rows without any target, with the reason."""
    which = repr(next(iter(columns))) if len(columns) == 1 else f"any of {len(columns)} targets"
    rows = zip(*columns.values(), strict=True)
    return {
        row: f"no label in {which}"
        for row, words in enumerate(rows)
        if row not in ragged and all(map(_is_missing, words))
    }


def _is_missing(word: str) -> bool:
    if word.strip().lower() in MISSING:
        return True
    try:
        return not math.isfinite(float(word))
    except ValueError:
        return False


def _pending(
    table: TableFile, size: int, done: set[int], reasons: Mapping[int, str], met: list[int]
) -> Iterator[ShardTask]:
    """The shards still to be written; the numbers of all shards are appended to ``met``."""
    for number, piece in enumerate(table.pieces(size)):
        met.append(number)
        if number not in done:
            last = piece.first + len(piece)
            own = {row: reasons[row] for row in range(piece.first, last) if row in reasons}
            yield ShardTask(number, piece, own)


def _on_cluster(
    inside: Path, about: tuple[Any, ...], pending: Iterator[ShardTask], most: int | None
) -> Iterator[int]:
    """Write shards on the machines of a cluster: rows are sent there, arrays are sent back. Yields
    the number of rows of every finished shard."""

    def task(one: ShardTask) -> RemoteTask:
        call = partial(_make_away, about, one)
        return RemoteTask(call, inside / str(one.number), f"shards/{one.number}")

    for _, (number, rows) in run_tasks(map(task, pending), most):
        if not is_whole(inside / str(number)):
            raise InputError(f"Shard {number} came back damaged. Run the same command again.")
        yield rows


def _make_away(
    about: tuple[Any, ...], task: ShardTask, folder: Path, _: Callable[[float], None]
) -> tuple[int, int]:
    return task.number, ShardMaker(folder.parent, *about)(task)


def _check_run(folder: Path, run: Mapping[str, Any], fresh: bool) -> None:
    """Raise if the folder holds another run; ``fresh`` deletes the run in the folder."""
    if fresh and ((folder / MANIFEST).is_file() or (folder / RUN).is_file()):
        for path in (folder / MANIFEST, *folder.glob("*.npy")):
            path.unlink(missing_ok=True)
        shutil.rmtree(folder / "shards", ignore_errors=True)
        (folder / RUN).unlink(missing_ok=True)  # last: it identifies the folder as ours until then
    here = json.loads(json.dumps(run))
    if (folder / RUN).is_file():
        there = read_json(folder / RUN, Table(more=Anything()), AGAIN)
        if there != here:
            other = ", ".join(sorted(k for k in here if there.get(k) != here[k]))
            raise InputError(
                f"{folder} holds another preparation (other {other}). Choose another folder with "
                "--out, or start over there with --fresh."
            )
    elif any(folder.glob("*")) and {one.name for one in folder.glob("*")} != {".lock"}:
        raise InputError(f"{folder} is not empty. Choose a new folder with --out.")
    write_text(folder / RUN, json.dumps(here))


def _encoded(
    columns: Mapping[str, list[str]], rows: Sequence[int], task: str | None, source: str
) -> tuple[Tensor, Task, tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Labels of some rows, the task, its classes, and the classes of a mixed task."""
    if len(rows) < 2:
        raise InputError(f"{source} holds {len(rows)} labelled graphs: too few to learn from.")
    own = {name: labels.column([values[k] for k in rows]) for name, values in columns.items()}
    kind = get_task(task) if task is not None else labels.infer_task(own)
    if kind.node_level or (kind.has_classes and len(own) > 1):
        raise InputError(f"The task {kind} does not fit the targets {', '.join(own)}.")
    classes = labels.class_names(next(iter(own.values()))) if kind.has_classes else ()
    mixed = labels.mixed_classes(own) if kind is Task.MIXED else ()
    y, bad = labels.encode(own, kind, classes, mixed)
    if bad:
        row, why = next(iter(bad.items()))
        raise InputError(f"Row {rows[row] + 1} of {source}: {why}. Fix or remove it.")
    labels.check_labels(y, kind, classes, ())
    return y, kind, classes, mixed


def _join(
    folder: Path,
    shards: Sequence[Shard],
    run: Mapping[str, Any],
    columns: Mapping[str, list[str]],
    split: Sequence[str] | None,
    task: str | None,
    smiles: str,
    structure: Structure,
    skipped: Sequence[Skipped],
    source: str,
    threads: int,
) -> dict[str, Any]:
    """Write the arrays of the whole set and, last, the manifest. Returns the manifest."""
    rows = np.concatenate([shard["rows"] for shard in shards]).astype(np.int64)
    y, kind, classes, mixed = _encoded(columns, rows.tolist(), task, source)
    width = shards[0]["nodes"].shape[1]
    values = [np.unique(np.concatenate([np.unique(s["nodes"][:, k]) for s in shards])) for k in
              range(width)]  # fmt: skip
    bonds = np.unique(np.concatenate([np.unique(s["bonds"]) for s in shards])).astype(np.int64)
    parts = unique_rows(np.concatenate([s["parts"] for s in shards]).astype(np.int64))[0]
    encoder = Encoder(
        MOLECULE, kind, tuple(tuple(own.tolist()) for own in values), tuple(bonds.tolist()),
        class_names=classes, target_names=tuple(columns), smiles=smiles, mixed=mixed,
    )  # fmt: skip
    joined = JoinedShards(folder, shards, structure, values, bonds, parts)
    joined.collect(y.numpy(), rows, None if split is None else np.array(split)[rows])
    files = joined.write(threads)
    digests = [[name, known["sha256"]] for name, known in sorted(files.items())]
    content: dict[str, Any] = {
        "format": "gpnn-prepared", "version": VERSION, "run": dict(run),
        "structure": structure.to_dict(), "encoder": encoder.to_dict(),
        "colours": parts.tolist(), "graphs": len(rows), "vertices": joined.totals["nodes"],
        "skipped": [[one.row, one.id, one.reason] for one in skipped], "data": digest(digests),
        "files": files,
    }  # fmt: skip
    return write_manifest(folder, content)
