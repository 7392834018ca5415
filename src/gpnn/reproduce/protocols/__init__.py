"""The protocols, one file each; protocols of one family are computed from the same training."""

from ...errors import InputError
from . import node, ogb, tu_1, tu_2, tu_nested, zinc
from .base import Measured, Member, Protocol, Replicas, Summary, summarise

__all__ = [
    "PROTOCOLS",
    "Measured",
    "Member",
    "Protocol",
    "Replicas",
    "Summary",
    "family",
    "get_protocol",
    "summarise",
]

PROTOCOLS: dict[str, Protocol] = {
    module.PROTOCOL.name: module.PROTOCOL for module in (tu_1, tu_2, tu_nested, ogb, zinc, node)
}


def get_protocol(name: str) -> Protocol:
    """Return a protocol by name."""
    if name not in PROTOCOLS:
        raise InputError(f"There is no protocol {name!r}. Choose one of {', '.join(PROTOCOLS)}.")
    return PROTOCOLS[name]


def family(name: str) -> list[Protocol]:
    """Return the protocols of a family, which share a training."""
    return [protocol for protocol in PROTOCOLS.values() if protocol.family == name]
