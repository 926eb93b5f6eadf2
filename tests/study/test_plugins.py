"""Packages that offer an evaluator and a provider: installed, and used from a study on the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.lab import KEY, lab
from tests.docs.pages import blocks
from tests.packages import pip_install
from tests.tiny import write_study

pytestmark = pytest.mark.slow

ABOUT = """\
[build-system]
requires = ["hatchling"]

[project]
name = "{package}"
version = "1.0"

[project.entry-points."{group}"]
{name} = "{value}"
"""


def write_package(folder: Path, module: str, code: str, **about: str) -> Path:
    folder.mkdir()
    (folder / "pyproject.toml").write_text(ABOUT.format(**about))
    (folder / f"{module}.py").write_text(code)
    return folder


def shown(page: str, file: str) -> str:
    return next(block.text for block in blocks(page) if block.file == file)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What pip installed: an evaluator, a provider, a package that is broken, and one with a taken name."""
    folder = tmp_path_factory.mktemp("packages")
    made = [
        ("shouting", shown("how-to/plugin.md", "shouting/shouting.py"), "evaluators", "Exclamations"),
        ("mylab", shown("how-to/own-provider.md", "mylab.py"), "providers", "mylab"),
        ("broken", "import nothing_of_this_name\n", "evaluators", "Broken"),
        ("taken", "class BLEU:\n    pass\n", "evaluators", "BLEU"),
    ]
    for module, code, group, name in made:
        value = f"{module}:{'MYLAB' if module == 'mylab' else name}"
        about = {"package": f"metaeval-{module}", "group": f"metaeval.{group}", "name": name, "value": value}
        pip_install(write_package(folder / module, module, code, **about), folder / "site")
    return folder / "site"


def metaeval(site: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", "metaeval", *arguments],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_study_uses_both(tiny: Path, site: Path) -> None:
    models = "models: {three: {model: mylab/large-1, max_tokens: 50}}"
    evaluators = """{shouts: Exclamations(weight=2), judge: "Judge('three')", both: "Mean(shouts, judge)"}"""
    study = write_study(
        tiny.parent / "study.yaml", f"{models}\ndetails: false\nbootstrap: null", evaluators=evaluators
    )
    with lab(aspects=("clear", "fitting")) as server:
        done = metaeval(
            site, "run", str(study), "--out", "run", MYLAB_API_KEY=KEY, MYLAB_BASE_URL=server.address
        )
        assert done.returncode == 0, done.stderr
        assert server.answered.count(200) == 3  # of the 18 units, those that read alike are asked once
    record = json.loads((tiny.parent / "run" / "run.json").read_text())
    assert record["evaluators"]["shouts"]["scores"] == {"ok": 36}
    assert record["evaluators"]["judge"]["scores"] == {"ok": 36}


def test_packages_that_cannot_be_used_are_one_sentence_where_they_are_named(tiny: Path, site: Path) -> None:
    done = metaeval(site, "score", str(tiny), "Broken()", "--out", "s.csv")
    assert done.returncode == 2
    assert done.stderr == (
        "metaeval: Broken(): 'Broken' is offered by the installed package metaeval-broken, but broken:Broken "
        "cannot be loaded: ModuleNotFoundError: No module named 'nothing_of_this_name'\n"
    )
    done = metaeval(site, "score", str(tiny), "BLEU()", "--out", "s.csv")
    assert done.returncode == 0
    assert "the installed package metaeval-taken offers the same name" in done.stderr
    done = metaeval(site, "score", str(tiny), "Shouts()", "--out", "s.csv")
    assert done.returncode == 2
    assert "Exclamations" in done.stderr


def test_evaluators_of_packages_are_listed_whether_they_can_be_used_or_not(site: Path) -> None:
    done = metaeval(site, "--json", "evaluators", "--kind", "explanations")
    rows = {row["of"]: row for row in json.loads(done.stdout)["evaluators"]}
    assert rows["package metaeval-shouting"]["evaluator"] == "Exclamations(weight=1.0)"
    assert rows["package metaeval-shouting"]["does"] == "How often an explanation shouts"
    assert "cannot be loaded" in rows["package metaeval-broken"]["does"]
    assert "package metaeval-taken offers the same name" in " ".join(
        metaeval(site, "evaluators").stdout.split()
    )
    # Of another kind's data: what the evaluator of a package needs is not there.
    done = metaeval(site, "--json", "evaluators", "--data", "data/slates")
    rows = {row["of"]: row for row in json.loads(done.stdout)["evaluators"]}
    assert rows["package metaeval-shouting"]["on"].startswith("no: Exclamations() needs the texts")


def test_two_packages_with_one_name(tiny: Path, site: Path, tmp_path: Path) -> None:
    about = {
        "package": "other-shouting",
        "group": "metaeval.evaluators",
        "name": "Exclamations",
        "value": "other:Exclamations",
    }
    pip_install(
        write_package(tmp_path / "other", "other", "Exclamations = dict\n", **about), tmp_path / "site"
    )
    both = os.pathsep.join([str(tmp_path / "site"), str(site)])
    done = metaeval(both, "score", str(tiny), "Exclamations()", "--out", "s.csv")  # type: ignore[arg-type]
    assert done.returncode == 2
    assert "cannot both have that name; uninstall one of them" in done.stderr
    assert "other-shouting and metaeval-shouting" in done.stderr
