"""Notebooks can be opened elsewhere, where their first cell installs what they need from the repository."""

from __future__ import annotations

import importlib.util
import json
import tomllib
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.conftest import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REPOSITORY = PROJECT["urls"]["Source"]
INSTALLED = f'pip install "git+{REPOSITORY}"'
"""How everything says that metaeval is installed, as long as no index has it."""


def cells(path: Path, kind: str) -> list[str]:
    content = json.loads(path.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == kind]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_badge_opens_the_notebook_of_the_repository(path: Path) -> None:
    owner, here = REPOSITORY.removeprefix("https://github.com/"), path.relative_to(ROOT).as_posix()
    first = cells(path, "markdown")[0]
    assert f"(https://colab.research.google.com/github/{owner}/blob/main/{here})" in first
    assert f"(https://mybinder.org/v2/gh/{owner}/main?labpath={quote(here, safe='')})" in first


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.parametrize("there", [True, False])
def test_the_first_cell_installs_what_is_not_there(
    path: Path, there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    transformers = pytest.importorskip("IPython.core.inputtransformer2")
    code = transformers.TransformerManager().transform_cell(cells(path, "code")[0])
    asked = []

    class Shell:
        def run_line_magic(self, name: str, line: str) -> None:
            asked.append(f"{name} {line}".replace(" --quiet", ""))

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: there or None)
    exec(code, {"get_ipython": Shell})  # noqa: S102 - our own notebooks
    assert asked == ([] if there else [INSTALLED])


@pytest.mark.parametrize(
    "file",
    [
        "README.md",
        "llms.txt",
        "skills/metaeval/SKILL.md",
        "docs/examples/gate.yml",
        "docs/examples/leaderboard.yml",
    ],
)
def test_all_say_the_same_about_how_to_install(file: str) -> None:
    assert INSTALLED in (ROOT / file).read_text(encoding="utf-8")


def test_the_action_installs_what_readme_does() -> None:
    """Its own checkout, which is that of the repository; in the files for people, a clone is named too."""
    action = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert 'pip install --quiet "${VERSION:-$GITHUB_ACTION_PATH}"' in action
    assert f"git+{REPOSITORY}@" in action
    for file in ("README.md", "llms.txt"):
        assert "`pip install .` in " in (ROOT / file).read_text(encoding="utf-8")
