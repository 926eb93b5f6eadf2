"""Labelling unit by unit: what is shown, what is written, and where it goes on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.base.records import Scale
from metaeval.kinds.explanations.data.loading import from_frames, save
from metaeval.kinds.kind import KINDS
from metaeval.sources.verdicts import read_verdicts
from metaeval.study.commands.pairwise import pairwise_of
from metaeval.trust.labelling.golden_files import export_labels
from metaeval.trust.labelling.golden_import import import_labels
from metaeval.trust.labelling.label_set import label_set
from tests.conftest import ROOT
from tests.kinds.toy import YES_NO
from tests.tiny import REFERENCE, TEXTS
from tests.trust.saving import read_rows, save_rows

if TYPE_CHECKING:
    from metaeval.trust.labelling.label_session import LabelSession

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


def test_it_writes_what_a_spreadsheet_brings(tiny: Path) -> None:
    shutil.copytree(tiny, "typed")
    session = label_set("tiny", rater="anna")
    for at in range(18):
        unit(session, at, 1 + at % 5, 1 + at % 3)
    export_labels("typed", "l.csv", rater="anna")
    header, *rows = read_rows(Path("l.csv"))
    at_of = {key: at for at, key in enumerate(session.units)}
    filled = [[*r[:-2], str(1 + at_of[tuple(r[1:4])] % 5), str(1 + at_of[tuple(r[1:4])] % 3)] for r in rows]
    save_rows(Path("l.csv"), [header, *filled])
    import_labels("typed", "l.csv", rater="anna")
    assert me.load("tiny").fingerprint == me.load("typed").fingerprint
    assert session.line() == "labels of 'anna': 18 of 18 units"


def test_a_label_is_on_file_before_the_next_unit_is_shown(tiny: Path) -> None:
    session = label_set("tiny", rater="anna")
    assert say(session, "show")["unit"]["at"] == 0
    state = say(session, "label", 0, aspect="clear", label=4)
    assert labels(tiny, "anna") == {(*session.units[0], "clear"): 4}
    assert (state["unit"]["at"], state["labelled"]) == (0, 0)
    state = say(session, "label", 0, aspect="fitting", label=2)
    assert labels(tiny, "anna") == {(*session.units[0], "clear"): 4, (*session.units[0], "fitting"): 2}
    assert (state["unit"]["at"], state["labelled"], state["total"]) == (1, 1, 18)


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
    assert (other["unit"]["at"], other["labelled"], other["skipped"], other["undo"]) == (0, 0, [], False)


def test_undo_takes_back_one_by_one_after_a_restart_too(tiny: Path) -> None:
    session = label_set("tiny", rater="1")
    before = labels(tiny, "1")
    unit(session, 0, 4, 2)
    say(session, "skip", 1)
    unit(session, 2, 1, 1)
    say(session, "undo")
    again = label_set("tiny", rater="1")
    shown = []
    while (state := say(again, "show"))["undo"]:
        shown.append(say(again, "undo")["unit"]["at"])
    assert shown == [2, 1, 0, 0]
    assert state["skipped"] == []
    assert labels(tiny, "1") == before
    with pytest.raises(MetaevalError, match="nothing to undo"):
        say(again, "undo")


def test_two_processes_of_a_rater_see_what_the_other_did(tiny: Path) -> None:
    one, other = (label_set("tiny", rater="anna") for _ in range(2))
    unit(one, 0, 4, 2)
    say(one, "note", 3, text="hm")
    state = say(other, "show")
    assert (state["unit"]["at"], state["labelled"], state["undo"]) == (1, 1, True)
    assert say(other, "show", 3)["unit"]["note"] == "hm"
    with pytest.raises(MetaevalError, match="another window has labelled this meanwhile"):
        say(other, "label", 0, aspect="clear", label=5, was=None)
    say(other, "label", 0, aspect="clear", label=5, was=4)
    assert say(one, "undo")["unit"]["aspects"][0]["label"] == 4
    assert labels(tiny, "anna") == {(*one.units[0], "clear"): 4, (*one.units[0], "fitting"): 2}
    say(other, "undo")
    say(other, "undo")
    assert say(one, "show")["unit"]["at"] == 0
    assert labels(tiny, "anna") == {}


def test_undo_of_one_aspect_leaves_what_was_done_of_another(tiny: Path) -> None:
    both = label_set("tiny", rater="anna")
    one, other = (label_set("tiny", rater="anna", aspects=[aspect]) for aspect in ASPECTS)
    say(one, "label", 0, aspect="clear", label=4)
    say(one, "skip", 1)
    say(other, "label", 0, aspect="fitting", label=2)
    assert say(one, "undo")["unit"]["at"] == 1
    assert say(one, "undo")["unit"]["at"] == 0
    assert say(other, "show")["undo"]
    assert say(both, "undo")["unit"]["at"] == 0
    assert not any(say(session, "show")["undo"] for session in (both, one, other))
    assert labels(tiny, "anna") == {}


def test_a_label_that_is_sent_twice_is_given_once(tiny: Path) -> None:
    session = label_set("tiny", rater="anna", aspects=["clear"])
    for _ in range(2):
        state = say(session, "label", 0, aspect="clear", label=4, was=None)
        assert (state["unit"]["at"], state["labelled"]) == (1, 1)
    assert not say(session, "undo")["undo"]
    assert labels(tiny, "anna") == {}


@pytest.mark.parametrize("left", [0, 1])
def test_labels_stay_known_if_what_was_done_is_deleted_meanwhile(tiny: Path, left: int) -> None:
    session, log = label_set("tiny", rater="anna"), tiny / "labelling.jsonl"
    unit(session, 0, 4, 2)
    say(session, "label", 0, aspect="clear", label=5)
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:left]))
    state = unit(session, 1, 1, 3)
    assert (state["unit"]["at"], state["labelled"]) == (2, 2)
    assert [a["label"] for a in say(session, "show", 0)["unit"]["aspects"]] == [5, 2]
    assert [say(session, "undo")["unit"]["at"] for _ in range(2 + left)] == [1, 1, 0][: 2 + left]
    assert not say(session, "show")["undo"]


EQUAL = "anna: 100% of 8 labels are equal; Krippendorff's α 1.00"
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
            done.append((do, *more))
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


def test_units_come_in_one_mixed_order_for_every_rater(tiny: Path) -> None:
    order = label_set("tiny", rater="anna").units
    assert label_set("tiny", rater="bert").units == order
    assert sorted(order) != order
    assert sorted(order) == sorted(me.load(tiny).units.itertuples(index=False, name=None))


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


@pytest.mark.parametrize("kind", ["slates", "exposure"])
def test_sides_are_shuffled_per_rater_and_what_was_first_is_recorded(tmp_path: Path, kind: str) -> None:
    folder = shutil.copytree(ROOT / "data" / kind, tmp_path / kind)
    data = me.load(folder)
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
    assert say(anna, "show", agreement=True)["agreement"][0].startswith("bert: 100% of 8 labels are equal")
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
    assert len(read_verdicts("tiny/verdicts.csv")) == 15
    # The labels of single texts are others, in a table of their own.
    assert say(label_set("tiny", rater="anna"), "show")["labelled"] == 0


def test_pairs_are_of_texts_that_differ_in_the_generator(tiny: Path) -> None:
    with pytest.raises(MetaevalError, match="leave it out, or leave --pairs out"):
        label_set("tiny", rater="anna", pairs=True, rubric="rubric")
    with pytest.raises(MetaevalError, match=r"--pairs is for explanations; .* of kind 'slates'"):
        label_set(shutil.copytree(ROOT / "data" / "slates", "slates"), rater="anna", pairs=True)
    path = tiny / "explanations.csv"
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if ",long," not in line]
    path.write_text("\n".join(line for line in lines if ",none|such," not in line), encoding="utf-8")
    for table in ("ratings", "scores"):
        file = tiny / f"{table}.csv"
        frame = pd.read_csv(file, dtype=str)
        frame[frame["generator"] == "short"].to_csv(file, index=False)
    with pytest.raises(MetaevalError, match="there is nothing to compare; leave --pairs out"):
        label_set("tiny", rater="anna", pairs=True)


def test_aspects_may_have_scales_of_their_own(tiny: Path) -> None:
    path = tiny / "dataset.yaml"
    own = "clear: {statement: I see why, scale: {min: 1, max: 3}}"
    text = path.read_text(encoding="utf-8").replace("clear: I understand why this was recommended", own)
    path.write_text(text, encoding="utf-8")
    for table, column in (("ratings", "rating"), ("scores", "score")):
        frame = pd.read_csv(tiny / f"{table}.csv")
        frame.loc[frame["aspect"] == "clear", column] = 2
        frame.to_csv(tiny / f"{table}.csv", index=False)
    session = label_set("tiny", rater="anna")
    keys = [[c["key"] for c in a["scale"]["choices"]] for a in say(session, "show")["unit"]["aspects"]]
    assert keys == [["1", "2", "3"], ["1", "2", "3", "4", "5"]]
    with pytest.raises(MetaevalError, match="allowed are integers from 1 to 3"):
        say(session, "label", 0, aspect="clear", label=4)
    unit(session, 0, 3, 4)


@pytest.mark.parametrize("kind", ["slates", "exposure"])
def test_scores_of_other_tools_stay_whatever_their_columns(tmp_path: Path, kind: str) -> None:
    folder = shutil.copytree(ROOT / "data" / kind, tmp_path / kind)
    keys = me.load(folder).units.iloc[:1].astype(str)
    given_ = {"evaluator": "tool", "score": "1", **({"aspect": "preference"} if kind == "slates" else {})}
    keys.assign(**given_, confidence="0.9").to_csv(folder / "scores.csv", index=False)
    before = (folder / "scores.csv").read_text(encoding="utf-8").splitlines()[1]
    session = label_set(folder, rater="anna")
    say(session, "label", 0, aspect="preference", label=-1)
    assert before in (folder / "scores.csv").read_text(encoding="utf-8")
    scores = me.load(folder).scores
    assert scores["evaluator"].tolist() == ["tool", "anna"]
    assert scores["score"].tolist() == [1, -1]


def test_labels_of_relevance_have_their_names(tmp_path: Path) -> None:
    folder = shutil.copytree(ROOT / "data" / "relevance", tmp_path / "relevance")
    session = label_set(folder, rater="anna")
    state = say(session, "label", 0, aspect="relevance", label=3)
    names = ["not interested", "somewhat interested", "interested", "very interested"]
    scale = state["unit"]["aspects"][0]["scale"]
    assert [(c["key"], c["name"]) for c in scale["choices"]] == list(zip("0123", names, strict=True))
    assert {part["title"] for part in state["unit"]["parts"]} >= {"item", "history of the user"}
    own = me.load(folder).ratings.query("rater == 'anna'")
    assert own[["user_id", "item_id", "rating"]].to_numpy().tolist() == [[*session.units[0], 3.0]]


def test_agreement_is_told_if_it_is_wanted(tiny: Path) -> None:
    session = label_set("tiny", rater="anna")
    of_1 = labels(tiny, "1")
    for at in range(6):
        unit(session, at, *(of_1[*session.units[at], aspect] for aspect in ASPECTS))
    assert say(session, "show")["agreement"] is None
    told = say(session, "show", agreement=True)["agreement"]
    assert told[0] == "1: 100% of 12 labels are equal; Krippendorff's α 1.00"
    assert [line.partition(":")[0] for line in told] == ["1", "2", "user"]


def test_scales_without_keys_are_typed(tiny: Path) -> None:
    path = tiny / "dataset.yaml"
    path.write_text(
        path.read_text(encoding="utf-8").replace("integer: true", "integer: false"), encoding="utf-8"
    )
    session = label_set("tiny", rater="anna")
    assert say(session, "show")["unit"]["aspects"][0]["scale"] == {
        "min": 1, "max": 5, "step": "any", "text": "numbers from 1 to 5", "choices": None
    }  # fmt: skip
    say(session, "label", 0, aspect="clear", label=2.25)
    assert labels(tiny, "anna") == {(*session.units[0], "clear"): 2.25}


def test_a_label_that_is_no_digit_has_a_key_and_its_name(tiny: Path) -> None:
    path = tiny / "dataset.yaml"
    text = path.read_text(encoding="utf-8").replace("{min: 1,", "{min: -1,")
    path.write_text(text, encoding="utf-8")
    choices = say(label_set("tiny", rater="anna"), "show")["unit"]["aspects"][0]["scale"]["choices"]
    assert [(c["label"], c["key"], c["name"]) for c in choices[:3]] == [
        (-1, "1", "-1"),
        (0, "2", "0"),
        (1, "3", "1"),
    ]
    assert len(choices) == 7


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


def test_a_kind_of_its_own_says_where_its_labels_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "yes-no", YES_NO)
    (tmp_path / "dataset.yaml").write_text("kind: yes-no\n", encoding="utf-8")
    text = "asker,question,answer\nann,Is nine prime?,0\ncat,Is Oslo in Norway?,1\n"
    (tmp_path / "answers.csv").write_text(text, encoding="utf-8")
    with pytest.raises(MetaevalError, match="has no table 'ratings' for people's labels; another table"):
        label_set(tmp_path, rater="anna")


def test_a_data_set_without_texts_has_nothing_to_label(tmp_path: Path) -> None:
    keys = pd.DataFrame({"user_id": ["u"], "item_id": ["i"], "generator": ["g"]})
    ratings = keys.assign(rater="user", aspect="a", rating=1.0)
    folder = save(from_frames(keys, ratings, aspects={"a": "A"}, scale=Scale(1, 5)), tmp_path / "set", "csv")
    with pytest.raises(MetaevalError, match="has no texts, so there is nothing to label"):
        label_set(folder, rater="anna")
