"""The wheel: built, installed into an empty environment, used from another folder."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import gpnn

ROOT = Path(__file__).parents[1]
pytest.importorskip("build", reason="the wheel is built with build, extra [dev]")


def run(*words: str | Path, cwd: Path, **environment: str) -> str:
    given = {**os.environ, **environment}
    given.pop("PYTHONPATH", None)
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, env=given, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT, cwd=out)
    (made,) = out.glob("*.whl")
    return made


def test_what_the_wheel_holds(wheel: Path) -> None:
    assert wheel.name == f"gpnn-{gpnn.__version__}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    for needed in ("embedded/MUTAG.zip", "reproduce/recipes/MUTAG.toml",
                   "reproduce/published/tables.csv", "explore/page/index.html"):  # fmt: skip
        assert f"gpnn/{needed}" in names
    assert not [name for name in names if name.endswith((".nbi", ".nbc", ".pyc"))]


def test_it_works_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    """Libraries are those of this environment; the package itself comes from the wheel alone."""
    home, work = tmp_path / "env", tmp_path / "elsewhere"
    work.mkdir()
    run(sys.executable, "-m", "venv", "--without-pip", home, cwd=work)
    python = home / "bin" / "python"
    site = Path(
        run(python, "-c", "import site; print(site.getsitepackages()[0])", cwd=work).strip()
    )
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", wheel,
        cwd=work)  # fmt: skip
    libraries = dict.fromkeys(sysconfig.get_path(kind) for kind in ("purelib", "platlib"))
    (site / "libraries.pth").write_text("\n".join(libraries) + "\n")
    where = run(python, "-c", "import gpnn; print(gpnn.__file__)", cwd=work).strip()
    assert Path(where).is_relative_to(home)
    command = home / "bin" / "gpnn"
    kernels = {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    assert gpnn.__version__ in run(command, "--version", cwd=work)
    assert "13 vertices" in run(command, "partition", "MUTAG:2", "-s", "core-degree", cwd=work,
                                **kernels)  # fmt: skip
    run(command, "draw", "MUTAG:2", "--out", "molecule.png", cwd=work, **kernels)
    assert (work / "molecule.png").read_bytes()[:4] == b"\x89PNG"
