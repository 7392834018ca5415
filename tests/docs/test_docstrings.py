"""Examples in docstrings run, and the reference names every public name."""

from __future__ import annotations

import doctest
import importlib
import io
from pathlib import Path

import pytest

import gpnn
from docs.pages import DOCS, FLAGS, ROOT

SOURCE = ROOT / "src"
MODULES = sorted(
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in SOURCE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    said, attempted = io.StringIO(), 0
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        attempted += len(test.examples)
        assert not runner.run(test, out=said.write).failed, said.getvalue()
    assert attempted, f"{name} has prompts that doctest does not find"


def test_reference_names_every_public_name() -> None:
    page = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    listed = {line.rpartition(".")[2] for line in page.splitlines() if line.startswith("   ~gpnn.")}
    assert listed == set(gpnn.__all__) - {"__version__"}
