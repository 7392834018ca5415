"""The one exception for mistakes a user can fix."""

from __future__ import annotations

__all__ = ["InputError"]


class InputError(ValueError):
    """What was wrong, what was got, and how to fix it.

    The command line prints the message alone and exits with code 2.
    """
