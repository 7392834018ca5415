"""Every choice that makes a model, checked once and saved with it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from ..errors import InputError
from ..graph.refine import interaction_type
from ..graph.schemes import Scheme, get_scheme
from .conv import PAIR_UPDATES

__all__ = ["GPNNConfig", "Level"]


class Level(StrEnum):
    """What an output belongs to."""

    GRAPH = "graph"
    NODE = "node"


_CHOICES = {
    "pair_update": PAIR_UPDATES,
    "readout": ("sum", "mean"),
    "jump": ("last", "cat"),
    "head": ("mlp", "linear"),
    "level": tuple(Level),
}


def _scheme_name(scheme: str | Scheme) -> str:
    """As the registry spells it; a scheme of one's own need not be registered."""
    if not isinstance(scheme, str | Scheme):
        raise InputError(f"scheme must be the name of a scheme; got {scheme!r}.")
    try:
        return get_scheme(scheme).name
    except InputError:
        return str(scheme)


@dataclass(frozen=True)
class GPNNConfig:
    """The shape of a GPNN.

    Attributes:
        outputs: numbers that come out per graph or vertex.
        features: width of float node features, or 0; ``codes``: cardinality of every column of
            categorical node features, or empty. With neither, colours are all there is.
        parts: parts of the vocabulary, the reserved one included.
        scheme, interactions, d: λ, E^δ and the radius of N_d; ``distances`` joins hop distances to
            λ_E.
        layers, hidden: depth and width.
        base: ``gin``, ``gine``, ``gcn``, ``gat``, ``sage``, ``custom`` (a module given to the
            model), or ``None``.
        pair_update: ``tuple`` or ``sum``.
        edge_labels: categories of edges, or 0; ``edge_features``: width of float edge features.
        component_feature: append the number of connected components of every part.
        colours_only: γ starts from colours alone, as the paper's text says.
        head: what turns embeddings into outputs: ``mlp``, a perceptron with a hidden layer, or
            ``linear``.
        gpnn: ``False`` leaves the base GNN alone, as a baseline under the same head.
    """

    outputs: int
    parts: int
    features: int = 0
    codes: tuple[int, ...] = ()
    scheme: str = "core-degree"
    interactions: str = "edges"
    d: int = 1
    distances: bool = False
    layers: int = 3
    hidden: int = 64
    base: str | None = "gin"
    pair_update: str = "tuple"
    edge_labels: int = 0
    edge_features: int = 0
    component_feature: bool = True
    colours_only: bool = False
    dropout: float = 0.0
    readout: str = "sum"
    jump: str = "cat"
    head: str = "mlp"
    level: str = "graph"
    gpnn: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "scheme", _scheme_name(self.scheme))
        object.__setattr__(self, "interactions", interaction_type(self.interactions))
        object.__setattr__(self, "codes", tuple(self.codes))
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise InputError(
                    f"{name} cannot be {getattr(self, name)!r}. Choose one of {', '.join(choices)}."
                )
        for name, low, high in (
            ("outputs", 1, None), ("parts", 1, None), ("features", 0, None), ("d", 1, 5),
            ("layers", 1, 32), ("hidden", 1, None), ("edge_labels", 0, None),
            ("edge_features", 0, None),
        ):  # fmt: skip
            value = getattr(self, name)
            if not isinstance(value, int) or value < low or (high is not None and value > high):
                most = f" to {high}" if high is not None else " or more"
                raise InputError(f"{name} must be a whole number, {low}{most}; got {value!r}.")
        for name in ("distances", "component_feature", "colours_only", "gpnn"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} must be True or False; got {getattr(self, name)!r}.")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout must be at least 0 and below 1; got {self.dropout!r}.")
        if not self.gpnn and self.base is None:
            raise InputError("Without GPNN there must be a base GNN: set base, or gpnn=True.")
        if self.base == "gine" and not (self.edge_labels or self.edge_features):
            raise InputError("base 'gine' needs edge labels or features. Use base='gin' without.")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> GPNNConfig:
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(content) - known)
        if unknown:
            raise InputError(
                f"The model's configuration holds {', '.join(unknown)}, unknown to this version. "
                "It was written by a newer one: upgrade gpnn."
            )
        try:
            return cls(**content)
        except TypeError as error:
            raise InputError(f"Not a model configuration: {error}.") from None
