"""Jobs: one training each, distinguished by everything that decides its outcome."""

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
"""The paper's names of the base GNNs, and ours."""

NAMES = {**BASES, **PEERS}
"""The paper's names of all models that are trained without GPNN, and ours."""

GPNN_ALONE = (
    "d", "distances", "labels", "component_feature", "combine", "join", "part_weights",
)  # fmt: skip
"""Fields of a recipe that mean nothing to a base GNN without GPNN."""

QUICK_LIMITS = {"epochs": 4, "seeds": 2, "hidden": 16, "layers": 2}
"""The most that a quick run takes of a recipe; choices of ``nested`` have limits of their own."""

_ADDED = {
    "head": "mlp", "distances": False, "combine": "linear", "encoder": "linear", "norm": "batch",
    "labels": False, "walks": 0, "block": "plain", "join": "beside", "virtual_node": False,
    "cosine": False, "warmup": 0, "plateau": 0, "parameters": 0,
}  # fmt: skip
"""Fields that came after the first records, and what was so before."""


@dataclass(frozen=True)
class Row:
    """A model of a table.

    Attributes:
        base: the base GNN or peer, as the paper spells it.
        scheme, interactions: of GPNN; both empty for the base alone.
        wide: the base alone, widened to the parameters of GPNN under ``scheme``.
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
        """What ``--only`` calls it."""
        return "GPNN" if self.gpnn else f"{self.base}-wide" if self.wide else self.base

    @property
    def title(self) -> str:
        """What reports call it."""
        if self.wide:
            return f"{self.base} (wide: {self.scheme})"
        return f"GPNN {self.scheme} {self.interactions} on {self.base}" if self.gpnn else self.base

    @property
    def plain(self) -> Row:
        """Its base alone, at the same width."""
        return Row(self.base)

    @property
    def widened(self) -> Row:
        """Its base alone, with as many parameters."""
        return Row(self.base, self.scheme, wide=True)


@dataclass(frozen=True)
class Job:
    """One training: it feeds the protocols of one family.

    Attributes:
        recipe: as it is for the row's base, and for a quick run if it is one.
        row: the model.
        family: of protocols.
        quick: whether it is a small sample of the protocol.
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
        """Fields of the network; of a widened base still without its width."""
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
        """Of a widened base, the network whose number of parameters it gets; none where the recipe
        says how many."""
        if not self.row.wide or self.recipe.parameters:
            return None
        row = replace(self.row, interactions="cross", wide=False)
        return replace(self, row=row).options

    @property
    def spec(self) -> dict[str, Any]:
        """Everything that decides the outcome, once."""
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
    """Without added fields that say what was so before: keys stay what they were."""
    return {name: value for name, value in options.items() if _ADDED.get(name) != value}


def key_of(content: Any) -> str:
    """A short name for a content, equal for equal contents alone."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def quick_recipe(recipe: Recipe) -> Recipe:
    """A recipe for a small sample: few epochs, few seeds, a narrow network."""
    space = replace(recipe.nested, trials=min(2, recipe.nested.trials), seeds=1)
    small = {name: min(most, getattr(recipe, name)) for name, most in QUICK_LIMITS.items()}
    small["warmup"] = min(recipe.warmup, small["epochs"] - 1)
    return replace(recipe, nested=space, bases={}, **small)
