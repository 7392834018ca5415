"""The import graph: layers import only layers above them, and no modules import in a circle."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import gpnn

ROOT = Path(gpnn.__file__).parent
LAYERS = (
    {"text"},
    {"errors"},
    {"sizes", "arrays"},
    {"options"},
    {"files"},
    {"array_files", "lock", "schema"},
    {"plugins", "journal"},
    {"pool", "ray_engine"},
    {"graph"},
    {"nn"},
    {"data"},
    {"train"},
    {"reproduce", "lab", "bench"},
    {"plots"},
    {"explore"},
    {"cli"},
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in ROOT.rglob("*.py")
}


def imports(name: str, everywhere: bool) -> Iterator[str]:
    """Modules of the package that a module imports: at its top, or anywhere in it."""
    path = MODULES[name]
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree) if everywhere else _top(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            base += node.module.split(".") if node.module else []
            for alias in node.names:
                deeper = ".".join([*base, alias.name])
                yield deeper if deeper in MODULES else ".".join(base)


def _top(tree: ast.Module) -> Iterator[ast.stmt]:
    """Statements that run when the module is imported; what only type checkers read does not."""
    for node in tree.body:
        if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            yield node


def test_layers_import_only_layers_above() -> None:
    wrong = [
        f"{name} imports {other}"
        for name in MODULES
        if (own := name.split(".")[0]) in LEVEL
        for other in imports(name, everywhere=True)
        if (theirs := other.split(".")[0]) in LEVEL
        if LEVEL[theirs] > LEVEL[own] or (LEVEL[theirs] == LEVEL[own] and theirs != own)
    ]
    assert not wrong


def test_every_folder_has_a_layer() -> None:
    folders = {name.split(".")[0] for name in MODULES} - {"__init__", "__main__", "embedded"}
    assert folders == set(LEVEL)


def test_no_module_imports_itself_in_a_circle() -> None:
    graph = {name: set(imports(name, everywhere=False)) - {name} for name in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(" imports ".join(reversed(error.args[1]))) from None
