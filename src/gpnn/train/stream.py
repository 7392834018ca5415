"""Predictions for a table of any length, in constant memory: rows are read, encoded, partitioned,
predicted and written in pieces, in one process or in several.

Pieces are independent: the parts, labels and scales that a network knows are stored with it. The
output rows are the same, in the same order, as for the whole table at once.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from ..data.cache import nothing_kept
from ..data.pieces import Piece, TableFile
from ..data.raw import MOLECULE, Skipped
from ..data.samples import SHOWN, RowsRefused, encode_samples, tell_skipped
from ..data.table import TableChoice, is_table, read_piece, smiles_name
from ..errors import CountedWarning, InputError
from ..files import exists, reading, refuse_overwriting, user_path
from ..graph.readers.files import notes_once, one_of
from ..journal import Journal, journalled
from ..options import Whole
from ..pool import ordered_map
from .answers import answer_header, answer_rows, csv_bytes
from .conformal import LEVEL
from .device import pick_device
from .memory import keep_freed_memory
from .model_file import CARD, Loaded, load_model

__all__ = ["PIECE", "Answers", "StreamedTable", "is_streamed", "predict_table"]

PIECE = 1_024
"""Rows per piece."""
BATCH = 512
"""Molecules per batch of a network; fewer cause more Python overhead, more do not fit the caches.
"""


def is_streamed(source: str, loaded: Loaded) -> bool:
    """Whether a source is a table of molecules and therefore read in pieces."""
    path = user_path(source)
    file = exists(path) and path.is_file() and is_table(path)
    return source == "-" or (file and loaded.encoder.kind == MOLECULE)


@dataclass(frozen=True)
class Question:
    """Settings of a prediction, sent to every process."""

    model: str
    device: str
    path: Path
    names: list[str]
    at: str
    keep: tuple[str, ...]
    level: float
    threads: int


@dataclass(frozen=True)
class Answers:
    """Predictions for the rows of a piece."""

    first: int
    rows: list[list[Any]]
    content: bytes
    skipped: list[Skipped]
    vertices: int
    warned: list[Warning]


class Answerer:
    """Predicts pieces of a table with the model of a question."""

    def __init__(self, question: Question, loaded: Loaded | None = None) -> None:
        torch.set_num_threads(question.threads)
        keep_freed_memory()
        self.question = question
        self.loaded = loaded or load_model(question.model, question.device)
        own = self.loaded.encoder.descriptors
        self.choice = TableChoice(descriptors=() if own is None else own.columns)

    def __call__(self, piece: Piece) -> Answers:
        question, loaded, scores = self.question, self.loaded, None
        with warnings.catch_warnings(record=True) as caught, nothing_kept():
            warnings.simplefilter("always")
            raw = read_piece(question.path, question.names, piece, question.at, (), self.choice)
            skipped = list(raw.skipped)
            if len(raw.rows):
                raw = replace(raw, skipped=())
                samples = encode_samples(
                    raw, None, False, loaded.encoder, False, str(question.path)
                )
                scores = loaded.predict_members(samples, BATCH)
        rows = answer_rows(loaded, question.level, raw.rows.tolist(), raw.ids, scores, skipped)
        kept = [piece.columns[name] for name in question.keep]
        for row in rows:
            row[2:2] = [values[row[0] - 1 - piece.first] for values in kept]
        messages = [item.message for item in caught if isinstance(item.message, Warning)]
        vertices = raw.graphs.num_nodes
        return Answers(piece.first, rows, csv_bytes(rows), skipped, vertices, messages)


@dataclass
class StreamedTable:
    """A table of molecules to predict.

    Args:
        folder: folder of the model.
        keep: columns that are copied to the output.
        level: coverage of the intervals of a calibrated model.

    Attributes:
        count, skipped, first: number of rows done so far, including skipped ones, number of skipped
            rows, and the first of these.
    """

    folder: Path
    loaded: Loaded
    source: str
    smiles: str | None = None
    keep: Sequence[str] = ()
    level: float = LEVEL
    device: str = "cpu"
    threads: int = 1
    jobs: int = 1
    strict: bool = False
    count: int = 0
    skipped: int = 0
    first: list[Skipped] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.jobs = Whole(1).read("jobs", self.jobs)
        self.header = answer_header(self.loaded, self.level)
        if twice := [name for name in self.keep if name in self.header]:
            raise InputError(
                f"The column {twice[0]!r} cannot be kept: the answer has one of its own."
            )
        if len(set(self.keep)) < len(self.keep):
            raise InputError("A column is kept twice. Name it once with --keep.")
        self.table = TableFile(user_path(self.source))
        names, path = self.table.names, self.table.path
        if absent := [name for name in self.keep if name not in names]:
            raise InputError(
                f"{path} has no column {absent[0]!r}; its columns are {one_of(names)}."
            )
        usual = self.loaded.encoder.smiles
        given = self.smiles or (usual if usual in names else None)
        self.at = smiles_name(path, names, self.table.head, given)
        self.header[2:2] = self.keep

    @property
    def rows(self) -> int:
        return self.table.rows

    def run(self) -> dict[str, Any]:
        """The settings that determine the output."""
        with reading(self.folder):
            card = self.folder if self.folder.name == CARD else self.folder / CARD
            model = hashlib.sha256(card.read_bytes()).hexdigest()
        return {
            "model": model, "source": self.table.sha256, "smiles": self.at, "level": self.level,
            "header": self.header, "piece": PIECE, "strict": self.strict,
        }  # fmt: skip

    def answers(self, first: int = 0) -> Iterator[Answers]:
        """The predictions of all pieces from row ``first`` on, in order. Warnings that are counted
        over all pieces are issued at the end."""
        question = Question(
            str(self.folder), self.device, self.table.path, self.table.names, self.at,
            tuple(self.keep), self.level, self.threads,
        )  # fmt: skip
        shared = (question, self.loaded) if self.jobs == 1 else (question,)
        counted: dict[tuple[type, str], CountedWarning] = {}
        vertices = 0
        with notes_once():
            for one in ordered_map(Answerer, shared, self.table.pieces(PIECE, first), self.jobs):
                self._count(one)
                vertices += one.vertices
                for message in one.warned:
                    if isinstance(message, CountedWarning):
                        key = (type(message), message.text)
                        counted[key] = counted[key] + message if key in counted else message
                    else:
                        warnings.warn(message, stacklevel=2)
                yield one
            tell_skipped(self.first, self.skipped, self.count, self.strict, self.source)
            for warning in counted.values():
                warnings.warn(warning.out_of(vertices), stacklevel=2)

    def _count(self, one: Answers) -> None:
        self.count += len(one.rows)
        self.skipped += len(one.skipped)
        self.first += one.skipped[: SHOWN - len(self.first)]
        if self.strict:
            tell_skipped(self.first, self.skipped, self.count, True, self.source)

    def write(
        self, out: Path, fresh: bool = False, started: Callable[[int, int], None] | None = None
    ) -> Iterator[Answers]:
        """Like :meth:`answers`, and writes every piece to a CSV; an interrupted run resumes.

        Args:
            started: called before the first piece with the number of rows done and in total.
        """
        with journalled(out, self.run(), fresh) as journal:
            self._resume(journal)
            if started is not None:
                started(self.count, self.rows)
            if not journal.bytes:
                journal.add(csv_bytes([self.header]), self._state())
            try:
                for one in self.answers(self.count):
                    journal.add(one.content, self._state())
                    yield one
            except RowsRefused:
                journal.discard()
                raise
            journal.finish()

    def _state(self) -> dict[str, Any]:
        first = [[one.row, one.id, one.reason] for one in self.first]
        return {"rows": self.count, "skipped": self.skipped, "first": first}

    def _resume(self, journal: Journal) -> None:
        if journal.state:
            self.count, self.skipped = journal.state["rows"], journal.state["skipped"]
            self.first = [Skipped(*one) for one in journal.state["first"]]


def predict_table(
    model: str | Path,
    source: str,
    out: str | Path,
    *,
    smiles: str | None = None,
    keep: Sequence[str] = (),
    level: float = LEVEL,
    device: str = "auto",
    jobs: int = 1,
    strict: bool = False,
    fresh: bool = False,
) -> int:
    """Write the predictions for a table of molecules of any length as a CSV. Returns the number of
    rows.

    Args:
        model: the folder of a model of molecules.
        source: CSV, TSV, lists of SMILES, SDF (all also as .gz) or Parquet.
        out: the CSV. The same call resumes an interrupted run.
        smiles: the column of SMILES; detected by default.
        keep: columns that are copied to the output.
        level: coverage of the intervals of a calibrated model.
        jobs: processes that read and predict, one CPU thread each.
        strict: raise for rows that cannot be read, instead of skipping them.
        fresh: start over instead of resuming.
    """
    refuse_overwriting(Path(out), source)
    where = pick_device(device)
    loaded = load_model(model, where)
    if not is_streamed(source, loaded):
        raise InputError(f"{source} is not a table of molecules. Use load_model(…).predict for it.")
    asked = StreamedTable(
        user_path(model), loaded, source, smiles, keep, level, str(where), 1, jobs, strict
    )
    for _ in asked.write(Path(out), fresh):
        pass
    return asked.count
