"""Make molecule-report.png from a page of ``gpnn report``: ``python molecules.py report.html``.

molecule-atoms.png is written by ``gpnn explain`` itself; docs/howto/molecules.md has both commands.
"""

from __future__ import annotations

import base64
import html
import io
import re
import sys
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.image import imread

HERE = Path(__file__).parent
CARD = re.compile(r'src="data:image/png;base64,([^"]*)"><figcaption>.*?<br>.*?<br>(.*?)</figcap')


def main() -> None:
    page = Path(sys.argv[1]).read_text(encoding="utf-8")
    pictures = re.findall(r'src="data:image/png;base64,([^"]*)"', page)
    cards = CARD.findall(page)
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    grid = figure.add_gridspec(2, 5)
    shown = [(grid[:, :2], pictures[0], "")]
    shown += [(grid[k // 3, 2 + k % 3], *cards[k]) for k in range(6)]
    for place, code, title in shown:
        axes = figure.add_subplot(place)
        axes.imshow(imread(io.BytesIO(base64.b64decode(code))))
        axes.set_title(html.unescape(title), fontsize=8)
        axes.axis("off")
    figure.savefig(HERE / "molecule-report.png", dpi=110, facecolor="white")


if __name__ == "__main__":
    main()
