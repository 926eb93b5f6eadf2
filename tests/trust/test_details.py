"""The details of a run: made of what it scored, by its own policy."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import StudyError
from metaeval.kinds.details import made_of
from metaeval.stats.agreement import krippendorff_alpha
from metaeval.trust.analyses import details_of
from tests.tiny import write_study

KEYS = ["user_id", "item_id", "generator", "aspect"]
PEOPLE = "[\"Length()\", \"Annotator('1')\", \"Annotator('2')\", \"Mean(Annotator('1'), Annotator('2'))\"]"


def run(tiny: Path, **keys: str) -> Path:
    study = write_study(tiny.parent / "s.yaml", **{"missing": "{truth: 3, score: 0}", **keys})
    return me.run(study, tiny.parent / "out").folder


@pytest.mark.parametrize(
    ("spec", "annotators", "mean"),
    [
        ("User()", "", False),
        ("Annotator('1')", "1", True),
        ("Mean(Annotator('1'), Annotator('2'))", "12", True),
        ("Mean(Annotator('1'), Annotator('2'), skip_missing=True)", "12", True),
        ("Mean(Annotator('1'), Annotator('1'))", "1", False),
        ("Mean(Annotator('1'), User())", "1", False),
        ("Mean(Mean(Annotator('1'), Annotator('2')), Annotator('3'))", "123", False),
        ("Median(Annotator('1'), Annotator('2'))", "12", False),
        ("Judge('simulated/one')", "", False),
        ("Recorded('Annotator')", "", False),
    ],
)
def test_what_an_evaluator_is_made_of(spec: str, annotators: str, mean: bool) -> None:
    found = made_of(spec)
    assert (found.annotators, found.mean) == (frozenset(annotators), mean)


@pytest.mark.slow
def test_the_sheets_of_a_run(tiny: Path) -> None:
    folder = run(tiny, evaluators=PEOPLE)
    sheets = {s.name: s for s in details_of(folder)}
    assert list(sheets) == ["measures", "people", "annotators", "attenuation", "variance", "orders"]
    assert all(s.simulated for s in sheets.values())
    # The first line is the answer: the best of people in the table.
    best = sheets["people"].frame.query("against == 'the user'").nlargest(1, "dataset").iloc[0]
    assert f"{100 * best['dataset']:.2f} with the user ({best['who']})" in sheets["people"].said
    by_pairs = sheets["measures"].frame.set_index("evaluator")["pairs_user"]
    said = f"Length puts {100 * by_pairs['Length()']:.1f} % of the pairs of units within users in the order"
    assert sheets["measures"].said.startswith(said)
    # People's lines against the users are the run's own rows.
    rows = pd.read_csv(folder / "correlations.csv").query("coefficient == 'pearson'")
    for line, name in (("1", "Annotator('1')"), ("mean of 1 and 2", "Mean(Annotator('1'), Annotator('2'))")):
        found = sheets["people"].frame.query(f"who == '{line}' and against == 'the user'").iloc[0]
        of_run = rows[(rows["evaluator"] == name) & (rows["aspect"] == "average")].set_index("level")
        for level, estimate in of_run["estimate"].items():
            assert found[level] == pytest.approx(estimate, nan_ok=True)
        as_is = sheets["attenuation"].frame.set_index("evaluator").loc[name, "correlation"]
        assert as_is == pytest.approx(of_run.loc["dataset", "estimate"])
    assert (
        sheets["variance"].frame["evaluator"].tolist()[1:] == sheets["measures"].frame["evaluator"].tolist()
    )


@pytest.mark.slow
def test_a_truth_of_annotators_and_replicates_of_a_judge(tiny: Path) -> None:
    judges = [f"Judge('simulated/one,noise=0.4', temperature=1, replicate={r})" for r in range(3)]
    folder = run(
        tiny, evaluators=str([*judges, "Annotator('1')"]), truth="\"Mean(Annotator('1'), Annotator('2'))\""
    )
    sheets = {s.name: s for s in details_of(folder)}
    assert sheets["retest"].frame["n_replicates"].tolist() == [3]
    assert sheets["retest"].simulated
    people = sheets["people"].frame
    assert people[["who", "against"]].to_numpy().tolist() == [["1", "2"]]
    attenuation = sheets["attenuation"].frame.set_index("evaluator")
    assert attenuation["truth_reliability: clear"].notna().all()
    assert attenuation.loc["Annotator('1')", "corrected: clear":].isna().all()


def test_a_run_without_annotators(tiny: Path) -> None:
    ratings = pd.read_csv(tiny / "ratings.csv", dtype=str)
    ratings[ratings["rater"] == "user"].to_csv(tiny / "ratings.csv", index=False)
    folder = run(tiny, evaluators="['Length()', 'Random(seed=0)']")
    assert [s.name for s in details_of(folder)] == ["measures", "variance", "orders"]


@pytest.mark.parametrize(
    ("aspect", "icc"), [("Complexity", 0.536), ("Engagement", 0.397), ("Relevance", 0.325)]
)
def test_annotators_of_hanna_agree_as_far_as_its_table_says(real_data: Path, aspect: str, icc: float) -> None:
    from metaeval.analysis.agreement.reliability import annotators_of

    wide = pd.read_csv(real_data / "hanna" / "hanna_wide.csv")
    keys = wide[["item_id", "generator"]].astype(str)
    code = {"Complexity": "CX", "Engagement": "EG", "Relevance": "RE"}[aspect]
    raters = pd.concat(
        [keys.assign(rater=str(r), aspect=aspect, rating=wide[f"Human {r} {code}"]) for r in (1, 2, 3)]
    )
    found = annotators_of(keys.assign(aspect=aspect, rating=wide[aspect]), raters)
    # With the usual two-way analysis of variance by hand: mean squares of stories, raters and rest.
    table = wide[[f"Human {r} {code}" for r in (1, 2, 3)]].to_numpy()
    n, k = table.shape
    stories = k * table.mean(axis=1).var(ddof=1)
    of_raters = n * table.mean(axis=0).var(ddof=1)
    total = table.var() * n * k
    rest = (total - stories * (n - 1) - of_raters * (k - 1)) / ((n - 1) * (k - 1))
    assert found.columns["icc2k"][0] == pytest.approx((stories - rest) / (stories + (of_raters - rest) / n))
    assert found.columns["icc2k"][0] == pytest.approx(icc, abs=0.001)


@pytest.mark.slow
def test_correlations_by_a_column_and_given_one(tiny: Path) -> None:
    folder = run(tiny, evaluators=PEOPLE, by="generator", bootstrap="{resamples: 50}")
    by = pd.read_csv(folder / "by.csv")
    scores, truth = pd.read_parquet(folder / "scores.parquet"), pd.read_parquet(folder / "truth.parquet")
    assert set(by["by"]) == set(truth["generator"].astype(str))
    both = truth.fillna({"rating": 3}).merge(scores[scores["evaluator"] == "Length()"], on=KEYS)
    at = by.query("evaluator == 'Length()' and level == 'dataset' and coefficient == 'pearson'")
    for (value, aspect), part in both.groupby(["generator", "aspect"], observed=True):
        [row] = at[(at["by"] == value) & (at["aspect"] == aspect)].to_dict("records")
        assert row["estimate"] == pytest.approx(part["rating"].corr(part["score"]), nan_ok=True)
        assert row["n_units"] == len(part)
    sheets = {s.name: s for s in details_of(folder, by="generator", given="generator", weights="linear")}
    assert sheets["by"].frame["estimate"].notna().any()
    assert sheets["chance"].frame["conger"].notna().all()
    ratings = pd.read_parquet(folder / "raters.parquet").query("rater != 'user' and aspect == 'clear'")
    people, weighed = (sheets[n].frame.set_index(["by", "aspect"]) for n in ("annotators-by", "chance-by"))
    for value, part in ratings.groupby("generator", observed=True):
        table = part.pivot_table("rating", "rater", ["user_id", "item_id"], observed=True)
        own = krippendorff_alpha(table, "ordinal")
        assert people.loc[(str(value), "clear"), "alpha"] == pytest.approx(own)
        assert weighed.loc[(str(value), "clear"), "n_units"] == table.notna().all().sum()
    given = sheets["given"].frame.set_index(["evaluator", "aspect"])
    deviations = both.groupby(["generator", "aspect"], observed=True)[["rating", "score"]].transform(
        lambda v: v - v.mean()
    )
    for aspect, part in deviations.groupby(both["aspect"], observed=True):
        expected = part["rating"].corr(part["score"])
        assert given.loc[("Length()", aspect), "partial_pearson"] == pytest.approx(expected, nan_ok=True)
    with pytest.raises(StudyError, match="no column 'maker'"):
        run(tiny, by="maker")
