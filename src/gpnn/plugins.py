"""Plugins: user-defined schemes, base GNNs and datasets, available to every command.

A plugin is a Python file that calls :func:`gpnn.register_scheme`, :func:`gpnn.register_base` or
:func:`gpnn.register_dataset`. It is loaded with ``--plugin FILE.py``, or installed as an entry
point of the group ``gpnn.plugins``, where importing it registers its content. A plugin is code:
load only plugins that you trust.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from importlib.metadata import entry_points
from pathlib import Path

from .errors import InputError
from .files import exists, user_path

__all__ = ["beside_plugin", "load_installed_plugins", "load_plugin", "load_plugins_of_parent"]

_VARIABLE = "GPNN_PLUGINS"
"""Environment variable that passes the loaded plugin files to child processes."""


_loading: list[Path] = []
"""Folders of the plugins that are currently being loaded, the innermost last."""


def beside_plugin(source: str | Path) -> str | Path:
    """Resolve a relative path given by a plugin against the plugin's folder, if it exists there."""
    path = user_path(source)
    if _loading and not path.is_absolute() and exists(_loading[-1] / path):
        return _loading[-1] / path
    return source


def load_plugin(file: str | Path) -> None:
    """Run a plugin file, unless it was already loaded."""
    path = user_path(file).resolve()
    if not path.is_file():
        raise InputError(f"There is no plugin {file}. Give a Python file: --plugin FILE.py.")
    if path.suffix != ".py":
        raise InputError(f"{file} is not a Python file. A plugin has a name that ends in .py.")
    name = f"gpnn_plugin_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    _loading.append(path.parent)
    try:
        spec.loader.exec_module(module)
    except InputError as error:
        del sys.modules[name]
        raise InputError(f"The plugin {file} was refused: {error}") from None
    except Exception as error:
        del sys.modules[name]
        line = _line(error, path)
        where = f", line {line}" if line else ""
        raise InputError(
            f"The plugin {file} failed{where}: {type(error).__name__}: {error}. Fix the file."
        ) from error
    finally:
        _loading.pop()
    listed = os.environ.get(_VARIABLE, "").split(os.pathsep)
    os.environ[_VARIABLE] = os.pathsep.join(dict.fromkeys([*filter(None, listed), str(path)]))


def _line(error: Exception, path: Path) -> int | None:
    """The last line of the plugin file in the traceback of an error."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename) == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line if line is not None else getattr(error, "lineno", None)


def load_plugins_of_parent() -> None:
    """Load the plugins of the parent command in a child process."""
    load_installed_plugins()
    for file in filter(None, os.environ.get(_VARIABLE, "").split(os.pathsep)):
        load_plugin(file)


def load_installed_plugins() -> None:
    """Import the installed plugins of the entry point group ``gpnn.plugins``."""
    for entry in entry_points(group="gpnn.plugins"):
        try:
            entry.load()
        except Exception as error:
            raise InputError(
                f"The installed plugin {entry.name} ({entry.value}) failed: "
                f"{type(error).__name__}: {error}. Fix or uninstall it."
            ) from error
