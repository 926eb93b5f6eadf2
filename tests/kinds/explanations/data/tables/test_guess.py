"""What columns are taken for, by their names and values."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.kinds.explanations.data.tables.guess import Guess, guess
from metaeval.kinds.explanations.data.tables.labels import (
    SCALES,
    numbers_of,
    scale_of,
    scale_of_labels,
    scales_of,
)
from metaeval.sources.tables.table import from_frame


def guessed(columns: dict[str, list[object]], **said: str) -> Guess:
    return guess(from_frame(pd.DataFrame(columns).astype(object), "t"), said)


def cells(found: Guess) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
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
        (["Coder 1", "column 1"], {("Coder 1", "overall")}, set()),
    ],
)  # fmt: skip
def test_who_and_what_are_parts_of_a_name(columns, people, tools) -> None:
    scores = {c: [0.31, 0.5, 0.27] if "BLEU" in c else [1, 4, 5] for c in columns}
    assert cells(guessed({"user": ["a", "b", "c"], **scores})) == (people, tools)


def test_what_a_form_tool_adds_is_not_used() -> None:
    added = {"Progress": [100, 100], "Finished": ["True", "False"], "Location Latitude": [5, 6]}
    found = guessed({**added, "ResponseId": ["R_1", "R_2"], "trust": [4, 5]})
    assert found.left == [*added]
    assert found.roles == {"user_id": "ResponseId"}
    added = {"Antwort ID": [1, 2], "Letzte Seite": [5, 5], "Zufallsstartwert": [1, 2], "Export-ID": [3, 4]}
    found = guessed({**added, "Vertrauen": [4, 5], "Wie alt sind Sie?": [30, 40]})
    assert found.left == [*added][1:]
    assert found.roles == {"user_id": "Antwort ID"}
    assert found.profiles == ["Wie alt sind Sie?"]


def test_ratings_beside_a_list_of_raters_are_of_the_user() -> None:
    found = guessed({"marks.rater": ["anna", "ben"], "marks.fun": [1, 2], "own.fun": [4, 5]})
    assert cells(found) == ({("", "fun"), ("user", "fun")}, set())


def test_of_two_columns_of_raters_one_names_the_user_or_a_tool() -> None:
    found = guessed({"worker": ["1", "2"], "who": ["participant", "gpt-4"], "trust": [3, 4]})
    assert found.roles == {"user_id": "worker", "rater": "who"}


def test_fractions_beside_whole_ratings_are_of_a_tool_and_sliders_of_people() -> None:
    people = {"Nutzer trust": [1, 2, 5], "Anna trust": [2, 2, 4], "Bot trust": [1.25, 3.0, 2.5]}
    assert cells(guessed(people)) == ({("Nutzer", "trust"), ("Anna", "trust")}, {("Bot", "trust")})
    stars = {"trust": [0.5, 4, 5], "Bea trust": [1.5, 2, 3]}
    assert cells(guessed(stars)) == ({("user", "trust"), ("Bea", "trust")}, set())
    sliders = {"trust": [0, 50, 97], "odd": [33, 2, 80]}
    assert cells(guessed(sliders)) == ({("user", "trust"), ("user", "odd")}, set())
    beside = {"trust": [1, 2, 5], "clarity": [33, 2, 80], "odd": [33, 2, 80]}
    assert cells(guessed(beside)) == ({("user", "trust"), ("user", "clarity")}, {("odd", "")})


def test_an_address_is_no_profile_even_if_each_user_has_one() -> None:
    table = {
        "user": ["a", "a", "b"],
        "IP address": ["1.1", "1.1", "1.2"],
        "home": ["x", "x", "y"],
        "fun": [1, 2, 3],
    }
    assert guessed(table).profiles == ["home"]


def test_numbers_of_rows_and_of_people_are_no_ratings() -> None:
    rated = {"user": [f"u{i // 4}" for i in range(16)], "fun": [i * 7 % 5 + 1 for i in range(16)]}
    found = guessed({"No.": [*range(4, 20)], **rated, "joined": [2001 + i // 4 for i in range(16)]})
    assert (found.left, found.profiles, cells(found)[0]) == (["No."], ["joined"], {("user", "fun")})
    nested = {"by.user.id": rated["user"], "by.user.level": [i // 4 for i in range(16)]}
    found = guessed({**nested, "leeftijd": [20 + i for i in range(16)], "fun": rated["fun"]})
    assert (found.profiles, cells(found)[0]) == (["by.user.level"], {("user", "fun")})
    assert found.left == ["leeftijd"]  # it differs within a user
    found = guessed(
        {**rated, "level": [i // 4 + 1 for i in range(16)], "No.": [*range(4, 20)]}, **{"No.": "rating"}
    )
    assert {c.column for c in found.people} == {"fun", "level", "No."}


def test_a_column_of_people_and_models_is_the_rater_and_an_id_beside_a_title_the_item() -> None:
    of_two = [f"a text that is long enough, number {i // 3}" for i in range(12)]
    table = {
        "key": of_two,
        "Xyz": ["Ana", "Luis", "gpt-4o"] * 4,
        "model": ["llama3"] * 12,
        "fun": [1, 3, 4] * 4,
    }
    assert guessed(table).roles == {"explanation": "key", "rater": "Xyz", "generator": "model"}
    titled = {"id": ["r1", "r2", "r3"], "film title": ["Up", "Up", "Heat"], "fun": [1, 3, 4]}
    assert guessed(titled).roles == {"item_id": "id", "item_title": "film title"}
    again = {**titled, "id": ["r1", "r1", "r3"]}
    assert guessed(again).roles == {"item_id": "film title", "item_title": "film title"}


def test_a_column_is_what_the_user_says() -> None:
    table = {"who": ["a", "b"], "notes": ["x", "y"], "q1": [3, 4], "q2": [1, 2]}
    found = guessed(table, who="user_id", notes="explanation", q1="score", q2="ignore")
    assert found.roles == {"user_id": "who", "explanation": "notes"}
    assert cells(found) == (set(), {("q1", "")})
    assert found.left == ["q2"]
    assert cells(guessed({"q": [300, 400]}, q="rating")) == ({("user", "q")}, set())


@pytest.mark.parametrize(
    ("answers", "numbers"),
    [
        (["4 - Agree", "5 \u2013 Fully", "4 - Agree"], {"4 - Agree": 4, "5 \u2013 Fully": 5}),
        (["Agree (4)", "No idea (1)", "n/a"], {"Agree (4)": 4, "No idea (1)": 1, "n/a": None}),
        (["3 stars", "1 star"], {"3 stars": 3, "1 star": 1}),
        (["★★", "★"], {"★★": 2, "★": 1}),
        (["★★☆", "★☆☆"], {"★★☆": 2, "★☆☆": 1}),
        (["4/5", "3 / 5", "N/A"], {"4/5": 4, "3 / 5": 3, "N/A": None}),
        (["2 von 7", "k.A."], {"2 von 7": 2, "k.A.": None}),
        (["Somewhat agree", "Strongly disagree"], {"Somewhat agree": 4, "Strongly disagree": 1}),
        (["stimme voll und ganz zu", "teils/teils"], {"stimme voll und ganz zu": 5, "teils/teils": 3}),
        (["同意", "中立"], {"同意": 4, "中立": 3}),
        (["Heat (1995)", "Up (2009)"], None),
        (["Agree", "strongly disagree"], {"Agree": 4, "strongly disagree": 1}),
        (["Somewhat agree", "Agree"], {"Somewhat agree": 5, "Agree": 6}),
        (["A1", "A5", "AO02"], {"A1": 1, "A5": 5, "AO02": 2}),
        (["Not useful at all", "Very useful"], {"Not useful at all": 1, "Very useful": 4}),
        (
            ["Extremely likely", "Neither likely nor unlikely"],
            {"Extremely likely": 5, "Neither likely nor unlikely": 3},
        ),
        (["4"] * 18 + ["see above"], {}),
        (["4"] * 8 + ["see above"], None),
        (["Yes", "No", "Not sure"], {"Yes": 1, "No": 0, "Not sure": None}),
        (["3", "4.5", "n/a"], {}),
        (["Film 1", "Film 2"], None),
        (["2026/05/01", "red"], None),
        ([], None),
        (["n/a"], None),
    ],
)
def test_answers_in_words_are_numbers(answers, numbers) -> None:
    assert numbers_of(answers) == numbers


def test_a_scale_of_labels_has_those_that_nobody_chose() -> None:
    assert scale_of_labels(["Agree", "Disagree"]) == (1, 5)
    assert scale_of_labels(["No"]) == (0, 1)
    assert scale_of_labels(["4 - Agree"]) is None
    assert scale_of_labels(["3/7", "2/7"]) == (1, 7)


@given(st.lists(st.floats(-1000, 1000), min_size=1))
def test_a_scale_holds_its_numbers_and_no_shorter_usual_one_does(numbers) -> None:
    low, high = scale_of(numbers)
    assert low <= min(numbers) <= max(numbers) <= high
    assert low < high
    fitting = [s for s in SCALES if s[0] <= min(numbers) and max(numbers) <= s[1]]
    assert high - low <= min((s[1] - s[0] for s in fitting), default=math.inf) or (low, high) in fitting


def test_a_slider_beside_short_scales_is_no_scale_of_theirs() -> None:
    assert scales_of({"trust": [1.0, 4.0], "fun": [3.0, 88.0]}) == {"trust": (1, 5), "fun": (0, 100)}


def test_an_aspect_has_a_scale_of_its_own_if_that_is_clear() -> None:
    few = {"trust": [1.0, 5.0], "fun": [1.0, 2.0, 3.0]}
    assert scales_of(few) == {"trust": (1, 5), "fun": (1, 5)}
    many = {"trust": [1.0, 5.0], "fun": [1.0, 2.0, 3.0] * 10, "clear": [0.0, 1.0]}
    assert scales_of(many) == {"trust": (1, 5), "fun": (1, 3), "clear": (0, 1)}
