"""What the site has in place of what a reader of the files sees.

``<!-- files -->`` begins a part for readers of the files, and ``<!-- site`` the directives that the site has
instead, up to ``-->``. A code host shows the first and hides the second.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PARTS = re.compile(r"(?:<!-- files -->(?P<files>.*?))?<!-- site\n(?P<site>.*?)\n-->", re.DOTALL)


def for_the_site(app: Sphinx, docname: str, content: list[str]) -> None:
    """Put the directives in the place of the part for readers of the files."""
    content[0] = PARTS.sub(r"\g<site>", content[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect it."""
    app.connect("source-read", for_the_site)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
