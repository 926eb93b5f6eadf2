"""The package as it would be published: what the wheel and the source hold, and what they declare."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT


def test_every_registration_names_something_that_is_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {"Documentation", "Source", "Issues"} <= project["urls"].keys()
    for place in (*project["scripts"].values(), *project["entry-points"]["pytest11"].values()):
        module = place.split(":")[0].replace(".", "/")
        assert (ROOT / f"{module}.py").is_file() or (ROOT / module / "__init__.py").is_file()
    named = {"datasets", "evaluate", "sacrebleu", "rouge-score", "openai", "dashscope", "pandas", "scipy"}
    assert named <= {requirement.split(">")[0] for requirement in project["dependencies"]}
    for file in ("CITATION.cff", "CONTRIBUTING.md", "SECURITY.md", "AGENTS.md", "llms.txt"):
        assert (ROOT / file).read_text(encoding="utf-8").strip()


@pytest.mark.slow
def test_the_wheel_and_the_source_are_whole(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "build", "--outdir", str(tmp_path), str(ROOT)], check=True)
    [wheel] = tmp_path.glob("*.whl")
    [source] = tmp_path.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        points = next(archive.read(n).decode() for n in names if n.endswith("entry_points.txt"))
        metadata = next(archive.read(n).decode() for n in names if n.endswith(".dist-info/METADATA"))
    assert {"metaeval/_bundled/studies/demo.yaml", "metaeval/_bundled/data/sample/dataset.yaml"} <= {*names}
    assert "metaeval/py.typed" in names
    assert not [n for n in names if n.startswith(("tests/", "docs/"))]
    assert "[pytest11]" in points
    assert "Requires-Dist: scikit-learn>=1.6; extra == 'exposure'" in metadata
    with tarfile.open(source) as archive:
        inside = {name.split("/", 1)[-1] for name in archive.getnames()}
    assert {"Makefile", "CHANGELOG.md", "tests/conftest.py", "docs/index.md"} <= inside
