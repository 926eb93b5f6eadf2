"""A study of relevance from end to end: files, details and figures, also of its folder opened again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from data.make_relevance import simulate
from metaeval.base.errors import MetaevalError
from metaeval.cli import main
from metaeval.kinds.relevance.data.loading import save
from metaeval.reports.sheets import render
from metaeval.runs.finished import open_run
from metaeval.trust.analyses import details_of, write_figures

if TYPE_CHECKING:
    from pathlib import Path

STUDY = """\
kind: relevance
dataset: {data}
truth: Labels('oracle')
evaluators:
  human: "Labels('human')"
  judge: "Labels('judge')"
  likeness: "ItemSimilarity(fields=['genres'])"
  asked: "Relevance('simulated/one,noise=0.1', fields=['title', 'genres'], labels=5)"
measures: [nDCG@5]
system_agreement: [{{truth: nDCG@5, judge: "Compat(p=0.8)"}}]
ablations:
  - base: asked
    vary: {{history: [0, 2], fields: [[title]], criteria: [sum]}}
    repeats: 2
bootstrap: {{resamples: 40}}
tests: {{permutations: 60}}
judging: {{store: {store}}}
"""
"""The truth is what the simulated users really like, so that labels of people are compared too."""

PROMISED = {
    "correlations.csv": "evaluator aspect level coefficient estimate ci_low ci_high n_units n_undefined",
    "agreement.csv": "evaluator gap agreement tie disagreement n_pairs",
    "systems.csv": "evaluator measure system value ci_low ci_high n_users judged",
    "system_agreement.csv": "evaluator measure truth_measure tau ci_low ci_high weighted_tau tau_ap",
}
"""File → columns that other programs rely on."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished run."""
    place = tmp_path_factory.mktemp("relevance")
    save(simulate(users=10, items=50, history=6, pool=3, length=6), place / "data", "csv")
    study = place / "study.yaml"
    study.write_text(STUDY.format(data=place / "data", store=place / "store.sqlite"), encoding="utf-8")
    return me.run(study, place / "run").folder


def test_the_folder_has_the_tables_that_are_promised(folder: Path) -> None:
    for file, promised in PROMISED.items():
        assert set(promised.split()) <= set(pd.read_csv(folder / file, nrows=1)), file


def test_true_labels_order_systems_as_the_truth_and_rows_are_of_every_evaluator(folder: Path) -> None:
    orders = pd.read_csv(folder / "system_agreement.csv").set_index("evaluator")
    assert "Labels('oracle')" in orders.index
    assert {"human", "judge", "asked", "asked, fields title, repeat 2"} <= set(orders.index)
    assert orders["n_systems"].eq(14).all()
    pairs = pd.read_csv(folder / "agreement.csv")
    assert (pairs["agreement"] + pairs["tie"] + pairs["disagreement"]).to_numpy() == pytest.approx(1)


def test_labels_of_models_are_not_those_of_people(folder: Path) -> None:
    run = open_run(folder)
    assert run.raters is not None
    assert set(run.raters["rater"]) == {"human", "oracle"}
    (people,) = [sheet for sheet in details_of(folder) if sheet.name == "people"]
    lines = people.frame[["who", "against"]].to_numpy().tolist()
    assert lines == [["human", "oracle"]]


def test_ablations_are_a_row_per_variant_and_the_repeats_have_replies_of_their_own(folder: Path) -> None:
    frame = pd.read_csv(folder / "ablations.csv", keep_default_na=False)
    variants = [("", ""), ("history", "0"), ("history", "2"), ("fields", "title"), ("criteria", "sum")]
    assert list(zip(frame["argument"], frame["value_of"], strict=True)) == variants
    assert (frame["repeats_low"].astype(float) < frame["repeats_high"].astype(float)).any()
    sheet = next(sheet for sheet in details_of(folder) if sheet.name.startswith("ablation"))
    assert sheet.frame["evaluator"].tolist() == frame["evaluator"].tolist()


def test_a_run_that_is_opened_again_gives_the_same_details(folder: Path) -> None:
    again = list(details_of(folder))
    assert len(again) > 10
    assert (folder / "details.md").read_text(encoding="utf-8").endswith(render(again, "md"))


def test_figures_are_drawn_from_the_folder(folder: Path, tmp_path: Path) -> None:
    names = [path.stem for path in write_figures(folder, ("csv",), tmp_path)]
    assert {"agreement", "system_values", "label_curve"} <= set(names)


@pytest.mark.parametrize(
    ("line", "instead", "sentence"),
    [
        ("measures: [nDCG@5]", "measures: [nDCG@x]", "'nDCG@x' cannot be read"),
        ("measures: [nDCG@5]", "measures: [Accuracy@10]", "'Accuracy@10' cannot order systems"),
        ("base: asked", "base: nobody", "there is no evaluator 'nobody'"),
        ("fields: [[title]]", "fields: [[subtitle]]", "have no field 'subtitle'"),
        ("truth: Labels('oracle')", "truth: Labels('oracl')", "did you mean 'oracle'"),
        ("Labels('judge')", "Labels('x*')", "no further rater fits 'x*'"),
    ],
)
def test_what_is_wrong_with_a_study_is_said(folder: Path, line: str, instead: str, sentence: str) -> None:
    place = folder.parent
    text = STUDY.format(data=place / "data", store=place / "store.sqlite")
    assert line in text
    study = place / "wrong.yaml"
    study.write_text(text.replace(line, instead), encoding="utf-8")
    with pytest.raises(MetaevalError) as error:
        me.run(study, place / "wrong")
    assert sentence in str(error.value)
    assert not (place / "wrong").exists()


