"""Mathematics as MathML: browsers draw it themselves, without a script and without a network."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import pick_math_environment
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

__all__ = ["setup"]


def _known(text: str) -> str:
    r"""``\big`` and ``\dots`` as docutils knows them: sized delimiters come in pairs."""
    text = re.sub(r"\\([bB]igg?)(?=[(\[]|\\[{]|\\langle)", r"\\\1l", text)
    text = re.sub(r"\\([bB]igg?)(?=[)\]]|\\[}]|\\rangle)", r"\\\1r", text)
    text = re.sub(r"\\[bB]igg?(?![a-zA-Z])", "", text)
    return re.sub(r"\\dots(?![a-zA-Z])", r"\\ldots", text)


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(tex2mathml(_known(node.astext())))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    text = _known(node.astext())
    if pick_math_environment(text).startswith("align"):
        text = rf"\begin{{aligned}}{text}\end{{aligned}}"
    writer.body.append(writer.starttag(node, "div", CLASS="math"))
    writer.body.append(tex2mathml(text, as_block=True))
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
