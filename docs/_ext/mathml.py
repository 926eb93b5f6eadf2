"""Formulas as MathML, made while the site is built: readers need neither a script nor a network.

Every current browser shows MathML. The converter is that of docutils, which Sphinx depends on anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

LOGGER = logging.getLogger(__name__)
_MATHML = "{http://www.w3.org/1998/Math/MathML}"
ET.register_namespace("", _MATHML.strip("{}"))


def inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    translator.body.append(_mathml(node, block=False))
    raise nodes.SkipNode


def block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula that stands by itself; a wide one scrolls in its own box."""
    translator.body.append(f'<div class="math-block">{_mathml(node, block=True)}</div>\n')
    raise nodes.SkipNode


def _mathml(node: nodes.Element, *, block: bool) -> str:
    try:
        formula = ET.fromstring(tex2mathml(node.astext(), as_block=block))  # noqa: S314 - our own
    except MathError as error:
        LOGGER.warning("the formula %r cannot be typeset: %s", node.astext(), error, location=node)
        return ""
    for part in formula.iter(f"{_MATHML}munderover"):
        letter, index, accent = part
        if accent.get("stretchy") == "false":
            # Not a limit, but a bar or a tilde: the index belongs beside the letter.
            part.tag = f"{_MATHML}msub"
            part[:] = [ET.Element(f"{_MATHML}mover", {"accent": "true"}), index]
            part[0][:] = [letter, accent]
    return ET.tostring(formula, encoding="unicode")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer; ``html_math_renderer = "mathml"`` chooses it."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
