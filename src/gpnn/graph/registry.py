"""The registry of partitioning schemes: rules that assign every vertex the colour of its part.

A scheme maps :class:`~gpnn.graph.graphs.Graphs` to one row of integers per vertex. Two vertices, of
the same graph or of different graphs, are in the same part if and only if their rows are equal, so
a colour has the same meaning in every graph. A rule must depend on structure alone: renaming the
vertices only permutes the rows (:func:`~gpnn.graph.invariance.check_invariance` tests this).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..files import exists, user_path
from ..options import AUTO
from ..text import did_you_mean
from .graphs import Graphs

__all__ = [
    "MIX",
    "Scheme",
    "SchemeFamily",
    "add_scheme",
    "get_scheme",
    "install_scheme",
    "list_schemes",
    "mixed_schemes",
    "register_scheme",
]

IntArray = NDArray[np.int64]
MIX = "mix:"


def _plain(row: Sequence[int]) -> str:
    return ", ".join(str(value) for value in row)


@dataclass(frozen=True)
class Scheme:
    """A named rule. ``definition``, ``cost`` and ``power`` (the colouring compared with 1-WL) are
    descriptions for users. A colour is a row of ``width`` integers, and ``describe`` formats it
    for tables and legends."""

    name: str
    colour: Callable[[Graphs], Any]
    definition: str
    cost: str
    power: str
    width: int = 1
    describe: Callable[[Sequence[int]], str] = _plain

    @property
    def key(self) -> int:
        """A hash of the name that is the same on every machine."""
        return int.from_bytes(hashlib.blake2b(self.name.encode(), digest_size=7).digest(), "little")

    def __call__(self, graphs: Graphs) -> IntArray:
        """The colour of every vertex: int64 [vertices, width]."""
        colours = np.asarray(self.colour(graphs))
        if colours.ndim == 1:
            colours = colours[:, None]
        if colours.shape != (graphs.num_nodes, self.width) or colours.dtype.kind not in "iub":
            raise InputError(
                f"Scheme '{self.name}' returned an array of dtype {colours.dtype} and shape "
                f"{colours.shape} for {graphs.num_nodes} vertices. Return {self.width} "
                "integer(s) per vertex."
            )
        return colours.astype(np.int64, copy=False)

    def __reduce__(self) -> Any:
        """Pickle by name, so that a scheme can be sent to data loader workers."""
        try:
            known = get_scheme(self.name)
        except InputError:
            known = None
        if known is not None and known.definition == self.definition:
            return get_scheme, (self.name,)
        return Scheme, tuple(getattr(self, field.name) for field in fields(self))


@dataclass(frozen=True)
class SchemeFamily:
    """Schemes with one integer parameter, written ``wl-k``, ``ego-r``, ``ego-r-fast``."""

    name: str
    pattern: str
    make: Callable[[int], Scheme]
    definition: str
    cost: str
    power: str


_registry: dict[str, Scheme | SchemeFamily] = {}
_of_users: set[str] = set()
S = TypeVar("S", Scheme, SchemeFamily)


def register_scheme(
    name: str,
    colour: Callable[[Graphs], Any],
    *,
    definition: str = "user-registered",
    cost: str = "not stated",
    power: str = "not stated",
    width: int = 1,
) -> Scheme:
    """Register a function from graphs to vertex colours under a name.

    The function receives a :class:`Graphs` (one or many graphs) and returns ``width`` integers per
    vertex. Check it with :func:`~gpnn.graph.invariance.check_invariance`. Registering a name again
    replaces the function, except for the names of built-in schemes, which are refused.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name):
        raise InputError(
            f"'{name}' cannot name a scheme: use lower-case letters, digits, '.', '_' and '-' "
            "('+' joins schemes)."
        )
    if name in _of_users:
        _registry.pop(name, None)
        _of_users.discard(name)
    made = add_scheme(Scheme(name, colour, definition, cost, power, width))
    _of_users.add(name)
    return made


def add_scheme(scheme: S) -> S:
    """Add a scheme or family to the registry; a name that is taken is refused."""
    taken = scheme.name in _registry or (isinstance(scheme, Scheme) and _from_family(scheme.name))
    if taken:
        raise InputError(f"There is a scheme '{scheme.name}' already. Choose another name.")
    _registry[scheme.name] = scheme
    return scheme


