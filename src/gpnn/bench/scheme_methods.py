"""The methods of ``gpnn bench schemes``: a name, and options of the network after a colon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..data.samples import Samples
from ..errors import InputError
from ..graph.learned import learned_parts
from ..graph.refine import interaction_type
from ..graph.registry import MIX, mixed_schemes
from ..graph.schemes import get_scheme
from ..graph.structure import Structure
from ..nn.peers import peer_of
from ..options import AUTO
from ..train.setup import base_alone, check_options, model_config, named_model

__all__ = ["BASE", "METHODS", "check_method", "network_options", "read_method"]

BASE = "base"
METHODS = (BASE, "trivial", "core", "degree", "triangle", "core-degree", "learned-4", AUTO)
PARTITIONED = (
    "interactions", "d", "distances", "labels", "combine", "part_weights", "join",
    "component_feature",
)  # fmt: skip
"""Options that a base GNN alone does not have."""
OPTIONS = (
    *PARTITIONED, "walks", "layers", "hidden", "base", "block", "dropout", "virtual_node",
)  # fmt: skip
"""Options of a network that a method may set."""


def check_method(method: str, samples: Samples, model: Mapping[str, Any]) -> None:
    """Raise the error that the training of a method would raise for its options."""
    Structure.split(model)
    if method == AUTO:
        return
    options = base_alone(network_options(method, model))
    check_options(samples, options)
    model_config(samples, 1, options)


def network_options(method: str, model: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the network of a method, given those of all networks."""
    own = read_method(method)
    if not own.get("gpnn", True):
        return {k: v for k, v in model.items() if k not in PARTITIONED} | own
    options = {**model, **own}
    scheme = options["scheme"]
    learned = learned_parts(scheme)
    if (learned or mixed_schemes(scheme)) and options.get("interactions") == "cross":
        if "interactions" in own:
            does = "learns which edges are" if learned else "has several kinds of"
            raise InputError(f"{method!r} {does} cross edges. Give edges or pairs.")
        options["interactions"] = "edges"
    return options


def read_method(text: str) -> dict[str, Any]:
    """The options that a method adds to those of all networks; none for ``auto``."""
    if text == AUTO:
        return {}
    if peer_of(text) is not None:
        return named_model(text)
    head = MIX if text.startswith(MIX) else ""
    name, colon, rest = text.removeprefix(head).partition(":")
    name = head + name
    if name == AUTO:
        raise InputError(
            f"{AUTO} takes no options of its own, as in {text!r}. --d, --minutes and others apply "
            "to all methods."
        )
    if name != BASE and not learned_parts(name):
        get_scheme(name)
    options: dict[str, Any] = {"gpnn": False} if name == BASE else {"scheme": name}
    known = [one for one in OPTIONS if name != BASE or one not in PARTITIONED]
    for part in rest.split(",") if colon else ():
        key, equals, value = (word.strip() for word in part.partition("="))
        if key not in known or not equals:
            what = "the base GNN alone" if name == BASE else "a network"
            raise InputError(
                f"{part!r} of {text!r} is not an option of {what}. Give NAME=VALUE with one of: "
                f"{', '.join(known)}."
            )
        if key in options:
            raise InputError(f"{text!r} gives {key} twice.")
        options[key] = None if (key, value) == ("base", "none") else _value(value)
    if "interactions" in options:
        options["interactions"] = interaction_type(options["interactions"])
    return options


def _value(text: str) -> bool | int | float | str:
    """A flag, a number or a word."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
