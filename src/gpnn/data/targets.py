"""Labels: from columns of text or numbers to a task and its label tensors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..errors import InputError
from .tasks import Task

__all__ = [
    *("MISSING", "check_labels", "check_numbers", "class_names", "column", "encode"),
    *("FEW_TEXTS", "infer_task", "missing", "mixed_classes", "texts_among_numbers"),
]

MISSING = frozenset({"", "nan", "na", "n/a", "none", "null", "?"})
MAX_INTEGER_CLASSES = 20
FEW_TEXTS = 0.1
"""Share of cells up to which text in a column of numbers is an error."""
_NUMBER = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?")
Column = NDArray[Any]


def column(values: Sequence[str]) -> Column:
    """Text as numbers (NaN if missing) if all values are numbers, else as text ("" if missing)."""
    words = ["" if value.strip().lower() in MISSING else value.strip() for value in values]
    try:
        numbers = np.array([float(word) if word else np.nan for word in words])
    except ValueError:
        return np.array(words, dtype=object)
    if any("_" in word for word in words) or _merged(words, numbers):
        return np.array(words, dtype=object)  # 1_0 is not 10; names of 17 digits are not numbers
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _merged(words: Sequence[str], numbers: Column) -> bool:
    """Whether whole numbers are too large to remain distinct as floats."""
    large = np.flatnonzero(np.abs(np.nan_to_num(numbers, posinf=0, neginf=0)) >= 2**53).tolist()
    return any(re.fullmatch(r"[+-]?\d+", words[k]) for k in large)


def missing(values: Column) -> NDArray[np.bool_]:
    """Mask of the missing values."""
    gone: NDArray[np.bool_] = np.isnan(values) if values.dtype.kind == "f" else values == ""
    return gone


def infer_task(columns: Mapping[str, Column]) -> Task:
    """Infer the task from the columns.

    Several columns of 0 and 1 are a multitask, several columns of other numbers a regression. Any
    other set of several columns is mixed. A single column is a classification if it holds text, or
    whole numbers with few distinct values: at most two, or at most ``MAX_INTEGER_CLASSES`` with
    five or more rows per value on average. Otherwise it is a regression.
    """
    if len(columns) > 1:
        if all(_is_binary(values) for values in columns.values()):
            return Task.MULTITASK
        if any(values.dtype.kind != "f" or _is_binary(values) for values in columns.values()):
            return Task.MIXED
        return Task.REGRESSION
    values = next(iter(columns.values()))
    if values.dtype.kind != "f":
        return Task.CLASSIFICATION
    known = values[~missing(values)]
    distinct = len(np.unique(known))
    few = distinct <= max(2, min(MAX_INTEGER_CLASSES, len(known) // 5))
    whole = bool((known == np.floor(known)).all())
    return Task.CLASSIFICATION if whole and few else Task.REGRESSION


def check_numbers(columns: Mapping[str, Column], rows: Sequence[int], task: Task | None) -> None:
    """Raise for text among numbers: in any cell if the task needs numbers; in a few cells if the
    task is not given, because a cell such as ``<0.1`` would make every number a class.

    Args:
        rows: the row of every value in the source, from 0.
    """
    if task is not None and task not in (Task.REGRESSION, Task.MULTITASK):
        return
    for name, values in columns.items():
        texts, known = texts_among_numbers(values), int((~missing(values)).sum())
        if not texts or (task is None and len(texts) > FEW_TEXTS * known):
            continue
        fix = "Correct these cells, or empty them."
        if task is None:
            fix += " If the numbers are names of classes, give --task classification (task=…)."
        raise InputError(
            f"The target {name!r} holds text in {len(texts)} of {known} rows, such as "
            f"{values[texts[0]]!r} in row {rows[texts[0]] + 1}, and numbers in the others. {fix}"
            if len(texts) < known
            else f"The task {task} needs numbers, and the target {name!r} holds text, such as "
            f"{values[texts[0]]!r}. Name another target or another task."
        )


def class_names(values: Column) -> tuple[str, ...]:
    """The classes that occur, ascending."""
    known = values[~missing(values)]
    if values.dtype.kind == "f":
        return tuple(_name(value) for value in np.unique(known).tolist())
    return tuple(sorted(set(known.tolist())))


def mixed_classes(columns: Mapping[str, Column]) -> tuple[tuple[str, ...], ...]:
    """The classes of every target of a mixed task; an empty tuple for numbers."""
    out = []
    for name, values in columns.items():
        own = class_names(values) if values.dtype.kind != "f" or _is_binary(values) else ()
        if len(own) > MAX_INTEGER_CLASSES:
            raise InputError(
                f"The target {name!r} holds {len(own):,} different texts. Name targets with "
                f"numbers, or at most {MAX_INTEGER_CLASSES} classes."
            )
        out.append(own)
    return tuple(out)


def _encode_mixed(
    columns: Mapping[str, Column], classes: tuple[tuple[str, ...], ...]
) -> tuple[Tensor, dict[int, str]]:
    """One output per numeric target and per target of two classes, else one per class."""
    out: list[NDArray[np.float64]] = []
    for (name, values), own in zip(columns.items(), classes, strict=True):
        if not own:
            if values.dtype.kind != "f":
                raise InputError(f"The target {name!r} held numbers in training, and text here.")
            out.append(values.astype(np.float64))
            continue
        words = np.array([_name(value) for value in values.tolist()], dtype=object)
        known = np.isin(words, own) & ~missing(values)
        shown = own[1:] if len(own) == 2 else own
        out.extend(np.where(known, words == word, np.nan) for word in shown)
    table = np.stack(out, axis=1)
    empty = np.flatnonzero(np.isnan(table).all(axis=1)).tolist()
    return torch.from_numpy(table).float(), dict.fromkeys(empty, _no_label(columns))


def encode(
    columns: Mapping[str, Column],
    task: Task,
    classes: tuple[str, ...],
    mixed: tuple[tuple[str, ...], ...] = (),
) -> tuple[Tensor, dict[int, str]]:
    """The labels, and the rows without a usable label, with the reason."""
    if task is Task.MIXED:
        return _encode_mixed(columns, mixed)
    if task.has_classes:
        name, values = next(iter(columns.items()))
        return _encode_classes(name, values, classes)
    for name, values in columns.items():
        if values.dtype.kind != "f":
            bad = values[(texts_among_numbers(values) or [0])[0]]
            raise InputError(
                f"The task {task} needs numbers, and the target {name!r} holds {bad!r}. "
                "Fix the column or leave the task out."
            )
        if task is Task.MULTITASK and not _is_binary(values):
            raise InputError(
                f"The task multitask needs 0 and 1, and the target {name!r} holds other numbers."
            )
    table = np.stack(list(columns.values()), axis=1)
    empty = np.isnan(table).all(axis=1)
    bad_rows = dict.fromkeys(np.flatnonzero(empty).tolist(), _no_label(columns))
    with np.errstate(over="ignore"):
        small = table.astype(np.float32)
    if (np.isinf(small) & np.isfinite(table)).any():
        raise InputError(
            "The target holds numbers beyond the range of 32-bit floats. Scale it first."
        )
    return torch.from_numpy(small), bad_rows


def check_labels(y: Tensor, task: Task, classes: tuple[str, ...], rows: Sequence[str]) -> None:
    """Raise for labels that nothing can be learned from."""
    if task.has_classes:
        counts = Counter(y[y >= 0].tolist())
        if len(counts) < 2:
            present = f"only the class {classes[next(iter(counts))]!r}" if counts else "no labels"
            raise InputError(f"The target holds {present}. There is nothing to distinguish.")
        once = [index for index, count in sorted(counts.items()) if count == 1]
        if once and not task.node_level:
            at = int((y == once[0]).nonzero()[0])
            where = f" ({rows[at]})" if at < len(rows) else ""
            raise InputError(
                f"The class {classes[once[0]]!r} is seen once{where}: a class needs two or more, "
                "to learn from and to check with. Add examples, merge the class or leave it out."
            )
        return
    for index in range(y.shape[1]):
        known = y[:, index][~torch.isnan(y[:, index])]
        if task.scaled and len(known) and bool((known == known[0]).all()):
            which = "the target" if y.shape[1] == 1 else f"target {index + 1}"
            raise InputError(f"All values of {which} are {known[0]:g}: nothing to learn.")
    if task is Task.MULTITASK and not bool(((y == 0).any(0) & (y == 1).any(0)).any()):
        raise InputError("No target holds both 0 and 1. There is nothing to distinguish.")


def _encode_classes(
    name: str, values: Column, classes: tuple[str, ...]
) -> tuple[Tensor, dict[int, str]]:
    place = {word: index for index, word in enumerate(classes)}
    words = [_name(value) for value in values.tolist()]
    y = np.array([place.get(word, -1) for word in words], np.int64)
    gone = missing(values)
    reasons = {
        row: f"no label in {name!r}" if gone[row] else f"class {words[row]!r} is not in the model"
        for row in np.flatnonzero(y < 0).tolist()
    }
    return torch.from_numpy(y), reasons


def _name(value: Any) -> str:
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else str(value)
    return str(value)


def texts_among_numbers(values: Column) -> list[int]:
    """The cells that are neither numbers, with decimal points or commas, nor missing."""
    if values.dtype.kind == "f":
        return []
    return [k for k in np.flatnonzero(~missing(values)).tolist() if not _is_number(values[k])]


def _is_number(word: str) -> bool:
    known = _NUMBER.fullmatch(word) is not None
    return known and column([word.replace(",", ".")]).dtype.kind == "f"


def _is_binary(values: Column) -> bool:
    if values.dtype.kind != "f":
        return False
    known = values[~missing(values)]
    return bool(len(known)) and bool(np.isin(known, (0, 1)).all())


def _no_label(columns: Mapping[str, Column]) -> str:
    names = list(columns)
    which = repr(names[0]) if len(names) == 1 else f"any of {len(names)} targets"
    return f"no label in {which}"
