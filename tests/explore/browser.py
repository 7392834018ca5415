"""A page of the explorer in headless Chromium, as the end-to-end tests drive it."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

__all__ = ["Screen"]


class Screen:
    """One page. ``trouble`` collects console errors, but for the one text ``allowed``, and requests
    that leave this machine."""

    def __init__(self, page: Page, url: str, allowed: str | None = None) -> None:
        self.page = page
        self.url = url
        self.allowed = allowed
        self.trouble: list[str] = []
        page.on("console", lambda m: m.type in ("error", "warning") and self.note(m.text))
        page.on("pageerror", lambda error: self.note(str(error)))
        page.on("request", lambda request: self._check(request.url))

    def note(self, text: str) -> None:
        if text != self.allowed:
            self.trouble.append(text)

    def _check(self, url: str) -> None:
        if not url.startswith((self.url, "data:", "blob:")):
            self.note(f"a request left the machine: {url}")

    def open(self, hash: str = "") -> Screen:
        self.page.goto(self.url + hash)
        expect(self.page.locator("#status")).not_to_have_text("Loading …", timeout=60_000)
        return self

    def choose(self, name: str, value: str) -> None:
        """A radio button of the page."""
        self.page.check(f'input[name="{name}"][value="{value}"]')

    def settle(self) -> None:
        """Wait until the page shows what the server answered last."""
        expect(self.page.locator("#mirror")).to_have_attribute("aria-busy", "false")

    def caption(self, graph: int = 0) -> Locator:
        """The line above the mirror of a drawing."""
        return self.page.locator(f"#mirror-{graph} caption")

    def rows(self, graph: int = 0) -> list[dict[str, str]]:
        """The mirror of a drawing: what the canvas shows, vertex by vertex."""
        self.settle()
        table = self.page.locator(f"#mirror-{graph}")
        heads = table.locator("thead th").all_inner_texts()
        found = table.locator("tbody tr").evaluate_all(
            "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
        )
        return [dict(zip(heads, cells, strict=True)) for cells in found]

    def edges(self, graph: int = 0) -> dict[tuple[int, int], str]:
        """Edges of the mirror with their kinds."""
        found = {}
        for row in self.rows(graph):
            for other, kind in re.findall(r"(\d+) \((\w+)\)", row["edges"]):
                found[tuple(sorted((int(row["vertex"]), int(other))))] = kind
        return found

    def at(self, vertex: int, graph: int = 0) -> tuple[float, float]:
        """Where a vertex lies on the screen."""
        x, y = self.page.evaluate(
            """async ([g, v]) => {
                const { canvases } = await import("/stage.js");
                const { cy, host } = canvases()[g];
                const box = host.getBoundingClientRect();
                const point = cy.getElementById(String(v)).renderedPosition();
                return [box.x + point.x, box.y + point.y];
            }""",
            [graph, vertex],
        )
        return x, y

    def click_sheet(self, x: float, y: float) -> None:
        """Click into the first drawing, at a share of its width and height."""
        box: Any = self.page.locator(".canvas").first.bounding_box()
        self.page.mouse.click(box["x"] + x * box["width"], box["y"] + y * box["height"])
