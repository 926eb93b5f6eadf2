"""How the site is built: ``make docs``; nothing is fetched, and every warning is an error."""

from __future__ import annotations

import sys
from pathlib import Path

from metaeval import __version__
from metaeval.cli import COMMANDS

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "metaeval"
author = "the metaeval developers"
release = __version__
extensions = [
    "gallery",
    "mathml",
    "myst_nb",
    "our_names",
    "site_only",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_click",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "README.md"]  # docs/README.md is for readers of the repository

nb_execution_mode = "force"  # notebooks hold no output: what they show was made by this build
nb_execution_raise_on_error = True
nb_execution_timeout = 300
myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]  # as GitHub writes a formula that stands by itself
myst_heading_anchors = 3
html_math_renderer = "mathml"

napoleon_google_docstring = False
napoleon_use_rtype = False
default_role = "py:obj"  # `name` in a docstring is a link to it
smartquotes = False  # quotes and --options are there to be typed
nitpicky = True
nitpick_ignore = [("py:obj", "evaluate"), ("py:obj", "datasets")]
nitpick_ignore_regex = [
    ("py:class", ".*")
]  # types of other libraries; what stands in backticks must be there
add_module_names = False
python_use_unqualified_type_names = True
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
autosummary_generate = True
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"metaeval {release}"
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_last_updated_fmt = None  # the pages are the same whenever they are built
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_build/reports"]  # those of the gallery's studies
(Path(__file__).parent / html_extra_path[0]).mkdir(parents=True, exist_ok=True)

# A page per command, made of the command itself.
_pages = Path(__file__).parent / "reference" / "commands"
_pages.mkdir(exist_ok=True)
for _name, _where in ((name, where) for name, where in COMMANDS.items() if " " not in name):
    _module = "frame" if ":" in _where else _where
    _place = f"metaeval.cli.{_module}:{_name.replace('-', '_')}"
    _click = f".. click:: {_place}\n   :prog: metaeval {_name}\n   :nested: full"
    _page = f"# {_name}\n\n```{{eval-rst}}\n{_click}\n```\n"
    (_pages / f"{_name}.md").write_text(_page, encoding="utf-8")
