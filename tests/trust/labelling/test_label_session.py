"""Labelling unit by unit: what is shown, what is written, and where it goes on."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.data.verdicts.verdict_table import read_verdicts
from metaeval.trust.labelling.golden_table import export_labels, import_labels
from metaeval.trust.labelling.label_session import LabelSession
from metaeval.trust.labelling.pages import label_set, label_sets
from metaeval.trust.verdicts.commands import pairwise_of
from tests.conftest import ROOT
from tests.tiny import REFERENCE, TEXTS, say_how_to_label
from tests.trust.saving import fill

ASPECTS = ("clear", "fitting")


def say(session: LabelSession, do: str, at: int | None = None, **more: Any) -> dict[str, Any]:
    return session.answer({"do": do, "at": at, **more})


def unit(session: LabelSession, at: int, *labels: float) -> dict[str, Any]:
    """Label both aspects of a unit."""
    for aspect, label in zip(ASPECTS, labels, strict=True):
        state = say(session, "label", at, aspect=aspect, label=label)
    return state


def labels(folder: Path, rater: str) -> dict[tuple[str, ...], float]:
    data = me.load(folder)
    own = data.ratings.query("rater == @rater").dropna(subset=["rating"])
    return {tuple(r[:-1]): r[-1] for r in own[[*data.keys, "aspect", "rating"]].itertuples(index=False)}


def test_a_label_is_on_file_before_the_next_unit_is_shown(tiny: Path) -> None:
    session = label_set("tiny", rater="anna")
    assert say(session, "show")["unit"]["at"] == 0
    state = say(session, "label", 0, aspect="clear", label=4)
    assert labels(tiny, "anna") == {(*session.units[0], "clear"): 4}
    assert (state["unit"]["at"], state["labelled"]) == (0, 0)
    state = say(session, "label", 0, aspect="fitting", label=2)
    assert labels(tiny, "anna") == {(*session.units[0], "clear"): 4, (*session.units[0], "fitting"): 2}
    assert (state["unit"]["at"], state["labelled"], state["total"]) == (1, 1, 18)


def test_what_other_commands_change_afterwards_stays(tiny: Path) -> None:
    session = label_set("tiny", rater="anna")
    unit(session, 0, 4, 2)
    export_labels("tiny", "l.csv", rater="anna")
    fill(Path("l.csv"), lambda *_: "3")
    import_labels("tiny", "l.csv", rater="anna", replace=True)
    unit(session, 1, 5, 5)
    expected = {
        (*key, aspect): 5 if at == 1 else 3 for at, key in enumerate(session.units) for aspect in ASPECTS
    }
    assert labels(tiny, "anna") == expected
    log, table = (tiny / name for name in ("labelling.jsonl", "ratings.csv"))
    written = table.read_bytes()
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))  # killed before it noted that
    assert labels(tiny, "anna") == expected
    assert table.read_bytes() == written


def test_it_goes_on_where_it_was_ended(tiny: Path) -> None:
    session = label_set("tiny", rater="anna")
    unit(session, 0, 4, 2)
    say(session, "skip", 1)
    say(session, "note", 2, text="“odd” \u2028 \ud800 לא")
    unit(session, 2, 1, 1)
    with Path("tiny/labelling.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"rater": "anna", "do": "lab')  # the power went
    again = label_set("tiny", rater="anna")
    state = say(again, "show")
    assert (state["unit"]["at"], state["labelled"], state["skipped"]) == (3, 2, [1])
    assert say(again, "show", 2)["unit"]["note"] == "“odd” \u2028 \ud800 לא"
    unit(again, 3, 5, 5)
    assert say(label_set("tiny", rater="anna"), "show")["unit"]["at"] == 4
    other = say(label_set("tiny", rater="bert"), "show")
    assert (other["unit"]["at"], other["labelled"], other["skipped"], other["undo"]) == (0, 0, [], "")


def test_two_processes_of_a_rater_see_what_the_other_did(tiny: Path) -> None:
    one, other = (label_set("tiny", rater="anna") for _ in range(2))
    unit(one, 0, 4, 2)
    say(one, "note", 3, text="hm")
    state = say(other, "show")
    assert (state["unit"]["at"], state["labelled"], bool(state["undo"])) == (1, 1, True)
    assert say(other, "show", 3)["unit"]["note"] == "hm"
    with pytest.raises(MetaevalError, match="another window has labelled this meanwhile"):
        say(other, "label", 0, aspect="clear", label=5, was=None)
    say(other, "label", 0, aspect="clear", label=5, was=4)
    assert state["undo"] == "fitting: 2, of unit 1"
    assert say(one, "undo")["unit"]["aspects"][0]["label"] == 4
    assert labels(tiny, "anna") == {(*one.units[0], "clear"): 4, (*one.units[0], "fitting"): 2}
    say(other, "undo")
    say(other, "undo")
    assert say(one, "show")["unit"]["at"] == 0
    assert labels(tiny, "anna") == {}


def test_a_label_that_is_sent_twice_is_given_once(tiny: Path) -> None:
    session = label_set("tiny", rater="anna", aspects=["clear"])
    for _ in range(2):
        state = say(session, "label", 0, aspect="clear", label=4, was=None)
        assert (state["unit"]["at"], state["labelled"]) == (1, 1)
    assert not say(session, "undo")["undo"]
    assert labels(tiny, "anna") == {}


EQUAL = "anna, preference: 100% of 8 pairs equal; Krippendorff's ordinal α 1.00"
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("label"), st.integers(0, 3), st.sampled_from(ASPECTS), st.integers(1, 5)),
        st.tuples(st.just("skip"), st.integers(0, 3)),
        st.tuples(st.just("undo")),
        st.tuples(st.just("again")),
    ),
    max_size=9,
)


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(STEPS)
def test_any_steps_and_restarts_leave_what_a_list_of_them_says(
    tiny: Path, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[Any, ...]]
) -> None:
    folder = shutil.copytree(tiny, tmp_path_factory.mktemp("steps") / "set")
    session = label_set(folder, rater="anna")
    done: list[tuple[Any, ...]] = []
    for do, *more in steps:
        if do == "label":
            say(session, "label", more[0], aspect=more[1], label=more[2])
            now = [step for step in done if step[1:3] == (more[0], more[1])][-1:]
            done += [(do, *more)] if now != [(do, *more)] else []  # the same again is no step
        elif do == "skip":
            say(session, "skip", *more)
            done.append((do, *more))
        elif do == "undo" and done:
            say(session, "undo")
            done.pop()
        elif do == "again":
            session = label_set(folder, rater="anna")
    said = [step[1:] for step in done if step[0] == "label"]
    given_ = {(*session.units[at], aspect): label for at, aspect, label in said}
    assert labels(folder, "anna") == given_
    whole = {at for at in range(18) if all((*session.units[at], a) in given_ for a in ASPECTS)}
    assert say(session, "show")["skipped"] == sorted({d[1] for d in done if d[0] == "skip"} - whole)


def test_a_rater_sees_no_author_no_score_and_no_other_rater(tiny: Path) -> None:
    session = label_set("tiny", rater="anna")
    told = json.dumps([say(session, "show", at) for at in range(18)])
    assert "It is funny." in told
    assert "You liked other films by this director." in told
    assert "I understand why this was recommended" in told
    for hidden in ("none|such", '"short"', "generator", "Judge & Co_1", "rating"):
        assert hidden not in told
    slates = label_set(shutil.copytree(ROOT / "data" / "slates", "slates"), rater="anna")
    told = json.dumps([say(slates, "show", at) for at in range(20)])
    assert "utility" not in told
    assert "sharp" not in told
    assert "which items in which order the user prefers" in told
    assert "nDCG" not in told


def test_the_rubric_stands_beside_its_aspects(tiny: Path) -> None:
    text = (
        "---\nname: own\nversion: '1'\ndescription: d\nbase: rubric\nscale: {min: 1, max: 5}\ndimensions:\n"
        "  clear: {question: Is it clear?, anchors: {5: All of it., 1: Nothing.}}\n---\n"
    )
    Path("own.md").write_text(text, encoding="utf-8")
    state = say(label_set("tiny", rater="anna", aspects=["clear"], rubric="own.md"), "show")
    (aspect,) = state["unit"]["aspects"]
    assert aspect["question"] == "Is it clear?"
    assert aspect["anchors"] == [{"level": "5", "text": "All of it."}, {"level": "1", "text": "Nothing."}]
    with pytest.raises(MetaevalError, match="no dimension 'fitting'"):
        label_set("tiny", rater="anna", rubric="own.md")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["slates", "exposure"])
def test_sides_are_shuffled_per_rater_and_what_was_first_is_recorded(tmp_path: Path, kind: str) -> None:
    folder = shutil.copytree(ROOT / "data" / kind, tmp_path / kind)
    data = me.load(folder)
    say_how_to_label(folder, agreement=True)
    anna, bert = (label_set(folder, rater=who) for who in ("anna", "bert"))
    assert len(anna.units) == len(data) / 2
    assert [key[:2] for key in anna.units] == [key[:2] for key in bert.units]
    first = [key[2] == "first" for key in anna.units]
    assert 0.4 < sum(first) / len(first) < 0.6
    assert 0.3 < sum(a == b for a, b in zip(anna.units, bert.units, strict=True)) / len(first) < 0.7
    assert anna.units == label_set(folder, rater="anna").units
    for at in range(8):
        said = at % 3 - 1
        say(anna, "label", at, aspect="preference", label=said)
        same = anna.units[at] == bert.units[at]
        say(bert, "label", at, aspect="preference", label=said if same else -said)
    scores = me.load(folder).scores.query("evaluator == 'anna'")
    assert set(scores[list(data.keys)].itertuples(index=False, name=None)) == set(anna.units[:8])
    assert say(bert, "show", agreement=True)["agreement"] == [EQUAL]
    state = say(anna, "show")
    scale = state["unit"]["aspects"][0]["scale"]
    assert [c["name"] for c in scale["choices"]] == ["the first", "no difference", "the second"]
    assert [(c["key"], c["label"]) for c in scale["choices"]] == [("1", 1), ("2", 0), ("3", -1)]
    assert [part["title"] for part in state["unit"]["parts"]][:2] == ["shown first", "shown second"]


def test_two_texts_of_a_user_and_item_are_shown_side_by_side(tiny: Path) -> None:
    say_how_to_label(tiny, agreement=True)
    anna, bert = (label_set("tiny", rater=who, pairs=True) for who in ("anna", "bert"))
    assert len(anna.units) == 3 * 2 * 3  # users, items, pairs of three generators
    assert [key[:4] for key in anna.units] == [key[:4] for key in bert.units]
    assert 0 < sum(a == b for a, b in zip(anna.units, bert.units, strict=True)) < 18
    better = {"short": 1, "long": 2, "none|such": 0}
    for session in (anna, bert):
        for at, (*_, one, two, order) in enumerate(session.units[:8]):
            unit_ = say(session, "show", at)["unit"]
            first, second = (one, two) if order == "first" else (two, one)
            assert [p["text"] for p in unit_["parts"]] == [TEXTS[first], TEXTS[second], REFERENCE]
            assert [p["title"] for p in unit_["parts"]] == ["shown first", "shown second", "reference"]
            say(session, "label", at, aspect="clear", label=1 if better[first] > better[second] else -1)
            assert not {"generator", *better} & set(json.dumps(unit_).split('"'))
    assert say(label_set("tiny", rater="bert", pairs=True), "show", 7)["unit"]["aspects"][0]["label"]
    assert say(anna, "show", agreement=True)["agreement"][0].startswith("bert, clear: 100% of 8 pairs equal")
    bert.close()
    found = read_verdicts("tiny/verdicts.csv")
    winner = found["first"].where(found["winner"] == "first", found["second"])
    assert (
        winner == found[["first", "second"]].apply(lambda s: max(s, key=better.__getitem__), axis=1)
    ).all()
    assert set(found.query("evaluator == 'anna'")["order"]) == {"first", "second"}
    pairs, ranking = pairwise_of("tiny/verdicts.csv", ["anna"], resamples=20)
    assert pairs.frame[["wins", "flips", "failed"]].to_numpy().tolist() == [[8, 0, 0]]
    assert ranking.frame["generator"].tolist() == ["long", "short", "none|such"]
    say(anna, "undo")
    anna.close()
    assert len(read_verdicts("tiny/verdicts.csv")) == 15
    # The labels of single texts are others, in a table of their own.
    assert say(label_set("tiny", rater="anna"), "show")["labelled"] == 0


@pytest.mark.parametrize("kind", ["slates", "exposure"])
def test_scores_of_other_tools_stay_whatever_their_columns(tmp_path: Path, kind: str) -> None:
    folder = shutil.copytree(ROOT / "data" / kind, tmp_path / kind)
    keys = me.load(folder).units.iloc[:1].astype(str)
    given_ = {"evaluator": "tool", "score": "1", **({"aspect": "preference"} if kind == "slates" else {})}
    keys.assign(**given_, confidence="0.9").to_csv(folder / "scores.csv", index=False)
    before = (folder / "scores.csv").read_text(encoding="utf-8").splitlines()[1]
    session = label_set(folder, rater="anna")
    say(session, "label", 0, aspect="preference", label=-1)
    scores = me.load(folder).scores
    assert before in (folder / "scores.csv").read_text(encoding="utf-8")
    assert scores["evaluator"].tolist() == ["tool", "anna"]
    assert scores["score"].tolist() == [1, -1]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            {"do": "label", "at": 0, "aspect": "clear", "label": 6},
            "6 is not on the scale; allowed are integers",
        ),
        ({"do": "label", "at": 0, "aspect": "clear", "label": True}, "not on the scale"),
        ({"do": "label", "at": 0, "aspect": "clear", "label": "4"}, "not on the scale"),
        ({"do": "label", "at": 0, "aspect": "claer", "label": 4}, "did you mean 'clear'"),
        ({"do": "label", "at": 18, "aspect": "clear", "label": 4}, "no unit 18; units are numbered"),
        ({"do": "label", "at": True, "aspect": "clear", "label": 4}, "no unit True"),
        ({"do": "label", "aspect": "clear", "label": 4}, "name the unit"),
        ({"do": "undo"}, "nothing to undo"),
        ({"do": "delete"}, "must be show, label"),
        ({}, "must be show, label"),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(
    tiny: Path, request_: dict[str, Any], message: str
) -> None:
    before = (tiny / "ratings.csv").read_bytes()
    with pytest.raises(MetaevalError, match=message):
        label_set("tiny", rater="anna").answer(request_)
    assert (tiny / "ratings.csv").read_bytes() == before
    assert not (tiny / "labelling.jsonl").exists()


@pytest.mark.parametrize(
    ("folder", "options", "message"),
    [
        ("tiyn", {"rater": "anna"}, "there is no folder 'tiyn'"),
        ("tiny", {"rater": " "}, "the rater has no name"),
        ("tiny", {"rater": "anna", "aspects": ["claer"]}, "did you mean 'clear'"),
        ("tiny", {"rater": "anna", "rubric": "pairwise"}, "has no rubric"),
        ("slates", {"rater": "sharp"}, "'sharp' is a model or tool that scored the data set"),
    ],
)
def test_what_is_wrong_is_said_first(tiny: Path, folder: str, options: Any, message: str) -> None:
    shutil.copytree(ROOT / "data" / "slates", "slates")
    with pytest.raises(MetaevalError, match=message):
        label_set(folder, **options)


def test_each_unit_goes_to_as_many_raters_as_asked(tiny: Path) -> None:
    sessions = label_sets("tiny", ["anna", "bert", "cleo"], overlap=2)
    everything = set(label_set("tiny", rater="anna").units)
    times = Counter(key for session in sessions for key in session.units)
    assert times == dict.fromkeys(everything, 2)
    assert len({len(session.units) for session in sessions}) == 1
    assert all(set(s.units) == everything for s in label_sets("tiny", ["anna", "bert"]))
    with pytest.raises(MetaevalError, match="--overlap 3 is for 3 people or more"):
        label_sets("tiny", ["anna", "bert"], overlap=3)
    with pytest.raises(MetaevalError, match="another name"):
        label_sets("tiny", ["anna", "anna"])


@pytest.mark.parametrize(
    ("scale", "keys"),
    [
        ("{min: 1, max: 10, integer: true}", "1 2 3 4 5 6 7 8 9 0"),
        ("{min: 0.5, max: 3, integer: false}", "⇧0 1 ⇧1 2 ⇧2 3"),
        ("{min: -2, max: 2, integer: true}", "1 2 3 4 5"),
        ("{min: -2, max: 2, integer: false}", None),
        ("{min: 0, max: 10, integer: false}", None),
    ],
)
def test_every_label_of_a_short_scale_has_a_key(tiny: Path, scale: str, keys: str | None) -> None:
    manifest = tiny / "dataset.yaml"
    text = manifest.read_text(encoding="utf-8").replace("{min: 1, max: 5, integer: true}", scale)
    manifest.write_text(text, encoding="utf-8")
    ratings = tiny / "ratings.csv"  # without those that are off this scale
    ratings.write_text(ratings.read_text(encoding="utf-8").splitlines()[0] + "\n", encoding="utf-8")
    say_how_to_label(tiny, halves=True, lowest="no", highest="yes")
    shown = say(label_set("tiny", rater="anna"), "show")["unit"]["aspects"][0]["scale"]
    assert shown["ends"] == ["no", "yes"]
    assert (shown["choices"] and " ".join(c["key"] for c in shown["choices"])) == keys


def test_a_wrong_key_of_the_labelling_is_named(tiny: Path) -> None:
    with pytest.raises(MetaevalError, match=r"extra\.labelling: unknown key 'agrement'; did you mean 'agree"):
        label_set(say_how_to_label(tiny, agrement=True), rater="anna")


def test_agreement_is_told_of_each_aspect_in_units(tiny: Path) -> None:
    say_how_to_label(tiny, agreement=True)
    anna, bert = (label_set("tiny", rater=who) for who in ("anna", "bert"))
    for at in range(4):
        unit(anna, at, 1 + at, 3)
        unit(bert, at, 1 + at, 1 + at)
    lines = say(bert, "show", agreement=True)["agreement"]
    clear, fitting = (line for line in lines if line.startswith("anna"))
    assert clear == "anna, clear: 100% of 4 units equal; Krippendorff's ordinal α 1.00"
    assert fitting.startswith("anna, fitting: 25% of 4 units equal; ")


def test_agreement_is_shown_only_where_it_is_allowed(tiny: Path) -> None:
    assert say(label_set("tiny", rater="anna"), "show", agreement=True)["agreement"] is None
