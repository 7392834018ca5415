"""Validation of option fields: one rule per field, shared by all option objects.

The same fields (layers, lr, epochs …) occur in configurations, recipes and training runs. Each has
one rule here, so that invalid values give the same message everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import InputError
from .text import did_you_mean

__all__ = [
    "AUTO",
    "MAX_WALKS",
    "RULES",
    "Choice",
    "Flag",
    "Number",
    "Rule",
    "Whole",
    "check_options",
]


AUTO = "auto"
"""Placeholder for a scheme that is chosen from the data."""


@dataclass(frozen=True)
class Whole:
    """An integer from ``low`` to ``high``."""

    low: int
    high: float = math.inf

    def read(self, name: str, value: Any) -> int:
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not whole or not self.low <= value <= self.high:
            bounds = f"of at least {self.low}"
            if self.high < math.inf:
                bounds = f"from {self.low} to {self.high}"
            raise InputError(f"{name} must be a whole number {bounds}; got {value!r}.")
        return int(value)


@dataclass(frozen=True)
class Number:
    """A finite number from ``low`` to ``high``; ``above`` and ``below`` exclude these bounds."""

    low: float = 0.0
    high: float = math.inf
    above: bool = False
    below: bool = False

    def read(self, name: str, value: Any) -> float:
        real = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        inside = real and math.isfinite(value) and self.low <= value <= self.high
        if not inside or (self.above and value == self.low) or (self.below and value == self.high):
            bounds = f"above {self.low:g}" if self.above else f"{self.low:g} or more"
            if self.high != math.inf:
                lower = f"above {self.low:g}" if self.above else f"at least {self.low:g}"
                bounds = f"{lower} and {'below' if self.below else 'at most'} {self.high:g}"
            elif self.low == -math.inf:
                bounds = "a finite number"
            raise InputError(f"{name} must be {bounds}; got {value!r}.")
        return float(value)


@dataclass(frozen=True)
class Choice:
    """One of the given values."""

    values: tuple[Any, ...]

    def read(self, name: str, value: Any) -> Any:
        if not isinstance(value, str | None) or value not in self.values:
            known = ", ".join(map(str, self.values))
            meant = did_you_mean(str(value), filter(None, self.values))
            raise InputError(f"{name} cannot be {value!r}.{meant} Choose one of {known}.")
        return value


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def read(self, name: str, value: Any) -> bool:
        if not isinstance(value, bool | np.bool_):
            raise InputError(f"{name} must be True or False; got {value!r}.")
        return bool(value)


Rule = Whole | Number | Choice | Flag

MAX_WALKS = 64

RULES: dict[str, Rule] = {
    # structure
    "d": Whole(1, 5),
    "layers": Whole(1, 32),
    "walks": Whole(0, MAX_WALKS),
    "distances": Flag(),
    "labels": Flag(),
    # the network
    "outputs": Whole(1),
    "parts": Whole(1),
    "features": Whole(0),
    "hidden": Whole(1),
    "edge_features": Whole(0),
    "dropout": Number(0.0, 1.0, below=True),
    "readout": Choice(("sum", "mean")),
    "jump": Choice(("last", "cat")),
    "head": Choice(("mlp", "linear")),
    "combine": Choice(("pairwise", "linear")),
    "pair_update": Choice(("tuple", "sum")),
    "pair_activation": Choice(("relu", "sine")),
    "block": Choice(("plain", "residual", "feed-forward")),
    "join": Choice(("beside", "inside")),
    "level": Choice(("graph", "node")),
    "component_feature": Flag(),
    "colours_only": Flag(),
    "virtual_node": Flag(),
    "gpnn": Flag(),
    # training
    "epochs": Whole(1),
    "batch_size": Whole(1),
    "patience": Whole(1),
    "warmup": Whole(0),
    "cosine": Flag(),
    "lr": Number(above=True),
    "weight_decay": Number(),
    "seed": Whole(0, 2**31 - 1),
    # protocols
    "seeds": Whole(1),
    "trials": Whole(1),
}
"""The rules of fields that have the same meaning in every object."""


def check_options(
    owner: Any,
    names: Iterable[str],
    own: Mapping[str, Rule] | None = None,
    *,
    prefix: str = "",
    optional: Iterable[str] = (),
) -> None:
    """Check fields of a frozen object and store them as plain Python values.

    Args:
        names: fields with a rule in :data:`RULES`.
        own: additional rules that apply only to this object.
        prefix: prepended to a field name in messages, such as ``nested.``.
        optional: fields that may be ``None``.
    """
    for name, rule in {**{name: RULES[name] for name in names}, **(own or {})}.items():
        value = getattr(owner, name)
        if value is None and name in optional:
            continue
        object.__setattr__(owner, name, rule.read(f"{prefix}{name}", value))
