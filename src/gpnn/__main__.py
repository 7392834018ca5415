"""Entry point of ``python -m gpnn`` and of the command ``gpnn``."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; Ctrl-C ends it with a message, even during the imports."""
    try:
        from .cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("gpnn: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
