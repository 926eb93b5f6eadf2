"""``{gallery} NAME``: the report and the figures of a study, which is run while the site is built.

NAME is that of a bundled study, or of the study that the block holds.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from ruamel.yaml import YAML
from sphinx.util.docutils import SphinxDirective

from metaeval.base.files import bundled
from metaeval.study.pipeline import run
from metaeval.trust.analyses import write_figures

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_DRAWN = "_build/gallery"
_REPORTS = "_build/reports/reports"
"""What stands below ``_build/reports`` is copied to the top of the site."""


class Gallery(SphinxDirective):
    """The report of a study, to be opened, and a picture of each figure that it has."""

    has_content = True
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Run the study and return a link to its report, and its pictures."""
        (name,) = self.arguments
        with tempfile.TemporaryDirectory() as folder:
            content = "\n".join(self.content) or bundled(f"studies/{name}.yaml").read_text(encoding="utf-8")
            study = YAML(typ="safe").load(io.StringIO(content))
            own = {"judging": {"store": f"{folder}/replies.sqlite"}, "tests": None}
            run({**study, **own, "bootstrap": {"resamples": 500}}, f"{folder}/{name}")
            reports = Path(self.env.srcdir) / _REPORTS
            reports.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(f"{folder}/{name}/report.html", reports / f"{name}.html")
            # An SVG would be set in whatever fonts its reader has.
            drawn = write_figures(f"{folder}/{name}", ["png"], Path(self.env.srcdir) / _DRAWN / name)
        link = nodes.reference("", "Open the report", refuri=f"reports/{name}.html")
        # One with a width links to the whole picture, which a phone shows too small.
        pictures = [
            nodes.image(
                uri=f"/{_DRAWN}/{name}/{path.name}",
                alt=path.stem.replace("_", " "),
                width="100%",
                classes=["drawn"],
            )
            for path in drawn
            if path.suffix == ".png"
        ]
        return [nodes.paragraph("", "", link), *pictures]


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the directive known."""
    app.add_directive("gallery", Gallery)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
