"""Exceptions for errors that a user can fix, and messages for errors of the operating system."""

from __future__ import annotations

import errno

from .text import printable, shortened

__all__ = ["CountedWarning", "InputError", "LimitError", "OutputError", "explained", "system_error"]


class InputError(ValueError):
    """Invalid input. The message says what was wrong, what was given, and how to fix it.

    The command line prints only the message and exits with code 2. Long inputs that are quoted in
    the message are shortened, and control characters are escaped.
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(shortened(printable(str(message))))


class LimitError(InputError):
    """Valid input that is too large for a method."""


class OutputError(InputError):
    """A file cannot be written; later files could not be written either."""


class CountedWarning(UserWarning):
    """A warning with counts, which are summed when the input is read in chunks. The second count
    is the number of items examined."""

    def __init__(self, text: str, *counts: int) -> None:
        super().__init__(text.format(*counts))
        self.text, self.counts = text, counts

    def out_of(self, total: int) -> CountedWarning:
        """The same warning with the total number of items, including chunks without a warning."""
        return type(self)(self.text, self.counts[0], total, *self.counts[2:])

    def __reduce__(self) -> tuple[type[CountedWarning], tuple[str | int, ...]]:
        return type(self), (self.text, *self.counts)

    def __add__(self, other: CountedWarning) -> CountedWarning:
        return type(self)(self.text, *map(sum, zip(self.counts, other.counts, strict=True)))


_ADVICE = {
    errno.ENOSPC: "Free some space or choose another place, then run the same command again.",
    errno.EDQUOT: "Free some space or choose another place, then run the same command again.",
    errno.EFBIG: "Choose a place without such a limit, then run the same command again.",
    errno.EIO: "Check the device or choose another place, then run the same command again.",
    errno.ENAMETOOLONG: "Give a shorter name.",
    errno.ENOENT: "Check that its folder is still there.",
    errno.ENOTDIR: "Check the path: a part of it is a file.",
    errno.EEXIST: "Check the path: a part of it is a file.",
    errno.EISDIR: "It is a folder: give a file name.",
    errno.EMFILE: "Close other programs, or raise the limit of open files.",
    errno.ENOMEM: "Use less data at once, or a machine with more memory.",
}
_MEMORY = "Memory ran out. Use less data at once (smaller batches, fewer graphs) or more memory."


def system_error(what: str, error: OSError) -> str:
    """A message on what failed, why, and what to do: ``Cannot write model.json: No space …``."""
    why = error.strerror or str(error) or type(error).__name__
    advice = _ADVICE.get(error.errno or 0, "Choose another place, or check its permissions.")
    return f"{what}: {why}. {advice}"


def explained(error: BaseException) -> str | None:
    """The message for an error that is not a bug (input, system, memory); ``None`` for others."""
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, MemoryError) or "DefaultCPUAllocator" in str(error):
        return _MEMORY
    if isinstance(error, OSError):
        name = error.filename
        message = system_error(f"Cannot use {name}" if name else "The system refused", error)
        return shortened(printable(message))
    return None
