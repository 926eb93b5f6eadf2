"""Docstrings as they were written, and names as links: ``DataError`` is found in `metaeval.base.errors`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils.nodes import Text, literal
from pygments.lexers.special import TextLexer
from sphinx.util.nodes import make_refnode

if TYPE_CHECKING:
    from docutils.nodes import Element, TextElement, document
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment


def resolve(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: TextElement) -> Element | None:
    """Link a name without its module, if one object of the reference ends with it."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    if " " in target:  # a command, as the help of another writes it
        return literal(target, target)
    known = env.domains.python_domain.objects
    found = [n for n, entry in known.items() if n.endswith(f".{target}") and not entry.aliased]
    if len(found) != 1:
        return None
    entry = known[found[0]]
    return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, content, found[0])


def as_written(  # noqa: PLR0917 - Sphinx calls it so
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Leave what is said of an attribute as it was written.

    Napoleon takes what stands before a colon in the first line for the attribute's type, and ours are
    sentences: it is given an empty comment first. What Python itself says of a named tuple's field goes.
    """
    if what in {"attribute", "data", "property"}:
        said = [] if lines and lines[0].startswith("Alias for field number") else list(lines)
        lines[:] = ["..", "", *said]


def dashes(app: Sphinx, doctree: document, docname: str) -> None:
    """Put a dash between a parameter and what is said of it; those of ``--options`` stay as they are."""
    for text in list(doctree.findall(Text)):
        if (said := text.astext()).startswith(" -- "):
            text.parent.replace(text, Text(" – " + said[4:]))


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect them, and show CSV as it is."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("missing-reference", resolve)
    app.connect("doctree-resolved", dashes)
    app.add_lexer("csv", TextLexer)
    app.connect("autodoc-process-docstring", as_written, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
