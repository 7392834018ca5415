"""The pages of results are what the records give."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from docs.pages import DOCS
from gpnn.cli._pages import write_pages
from gpnn.plots import save
from gpnn.reproduce.tables import NOTHING

RESULTS = DOCS / "results"
SOURCES = ("runs.jsonl", "brec.json", "steps.json")
PAGES = sorted(path.stem for path in RESULTS.glob("*.md"))


@pytest.mark.parametrize("table", PAGES)
def test_page_is_what_the_records_give(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    data: Any = None
    if table == "statistics":  # counts the datasets too
        data = str(request.getfixturevalue("data_dir"))
    monkeypatch.setattr(save, "save", lambda *_: None)
    page = (RESULTS / f"{table}.md").read_text(encoding="utf-8")
    command = re.search(r"Made by `(.+?)`", page)
    assert command is not None
    for name in SOURCES:
        shutil.copy(RESULTS / name, tmp_path / name)
    write_pages([table], tmp_path, command[1], False, data, {}, NOTHING)
    assert (tmp_path / f"{table}.md").read_text(encoding="utf-8") == page
