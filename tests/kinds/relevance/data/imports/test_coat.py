"""The random ratings of Coat are labels, the self-chosen ones histories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from metaeval.base.errors import DataError
from metaeval.kinds.relevance.data.imports.coat import import_coat
from metaeval.kinds.relevance.data.loading import load

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def released(tmp_path: Path) -> Path:
    files = {
        "test.ascii": "0 5\n3 0\n",
        "train.ascii": "2 0\n0 4\n",
        "item_features.ascii": "1 0 1\n0 1 0\n",
        "item_features_map.txt": "color:red\ncolor:blue\ntype:rain: long",
        "user_features.ascii": "1 0\n1 1\n",
        "user_features_map.txt": "likes:wool\nlikes:silk\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_ratings_and_features(released: Path) -> None:
    import_coat(released, released / "out")
    data = load(released / "out")
    keys = ["user_id", "item_id", "rating"]
    assert data.ratings[keys].to_numpy().tolist() == [["1", "2", 5.0], ["2", "1", 3.0]]
    assert data.histories[keys].to_numpy().tolist() == [["1", "1", 2.0], ["2", "2", 4.0]]
    assert data.items.to_numpy().tolist() == [["1", "red", "rain: long"], ["2", "blue", ""]]
    assert data.profiles.to_numpy().tolist() == [["1", "wool"], ["2", "wool, silk"]]


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("train.ascii", "2 0\n", r"test.ascii is \(2, 2\), train.ascii \(1, 2\)"),
        ("test.ascii", "2 x\n0 1\n", "test.ascii is not a table of whole numbers"),
        ("test.ascii", "2 9\n0 1\n", "test.ascii holds a number that is not from 0 to 5"),
        ("item_features_map.txt", "color:red\n", "item_features.ascii"),
    ],
)
def test_what_is_not_as_released_is_refused(released: Path, file: str, text: str, says: str) -> None:
    (released / file).write_text(text)
    with pytest.raises(DataError, match=says):
        import_coat(released, released / "out")


def test_the_released_files(real_data: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no file"):
        import_coat(real_data / "movielens", tmp_path / "out")
    result = import_coat(real_data / "coat", tmp_path / "out")
    data = result.data
    assert data.ratings.groupby("user_id").size().tolist() == [16] * 290
    assert data.histories.groupby("user_id").size().tolist() == [24] * 290
    assert round(data.ratings["rating"].mean(), 3) == 2.229
    assert round(data.histories["rating"].mean(), 3) == 2.611
    assert np.isin(["gender", "jackettype", "color"], data.items.columns).all()
    assert result.notes[0].startswith("366 rows of histories about items that the user labelled")
