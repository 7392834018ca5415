"""Every example of the documentation runs, and prints what the page says."""

from __future__ import annotations

import ast
import doctest
import io
import re
import shutil
from pathlib import Path

import pytest

from docs.pages import DOCS, FLAGS, ROOT, blocks, commands, doctest_of, matches, pages, run
from gpnn.graph import registry
from gpnn.graph.schemes import list_schemes

PAGES = {page.relative_to(ROOT).as_posix(): page for page in pages()}
EXAMPLES = [
    name
    for name, page in PAGES.items()
    if {"```pycon", "```console"} & set(page.read_text(encoding="utf-8").splitlines())
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the example files of the pages, no benchmark data, and a registry of
    schemes that forgets what the page put in."""
    for example in (DOCS / "howto").glob("*.csv"):
        shutil.copy(example, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GPNN_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(registry, "_registry", {one.name: one for one in list_schemes()})
    monkeypatch.setattr(registry, "_of_users", set())
    return tmp_path


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.usefixtures("folder", "one_thread")
@pytest.mark.filterwarnings("default")
def test_examples(name: str) -> None:
    """Commands first: prompts may read what they wrote."""
    for command in commands(PAGES[name]):
        got = run(command.words)
        where = f"{name}:{command.line}: {' '.join(command.words)}"
        assert matches(command, got), f"{where}\nexpected\n{command.expected}\ngot\n{got}"
    said = io.StringIO()
    test = doctest_of(PAGES[name])
    wanted = len(test.examples)
    found = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.write)
    assert (found.failed, found.attempted) == (0, wanted), said.getvalue()


@pytest.mark.parametrize("name", PAGES)
def test_prompts_are_run(name: str) -> None:
    text = PAGES[name].read_text(encoding="utf-8")
    assert text.count("\n>>> ") == blocks(text, "pycon").count("\n>>> "), "use ```pycon for prompts"


@pytest.mark.parametrize("name", PAGES)
def test_python_blocks_parse(name: str) -> None:
    source = blocks(PAGES[name].read_text(encoding="utf-8"), "python")
    ast.parse(source, name)


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    """Relative links and pictures, as a reader of the repository follows them."""
    page = PAGES[name]
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"[a-z]+:|#", target):
            assert (page.parent / target.partition("#")[0]).exists(), f"{name} links to {target}"