def test_scores_of_a_collection_alone(folder: Path, tmp_path: Path) -> None:
    data, out = folder.parent / "data", tmp_path / "scores.csv"
    assert main(["score", str(data), "Labels('judge')", "Popularity()", "--out", str(out)]) == 0
    assert set(pd.read_csv(out)["evaluator"]) == {"Labels('judge')", "Popularity()"}
    assert main(["correlate", str(data), str(out), "--truth", "Labels('human')"]) == 0


SPLITS = """\
kind: relevance
dataset: {data}
truth: Labels('user')
evaluators:
  80-20: "History(newest=0.2)"
  50-50: "History(newest=0.5)"
measures: [Judged@100, nDCG@10, "RR@10"]
bootstrap: null
tests: null
"""


def test_split_ratios_of_histories_beside_a_pool(real_data: Path, tmp_path: Path) -> None:
    """Table 1 of Penha et al. (2025) on MovieLens: how much of lists a split labels, and a pool.

    Both systems are made of the older half; the pool has all that is among their first ten.
    """
    ratings = pd.read_csv(real_data / "movielens" / "ratings.csv", dtype={"userId": str, "movieId": str})
    ratings.columns = ["user_id", "item_id", "rating", "timestamp"]
    ratings = ratings[ratings["user_id"].isin(ratings["user_id"].unique()[:60])]
    ratings = ratings.sort_values(["timestamp", "user_id", "item_id"], ignore_index=True)
    place = ratings.groupby("user_id").cumcount(ascending=False)
    size = ratings.groupby("user_id")["item_id"].transform("size")
    newest = {share: ratings[place < (share * size).round()] for share in (0.2, 0.5)}
    older = ratings[place >= (0.5 * size).round()]
    popular = older["item_id"].value_counts().sort_index().sort_values(ascending=False, kind="stable")
    lists = {}
    for user in ratings["user_id"].unique():
        seen = set(older.loc[older["user_id"] == user, "item_id"])
        new = [item for item in popular.index if item not in seen]
        lists[user] = {"popular": new[:100], "niche": new[::-1][:100]}
    lines = [
        f"{user} Q0 {item} {rank} {101 - rank} {system}"
        for user, of in lists.items()
        for system, items in of.items()
        for rank, item in enumerate(items, 1)
    ]
    (tmp_path / "runs").write_text("\n".join(lines))
    pool = [
        f"{u} 0 {i} {int(i) % 3}" for u, of in lists.items() for i in {*of["popular"][:10], *of["niche"][:10]}
    ]
    (tmp_path / "user").write_text("\n".join(pool))
    ratings.to_csv(tmp_path / "histories.csv", index=False)
    given = f"--qrels user={tmp_path / 'user'} --runs {tmp_path / 'runs'} "
    given += f"--histories {tmp_path / 'histories.csv'}"
    assert main(["data", "import", "collection", *given.split(), "--out", str(tmp_path / "data")]) == 0
    (tmp_path / "study.yaml").write_text(SPLITS.format(data=tmp_path / "data"), encoding="utf-8")
    folder = me.run(tmp_path / "study.yaml", tmp_path / "run").folder
    judged = pd.read_csv(folder / "judged.csv").set_index(["evaluator", "system", "cutoff"])["judged"]
    systems = pd.read_csv(folder / "systems.csv").set_index(["evaluator", "system", "measure"])["value"]
    for name, share in (("80-20", 0.2), ("50-50", 0.5)):
        liked = newest[share].groupby("user_id")["item_id"].agg(set)
        for system in ("popular", "niche"):
            shares = [len(liked[u] & set(of[system])) / 100 for u, of in lists.items()]
            assert judged[name, system, 100] == pytest.approx(np.mean(shares))
            firsts = [
                next((1 / n for n, item in enumerate(of[system][:10], 1) if item in liked[u]), 0)
                for u, of in lists.items()
            ]
            assert systems[name, system, "RR@10"] == pytest.approx(np.mean(firsts))
        # The ideal list has what nobody recommended, too: it is longer than what the lists hold.
        gains = [
            sum((item in liked[u]) / np.log2(n + 1) for n, item in enumerate(of["popular"][:10], 1))
            / sum(1 / np.log2(n + 1) for n in range(1, min(10, len(liked[u])) + 1))
            for u, of in lists.items()
        ]
        assert systems[name, "popular", "nDCG@10"] == pytest.approx(np.mean(gains))
    assert judged["80-20", "popular", 100] < judged["50-50", "popular", 100]
    assert judged["Labels('user')", "popular", 10] == 1
