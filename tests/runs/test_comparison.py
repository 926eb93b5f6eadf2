"""Runs against each other: the numbers of one leaderboard, and tests on the units that all have."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.engine.sheet import Sheet
from metaeval.runs.comparison import compare_runs
from metaeval.stats.resampling.significance import holm
from tests.study.runs import tiny_run
from tests.tiny import write_tiny

FILLED = {"truth": 3, "score": 0}
SHARED = ["Random(seed=0)", "Length()", "Annotator('1')", "Recorded('Judge & Co_1')"]
OTHERS = '{"Random(seed=0)": Random(seed=7), "Annotator(\'1\')": "Annotator(\'2\')", Length(): Length()}'
"""Two of the shared evaluators, changed under the same names, and one that is the same."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the run ``base``, and of ``renamed`` and ``less``: other specs by the same names."""
    folder = tmp_path_factory.mktemp("comparing")
    write_tiny(folder / "tiny")
    tiny_run(folder, "base")
    tiny_run(folder, "renamed", evaluators=OTHERS)
    tiny_run(folder, "less", evaluators=OTHERS, exclude="{user_id: [u1]}")
    return folder


def sheets(*folders: Path, **options: object) -> dict[str, Sheet]:
    return {sheet.name: sheet for sheet in compare_runs(folders, **options)}


def joined(*folders: Path) -> pd.DataFrame:
    """Return the scores of runs in one frame, as a person would put them together."""
    frames = []
    for path in folders:
        frame = pd.read_parquet(path / "scores.parquet")
        frames.append(frame.assign(evaluator=frame["evaluator"] + f" @ {path.name}"))
    return pd.concat(frames, ignore_index=True)


@pytest.mark.slow
def test_a_run_against_itself_has_no_difference(folder: Path) -> None:
    found = sheets(folder / "base", folder / "base")
    assert list(found) == ["changes", "runs"]
    frame = found["runs"].frame
    assert frame["evaluator"].tolist() == SHARED
    assert frame["difference"].tolist() == [0.0] * 4
    assert frame["p"].isna().all(), "what is the same is not tested"
    pd.testing.assert_series_equal(frame["estimate @ base"], frame["estimate @ base (2)"], check_names=False)
    assert set(found["changes"].frame["key"]) == {"nothing changed"}
    assert all(sheet.simulated for sheet in found.values())


@pytest.mark.parametrize(
    "by", ["average,dataset,pearson", "clear,user,kendall", "fitting,generator,spearman"]
)
@pytest.mark.parametrize("other", ["renamed", "less"])
def test_a_test_is_that_of_the_joined_frame(folder: Path, other: str, by: str) -> None:
    aspect, level, coefficient = by.split(",")
    found = sheets(folder / "base", folder / other, by=by, seed=3, permutations=500)["runs"].frame
    truth = pd.read_parquet(folder / other / "truth.parquet")
    scores = joined(folder / "base", folder / other)
    options = {"level": level, "missing": FILLED, "units": "common"}
    expected = me.compare(
        scores[scores["user_id"].isin(truth["user_id"])],
        truth,
        aspect=aspect,
        coefficient=coefficient,
        permutations=500,
        seed=3,
        **options,
    )
    at = {name: i for i, name in enumerate(expected.evaluators)}
    assert found["p"].notna().sum() == 2, "the others' scores are the same"
    for row in found[found["first"] != found["last"]].itertuples():
        i, j = (at[f"{row.evaluator} @ {run}"] for run in (other, "base"))
        assert row.difference == pytest.approx(expected.difference[i, j])
        if math.isnan(row.p):
            assert (row.difference, expected.p[i, j]) == (0, 1)
        else:
            assert row.p == pytest.approx(expected.p[i, j])
    np.testing.assert_allclose(found["p_corrected"], holm(found["p"]))
    own = me.correlate(
        scores, truth, levels=[level], coefficients=[coefficient], missing=FILLED
    ).frame.set_index(["evaluator", "aspect"])["estimate"]
    for name in SHARED:
        row = found[found["evaluator"] == name].iloc[0]
        assert row["estimate @ base"] == pytest.approx(own[f"{name} @ base", aspect], nan_ok=True)


