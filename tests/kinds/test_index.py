"""How a kind of study is found, and that no file of somebody else is imported."""

from __future__ import annotations

import importlib.util
import sys
from importlib import metadata
from pathlib import Path

import pytest

from metaeval.base.errors import MetaevalError, StudyError
from metaeval.kinds import index as kinds
from metaeval.kinds.index import KINDS, kind_named
from metaeval.kinds.reading import make_study
from metaeval.kinds.registry import register
from tests.kinds.toy import YES_NO, YesNo

IMPORTED = "from pathlib import Path\nPath('imported').touch()\nfrom tests.kinds.toy import YES_NO\n"


@pytest.fixture(autouse=True)
def apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep what a test registers to itself, in a working directory with the module ``strange``."""
    monkeypatch.setitem(KINDS, "yes-no", YES_NO)  # so that it is taken away again
    del KINDS["yes-no"]
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    monkeypatch.delenv(kinds.VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "strange.py").write_text(IMPORTED, encoding="utf-8")
    sys.modules.pop("strange", None)


def test_a_file_never_says_what_to_import(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"METAEVAL_KINDS=strange:YES_NO"):
        make_study({"kind": "strange:YES_NO", "dataset": "data", "evaluators": ["Yes()"]})
    with pytest.raises(MetaevalError, match="a kind of your own is named in METAEVAL_KINDS"):
        kind_named("yes-no")
    assert not (tmp_path / "imported").exists()


def test_the_environment_names_kinds_and_nothing_else_of_the_working_directory_is_imported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "optional.py").touch()  # such as a client's library tries to import
    assert kind_named("explanations").name == "explanations"
    assert importlib.util.find_spec("optional") is None
    monkeypatch.setenv(kinds.VARIABLE, "strange:YES_NO, tests.kinds.toy:YES_NO")
    assert kind_named("yes-no") is YES_NO
    assert (tmp_path / "imported").exists()
    assert importlib.util.find_spec("optional") is None


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("strange:NO", "'strange:NO' cannot be imported"),
        ("strange", "'strange' is not a StudyKind"),
        ("nowhere:YES_NO", "No module named 'nowhere'"),
        ("strange:Path", "is not a StudyKind"),
    ],
)
def test_what_the_environment_names_and_is_not_there(
    monkeypatch: pytest.MonkeyPatch, named: str, message: str
) -> None:
    monkeypatch.setenv(kinds.VARIABLE, named)
    with pytest.raises(MetaevalError, match=message):
        kind_named("yes-no")
    assert kind_named("explanations").name == "explanations"


def test_an_installed_package_offers_kinds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    info = tmp_path / "offers-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: offers\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[metaeval.kinds]\nyes-no = tests.kinds.toy:YES_NO\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [p.name for p in metadata.entry_points(group=KINDS.group)] == ["yes-no"]
    assert kind_named("yes-no") is YES_NO


def test_a_registered_kind_and_a_name_that_is_taken() -> None:
    register("yes-no", YES_NO)
    register("yes-no", YES_NO)
    assert kind_named("yes-no") is YES_NO
    with pytest.raises(MetaevalError, match="registered already"):
        register("yes-no", YesNo())
    with pytest.raises(MetaevalError, match="did you mean 'yes-no'"):
        kind_named("yesno")
