"""The documentation site: ``make docs`` builds it, without a network and without warnings."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import gpnn

project = "gpnn"
author = "the gpnn authors"
release = version = gpnn.__version__
language = "en_GB"
html_title = f"gpnn {release}"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "mathml",
    "notebook",
]
exclude_patterns = ["_build", "_ext", "results/work"]

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0072B2",
        "color-brand-content": "#0072B2",
    },
    "dark_css_variables": {
        "color-brand-primary": "#56B4E9",
        "color-brand-content": "#56B4E9",
    },
}
pygments_style = "default"

myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_inherit_docstrings = False
autodoc_default_options = {"members": True}
python_maximum_signature_line_length = 88
napoleon_use_ivar = True

# Every reference to a name of the package must lead somewhere.
nitpicky = True
nitpick_ignore_regex = [(r"py:.*", r"(?!gpnn\.).*|gpnn\.reproduce\..*\.(Estimator|Searched)")]

# Pages that the tool writes know nothing of the site, so their parents list them here.
_CHILDREN = {
    "expressivity": "expressivity",
    "benchmarks/README": "benchmarks",
    "results": "results",
}


def _list_children(_, docname, source):
    folder = _CHILDREN.get(docname)
    if folder is not None and any((Path(__file__).parent / folder).glob("*.md")):
        source[0] += f"\n```{{toctree}}\n:hidden:\n:glob:\n\n/{folder}/**\n```\n"


_ARRAY = re.compile(r"~?numpy\.ndarray\[tuple\[~?typing\.Any, \.\.\.\], ~?numpy\.dtype\[(.*?)\]\]")
_MADE = re.compile(r"<factory>|<function [^>]*>")


def _short_arrays(*event):
    """NDArray[int64] as it is written, not spelt out, in the signature and in what is returned; a
    default that is a function, or made by one, as dots, so that Sphinx can read the signature."""
    return tuple(text and _MADE.sub("...", _ARRAY.sub(r"NDArray[\1]", text)) for text in event[-2:])


def _skip_requests(_, kind, name, *__):
    """scikit-learn gives estimators methods that route metadata and refer to its own site."""
    return True if kind == "class" and re.fullmatch(r"set_\w+_request", name) else None


def setup(app):
    app.connect("autodoc-skip-member", _skip_requests)
    app.connect("autodoc-process-signature", _short_arrays)
    app.connect("source-read", _list_children)
