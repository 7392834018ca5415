"""Handle Ctrl-C between epochs instead of in the middle of a step."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Interrupt", "deferred_interrupt"]


class Interrupt:
    """Whether Ctrl-C was pressed."""

    asked = False


@contextmanager
def deferred_interrupt() -> Iterator[Interrupt]:
    """Record the first Ctrl-C, so that results can be stored; a second Ctrl-C interrupts at once.
    Does nothing outside the main thread, or where the caller handles Ctrl-C itself.
    """
    interrupt = Interrupt()
    usual = signal.default_int_handler
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not usual:
        yield interrupt
        return

    def note(number: int, frame: FrameType | None) -> None:
        if interrupt.asked:
            usual(number, frame)
        interrupt.asked = True

    signal.signal(signal.SIGINT, note)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, usual)
