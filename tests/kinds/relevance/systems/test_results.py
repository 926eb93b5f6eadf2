"""All that labels say of the systems of a made-up collection, as tables, sheets, figures and files."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pandas as pd
import pytest

from metaeval.base.errors import MetaevalError
from metaeval.base.records import Scale
from metaeval.base.simulation import REAL
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.sheet import value_text
from metaeval.kinds.relevance import files
from metaeval.kinds.relevance.data.collection import Collection
from metaeval.kinds.relevance.systems.agreement import MeasurePair
from metaeval.kinds.relevance.systems.figures import system_figures
from metaeval.kinds.relevance.systems.labels import Judgements
from metaeval.kinds.relevance.systems.results import SystemOptions, systems_found
from metaeval.kinds.relevance.systems.sheets import system_sheets

OPTIONS = SystemOptions(
    ["nDCG@10", "P@5"],
    [MeasurePair("Compat(p=0.9)", "nDCG@10"), MeasurePair("nDCG@10", "nDCG@10")],
    Bootstrap(resamples=200),
    judges=["noisy", "counts"],
    signatures={"noisy": "1a2b3c"},
)


@pytest.fixture(scope="module")
def tables(made_up):
    data, judgements = made_up
    return systems_found(data, judgements, "human", OPTIONS)


def test_files_and_their_columns(tables):
    systems, agreement = tables[files.SYSTEMS], tables[files.SYSTEM_AGREEMENT]
    assert list(systems)[:8] == [
        "evaluator",
        "measure",
        "system",
        "value",
        "ci_low",
        "ci_high",
        "n_users",
        "judged",
    ]
    assert len(systems) == 2 * 3 * 14
    assert (systems["ci_low"] <= systems["value"]).all()
    assert (systems["value"] <= systems["ci_high"]).all()
    assert agreement["evaluator"].tolist() == ["human", "noisy"] * 2
    assert agreement["coverage"].eq(1).all()
    own = agreement.set_index(["measure", "evaluator"]).loc["nDCG@10", "human"]
    assert (own["tau"], own["ci_low"], own["ci_high"]) == (1, 1, 1)
    assert tables[files.NOTES]["note"].str.startswith("counts cannot measure systems").tolist() == [True]


def test_more_labels_per_user_keep_the_order_better_and_then_no_longer(tables):
    curve = tables[files.CURVE]
    for _, rows in curve.groupby("evaluator"):
        taus = rows["tau"].to_numpy()
        assert taus[0] < taus[-1]
        assert taus[-1] - taus[-2] < taus[1] - taus[0]  # it flattens
        assert rows["labels_per_user"].is_monotonic_increasing
    whole = tables[files.SYSTEM_AGREEMENT].query("measure != truth_measure").set_index("evaluator")["tau"]
    assert curve.groupby("evaluator")["tau"].last().to_dict() == pytest.approx(whole.to_dict())


def test_systems_left_out_of_the_pool_lose_what_only_they_brought_in(tables, made_up):
    data, judgements = made_up
    frame = tables[files.LEFT_OUT].query("measure == 'P@5'").set_index("system")
    ranked_by = data.runs.groupby(["user_id", "item_id"])["system"].nunique()
    labelled = judgements.units[~np.isnan(judgements.labels["human"])]
    alone = pd.MultiIndex.from_frame(labelled).intersection(ranked_by[ranked_by == 1].index)
    of_system = data.runs.set_index(["user_id", "item_id"])["system"].loc[alone].value_counts()
    assert frame["n_labels"].to_dict() == {s: of_system.get(s, 0) for s in frame.index}
    assert (frame["value_without"] <= frame["value"]).all()
    assert (frame["value_without"] < frame["value"]).any()


def test_gaps_of_labels(tables):
    judged = tables[files.JUDGED].query("cutoff == 10").groupby("evaluator")["judged"].mean()
    assert judged["noisy"] == 1
    assert 0.85 < judged["human"] < 0.95
    unjudged = tables[files.UNJUDGED]
    assert set(unjudged["other"]) == {"nDCG@10, judged only", "P@5, judged only", "Bpref", "infAP"}
    complete = unjudged.query("evaluator == 'noisy' and other == 'P@5, judged only' and measure == 'P@5'")
    assert complete[["tau", "places"]].iloc[0].tolist() == [1, 0]


def test_what_each_source_picks(tables):
    picked = tables[files.SELECTION].drop_duplicates("source").set_index("source")
    assert picked["best"].to_dict().keys() == {"human", "noisy", "histories"}
    assert picked.loc["human", ["best", "disagreements"]].tolist() == ["s13", 0]
    values = tables[files.SELECTION].pivot_table(index="system", columns="source", values="value")
    pairs = itertools.combinations(values.to_dict("records"), 2)
    against = sum((a["human"] - b["human"]) * (a["histories"] - b["histories"]) < 0 for a, b in pairs)
    assert picked.loc["histories", "disagreements"] == against > 0


def test_labels_of_what_nobody_labelled_are_a_file_in_the_format_of_trec(tables, made_up, tmp_path):
    import ir_measures

    _, judgements = made_up
    path = tmp_path / "holes.qrels"
    path.write_text(tables["holes.noisy.qrels"], encoding="utf-8")
    read = list(ir_measures.read_trec_qrels(str(path)))
    unlabelled = np.isnan(judgements.labels["human"])
    assert len(read) == unlabelled.sum() > 0
    assert {r.iteration for r in read} == {"noisy:1a2b3c"}
    units = judgements.units[unlabelled]
    assert [(r.query_id, r.doc_id) for r in read] == list(
        zip(units["user_id"], units["item_id"], strict=True)
    )
    assert [r.relevance for r in read] == judgements.labels["noisy"][unlabelled].tolist()
    assert tables["holes.csv"].to_dict("records") == [
        {
            "file": "holes.noisy.qrels",
            "evaluator": "noisy",
            "signature": "1a2b3c",
            "iteration": "noisy:1a2b3c",
            "n_labels": len(read),
            "n_left_out": 0,
        }
    ]


def test_a_judge_of_the_same_family_as_a_system_is_warned_of(made_up):
    data, judgements = made_up
    renamed = {"s02": "gpt-4o rerank", "s03": "GPT4 zero", "s05": "llama-3-ft", "s06": "adapt5"}
    runs = data.runs.assign(system=data.runs["system"].replace(renamed))
    data = dataclasses.replace(data, runs=runs)
    options = dataclasses.replace(OPTIONS, details=False, models={"noisy": "openai/gpt-5-mini"})
    (row,) = systems_found(data, judgements, "human", options)[files.FAMILIES].to_dict("records")
    assert (row["family"], row["systems"], row["n_own"]) == ("gpt", "gpt-4o rerank, GPT4 zero", 2)
    assert row["ci_low"] <= row["gain"] <= row["ci_high"]
    own = dataclasses.replace(options, families={"ours": ["adapt5"]}, models={"noisy": "adapt5-large"})
    assert systems_found(data, judgements, "human", own)[files.FAMILIES]["family"].tolist() == ["ours"]


def test_sheets_and_figures_are_made_of_the_files_alone(tables, tmp_path):
    read = {}
    for name, table in tables.items():
        if isinstance(table, pd.DataFrame):
            table.to_csv(tmp_path / name, index=False)
            read[name] = pd.read_csv(tmp_path / name)
    sheets = {sheet.name: sheet for sheet in system_sheets(read, "Brackets hold 95 % intervals.", REAL)}
    assert list(sheets) == [
        "system_agreement", "systems", "system_decisions", "system_popularity", "label_curve", "judged",
        "unjudged", "left_out", "model_selection", "candidates",
    ]  # fmt: skip
    for sheet in sheets.values():
        for column in sheet.columns:
            assert [value_text(v, column.form) for v in sheet.frame[column.name]]
        assert all(note.endswith(".") for note in sheet.notes), sheet.notes
    assert any(n.startswith("counts cannot measure systems") for n in sheets["system_agreement"].notes)
    assert list(sheets["candidates"].frame) == ["system", "human", "noisy", "histories"]
    figures = {figure.sheet.name: figure for figure in system_figures(read, "human", REAL, {})}
    assert list(figures) == ["system_values", "label_curve"]
    chosen = figures["system_values"].chosen()
    assert chosen["evaluator"] == "noisy"
    assert len(figures["system_values"].spec(chosen)["data"]["values"]) == 14


def test_results_do_not_depend_on_the_order_of_rows(made_up, tables):
    data, judgements = made_up
    order = np.random.default_rng(1).permutation(len(judgements.units))
    other = Judgements(
        judgements.units.iloc[order].reset_index(drop=True),
        {n: v[order] for n, v in judgements.labels.items()},
    )
    again = systems_found(data, other, "human", OPTIONS)
    pd.testing.assert_frame_equal(again[files.CURVE], tables[files.CURVE])
    assert again[files.SYSTEM_AGREEMENT]["tau"].tolist() == tables[files.SYSTEM_AGREEMENT]["tau"].tolist()


def test_one_system_one_user_and_no_bootstrap():
    units = pd.DataFrame({"user_id": ["u"], "item_id": ["i"]})
    judgements = Judgements.of(units, {"human": np.ones(1), "other": np.zeros(1)}, Scale(0, 1))
    data = Collection(units, units, {}, Scale(0, 1), units.assign(system="s", rank=1))
    tables = systems_found(data, judgements, "human", dataclasses.replace(OPTIONS, bootstrap=None))
    assert tables[files.SYSTEM_AGREEMENT]["tau"].isna().all()
    assert tables[files.SYSTEMS]["value"].tolist()[0] == 1
    assert (
        len(list(system_sheets({k: v for k, v in tables.items() if isinstance(v, pd.DataFrame)}, "", REAL)))
        > 5
    )
    few = systems_found(data, judgements, "human", OPTIONS)[files.SYSTEM_AGREEMENT]
    assert few["no_interval"].unique().tolist() == ["few_clusters"]


def test_a_truth_that_is_not_on_the_scale_is_said(made_up):
    data, judgements = made_up
    with pytest.raises(MetaevalError, match="counts cannot measure systems"):
        systems_found(data, judgements, "counts", OPTIONS)
    assert (
        systems_found(dataclasses.replace(data, runs=data.runs.iloc[:0]), judgements, "human", OPTIONS) == {}
    )
