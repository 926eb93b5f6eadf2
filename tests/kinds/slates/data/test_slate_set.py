import pandas as pd

from metaeval.kinds.slates.data.slate_set import SlateSet, units_of, utilities_of


def duels():
    return pd.DataFrame(
        {
            "user_id": ["u", "v"],
            "duel": ["1", "1"],
            "task": "T1",
            "first": ["a", "c"],
            "second": ["b", "d"],
            "utility_first": [0.1, 0.5],
            "utility_second": [0.4, 0.2],
        }
    )


def test_a_duel_is_two_units_and_the_second_is_the_first_turned():
    units = units_of(duels())
    assert units[["user_id", "order"]].to_numpy().tolist() == [
        ["u", "first"],
        ["u", "second"],
        ["v", "first"],
        ["v", "second"],
    ]
    assert units["first"].tolist() == ["a", "b", "c", "d"]
    assert units["second"].tolist() == ["b", "a", "d", "c"]
    assert units["utility_first"].tolist() == [0.1, 0.4, 0.5, 0.2]
    assert units["repeat"].tolist() == [0, 0, 0, 0]


def test_a_rating_says_how_much_more_the_slate_shown_first_is_worth():
    assert utilities_of(units_of(duels()))["rating"].round(9).tolist() == [-0.3, 0.3, 0.3, -0.3]


def test_a_set_counts_duels_and_slates_and_its_fingerprint_depends_on_utilities():
    items = {"user_id": "u", "slate": ["a", "a", "b"], "position": [1, 2, 1], "item_id": ["x", "y", "z"]}
    units = units_of(duels())
    data = SlateSet(units, utilities_of(units), pd.DataFrame(items))
    known = {"unit": 4, "user": 2, "duel": 2, "slate": 2}
    assert {k: data.counts[k] for k in known} == known
    other = units_of(duels().assign(utility_first=[0.2, 0.5]))
    assert SlateSet(other, utilities_of(other), data.slates).fingerprint != data.fingerprint
