"""Values of systems by topic: read from files of others, and compared as those of a study."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import DataError, MetaevalError
from metaeval.kinds.relevance.systems.agreement import system_agreement
from metaeval.kinds.relevance.systems.topics import topic_values

TREC_EVAL = """\
runid                 \tall\t{}
map                   \t301\t0.25
ndcg_cut_10           \t301\t0.5
map                   \t302\t0.75
ndcg_cut_10           \t302\t1.0
map                   \tall\t0.5
"""


def test_the_values_of_a_study_give_its_table_again(made_up, tmp_path):
    topics = topic_values(made_up)
    topics.to_parquet(tmp_path / "topics.parquet")
    again = me.read_topics(tmp_path / "topics.parquet")
    pairs = [{"truth": pair.truth, "judge": pair.judge} for pair in made_up.pairs]
    found = me.order_systems(again, "human", pairs=pairs, bootstrap={"resamples": 200})
    expected = system_agreement(made_up)
    for name in ("tau", "tau_corrected", "tau_ap_b", "rbo", "n_users"):
        assert found[name].to_numpy() == pytest.approx(expected[name].to_numpy(), abs=1e-9), name


def test_what_trec_eval_printed_and_wide_tables_are_read(tmp_path):
    (tmp_path / "a.txt").write_text(TREC_EVAL.format("bm25"))
    read = me.read_topics(tmp_path / "a.txt", evaluator="human")
    rows = [("human", "map", "bm25", "301", 0.25), ("human", "ndcg_cut_10", "bm25", "301", 0.5)]
    assert list(read.head(2).itertuples(index=False, name=None)) == rows
    assert len(read) == 4
    (tmp_path / "systems.csv").write_text("topic,bm25,dense\n301,0.25,0.5\n302,0.75,\n")
    wide = me.read_topics(tmp_path / "systems.csv", measure="map")
    assert set(wide["evaluator"]) == {tmp_path.name}
    assert wide[["system", "topic", "value"]].to_numpy().tolist() == [
        ["bm25", "301", 0.25],
        ["bm25", "302", 0.75],
        ["dense", "301", 0.5],
    ]
    (tmp_path / "measures.csv").write_text("system,query_id,map,P@10\nbm25,301,0.25,0.1\n")
    by_measure = me.read_topics(tmp_path / "measures.csv")
    assert by_measure[["measure", "value"]].to_numpy().tolist() == [["map", 0.25], ["P@10", 0.1]]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("topic,bm25\n301,0.25\n", "does not say the measure"),
        ("bm25,dense\n0.1,0.2\n", "has no column of topics"),
        ("system,topic,map\na,1,0.1\na,1,0.2\n", "two values of"),
    ],
)
def test_a_table_that_does_not_say_what_a_value_is_of_is_refused(tmp_path, text, says):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(DataError, match=says):
        me.read_topics(tmp_path / "t.csv")


def test_topics_may_differ_between_evaluators():
    rng = np.random.default_rng(1)
    rows = [
        (evaluator, "map", f"s{s}", f"t{t}", s + rng.normal())
        for evaluator, first in (("human", 0), ("judge", 30))
        for s in range(6)
        for t in range(first, first + 30)
    ]
    topics = pd.DataFrame(rows, columns=["evaluator", "measure", "system", "topic", "value"])
    row = me.order_systems(topics, "human", bootstrap={"resamples": 100}).set_index("evaluator").loc["judge"]
    assert (row["tau"], row["n_users"], row["n_own"]) == (1, 0, 30)
    with pytest.raises(DataError, match="there is no evaluator 'people'"):
        me.order_systems(topics, "people")


@pytest.mark.parametrize("given", [["a.txt", "b.txt"], [], None, 3, pd.DataFrame({"topic": [1]}), "", "a\0"])
def test_what_is_no_path_is_refused(given):
    with pytest.raises(MetaevalError, match="a file of values by topic is given by its path, not by"):
        me.read_topics(given)


def test_a_folder_is_no_file_of_topics(tmp_path):
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        me.read_topics(tmp_path)


@pytest.mark.parametrize("given", [[], "topics.csv", None, pd.DataFrame({"topic": [1]})])
def test_topics_are_a_table(given):
    with pytest.raises(DataError, match="topics is a table with evaluator, measure, system, topic and value"):
        me.order_systems(given, "human")
