"""The space of a search: the paper's ranges, or a TOML file of the user.

A file gives fields of a recipe either as a list of choices or as a range::

    layers = [2, 3, 4]
    dropout = {low = 0.0, high = 0.6}
    lr = {low = 1e-4, high = 1e-2, log = true}

All other fields keep the value of the recipe.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import InputError
from .checks import read_toml, refuse_unknown
from .recipe import NETWORK, Recipe

__all__ = ["PAPER_SPACE", "Range", "SearchSpace", "read_space"]

PAPER_SPACE: dict[str, Any] = {
    "layers": [1, 2, 3, 4, 5],
    "d": [1, 2, 3, 4, 5],
    "dropout": [0.0, 0.1, 0.2, 0.5, 0.6],
    "lr": [0.009, 0.01],
    "batch_size": [32, 64, 128],
    "hidden": [32, 64, 100],
    "epochs": [100, 200, 300, 500],
}
"""The ranges that the paper states."""

_WHOLE = {
    "layers", "d", "hidden", "batch_size", "epochs", "steps", "halve_every", "walks", "warmup",
    "plateau",
}  # fmt: skip
_REAL = {"lr", "dropout", "weight_decay"}
_FIELDS = _WHOLE | _REAL | {"cosine", *NETWORK}


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``, uniform or (``log``) log-uniform."""

    low: float
    high: float
    log: bool = False

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}" + (" (log)" if self.log else "")


@dataclass(frozen=True)
class SearchSpace:
    """Field of a recipe → its choices, or its range."""

    dimensions: Mapping[str, tuple[Any, ...] | Range]

    @classmethod
    def parse(cls, content: Mapping[str, Any], recipe: Recipe) -> SearchSpace:
        """Parse a table; the recipe checks every value."""
        refuse_unknown(content, "a search space", _FIELDS)
        dimensions: dict[str, tuple[Any, ...] | Range] = {}
        for name, given in content.items():
            dimensions[name] = (
                _range(name, given) if isinstance(given, Mapping) else _list(name, given)
            )
            dimension = dimensions[name]
            ends = (dimension.low, dimension.high) if isinstance(dimension, Range) else dimension
            for value in ends:
                replace(recipe, bases={}, **{name: value})
        return cls(dimensions)

    def without(self, *names: str) -> SearchSpace:
        """Return the space without the given fields."""
        return SearchSpace({k: v for k, v in self.dimensions.items() if k not in names})

    @property
    def _choices(self) -> dict[str, Sequence[Any]] | None:
        """All values of every field, or ``None`` if a field is continuous."""
        choices: dict[str, Sequence[Any]] = {}
        for name, choice in self.dimensions.items():
            if isinstance(choice, tuple):
                choices[name] = choice
            elif name in _WHOLE:
                choices[name] = range(int(choice.low), int(choice.high) + 1)
            else:
                return None
        return choices

    @property
    def size(self) -> float:
        """Number of different trials."""
        choices = self._choices
        return math.inf if choices is None else math.prod(map(len, choices.values()))

    def at_most(self, trials: int) -> int:
        """Return the number of trials, limited to the size of the space."""
        return int(min(trials, self.size))

    def draw(self, count: int, seed: int, recipe: Recipe) -> list[dict[str, Any]]:
        """Draw different settings: the recipe's own if the space contains it, then random ones."""
        own = {name: getattr(recipe, name) for name in self.dimensions}
        settings = [own] if self.holds(own) else []
        rng = random.Random(seed)
        while len(settings) < self.at_most(count):
            values = {name: _draw(name, choice, rng) for name, choice in self.dimensions.items()}
            if values not in settings:
                settings.append(values)
        return settings[:count]

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Return whether the space contains a setting."""
        return all(
            choice.low <= values[name] <= choice.high
            if isinstance(choice, Range)
            else values[name] in choice
            for name, choice in self.dimensions.items()
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the space in the form of the file."""
        return {
            name: list(choice)
            if isinstance(choice, tuple)
            else {"low": choice.low, "high": choice.high, "log": choice.log}
            for name, choice in self.dimensions.items()
        }

    def __str__(self) -> str:
        return "; ".join(
            f"{name} {', '.join(map(str, choice)) if isinstance(choice, tuple) else choice}"
            for name, choice in self.dimensions.items()
        )


def _draw(name: str, choice: tuple[Any, ...] | Range, rng: random.Random) -> Any:
    """Draw a value of a field."""
    if not isinstance(choice, Range):
        return rng.choice(choice)
    if choice.log:
        value = math.exp(rng.uniform(math.log(choice.low), math.log(choice.high)))
        return round(value) if name in _WHOLE else value
    return rng.randint(int(choice.low), int(choice.high)) if name in _WHOLE else rng.uniform(
        choice.low, choice.high
    )  # fmt: skip


def read_space(path: str | Path | None, recipe: Recipe) -> SearchSpace:
    """Read the space from a file; without a file, return the paper's."""
    if path is None:
        return SearchSpace.parse(PAPER_SPACE, recipe)
    path = Path(path)
    content = read_toml(path, "the search space")
    try:
        if not content:
            raise InputError("it is empty. Give fields of a recipe, such as layers = [2, 3, 4].")
        return SearchSpace.parse(content, recipe)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _list(name: str, given: Any) -> tuple[Any, ...]:
    values: list[Any] = given if isinstance(given, list) else []
    values = [
        float(choice) if name in _REAL and type(choice) is int else choice for choice in values
    ]
    if not values or len(set(map(repr, values))) < len(values):
        raise InputError(
            f"{name} must be a list of different values, or a table with low and high; "
            f"got {given!r}."
        )
    return tuple(values)


def _range(name: str, given: Mapping[str, Any]) -> Range:
    refuse_unknown(given, f"the range of {name}", {"low", "high", "log"})
    kind: type = int if name in _WHOLE else float
    low, high, log = given.get("low"), given.get("high"), given.get("log", False)
    if name not in _WHOLE | _REAL:
        raise InputError(f"{name} has no range. Give a list of its values.")
    if any(isinstance(end, bool) or not isinstance(end, int | float) for end in (low, high)):
        raise InputError(f"The range of {name} needs the numbers low and high; got {dict(given)}.")
    assert low is not None and high is not None
    if kind is int and not (isinstance(low, int) and isinstance(high, int)):
        raise InputError(f"The range of {name} needs whole numbers; got {low} and {high}.")
    if not low < high or not isinstance(log, bool) or (log and low <= 0):
        raise InputError(
            f"The range of {name} must have low below high (and low above 0 where log = true); "
            f"got {dict(given)}."
        )
    return Range(kind(low), kind(high), log)
