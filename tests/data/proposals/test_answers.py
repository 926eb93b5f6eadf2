"""Answers in words, and the scales of answers."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.data.proposals.proposal import (
    SCALES,
    numbers_of,
    scale_of,
    scale_of_labels,
    scales_of,
)


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
        (["5-Apr", "5-Jan"], None),
        (["4", "2", "5-Apr"], {}),
        (["4 - Agree", "5-Apr"], {}),
        (["4/5", "05.04.2024"], {}),
        (["Up", "March 15"], None),
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


@pytest.mark.parametrize(
    ("words", "scale"), [("3/6 2/6", (1, 6)), ("0/10 9/10", (0, 10)), ("30/100", (0, 100)), ("3/4", (1, 4))]
)
def test_what_fractions_are_of_is_the_top_of_their_scale(words: str, scale: tuple[float, float]) -> None:
    assert scale_of_labels(words.split()) == scale


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
