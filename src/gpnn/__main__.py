"""``python -m gpnn``."""

from .cli import main

main()
