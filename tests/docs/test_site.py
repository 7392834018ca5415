"""The site builds without a warning."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from docs.pages import DOCS

MISSING = [name for name in ("sphinx", "furo", "myst_parser") if find_spec(name) is None]
needs_sphinx = pytest.mark.skipif(
    bool(MISSING), reason=f"the site needs {', '.join(MISSING)}: pip install '.[docs]'"
)


@needs_sphinx
def test_builds_without_warnings(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    built = subprocess.run(
        [*command, "-d", str(tmp_path / "doctrees"), str(DOCS), str(tmp_path / "html")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    front = (tmp_path / "html" / "index.html").read_text(encoding="utf-8")
    assert "https://cdn" not in front
    layer = (tmp_path / "html" / "api" / "network.html").read_text(encoding="utf-8")
    assert "<math" in layer and "math notranslate" not in layer
    notebook = (tmp_path / "html" / "notebooks" / "lab.html").read_text(encoding="utf-8")
    assert "data:image/png;base64," in notebook
