import numpy as np
import pandas as pd
import pytest

from metaeval.base import keys
from metaeval.base.keys import Level


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (("user_id", "item_id", "generator"), ["dataset", "user", "pair", "item", "generator"]),
        (("item_id", "generator"), ["dataset", "item", "generator"]),
        (("user_id", "item_id"), ["dataset", "user", "pair", "item"]),
        (("item_id",), ["dataset", "item"]),
        (("query", "document"), ["dataset", "query", "document"]),
        (("a", "b", "c"), ["dataset", "a", "pair", "b", "c"]),
        (("user_id", "pair", "order"), ["dataset", "user", "order"]),
    ],
)
def test_levels_follow_from_the_keys(columns: tuple[str, ...], expected: list[str]) -> None:
    assert list(keys.levels_of(columns)) == expected


def test_what_names_no_group_is_compared_by_its_means() -> None:
    of_explanations = keys.levels_of(["user_id", "item_id", "generator"])
    assert of_explanations["pair"] == Level("pair", ("user_id", "item_id"))
    assert {name for name, level in of_explanations.items() if level.between} == {"generator"}
    of_questions = keys.levels_of(["asker", "question"])
    assert of_questions["asker"] == Level("asker", ("asker",))
    assert of_questions["question"].between


def test_keys_of_a_table_are_its_columns_without_scores_and_numbers() -> None:
    scores = pd.DataFrame(
        {"generator": ["g"], "item_id": [1], "user_id": [1], "evaluator": ["e"], "aspect": [""]}
        | {"score": [1.0], "status": ["ok"], "latency": [np.pi]}
    )
    assert keys.key_columns(scores) == ("user_id", "item_id", "generator")


def test_keys_without_a_convention_stay_in_the_order_of_the_columns() -> None:
    assert keys.key_columns(pd.DataFrame({"query": ["q"], "document": ["d"], "rating": [1]})) == (
        "query",
        "document",
    )
    assert keys.cluster_columns(("query", "document")) == {"query": "query", "document": "document"}
    assert keys.nouns_of(("user_id", "generator")) == {"user_id": "user", "generator": "generator"}
