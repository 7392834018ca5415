"""Jobs: one training each, identified by everything that determines its result."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

from .recipe import NETWORK, PEERS, Recipe

__all__ = [
    *("BASES", "GPNN_ALONE", "NAMES", "PEERS", "QUICK_LIMITS", "Job", "Row"),
    *("key_of", "quick_recipe", "settled"),
]

BASES = {"GIN": "gin", "GCN": "gcn", "GAT": "gat", "GraphSAGE": "sage"}
"""The paper's name of a base GNN → its name here."""

NAMES = {**BASES, **PEERS}
"""The paper's name of any model that is trained without GPNN → its name here."""

GPNN_ALONE = (
    "d", "distances", "labels", "component_feature", "combine", "join", "part_weights",
)  # fmt: skip
"""Fields of a recipe that have no effect on a base GNN without GPNN."""

QUICK_LIMITS = {"epochs": 4, "seeds": 2, "hidden": 16, "layers": 2}
"""Upper limits on fields of a recipe in a quick run; ``nested`` has separate limits."""

_ADDED = {
    "head": "mlp", "distances": False, "combine": "linear", "encoder": "linear", "norm": "batch",
    "labels": False, "walks": 0, "block": "plain", "join": "beside", "virtual_node": False,
    "cosine": False, "warmup": 0, "plateau": 0, "parameters": 0,
}  # fmt: skip
"""Fields added after the first records → the value that corresponds to the earlier behaviour."""


@dataclass(frozen=True)
class Row:
    """A model of a table.

    Attributes:
        base: the base GNN or peer, as the paper spells it.
        scheme, interactions: options of GPNN; both empty for the base alone.
        wide: whether this is the base alone, widened to the number of parameters of GPNN under
            ``scheme``.
    """

    base: str = "GIN"
    scheme: str = ""
    interactions: str = ""
    wide: bool = False

    @property
    def peer(self) -> bool:
        return self.base in PEERS

    @property
    def gpnn(self) -> bool:
        return bool(self.interactions)

    @property
    def method(self) -> str:
        """The name of the method in ``--only``."""
        return "GPNN" if self.gpnn else f"{self.base}-wide" if self.wide else self.base

    @property
    def title(self) -> str:
        """The name in reports."""
        if self.wide:
            return f"{self.base} (wide: {self.scheme})"
        return f"GPNN {self.scheme} {self.interactions} on {self.base}" if self.gpnn else self.base

    @property
    def plain(self) -> Row:
        """The base alone, at the same width."""
        return Row(self.base)

    @property
    def widened(self) -> Row:
        """The base alone, with the same number of parameters."""
        return Row(self.base, self.scheme, wide=True)


@dataclass(frozen=True)
class Job:
    """One training, which all protocols of one family evaluate.

    Attributes:
        recipe: the recipe for the base of the row, reduced if the run is quick.
        row: the model.
        family: the family of protocols.
        quick: whether to run a small sample of the protocol.
    """

    recipe: Recipe
    row: Row
    family: str
    quick: bool = False

    @property
    def name(self) -> str:
        return f"{self.recipe.name}/{self.row.title}/{self.family}"

    @property
    def options(self) -> dict[str, Any]:
        """Fields of the network; for a widened base, the width is not yet adjusted."""
        base = NAMES.get(self.row.base, self.row.base)
        if self.recipe.peer:
            base += f":{self.recipe.peer}"
        if base == "gin" and self.recipe.edge_labels:
            base = "gine"
        options = {**self.recipe.model_options(), "base": base, "gpnn": self.row.gpnn}
        if self.row.gpnn:
            return options | {"scheme": self.row.scheme, "interactions": self.row.interactions}
        return {name: value for name, value in options.items() if name not in GPNN_ALONE}

    @property
    def rival(self) -> dict[str, Any] | None:
        """For a widened base, the network whose number of parameters it is given; ``None`` if the
        recipe states the number."""
        if not self.row.wide or self.recipe.parameters:
            return None
        row = replace(self.row, interactions="cross", wide=False)
        return replace(self, row=row).options

    @property
    def spec(self) -> dict[str, Any]:
        """Everything that determines the result, each item once."""
        elsewhere = {"name", "title", "bases", *NETWORK}
        elsewhere |= {"seeds"} if self.family == "tu-nested" else {"nested"}
        elsewhere |= set() if self.family == "node" else {"splits"}
        rest = {k: value for k, value in self.recipe.to_dict().items() if k not in elsewhere}
        recipe = settled(rest)
        return {
            "family": self.family,
            "recipe": recipe,
            "model": settled(self.options),
            "rival": None if self.rival is None else settled(self.rival),
            "quick": self.quick,
        }

    @property
    def key(self) -> str:
        return key_of(self.spec)


def settled(options: dict[str, Any]) -> dict[str, Any]:
    """Drop added fields that have their earlier value, so that the keys of old jobs stay valid."""
    return {name: value for name, value in options.items() if _ADDED.get(name) != value}


def key_of(content: Any) -> str:
    """Return a short hash of a JSON content."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def quick_recipe(recipe: Recipe) -> Recipe:
    """Reduce a recipe for a quick run: few epochs, few seeds, a narrow network."""
    space = replace(recipe.nested, trials=min(2, recipe.nested.trials), seeds=1)
    small = {name: min(most, getattr(recipe, name)) for name, most in QUICK_LIMITS.items()}
    small["warmup"] = min(recipe.warmup, small["epochs"] - 1)
    return replace(recipe, nested=space, bases={}, **small)
