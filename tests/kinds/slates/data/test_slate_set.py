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


def test_a_set_counts_duels_and_slates_and_its_fingerprint_depends_on_utilities():
    items = {"user_id": "u", "slate": ["a", "a", "b"], "position": [1, 2, 1], "item_id": ["x", "y", "z"]}
    units = units_of(duels())
    data = SlateSet(units, utilities_of(units), pd.DataFrame(items))
    known = {"unit": 4, "user": 2, "duel": 2, "slate": 2}
    assert {k: data.counts[k] for k in known} == known
    other = units_of(duels().assign(utility_first=[0.2, 0.5]))
    assert SlateSet(other, utilities_of(other), data.slates).fingerprint != data.fingerprint
