"""Map a function over many inputs, in one process or in several, with results in order."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from multiprocessing import active_children, get_context, parent_process
from typing import Any, TypeVar

from .errors import InputError
from .plugins import load_plugins_of_parent

__all__ = ["interrupts_held", "ordered_map"]

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

    Inputs are taken from the iterable only as results are consumed, so that memory is bounded. An
    interruption (Ctrl-C) ends the processes.
    """
    if jobs == 1:
        yield from map(make(*arguments), items)
        return
    waiting: deque[Future[Result]] = deque()
    items = iter(items)
    jobs = min(jobs, os.cpu_count() or 1)  # more would only keep more inputs in memory
    others = set(active_children())
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), _start, (make, arguments))
    answered = False

    def submit(count: int) -> None:
        for item in islice(items, count):
            with interrupts_held():
                waiting.append(pool.submit(_call, item))

    try:
        submit(AHEAD * jobs)
        while waiting:
            result = waiting.popleft().result()
            answered = True
            submit(1)
            yield result
    except (KeyboardInterrupt, GeneratorExit):
        for process in set(active_children()) - others:
            process.terminate()
        raise
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


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back until the end. Processes that are started meanwhile never receive it, so
    that only this process answers it, in one message."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
