"""The studies of the repository on the real data: published numbers, and the committed tables made anew."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import metaeval as me
from metaeval.kinds.explanations.data.imports.recexp import import_recexp
from metaeval.kinds.explanations.data.imports.table import import_table
from tests.conftest import ROOT

ASPECTS = ("persuasiveness", "transparency", "accuracy", "satisfaction", "average")
TABLE_1 = {
    "Annotator-1": """19.88 18.31 16.72  15.66 16.18 11.31  10.16 9.78 9.77
                         14.93 13.28 12.69  15.16 14.39 12.62""",
    "Annotator-2": """21.40 21.17 20.90  25.97 26.42 27.84  10.96 10.96 9.32
                         8.86 9.72 9.43  16.80 17.07 16.87""",
    "Average of annotators": """23.33 22.25 20.93  24.53 25.36 23.12  12.83 12.52 11.19
                                               13.90 13.54 13.16  18.65 18.42 17.10""",
}
"""The annotators of the paper's Table 1: for each aspect the dataset, user and pair level."""

HANNA_BLEU_RELEVANCE = {
    ("item", "kendall"): 0.13922033417177257,
    ("generator", "pearson"): 0.7988772238903901,
    ("dataset", "pearson"): 0.11242776621184697,
    ("dataset", "spearman"): 0.10409436871365678,
    ("dataset", "kendall"): 0.07377866242119939,
}


def compare(run_folder: Path, name: str) -> None:
    made = (run_folder / "leaderboard.md").read_text(encoding="utf-8").splitlines()
    kept = (ROOT / "results" / name / "leaderboard.md").read_text(encoding="utf-8").splitlines()
    assert made == kept


@pytest.mark.slow
def test_recexp(real_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    import_recexp(real_data / "recexp", "data/recexp")
    done = me.run(ROOT / "studies" / "recexp.yaml")
    pearson = done.leaderboard.tables[0]
    values = done.leaderboard.frame.query("coefficient == 'pearson'")
    printed = {name: list(rows["printed"]) for name, rows in values.groupby("evaluator")}
    shown = [c for c in pearson.columns if c.form == "hundred"]
    assert tuple(c.title for c in shown) == ASPECTS
    levels = ("dataset", "user", "pair")
    assert [(c.name, *c.beside) for c in shown] == [tuple(f"{a} {v}" for v in levels) for a in ASPECTS]
    for evaluator, published in TABLE_1.items():
        assert printed[evaluator] == published.split()
    ranks = done.leaderboard.ranking.frame.set_index("evaluator")
    assert ranks["rank_range"].tolist() == [
        "1–5",
        "1–10",
        "2–10",
        "1–7",
        "1–10",
        "1–10",
        "2–10",
        *["3–10"] * 3,
        "11",
    ]
    assert ranks["p_best"].tolist()[:7] == pytest.approx(
        [1, 0.23, 0.02, 0.155, 0.053, 0.025, 0.015], abs=0.006
    )
    assert ranks["better_than_baseline"].iloc[:10].all()
    # The best of another column: contributions with the wrong sign have five.
    truth = pd.read_parquet(done.folder / "truth.parquet")
    how = {"missing": {"truth": 3, "score": 0}, "permutations": 50, "level": "pair", "coefficient": "kendall"}
    kendall = me.compare(done.scores, truth, **how).ranks
    best = {name for name in kendall.of if kendall.may_be_best(name)}
    assert best == {"ChrF", "ROUGE-2-F", "Annotator-2", "Average of annotators"}
    compare(done.folder, "recexp")


@pytest.mark.slow
def test_hanna(real_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = real_data / "hanna" / "hanna_wide.csv"
    import_table(table, ROOT / "studies" / "maps" / "hanna.yaml", "data/hanna")
    done = me.run(ROOT / "studies" / "hanna.yaml")
    assert len(done.record["evaluators"]) == 92
    found = {
        (c.level, c.coefficient): c.estimate
        for c in done.correlations
        if (c.evaluator, c.aspect) == ("BLEU", "Relevance")
    }
    for key, published in HANNA_BLEU_RELEVANCE.items():
        assert math.isclose(found[key], published, rel_tol=0, abs_tol=1e-12), key
    compare(done.folder, "hanna")


def as_fraction(value: float) -> Fraction:
    """Read 3.3333333333333335 as 10/3, and what is no such fraction as the float that it is."""
    fraction = Fraction(value).limit_denominator(1000)
    return fraction if float(fraction) == value else Fraction(value)


@pytest.mark.slow
def test_hanna_generator_ranks_are_those_of_exact_arithmetic(
    real_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kendall's tau-b over generators, with means as exact fractions on both sides, for all 92 × 6."""
    monkeypatch.chdir(tmp_path)
    table = real_data / "hanna" / "hanna_wide.csv"
    import_table(table, ROOT / "studies" / "maps" / "hanna.yaml", "hanna")
    data = me.load("hanna")
    raters = [f"Annotator('{r}')" for r in "123"]
    truth = me.score(data, [f"Mean({', '.join(raters)})"]).frame.rename(columns={"score": "rating"})
    truth = truth[truth["generator"] != "Human"]
    scores = me.score(data, [f"Recorded({name!r})" for name in data.scores["evaluator"].unique()]).frame
    found = me.correlate(
        scores, truth, levels=["generator"], coefficients=["kendall"], missing={"score": "drop"}
    ).frame.set_index(["evaluator", "aspect"])["estimate"]

    ratings = data.ratings[data.ratings["generator"] != "Human"]
    sums = ratings.pivot_table("rating", "aspect", "generator", "sum")  # whole numbers: exact
    scores = scores[scores["generator"] != "Human"]
    broken = 0
    for (evaluator, aspect), frame in scores.groupby(["evaluator", "aspect"]):
        groups = {g: [as_fraction(v) for v in part] for g, part in frame.groupby("generator")["score"]}
        means = {g: sum(part) / len(part) for g, part in groups.items()}
        ranked = sorted(set(means.values()))
        ranks = [ranked.index(means[g]) for g in sums.columns]
        expected = scipy.stats.kendalltau(ranks, sums.loc[aspect]).statistic
        assert math.isclose(found[evaluator, aspect], expected, abs_tol=1e-12), (evaluator, aspect)
        parts = truth[truth["aspect"] == aspect].groupby("generator")["rating"]
        running = parts.apply(lambda part: np.cumsum(part.to_numpy())[-1] / len(part))
        broken += not math.isclose(
            scipy.stats.kendalltau(ranks, running[sums.columns]).statistic, expected, abs_tol=1e-12
        )
    assert broken > 0  # a plain running sum does move some of them: the test can fail
