"""Load or compile kernels before the first request needs them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from ..graph.schemes import PAPER_SCHEMES
from .analyse import analyse
from .gallery import gallery
from .positions import place
from .request import METHODS
from .server import Explorer

__all__ = ["warm"]

_TRIANGLE = {"n": 4, "edges": [[0, 1], [1, 2], [0, 2], [2, 3]]}
_PATH = {"n": 4, "edges": [[0, 1], [1, 2], [2, 3]]}


def warm(server: Explorer) -> threading.Thread:
    """Run everything once in the background; requests are served in between."""
    thread = threading.Thread(target=_try_all, args=(server,), daemon=True)
    thread.start()
    return thread


def _try_all(server: Explorer) -> None:
    for task in _tasks():
        with server.work:
            task()


def _tasks() -> list[Callable[[], object]]:
    tries = [{"graphs": [_TRIANGLE], "scheme": scheme, "methods": []} for scheme in PAPER_SCHEMES]
    tries += [{"graphs": [_TRIANGLE, _PATH], "methods": [method]} for method in METHODS]
    tries += [{"graphs": [_TRIANGLE], "scheme": name} for name in ("ego-1", "ego-1-fast", "orbit")]
    return [*(partial(analyse, request) for request in tries), gallery, _first_pair]


def _first_pair() -> None:
    """Compute the positions of the pair that the page opens with."""
    [entry] = [entry for entry in gallery()["entries"] if entry["id"] == "decalin"]
    for graph in entry["graphs"]:
        place({"graph": {"n": graph["n"], "edges": graph["edges"]}})
