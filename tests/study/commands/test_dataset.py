"""The data set of a finished run, found again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from metaeval.base.errors import MetaevalError
from metaeval.runs.finished import open_run
from metaeval.study.commands.dataset import NONE, column_of, data_of
from tests.study.runs import tiny_in, tiny_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from metaeval.runs.finished import OpenRun

USERS = "user_id,age\nu1,20\nu2,\nu3,30\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with tiny_in(tmp_path_factory.mktemp("made")) as folder:
        (folder / "tiny" / "users.csv").write_text(USERS, encoding="utf-8")
        tiny_run(folder, "out", dataset="tiny", exclude="{generator: [long]}")
        return folder


@pytest.fixture
def run(made: Path, fresh: Callable[[Path], Path]) -> OpenRun:
    return open_run(fresh(made) / "out")


def test_it_is_the_data_without_what_the_study_excludes(run) -> None:
    data = data_of(run)
    assert set(data.explanations["generator"]) == {"short", "none|such"}
    assert data.fingerprint == run.record.data.fingerprint


def test_it_may_lie_elsewhere_but_must_be_the_same(run) -> None:
    Path("tiny").rename("moved")
    with pytest.raises(MetaevalError, match=r"there is no data set .* with --data"):
        data_of(run)
    assert len(data_of(run, "moved")) == 12
    path = Path("moved/users.csv")
    path.write_text(path.read_text(encoding="utf-8").replace("30", "31"), encoding="utf-8")
    with pytest.raises(MetaevalError, match="is not the one that the run"):
        data_of(run, "moved")


def test_columns_of_users_of_units_and_of_the_run_itself(run) -> None:
    by_user = column_of(run, "age")
    assert by_user.to_dict("list") == {"user_id": ["u1", "u2", "u3"], "category": ["20", NONE, "30"]}
    assert list(column_of(run, "reference").columns) == ["user_id", "item_id", "generator", "category"]
    with pytest.raises(MetaevalError, match=r"no column 'agee'; did you mean 'age'\? .*reference, age"):
        column_of(run, "agee")
    Path("tiny").rename("gone")
    of_run = column_of(run, "generator")
    assert sorted(of_run["category"]) == ["none|such", "short"]
    assert list(of_run["category"]) == list(of_run["generator"])
