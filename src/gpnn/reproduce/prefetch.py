"""The next job is prepared while one trains."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from typing import Generic, Self, TypeVar

from .jobs import Job

__all__ = ["Prefetch"]

SWITCH = 0.0005
"""Seconds after which a thread that waits for the interpreter gets it. A step of a training is one
call that lets go of the interpreter; to wait Python's usual 5 ms after each would hold it up."""

T = TypeVar("T")


class Prefetch(Generic[T]):
    """Prepares the job after the one that trains, in one thread, one job at a time.

    On a GPU the host is idle while a job trains, and the device is idle while the next job is
    loaded and partitioned; done at the same time, the second costs nothing. The result does not
    depend on when or where it is computed. An error is ignored here: the job meets it again in its
    own turn, and reports it. Used in a ``with`` block, which may be left at any time.

    Args:
        jobs: in the order they are run in.
        make: prepares a job, or returns ``None`` where there is nothing to do; it must not use the
            device. It is given a function that says whether nobody will take the result.
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
        """Ask the thread to stop, and wait: a process that ends under it would crash."""
        sys.setswitchinterval(self.switch)
        self.over.set()
        if self.thread is not None:
            self.thread.join()

    def begin(self, current: Job) -> None:
        """Begin with the job after this one, unless one is under way or waits to be taken."""
        if self.thread is not None:
            return
        self.job = self.following.get(current.key)
        if self.job is not None:
            self.thread = threading.Thread(target=self._work, args=(self.job,))
            self.thread.start()

    def take(self, job: Job) -> T | None:
        """What was made for this job, waited for if need be, or ``None``. What was made for another
        one is dropped: its turn went by."""
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
            self.made = None  # the job meets the error again, and reports it
