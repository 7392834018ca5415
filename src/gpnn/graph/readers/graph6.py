"""graph6: one graph per line, six bits of the upper triangle in every printable byte.

A line is N(n) R(x): the number of vertices n (one byte n + 63 for n ≤ 62, else ``~`` and three
bytes, or ``~~`` and six), then the bits x = (0,1), (0,2), (1,2), (0,3), … padded with zeros to a
multiple of six; each group of six is stored as its value plus 63. Lines starting with ``:`` are
sparse6 (read by networkx). A leading ``>>graph6<<`` or ``>>sparse6<<`` is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..graphs import Graphs
from .files import read_bytes, where
from .undirected import undirected

__all__ = ["format_graph6", "parse_graph6", "read_graph6"]

Ints = NDArray[np.int64]
Place = Callable[[int], str]

_MAGIC = re.compile(rb"\A>>(graph6|sparse6)<<")

MAX_SPARSE, PER_BYTE = 100_000, 100
"""Maximum number of vertices of a sparse6 graph, absolute or per byte of its line, whichever is
larger: a header alone can declare billions."""


def read_graph6(path: Path) -> Graphs:
    """Read every line of a ``.g6`` (or ``.s6``) file."""
    lines = read_bytes(path).split(b"\n")
    kept = [(number, _bare(line)) for number, line in enumerate(lines)]
    kept = [(number, line) for number, line in kept if line]
    return _decode([line for _, line in kept], lambda k: where(path, kept[k][0]))


def parse_graph6(text: str) -> Graphs:
    """One graph from one line of graph6 or sparse6."""
    try:
        raw = text.encode("ascii")
    except UnicodeEncodeError:
        raise InputError(f"{text!r} is not graph6: it holds bytes outside ASCII.") from None
    if not _bare(raw):
        raise InputError("An empty text is not graph6. The graph without vertices is '?'.")
    return _decode([_bare(raw)], lambda _: f"graph6 {text!r}")


def format_graph6(graph: Graphs) -> str:
    """The graph6 line of one graph, without a line end."""
    if len(graph) != 1:
        raise InputError(f"graph6 writes one graph a line; got {len(graph)} graphs.")
    n = graph.num_nodes
    if n >= 2**36:
        raise InputError(f"graph6 holds up to 2^36 - 1 vertices; got {n}.")
    bits = np.zeros(-(-(n * (n - 1) // 2) // 6) * 6, np.uint8)
    low, high = graph.edges()
    bits[high * (high - 1) // 2 + low] = 1
    body = np.packbits(bits.reshape(-1, 6), axis=1).ravel() >> 2
    width = 1 if n <= 62 else 3 if n < 2**18 else 6
    size = [(n >> (6 * k)) & 63 for k in reversed(range(width))]
    head = b"~" * (width // 3)
    return (head + bytes(s + 63 for s in size) + (body + 63).astype(np.uint8).tobytes()).decode()


def _bare(line: bytes) -> bytes:
    return _MAGIC.sub(b"", line.strip())


def _decode(lines: list[bytes], place: Place) -> Graphs:
    if any(line.startswith(b":") for line in lines):
        return Graphs.concatenate([_either(line, place(k)) for k, line in enumerate(lines)])
    text = np.frombuffer(b"".join(lines), np.uint8)
    length = np.array([len(line) for line in lines], np.int64)
    start = np.cumsum(length) - length
    _check_bytes(text, lambda at: place(int(np.searchsorted(start, at, side="right") - 1)))
    sizes, body = _sizes(text, start, length, place)
    huge = np.flatnonzero(sizes >= 2**31)
    if len(huge):
        raise InputError(
            f"{place(int(huge[0]))}: {sizes[huge[0]]} vertices, more than can be held."
        )
    pairs = sizes * (sizes - 1) // 2
    expected = -(-pairs // 6)
    got = length - body
    wrong = np.flatnonzero(got != expected)
    if len(wrong):
        k = int(wrong[0])
        raise InputError(
            f"{place(k)}: {sizes[k]} vertices need {expected[k]} bytes of edges, got {got[k]}. "
            "The line is truncated or not graph6."
        )
    return _edges(text, start + body, sizes, pairs, expected, place)


def _check_bytes(text: NDArray[np.uint8], place: Place) -> None:
    wrong = np.flatnonzero((text < 63) | (text > 126))
    if len(wrong):
        raise InputError(
            f"{place(int(wrong[0]))}: byte {chr(text[wrong[0]])!r} does not occur in graph6 "
            "(only '?' to '~')."
        )


def _sizes(text: NDArray[np.uint8], start: Ints, length: Ints, place: Place) -> tuple[Ints, Ints]:
    """The number of vertices in every line, and the number of bytes that encode it."""
    padded = np.concatenate([text, np.zeros(8, np.uint8)]).astype(np.int64)
    long = padded[start] == 126
    longer = long & (padded[start + 1] == 126) & (length > 1)
    body = np.where(longer, 8, np.where(long, 4, 1))
    short = np.flatnonzero(length < body)
    if len(short):
        raise InputError(f"{place(int(short[0]))}: the line ends inside the number of vertices.")
    sizes = padded[start] - 63
    for which, first, width in ((long & ~longer, 1, 3), (longer, 2, 6)):
        at = start[which]
        sizes[which] = sum(
            (padded[at + first + k] - 63) << (6 * (width - 1 - k)) for k in range(width)
        )
    return sizes, body


def _edges(
    text: NDArray[np.uint8], start: Ints, sizes: Ints, pairs: Ints, width: Ints, place: Place
) -> Graphs:
    """Decode the bits of all lines at once."""
    first = np.cumsum(width) - width
    taken = np.repeat(start - first, width) + np.arange(int(width.sum()))
    sextets = ((text[taken].astype(np.int64) - 63) << 2).astype(np.uint8)
    bits = np.unpackbits(sextets[:, None], axis=1)[:, :6].ravel()
    ones = np.flatnonzero(bits)
    owner = np.searchsorted(6 * (first + width), ones, side="right")
    k = ones - 6 * first[owner]
    beyond = np.flatnonzero(k >= pairs[owner])
    if len(beyond):
        raise InputError(f"{place(int(owner[beyond[0]]))}: the padding bits are not zero.")
    high = ((1 + np.sqrt(1 + 8 * k.astype(np.float64))) / 2).astype(np.int64)
    high -= high * (high - 1) // 2 > k
    high += (high + 1) * high // 2 <= k
    low = k - high * (high - 1) // 2
    bounds = np.searchsorted(owner, np.arange(len(sizes) + 1))
    return undirected(Graphs.from_edges(low, high, sizes, bounds=bounds, local=True))


def _either(line: bytes, place: str) -> Graphs:
    return _sparse6(line, place) if line.startswith(b":") else _decode([line], lambda _: place)


def _sparse6(line: bytes, place: str) -> Graphs:
    import networkx as nx

    text = np.frombuffer(line[1:], np.uint8)
    _check_bytes(text, lambda _: place)
    if len(text):
        start, length = np.zeros(1, np.int64), np.array([len(text)])
        size = int(_sizes(text, start, length, lambda _: place)[0][0])
        most = max(MAX_SPARSE, PER_BYTE * len(text))
        if size > most:
            raise InputError(
                f"{place}: {size:,} vertices; sparse6 of up to {most:,} is read. Give a "
                "larger graph as an edge list or .npz."
            )
    decode: Any = nx.from_sparse6_bytes
    try:
        graph = decode(line)
    except (nx.NetworkXException, ValueError, IndexError) as error:
        raise InputError(f"{place}: not sparse6 ({error}).") from None
    edges = np.array([edge[:2] for edge in graph.edges()], np.int64).reshape(-1, 2).T
    built = Graphs.from_edges(edges[0].copy(), edges[1].copy(), graph.number_of_nodes())
    return undirected(built)
