"""What columns are called: roles, raters and aspects in names, columns that repeat."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from metaeval.base.errors import DataError
from metaeval.data.hub import any_table
from metaeval.data.proposals.asking import propose
from metaeval.data.proposals.proposal import Proposal, scale_of
from metaeval.data.proposals.roles import (
    TOOL,
    aspect_name,
    cells_of,
    read_roles,
    repeated,
    roles_of,
    the_user,
)
from metaeval.data.tables.table import from_frame


def proposed(columns: dict[str, list[object]], **said: str) -> Proposal:
    """What a table is taken for by who says that values nobody is named for are ratings."""
    table = from_frame(pd.DataFrame(columns).astype(object), "t")
    try:
        return propose(table, said, accept, lambda _: None, [])
    except DataError as error:
        told = {p.column: "rating" if "nobody" in p.message else "ignore" for p in error.problems if p.column}
        return propose(table, said | told, accept, lambda _: None, [])


def accept(question, default, read, proposal=""):
    """Accept what may be accepted unseen."""
    return read(default)


def cells(found: Proposal) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    return {(c.who, c.aspect) for c in found.people}, {(c.who, c.aspect) for c in found.tools}


@pytest.mark.parametrize(
    ("columns", "people", "tools"),
    [
        (["trust_user", "annotator_1_trust"], {("user", "trust"), ("annotator_1", "trust")}, set()),
        (["Human 1 Clarity", "Human 2 Clarity"], {("Human 1", "Clarity"), ("Human 2", "Clarity")}, set()),
        (["clarity anna", "clarity ben"], {("anna", "clarity"), ("ben", "clarity")}, set()),
        (["helpful by user", "helpful by anna"], {("user", "helpful"), ("anna", "helpful")}, set()),
        (["userTrust", "gpt-4o_Trust_score"], {("user", "Trust")}, {("gpt-4o", "Trust")}),
        (["trust", "trust_gpt4", "BLEU"], {("user", "trust")}, {("gpt4", "trust"), ("BLEU", "")}),
        (["trust", "gpt score"], {("user", "trust")}, {("gpt", "")}),
        (["Annotator 1", "GPT-4"], {("Annotator 1", "overall")}, {("GPT-4", "")}),
        (["human_score", "rouge1"], {("human", "overall")}, {("rouge1", "")}),
        (["marks.fun.0", "marks.fun.1"], {("0", "fun"), ("1", "fun")}, set()),
        (["trust", "fun"], {("user", "trust"), ("user", "fun")}, set()),
        (["Klar (Nutzer)", "Klar (Anna)"], {("Nutzer", "Klar"), ("Anna", "Klar")}, set()),
        (["User rating Fun", "Coder A Fun"], {("User rating", "Fun"), ("Coder A", "Fun")}, set()),
        (["self_ratings.trust", "made.bleu"], {("user", "trust")}, {("bleu", "")}),
        (["Anna (Clarity)", "Ben (Clarity)"], {("Anna", "Clarity"), ("Ben", "Clarity")}, set()),
        (["Utilità (Prof. Rossi)", "Utilità (Zoé)"], {("Prof. Rossi", "Utilità"), ("Zoé", "Utilità")}, set()),
        (["Vivacità Giulia", "Tono (Ugo)"], {("user", "Vivacità Giulia"), ("user", "Tono (Ugo)")}, set()),
    ],
)  # fmt: skip
def test_who_and_what_are_parts_of_a_name(columns, people, tools) -> None:
    found = cells_of(columns, [c for c in columns if TOOL.search(c)])
    of = {True: set(), False: set()}
    for column, cell in found.items():
        of[bool(TOOL.search(column))].add((cell.who, cell.aspect))
        assert cell.pattern.replace("{aspect}", cell.aspect).replace("{who}", cell.who) == column
    assert (of[False], of[True]) == (people, tools)


def test_what_a_form_tool_adds_is_not_used() -> None:
    added = {"Progress": [100, 100], "Finished": ["True", "False"], "Location Latitude": [5, 6]}
    found = proposed({**added, "ResponseId": ["R_1", "R_2"], "trust": [4, 5]})
    assert found.unused == [*added]
    assert found.roles == {"user_id": "ResponseId"}
    added = {"Antwort ID": [1, 2], "Letzte Seite": [5, 5], "Zufallsstartwert": [1, 2], "Export-ID": [3, 4]}
    found = proposed({**added, "Vertrauen": [4, 5], "Wie alt sind Sie?": [30, 40]})
    assert found.unused == [*added][1:]
    assert found.roles == {"user_id": "Antwort ID"}
    assert found.profiles == ["Wie alt sind Sie?"]


def test_ratings_beside_a_list_of_raters_are_of_the_user() -> None:
    found = proposed({"marks.rater": ["anna", "ben"], "marks.fun": [1, 2], "own.fun": [4, 5]})
    assert cells(found) == ({("", "fun"), ("user", "fun")}, set())


def test_what_does_not_look_like_ratings_is_asked_for() -> None:
    table = {"user": ["a", "b"], "trust": [1, 5], "half": [4.5, 2], "odd": [0.31, 0.2], "home": ["x", "y"]}
    found = proposed(table)
    assert cells(found)[0] == {("user", "trust"), ("user", "half"), ("user", "odd")}
    assert found.unused == ["home"]
    found = proposed(table, odd="score", home="profile")
    assert (cells(found)[1], found.profiles, found.unused) == ({("odd", "")}, ["home"], [])
    table = from_frame(pd.DataFrame({"trust": [1, 5], "odd": [0.3, 0.2]}), "t")
    with pytest.raises(DataError) as error:
        propose(table, {}, accept, lambda _: None, [])
    assert [p.column for p in error.value.problems] == ["trust", "odd", None]
    assert "nobody is named for its values (0.3, 0.2; 0.2 to 0.3; 2 different in 2 rows)" in str(
        error.value.problems[1]
    )


@pytest.mark.parametrize(
    ("columns", "lines"),
    [
        (
            {"prompt": ["who?", "who?"], "completion": ["it is", "it was"]},
            {"prompt=ignore", "completion=explanation"},
        ),
        ({"text": ["it is", "it was"], "prompt": ["who?", "who?"], "item": ["a", "b"]}, set()),
        ({"user": ["a", "b"], "KI_Bewertung": [1, 2]}, set()),
        ({"user": ["a", "b"], "imdb": [0.31, 7.2]}, {"imdb=ignore"}),
        ({"user": ["a", "b"], "clarity": [1, 2]}, {"clarity=rating"}),
    ],
)
def test_what_is_proposed_is_a_text_where_none_is_known_and_no_tool_is_a_person(
    columns: dict[str, list[object]], lines: set[str]
) -> None:
    table = from_frame(pd.DataFrame({**columns, "odd": [0.5, 0.2]}).astype(object), "t")
    with pytest.raises(DataError) as error:
        propose(table, {}, accept, lambda _: None, [])
    assert error.value.problems[-1].message.endswith(
        " ".join([*(f"--column {line}" for line in sorted(lines, reverse=True)), "--column odd=tool:odd"])
    )
    assert error.value.problems[-2].message.endswith("; if a tool gave it, add --column odd=tool:odd")


@pytest.mark.parametrize("name", ["HITId", "task_id", "custom_id"])
def test_an_identifier_that_repeats_is_the_item(name: str) -> None:
    rated = {"text": ["one", "two", "one", "two"], "annotator": ["x", "x", "y", "y"], "rating": [1, 2, 1, 1]}
    assert proposed({name: ["a", "b", "a", "b"], **rated}).roles["item_id"] == name
    assert "item_id" not in proposed({name: ["a", "b", "c", "d"], **rated}).roles


def test_one_item_for_all_is_an_item_only_where_its_column_says_item_id() -> None:
    rows = {
        "user_id": ["u", "u", "v", "v"],
        "generator": [*"abab"],
        "explanation": [*"stuv"],
        "rating": [1, 2, 3, 4],
    }
    assert proposed({**rows, "item_id": ["film"] * 4}).roles["item_id"] == "item_id"
    assert "item_id" not in proposed({**rows, "task": ["films"] * 4}).roles


def test_a_column_of_fractions_names_no_rater() -> None:
    rows = {"item": [*"aabb"], "model": [*"xyxy"], "text": [*"stuv"], "human": [1, 2, 1, 1]}
    scored = proposed({**rows, "judge": ["1.0", "0.5", "2.0", "1.3"]})
    assert "rater" not in scored.roles
    assert cells(scored)[1] == {("judge", "")}
    assert proposed({**rows, "judge": ["1", "2", "1", "2"]}).roles["rater"] == "judge"


def test_few_scores_outside_the_scale_of_the_others_are_noted() -> None:
    rows = {"item": [str(n) for n in range(20)], "text": [f"text {n}" for n in range(20)]}
    rated = {**rows, "human_1": [1, 2, 3, 4, 5] * 4, "gpt": [-1, *[4] * 19], "words": [*range(3, 23)]}
    [note] = [n for n in proposed(rated).notes if "outside" in n]
    assert "'gpt' has 1 of 20 scores outside 1 to 5, such as -1" in note
    assert "missing: ['-1']" in note


@pytest.mark.parametrize(("values", "scale"), [([0, 1, 2], (0, 2)), ([1, 2, 4], (1, 5)), ([0, 1, 1], (0, 1))])
def test_many_ratings_far_from_the_top_of_a_usual_scale_have_their_own(values, scale) -> None:
    assert scale_of([float(v) for v in values] * 20) == scale


def test_who_stands_beside_the_same_texts_wrote_none_of_them() -> None:
    rows = {"item": ["a", "a", "b", "b"], "model": ["x", "y", "x", "y"], "human": [1, 2, 1, 1]}
    wrote = proposed({**rows, "text": [*"stuv"]})
    assert wrote.roles["generator"] == "model"
    assert "generator" not in proposed({**rows, "text": [*"sstt"]}).roles


def test_a_column_is_what_the_user_says() -> None:
    table = {"who": ["a", "b"], "notes": ["x", "y"], "q1": [3, 4], "q2": [1, 2], "q3": [300, 400]}
    found = proposed(table, who="user_id", notes="explanation", q1="score", q2="ignore", q3="rating")
    assert found.roles == {"user_id": "who", "explanation": "notes"}
    assert cells(found) == ({("user", "q3")}, {("q1", "")})
    assert found.unused == ["q2"]


def test_the_row_is_the_item_where_nothing_else_names_it() -> None:
    titled = {"film title": ["Up", "Up", "Heat"], "fun": [1, 3, 4]}
    found = proposed(titled)
    assert "item_id" not in found.roles
    assert "2 of 3 rows have the same 'film title' as another, such as rows 2 and 3" in found.notes[-1]
    assert proposed({**titled, "film title": ["Up", "Ali", "Heat"]}).roles["item_id"] == "film title"


@pytest.mark.parametrize("header", ["user,item,system,trust,fun", "user,item,system,trust,gpt_trust"])
def test_fractions_of_different_scales_are_no_ratings(header: str, tmp_path: Path) -> None:
    said = {"trust": "rating"} | ({"fun": "rating"} if "fun" in header else {})
    fractions = ["4/5", "3/10", "5/5", "9/10"]
    rows = [f"u{i},i{i},A,{i + 1},{fraction}" for i, fraction in enumerate(fractions)]
    (tmp_path / "t.csv").write_text("\n".join([header, *rows]), encoding="utf-8")
    with pytest.raises(DataError, match="'5/5' and '9/10' are on different scales; write all answers on one"):
        propose(any_table(str(tmp_path / "t.csv")), said, accept, print, [])


@pytest.mark.parametrize(
    ("column", "role"),
    [
        ("Teilnehmer-ID", "user_id"),
        ("Your participant ID", "user_id"),
        ("What is your Prolific ID?", "user_id"),
        ("PROLIFIC_PID", "user_id"),
        ("System (hidden)", "generator"),
        ("Explanation Type", "generator"),
        ("Erklärung", "explanation"),
        ("推荐理由", "explanation"),
        ("meta.user.id", "user_id"),
        ("Q{n}_film", "item_id"),
        ("text_{n}", "explanation"),
        ("Which system?", "generator"),
        ("评价者", "rater"),
        ("made.gold_review", "reference"),
        ("Bewertung des Nutzers", "reference"),
        *((word, "user_id") for word in ("Usuario", "ID utente", "Utilisateur", "Gebruiker", "Utilizador")),
        *((word, "item_id") for word in ("Alojamiento", "Vin proposé", "Ricetta", "Livro", "Boek")),
        *((word, "generator") for word in ("Sistema", "Système", "Modelo", "Systeem", "Verfahren")),
        *((word, "rater") for word in ("Evaluador", "Évaluatrice", "Valutatore", "Beoordelaar", "Avaliador")),
        *((word, "aspect") for word in ("Criterio", "Critère", "Aspetto", "Kriterium", "Dimensão")),
        *((word, "explanation") for word in ("Texto de la explicación", "Spiegazione", "Uitleg", "Texte")),
        *((word, "reference") for word in ("Reseña", "Recensione", "Référence")),
    ],
)
def test_headers_of_forms_and_of_other_languages(column, role) -> None:
    assert roles_of([column], (), {}) == {column: role}


def test_names_of_aspects_are_short_and_the_user_is_found() -> None:
    assert aspect_name("I trust this recommendation.") == "trust"
    assert aspect_name("How much do you agree? [It is easy to understand]") == "clarity"
    assert aspect_name("trust[SQ001]") == "trust"
    assert aspect_name("Q{n}_fun") == aspect_name("fun ({n})") == aspect_name("fun_{n}") == "fun"
    assert aspect_name("Do you agree? [I trust text {n}]") == "I trust text"
    assert aspect_name("How clear is it to you? [Text {n}]") == "clarity"
    assert aspect_name("Film {n} - I trust this recommendation.") == "trust"
    assert aspect_name("ease of use") == "ease of use"
    assert aspect_name("How helpful was the text? [1 = not at all, 5 = very]") == "usefulness"
    assert aspect_name("Clear (1-5)") == "Clear"
    assert aspect_name("Stimmen Sie zu? [Ich vertraue der Empfehlung.]") == "trust"
    assert aspect_name("Do you enjoy films like these? - The text is convincing.") == "persuasiveness"
    assert aspect_name("Would you see it again, my dear friend?") == "Would you see it"
    assert the_user(["anna", "participant"]) == "participant"
    assert not the_user(["anna", "ben"])
    for word in ("client", "cliente", "utente", "Nutzer", "utilisateur", "usuario", "gebruiker", "moi", "yo"):
        assert the_user(["anna", word]) == word


@pytest.mark.parametrize(
    ("columns", "patterns", "likely"),
    [
        (["text_1", "rating_1", "text_2", "rating_2"], ["text_{n}", "rating_{n}"], "item_id"),
        (["text_a", "fun_a", "text_b", "fun_b"], ["text_{n}", "fun_{n}"], "item_id"),
        (["Film 1 - fun", "Film 2 - fun"], ["Film {n} - fun"], "item_id"),
        (["Fun? [System A]", "Fun? [System B]"], ["Fun? [System {n}]"], "generator"),
        (["Annotator 1 fun", "Annotator 2 fun"], [], ""),
        (["fun item 1", "fun item 2"], [], ""),
        (["gpt-4 fun", "gpt-5 fun"], [], ""),
        (["marks.0", "marks.1"], [], ""),
    ],
)
def test_columns_that_repeat_are_told_from_raters_and_questions(columns, patterns, likely) -> None:
    families, key = repeated(columns)
    assert [*families] == patterns
    assert key == likely


def test_the_words_of_a_judge_are_asked_for_by_a_line_that_says_their_order() -> None:
    columns: dict[str, list[object]] = {"item_id": [*"abcd"], "generator": [*"xxxx"]}
    columns |= {"text": ["t u", "v w", "x y", "z a"], "human_rating": [1, 0, 1, 1]}
    columns |= {"gpt_verdict": ["pass", "fail"] * 2, "gpt_model": ["gpt-4", "claude"] * 2}
    table = from_frame(pd.DataFrame(columns).astype(object), "t")
    with pytest.raises(DataError, match="add --column 'gpt_verdict=tool:gpt_verdict:fail<pass'"):
        propose(table, {}, accept, lambda _: None, [])
    said = read_roles("gpt_verdict=tool:gpt:fail<pass")
    made = propose(table, said, accept, lambda _: None, [])
    assert made.labels["gpt_verdict"] == {"pass": 1, "fail": 0}
    assert cells(made)[1] == {("gpt", "")}
    with pytest.raises(DataError, match="say whose 'gpt_verdict' is: 'gpt_verdict=tool:NAME:fail<pass'"):
        propose(table, {"gpt_verdict": "words:fail<pass"}, accept, lambda _: None, [])


@pytest.mark.parametrize(
    ("ratings", "code"),
    [
        ([1, 2, 3, 4, 5] * 4 + [99], "99"),
        ([1, 2, 3, 4, 5] * 4 + [-1, -1], "-1"),
        ([1, 2, 3, 4, 5] * 4 + [0], None),  # may be an end
        ([*range(1, 11)] * 4, None),
        ([0, 20, 50, 80, 100] * 4, None),
    ],
)
def test_few_ratings_far_from_the_scale_of_the_others_are_noted(ratings, code) -> None:
    keys = [str(n) for n in range(len(ratings))]
    noted = [n for n in proposed({"item": keys, "text": keys, "human_1": ratings}).notes if "far from" in n]
    assert [f"missing: ['{code}']" in note for note in noted] == ([True] if code else [])
