"""What a study of relevance fills in, which evaluators its data know, and what a reader sees of a unit."""

from __future__ import annotations

from dataclasses import replace

import pytest

import metaeval as me
from data.make_relevance import simulate
from metaeval.base.errors import SpecError, StudyError
from metaeval.kinds.reading import make_study
from metaeval.kinds.relevance.kind import RELEVANCE

DATA = simulate(seed=1, users=6, items=60)
HUMAN = "Labels('human')"


def resolved(**keys):
    study = make_study({"kind": "relevance", "dataset": "x", "truth": HUMAN, **keys})
    return RELEVANCE.resolve(study, DATA)


def test_a_collection_is_scored_with_the_evaluators_of_its_kind():
    table = me.score(DATA, ["Labels('judge')", "Popularity()"])
    assert table.evaluators == ("Labels('judge')", "Popularity()")
    with pytest.raises(SpecError, match=r"there is no evaluator 'BLEU'; known are .*Popularity"):
        me.score(DATA, ["BLEU(n=4)"])


def test_a_star_stands_for_all_other_raters():
    study = resolved(evaluators={"mine": "Labels('oracle')", "rest": "Labels('*')"})
    raters = set(DATA.ratings["rater"]) - {"human", "oracle"}
    assert study.specs == {"mine": "Labels('oracle')", **{r: f"Labels({r!r})" for r in sorted(raters)}}
    with pytest.raises(StudyError, match=r"no further rater fits 'x\*'"):
        resolved(evaluators=["Labels('x*')"])


def test_ablations_add_variants():
    judge = "Relevance('simulated/one', labels=5)"
    ablations = [{"base": "judge", "vary": {"history": [1]}}]
    study = resolved(evaluators={"judge": judge}, ablations=ablations)
    assert study.specs == {
        "judge": judge,
        "judge, history 1": "Relevance('simulated/one', labels=5, history=1)",
    }
    # A study that was resolved, as run.json keeps it, is resolved to itself.
    assert RELEVANCE.resolve(study, DATA).specs == study.specs
    with pytest.raises(StudyError, match="there is no evaluator 'jugde'; did you mean 'judge'"):
        resolved(evaluators={"judge": judge}, ablations=[{"base": "jugde"}])


def test_levels_and_coefficients_of_a_study_that_names_none():
    study = resolved(evaluators=["Popularity()"])
    assert study.levels == ["dataset", "user"]
    assert study.ordered_by == {"aspect": "relevance", "level": "dataset", "coefficient": "kendall"}


def test_item_profile_and_history_are_shown() -> None:
    data = simulate(users=2, items=90, history=40, pool=2, length=2)
    view = RELEVANCE.unit_view(data, ["relevance"])
    assert view.heading == "title"
    assert [(c.name, c.key) for c in view.columns] == [("title", False), ("user_id", True), ("item_id", True)]
    assert view.rated[0].statement == "How interested is the user in the item?"
    item, profile, history = (text.texts for text in view.texts)
    first = data.items.set_index("item_id").loc[data.units["item_id"].iloc[0]]
    assert item[0] == "\n".join(f"{name}: {first[name]}" for name in ("title", "genres", "keywords", "year"))
    assert set(profile) == {None}
    lines = history[0].split("\n")
    assert (len(lines), lines[-1]) == (31, "… and 10 more")
    own = data.histories[data.histories["user_id"] == data.units["user_id"].iloc[0]]
    newest = own.sort_values("timestamp").iloc[-1]
    title = data.items.set_index("item_id")["title"][newest["item_id"]]
    assert lines[0] == f"{title} ({newest['rating']:g})"


def test_a_history_of_items_without_titles_shows_their_fields() -> None:
    data = simulate(users=2, items=30, history=5)
    view = RELEVANCE.unit_view(
        replace(data, items=data.items.drop(columns=["title", "keywords"])), ["relevance"]
    )
    lines = view.texts[2].texts[0].split("\n")
    own = data.histories[data.histories["user_id"] == data.units["user_id"].iloc[0]]
    newest = own.sort_values("timestamp").iloc[-1]
    item = data.items.set_index("item_id").loc[newest["item_id"]]
    assert lines[0] == f"genres: {item['genres']}; year: {item['year']} ({newest['rating']:g})"
