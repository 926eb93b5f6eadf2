"""Which runs can be compared, and on what."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest

from metaeval.base.errors import MetaevalError
from metaeval.runs.joint import join_runs, run_names
from tests.study.runs import tiny_run
from tests.tiny import write_tiny


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a data set and of the run ``base``; each test adds the run that it needs."""
    folder = tmp_path_factory.mktemp("joining")
    write_tiny(folder / "tiny")
    tiny_run(folder, "base")
    return folder


@pytest.mark.parametrize(
    ("folders", "names"),
    [
        (["x/a", "x/b"], ["a", "b"]),
        (["x/a", "y/a", "b"], ["x/a", "y/a", "b"]),
        (["a/x/o", "b/x/o"], ["a/x/o", "b/x/o"]),
        (["a", "./a", "b/../a"], ["a", "a (2)", "a (3)"]),
        (["ba", "a"], ["ba", "a"]),
    ],
)
def test_names_tell_folders_apart(folders: list[str], names: list[str]) -> None:
    assert run_names(folders) == {name: Path(f) for name, f in zip(names, folders, strict=True)}


@pytest.mark.slow
def test_the_same_units_and_evaluators(base: Path) -> None:
    other = tiny_run(base, "other", evaluators='["Length()", "ChrF()"]')
    joined = join_runs([base / "base", other])
    assert joined.columns["Length()"] == {"base": "Length() @ base", "other": "Length() @ other"}
    assert joined.columns["ChrF()"] == {"other": "ChrF() @ other"}
    assert joined.scores.evaluators == (
        "Random(seed=0) @ base",
        "Length() @ base",
        "Annotator('1') @ base",
        "Recorded('Judge & Co_1') @ base",
        "Length() @ other",
        "ChrF() @ other",
    )
    assert joined.notes == ("Compared on the 18 units that all runs have.",)
    assert joined.scores.simulated
    pd.testing.assert_frame_equal(joined.truth, pd.read_parquet(base / "base" / "truth.parquet"))


@pytest.mark.slow
def test_what_one_run_leaves_out_is_left_out_and_said(base: Path) -> None:
    first = tiny_run(base, "first", exclude="{user_id: [u1]}", aspects="[clear]")
    second = tiny_run(base, "second", exclude="{user_id: [u3], generator: [short]}")
    joined = join_runs([first, second])
    assert set(joined.truth["user_id"]) == {"u2"}
    assert set(joined.truth["generator"]) == {"long", "none|such"}
    assert set(joined.truth["aspect"]) == {"clear"}
    text = " ".join(joined.notes)
    assert "Compared on the 4 units that all runs have." in text
    assert "Left out are 8 of the 12 of first and 4 of the 8 of second." in text
    assert "Only the aspects of all runs are compared: clear." in text
    assert "The runs' data differ" in text


def test_another_policy_is_refused_until_one_is_named(base: Path) -> None:
    other = tiny_run(base, "dropping", missing="{truth: drop, score: drop}")
    with pytest.raises(
        MetaevalError,
        match=r"different policies \(missing is 'truth 3, score 0' in base and 'truth drop, score drop' in "
        r"dropping\); choose one for all runs with: metaeval compare --policy-of RUN",
    ):
        join_runs([base / "base", other])
    for named in (other, "dropping"):
        joined = join_runs([base / "base", other], policy_of=named)
        assert joined.study.missing == {"truth": "drop", "score": "drop"}
        assert "all use that of dropping (missing: truth drop, score drop" in " ".join(joined.notes)
    with pytest.raises(
        MetaevalError, match=r"no run 'droping' .*did you mean 'dropping'\? \(runs: base, dropp"
    ):
        join_runs([base / "base", other], policy_of="droping")


def changed_data(base: Path, name: str, file: str, old: str, new: str) -> Path:
    """Return the folder of a data set with something replaced, and of the run on it."""
    folder = base / name
    shutil.copytree(base / "tiny", folder / "tiny")
    path = folder / "tiny" / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    return tiny_run(folder, name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "file", "old", "new", "message"),
    [
        (
            "rated",
            "ratings.csv",
            "u2,i1,short,user,clear,4",
            "u2,i1,short,user,clear,5",
            r"their truth differs on 1 of the 18 units",
        ),
        (
            "scaled",
            "dataset.yaml",
            "max: 5",
            "max: 6",
            "the scale is integers from 1 to 5 in base and integers f",
        ),
    ],
)
def test_other_data_are_refused(base: Path, name: str, file: str, old: str, new: str, message: str) -> None:
    other = changed_data(base, name, file, old, new)
    with pytest.raises(MetaevalError, match=rf"^base and {name} cannot be compared: {message}"):
        join_runs([base / "base", other])


def test_an_answer_that_only_one_run_has_is_another_truth(base: Path) -> None:
    other = changed_data(
        base, "answered", "ratings.csv", "none|such,user,fitting,\n", "none|such,user,fitting,2\n"
    )
    with pytest.raises(MetaevalError, match="truth differs on 1 of the 18 units"):
        join_runs([base / "base", other])


def test_simulated_beside_real_data_is_said_first_and_loudly(base: Path) -> None:
    other = changed_data(base, "real", "dataset.yaml", "simulated: true", "simulated: false")
    joined = join_runs([base / "base", other])
    assert joined.notes[0] == "SIMULATED AND REAL DATA ARE COMPARED: base simulated, real not."
    assert joined.scores.simulated


def without_users(base: Path) -> Path:
    """Return a run on the units of the first user, of which nobody says whose they are."""
    folder = base / "nobody"
    write_tiny(folder / "tiny")
    for file in (folder / "tiny").glob("*.csv"):
        frame = pd.read_csv(file, dtype=str, keep_default_na=False)
        frame[frame["user_id"] == "u1"].drop(columns="user_id").to_csv(file, index=False)
    return tiny_run(folder, "nobody")


@pytest.mark.slow
def test_runs_with_nothing_in_common(base: Path) -> None:
    one = tiny_run(base, "one", exclude="{user_id: [u1]}", aspects="[clear]")
    rest = tiny_run(base, "rest", exclude="{user_id: [u2, u3]}", aspects="[clear]")
    fitting = tiny_run(base, "fitting", aspects="[fitting]")
    annotated = tiny_run(base, "annotated", truth="\"Annotator('1')\"", evaluators="[Length()]")
    for folders, message in (
        (
            [one, rest],
            r"no unit in common \(the first is u2 / i1 / short in one and u1 / i1 / short in rest\)",
        ),
        ([one, fitting], r"no aspect in common \(one: clear; fitting: fitting\)"),
        ([base / "base", annotated], r"the truth is User\(\) in base and Annotator\('1'\) in annotated"),
        (
            [base / "base", without_users(base)],
            "what names a unit is user_id, item_id, generator in base and item_",
        ),
    ):
        with pytest.raises(MetaevalError, match=message):
            join_runs(folders)
