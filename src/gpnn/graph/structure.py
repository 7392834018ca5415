"""The structural options of GPNN: partitioning scheme, interactions and encodings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from ..errors import InputError
from ..options import check_options
from .refine.gpnn import interaction_type
from .schemes import Scheme, get_scheme

__all__ = ["Structure"]


@dataclass(frozen=True)
class Structure:
    """The graph structure that a GPNN uses.

    Attributes:
        scheme: λ, the rule that partitions a graph.
        interactions: E^δ, the pairs whose α is learned: ``cross`` edges, all ``edges``, or all
            ``pairs``.
        d: radius of N_d, 1 to 5.
        layers: rounds of Equations 1 to 3, 1 to 32.
        distances: whether the hop distance of a pair is part of its colour λ_E.
        labels: whether the labels of v and u are part of the first α of a pair (v, u). Parts remain
            purely structural, so labels do not multiply the number of part weights.
        walks: number of random-walk return probabilities (after 2 to ``walks`` + 1 steps) appended
            to the vertex features, 0 to 64; the base GNN receives them too.
    """

    scheme: str = "core-degree"
    interactions: str = "edges"
    d: int = 1
    layers: int = 3
    distances: bool = False
    labels: bool = False
    walks: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scheme", _scheme_name(self.scheme))
        object.__setattr__(self, "interactions", interaction_type(self.interactions))
        check_options(self, ("d", "layers", "walks", "distances", "labels"))

    @classmethod
    def split(cls, options: Mapping[str, Any]) -> tuple[Structure, dict[str, Any]]:
        """Split options into the structure, given by fields or as ``structure``, and the rest."""
        rest = dict(options)
        own = {f.name: rest.pop(f.name) for f in fields(cls) if f.name in rest}
        whole = rest.pop("structure", None)
        if whole is None:
            return cls(**own), rest
        if own:
            raise InputError(f"Give either a structure or {', '.join(own)}, not both.")
        return (whole if isinstance(whole, cls) else cls(**whole)), rest

    @property
    def base_alone(self) -> Structure:
        """The structure for a base GNN without GPNN: the same random walks, and a trivial
        partition that costs nothing."""
        return replace(BASE_ALONE, layers=self.layers, walks=self.walks)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        more = [name for name in ("distances", "labels") if getattr(self, name)]
        more += [f"walks={self.walks}"] if self.walks else []
        return ", ".join([self.scheme, self.interactions, f"d={self.d}", *more])


def _scheme_name(scheme: str | Scheme) -> str:
    """The registered name of a scheme; unregistered names are kept as they are."""
    if not isinstance(scheme, str | Scheme):
        raise InputError(f"scheme must be the name of a scheme; got {scheme!r}.")
    try:
        return get_scheme(scheme).name
    except InputError:
        return str(scheme)


BASE_ALONE = Structure("trivial", "cross", layers=1)
"""A single part without interactions to learn."""
