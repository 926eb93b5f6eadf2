"""How a kind of study is found, and that no file of somebody else is imported."""

from __future__ import annotations

import sys
from importlib import metadata
from typing import TYPE_CHECKING

import pytest

from metaeval.base.errors import MetaevalError, StudyError
from metaeval.kinds import kind as kinds
from metaeval.kinds.kind import kind_named, register_kind
from metaeval.kinds.study import make_study
from tests.kinds.toy import YES_NO, YesNo

if TYPE_CHECKING:
    from pathlib import Path

IMPORTED = "from pathlib import Path\nPath('imported').touch()\nfrom tests.kinds.toy import YES_NO\n"


@pytest.fixture(autouse=True)
def apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep what a test registers to itself, in a working directory with the module ``strange``."""
    monkeypatch.setattr(kinds, "KINDS", dict(kinds.KINDS))
    monkeypatch.setattr(sys, "path", [*sys.path])
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


def test_the_environment_names_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kinds.VARIABLE, "strange:YES_NO, tests.kinds.toy:YES_NO")
    assert kind_named("yes-no") is YES_NO


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("strange:NO", "'strange:NO' cannot be imported"),
        ("strange", "'strange' cannot be imported"),
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
    assert [p.name for p in metadata.entry_points(group=kinds.GROUP)] == ["yes-no"]
    assert kind_named("yes-no") is YES_NO


def test_a_registered_kind_and_a_name_that_is_taken() -> None:
    register_kind(YES_NO)
    register_kind(YES_NO)
    assert kind_named("yes-no") is YES_NO
    with pytest.raises(MetaevalError, match="registered already"):
        register_kind(YesNo())
    with pytest.raises(MetaevalError, match="did you mean 'yes-no'"):
        kind_named("yesno")
