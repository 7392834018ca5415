"""The notebooks run from top to bottom."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from docs.pages import DOCS

NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.md"))


@pytest.fixture(scope="module")
def notebook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("notebook", DOCS / "_ext" / "notebook.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_three() -> None:
    assert [page.stem for page in NOTEBOOKS] == ["lab", "molecules", "parts"]


@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda page: page.stem)
@pytest.mark.usefixtures("one_thread")
def test_runs(
    page: Path, notebook: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GPNN_DATA", raising=False)
    text = page.read_text(encoding="utf-8")
    shown = notebook.with_outputs(text, str(page))
    assert "data:image/png;base64," in shown
    assert shown.count(":class: output") >= 3


def test_outputs_stand_behind_their_cells(notebook: ModuleType) -> None:
    text = "# T\n\n```python\nx = 2\nprint('a')\nx + 1\n```\n\nend\n"
    shown = notebook.with_outputs(text, "page.md")
    assert shown.startswith(text[: text.index("\nend")])
    assert shown.index("a\n3\n```") < shown.index("end")


def test_an_error_names_page_and_line(notebook: ModuleType) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        notebook.with_outputs("# T\n\n```python\n1 / 0\n```\n", "page.md")
    last = caught.traceback[-1]
    assert (str(last.path).endswith("page.md"), last.lineno + 1) == (True, 4)
