"""A study of relevance from end to end: files, details and figures, also of its folder opened again."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    assert lines == [["human", "Labels('oracle')"], ["human", "oracle"]]


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
