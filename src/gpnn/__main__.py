"""``python -m gpnn``, and the command ``gpnn``."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; Ctrl-C ends it in words from the first import on."""
    try:
        from .cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("gpnn: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
