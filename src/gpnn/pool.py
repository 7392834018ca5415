"""Map a function over many inputs, in one process or in several, with results in order."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import get_context, parent_process
from typing import Any, TypeVar

from .errors import InputError
from .plugins import load_plugins_of_parent

__all__ = ["ordered_map"]

Item = TypeVar("Item")
Result = TypeVar("Result")
AHEAD = 2
"""Inputs per process that are read in advance."""

_work: Callable[[Any], Any] | None = None
_failed: BaseException | None = None


def ordered_map(
    make: Callable[..., Callable[[Item], Result]],
    arguments: tuple[Any, ...],
    items: Iterable[Item],
    jobs: int = 1,
) -> Iterator[Result]:
    """Yield ``make(*arguments)(item)`` for every item, in order; each process calls ``make`` once.

    Inputs are taken from the iterable only as results are consumed, so that memory is bounded.
    """
    if jobs == 1:
        yield from map(make(*arguments), items)
        return
    waiting: deque[Future[Result]] = deque()
    items = iter(items)
    jobs = min(jobs, os.cpu_count() or 1)  # more would only keep more inputs in memory
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), _start, (make, arguments))
    answered = False
    try:
        waiting.extend(pool.submit(_call, item) for item in islice(items, AHEAD * jobs))
        while waiting:
            result = waiting.popleft().result()
            answered = True
            waiting.extend(pool.submit(_call, item) for item in islice(items, 1))
            yield result
    except BrokenProcessPool:
        raise InputError(
            "A worker process was killed, perhaps because memory ran out. Use fewer jobs; the "
            "same call resumes."
            if answered
            else "No worker process could start. In a script of your own, call this below "
            "'if __name__ == \"__main__\":'; elsewhere memory may be short: use fewer jobs."
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _start(make: Callable[..., Callable[[Any], Any]], arguments: tuple[Any, ...]) -> None:
    global _work, _failed
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        load_plugins_of_parent()
        _work = make(*arguments)
    except Exception as error:  # raised at the first call, where it reaches the caller
        _failed = error


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _call(item: Any) -> Any:
    if _failed is not None:
        raise _failed
    assert _work is not None
    return _work(item)
