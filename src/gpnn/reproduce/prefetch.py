"""Prepare the next job while the current job trains."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from typing import Generic, Self, TypeVar

from .jobs import Job

__all__ = ["Prefetch"]

SWITCH = 0.0005
"""Switch interval of the interpreter lock in seconds. A training step is one call that releases the
lock; waiting Python's default of 5 ms after every step would slow training down."""

T = TypeVar("T")


class Prefetch(Generic[T]):
    """Prepare the job after the one that trains, in one thread, one job at a time.

    On a GPU the host is idle while a job trains, and the device is idle while the next job is
    loaded and partitioned. Done at the same time, the preparation costs nothing. The result does
    not depend on when or where it is computed. Errors are ignored here: the job raises them again
    when it runs. Use this class in a ``with`` block, which may be left at any time.

    Args:
        jobs: jobs in the order in which they run.
        make: prepares a job, or returns ``None`` if there is nothing to do; it must not use the
            device. Its second argument is a function that returns whether the result is no longer
            needed.
    """

    def __init__(
        self, jobs: Sequence[Job], make: Callable[[Job, Callable[[], bool]], T | None]
    ) -> None:
        self.following = dict(zip((job.key for job in jobs), jobs[1:], strict=False))
        self.make = make
        self.over = threading.Event()
        self.job: Job | None = None
        self.thread: threading.Thread | None = None
        self.made: T | None = None

    def __enter__(self) -> Self:
        self.switch = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH)
        return self

    def __exit__(self, *_: object) -> None:
        """Ask the thread to stop and wait for it: the process would crash if it ended first."""
        sys.setswitchinterval(self.switch)
        self.over.set()
        if self.thread is not None:
            self.thread.join()

    def begin(self, current: Job) -> None:
        """Start to prepare the job after this one, unless a job is in progress or not yet taken."""
        if self.thread is not None:
            return
        self.job = self.following.get(current.key)
        if self.job is not None:
            self.thread = threading.Thread(target=self._work, args=(self.job,))
            self.thread.start()

    def take(self, job: Job) -> T | None:
        """Return the result for this job, or ``None``; waits if it is in progress. A result for
        another job is discarded."""
        if self.thread is None:
            return None
        self.thread.join()
        made = self.made if self.job is job else None
        self.job = self.thread = self.made = None
        return made

    def _work(self, job: Job) -> None:
        try:
            self.made = self.make(job, self.over.is_set)
        except Exception:
            self.made = None  # the job raises the error again when it runs