def install_scheme(scheme: Scheme) -> Scheme:
    """Add a scheme whose name determines its content, and return it; if the name is already
    registered, return the registered scheme."""
    registered = _registry.setdefault(scheme.name, scheme)
    assert isinstance(registered, Scheme)
    return registered


def list_schemes() -> list[Scheme | SchemeFamily]:
    """All registered schemes and families, in order of registration."""
    return list(_registry.values())


def get_scheme(name: str | Scheme) -> Scheme:
    """The scheme with the given name. ``a+b`` is the common refinement of ``a`` and ``b``, and so
    is ``mix:a,b``, for which a network has separate parameters for a and for b."""
    if isinstance(name, Scheme):
        return name
    _check_alone(name)
    if members := mixed_schemes(name):
        joint = _refinement([get_scheme(one) for one in members])
        return replace(joint, name=MIX + ",".join(members))
    if "+" in name:
        parts = [part.strip() for part in name.split("+")]
        if not all(parts):
            raise InputError(f"A scheme is missing beside '+' in '{name}'. Write core+triangle.")
        return _refinement([get_scheme(part) for part in parts])
    registered = _registry.get(name)
    if isinstance(registered, Scheme):
        return registered
    made = _from_family(name)
    if made is not None:
        return made
    if re.fullmatch(r"learned-\d+", name):
        from .learned import learned_parts

        learned_parts(name)  # raises an error for a number of parts that cannot be learned
        raise InputError(
            f"The parts of '{name}' are learned by a network: 'gpnn train SOURCE --scheme {name} "
            "--out model', then 'gpnn draw' and 'gpnn partition' take --scheme model."
        )
    known = [one for one in _registry if not one.startswith("learned-")]
    if name in known:
        example = re.sub(r"-[kr]\b", "-2", name)
        raise InputError(f"Put a number for the letter in '{name}', as in {example}.")
    if exists(user_path(name) / "model.json"):
        raise InputError(
            f"'{name}' is the folder of a model, which only 'gpnn draw' and 'gpnn partition' take "
            "as a scheme. In Python, gpnn.load_model(folder).config.structure.scheme names it."
        )
    choices, meant = ", ".join(known), did_you_mean(name, known)
    raise InputError(
        f"There is no scheme '{name}'.{meant} Choose one of: {choices}; put a number for k or r; "
        "join several with '+', as in core+triangle. Training also takes auto, learned-4 and "
        "mix:core,degree."
    )


def _check_alone(name: str) -> None:
    """Refuse schemes that are learned or chosen inside a combination."""
    words = [word.strip() for word in re.split(r"[+,]", name.removeprefix(MIX))]
    if name.startswith(MIX) or len(words) > 1:
        for word in words:
            if word == AUTO or re.fullmatch(r"learned-\d+", word):
                raise InputError(
                    f"'{word}' cannot be combined with other schemes, as in '{name}'. Give it "
                    "alone."
                )


def mixed_schemes(name: str) -> tuple[str, ...]:
    """The names of the schemes of a mixture ``mix:a,b``; empty for any other scheme."""
    if not name.startswith(MIX):
        return ()
    words = [one.strip() for one in name.removeprefix(MIX).split(",")]
    names = tuple(get_scheme(one).name for one in words if one)
    if len(set(names)) < 2 or len(set(names)) < len(names):
        raise InputError(
            f"A mixture has two or more different schemes, as mix:core,degree; got {name!r}."
        )
    return names


def _from_family(name: str) -> Scheme | None:
    for family in _registry.values():
        if isinstance(family, SchemeFamily):
            match = re.fullmatch(family.pattern, name)
            if match:
                return family.make(int(match.group(1)))
    return None


def _refinement(schemes: Sequence[Scheme]) -> Scheme:
    """The scheme whose colour is the tuple of all given colours."""
    ends = np.cumsum([scheme.width for scheme in schemes]).tolist()

    def describe(row: Sequence[int]) -> str:
        return " · ".join(
            scheme.describe(row[end - scheme.width : end])
            for scheme, end in zip(schemes, ends, strict=True)
        )

    return Scheme(
        "+".join(scheme.name for scheme in schemes),
        lambda graphs: np.concatenate([scheme(graphs) for scheme in schemes], axis=1),
        "the pair of colours: " + "; ".join(scheme.definition for scheme in schemes),
        "the sum of their costs",
        "at least as fine as each of them",
        ends[-1],
        describe,
    )