def test_corrections_and_the_policy_that_rules(folder: Path) -> None:
    dropping = tiny_run(
        folder,
        "dropping",
        missing="{truth: drop}",
        bootstrap="null",
        tests="{correction: bh}",
        evaluators=OTHERS,
    )
    run = folder / "base"
    with pytest.raises(MetaevalError, match="different policies"):
        compare_runs([run, dropping])
    filled, dropped = (sheets(run, dropping, policy_of=r, by="fitting,,")["runs"] for r in (run, dropping))
    assert filled.frame["n_units @ base"].tolist() == [18] * 4
    assert dropped.frame["n_units @ base"].tolist() == [17] * 4
    assert "17 units: those that all evaluators of all runs scored." in dropped.notes
    assert "few_clusters" in " ".join(filled.notes)  # three users
    assert dropped.frame["ci_low @ base"].isna().all()
    assert "Benjamini and Hochberg's correction over 2 pairs" in " ".join(dropped.notes)
    assert "Holm's correction over 2 pairs" in " ".join(filled.notes)
    none = sheets(run, folder / "renamed", correction="none")["runs"]
    assert "corrected p" not in {c.title for c in none.columns}
    pd.testing.assert_series_equal(none.frame["p_corrected"], none.frame["p"], check_names=False)


def test_one_run_by_another_column(folder: Path) -> None:
    (tests,) = compare_runs([folder / "base"], by="clear,user,kendall", permutations=300, seed=1)
    expected = me.compare(
        joined(folder / "base").replace({"evaluator": r" @ base$"}, {"evaluator": ""}, regex=True),
        pd.read_parquet(folder / "base" / "truth.parquet"),
        aspect="clear",
        level="user",
        coefficient="kendall",
        missing=FILLED,
        permutations=300,
        seed=1,
    ).frame
    expected = expected.sort_values(["p_holm", "p"], kind="stable", ignore_index=True)
    pd.testing.assert_frame_equal(tests.frame[expected.columns], expected)
    differ = int((expected["p_holm"] <= 0.05).sum())
    assert tests.title.startswith(f"Paired tests: {differ} of {len(expected)} pairs differ")


def test_all_pairs_are_ranked(folder: Path) -> None:
    found = sheets(folder / "base", folder / "renamed", all_pairs=True)
    assert list(found) == ["changes", "runs", "ranking", "tests"]
    assert len(found["tests"].frame) == 7 * 6 / 2
    assert found["ranking"].frame["verdict"].iloc[0] == "best"
    assert "No rank ranges: fewer than 6 users." in found["ranking"].notes
    assert set(found["ranking"].frame["evaluator"]) >= {"Length() @ base", "Length() @ renamed"}
    one = sheets(folder / "base", all_pairs=True)
    assert list(one) == ["ranking", "tests"]
    assert set(one["ranking"].frame["evaluator"]) == set(SHARED)


@pytest.mark.slow
def test_an_aspect_that_one_run_lacks(folder: Path) -> None:
    clear = tiny_run(folder, "clear", aspects="[clear]")
    fitting_first = tiny_run(folder, "ordered", order_by="{aspect: fitting}")
    (_, runs) = compare_runs([fitting_first, clear])
    assert "Cells hold clear, dataset level, pearson, × 100." in runs.notes
    with pytest.raises(MetaevalError, match=r"no aspect 'fitting' is in all runs \(in all: clear, average\)"):
        compare_runs([fitting_first, clear], by="fitting")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"by": "clear,user,kendall,more"},
            "the column is 'clear,user,kendall,more'; give aspect,level,coefficient",
        ),
        ({"by": "cleer"}, "did you mean 'clear'"),
        ({"by": ",usr"}, "levels: 'usr' is not allowed .*did you mean 'user'"),
        ({"by": ",,pearsn"}, "did you mean 'pearson'"),
        ({"correction": "bonferroni"}, "correction: 'bonferroni' is not allowed"),
        ({"permutations": 0}, "permutations is 0"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_wrong_options(folder: Path, options: dict[str, object], message: str) -> None:
    for folders in ([folder / "base"], [folder / "base"] * 2):
        with pytest.raises(MetaevalError, match=message):
            compare_runs(folders, **options)
