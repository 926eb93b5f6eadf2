"""The newest ratings of MovieLens are labels, and nothing known of an item tells of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from metaeval.base.errors import DataError
from metaeval.kinds.relevance.data.imports.movielens import import_movielens
from metaeval.kinds.relevance.data.loading import load

if TYPE_CHECKING:
    from pathlib import Path

RATINGS = """userId,movieId,rating,timestamp
1,10,4.0,100
1,20,3.5,200
1,30,0.5,900
1,40,5.0,300
2,10,2.0,950
2,40,1.0,400
"""
MOVIES = """movieId,title,genres
10,"Day, The (1995)",Comedy|Drama
20,Untitled,(no genres listed)
30,Late (2001),Drama
40,Odd (x) (1999),Horror
50,Unseen (1950),Horror
"""
TAGS = "userId,movieId,tag,timestamp\n1,40,Bees,1\n2,40,bees ,2\n2,40,slow,3\n1,30,mine,999\n"


@pytest.fixture
def release(tmp_path: Path) -> Path:
    for name, text in (("ratings", RATINGS), ("movies", MOVIES), ("tags", TAGS)):
        (tmp_path / f"{name}.csv").write_text(text)
    return tmp_path


def labels(data) -> set[tuple[str, str, float]]:
    return {tuple(row) for row in data.ratings[["user_id", "item_id", "rating"]].to_numpy()}


def test_the_newest_of_each_user_are_labels_in_half_stars(release: Path) -> None:
    result = import_movielens(release, release / "out", newest=0.4)
    data = load(release / "out")
    assert labels(data) == {("1", "30", 1.0), ("1", "40", 10.0), ("2", "10", 4.0)}
    assert len(data.histories) == 3
    assert data.labels[1] == "0.5 stars"
    assert data.relevant == 8
    items = data.items.set_index("item_id").T.to_dict()
    assert items["10"] == {
        "title": "Day, The",
        "year": "1995",
        "genres": "Comedy, Drama",
        "tags": "",
        "average_rating": "4.0",  # of the one rating that is no label
        "number_of_ratings": "1",
    }
    assert items["40"]["tags"] == "bees, slow"  # once: the tag of user 1, who labels the film, does not count
    assert items["30"]["tags"] == ""
    assert items["30"]["number_of_ratings"] == "0"
    assert (items["20"]["genres"], items["40"]["title"]) == ("", "Odd (x)")
    assert "50" not in items
    assert any("compares labels only" in note for note in result.notes)


def test_a_split_by_time_has_every_label_after_every_history(release: Path) -> None:
    data = import_movielens(release, release / "out", newest=0.34, split="time").data
    assert labels(data) == {("1", "30", 1.0), ("2", "10", 4.0)}
    assert data.histories["timestamp"].max() < 900


def test_what_is_wrong_with_a_release_is_said(release: Path) -> None:
    with pytest.raises(DataError, match="no rating becomes a label with newest="):
        import_movielens(release, release / "out", newest=0.01)
    (release / "ratings.csv").write_text(RATINGS.replace("3.5", "many"))
    with pytest.raises(DataError, match=r"ratings\.csv, row 3, column 'rating'"):
        import_movielens(release, release / "out")
    (release / "movies.csv").write_text("movieId,name\n1,x\n")
    (release / "ratings.csv").write_text(RATINGS)
    with pytest.raises(DataError, match=r"movies\.csv, row 1, column 'title': is missing"):
        import_movielens(release, release / "out")
    (release / "movies.csv").unlink()
    with pytest.raises(DataError, match="there is no file"):
        import_movielens(release, release / "out")


def test_the_small_release(real_data: Path, tmp_path: Path) -> None:
    data = import_movielens(real_data / "movielens", tmp_path / "out").data
    assert len(data.ratings) + len(data.histories) == 100_004
    assert (data.counts["user"], data.counts["unit"]) == (671, 20_003)
    last = data.histories.groupby("user_id")["timestamp"].max()
    some = import_movielens(real_data / "movielens", tmp_path / "some", users=50, seed=1).data
    assert some.counts["user"] == 50
    assert set(some.units["user_id"]) <= set(last.index)
    assert some.items.set_index("item_id").loc["1"].equals(data.items.set_index("item_id").loc["1"])


def test_files_of_1m_have_profiles_of_users(tmp_path: Path) -> None:
    ratings = "\n".join(line.replace(",", "::") for line in RATINGS.replace("3.5", "3").splitlines()[1:5])
    (tmp_path / "ratings.dat").write_text(ratings)
    (tmp_path / "movies.dat").write_text("10::Fée (1995)::Comedy|Drama\n20::U::Drama\n", encoding="latin-1")
    (tmp_path / "users.dat").write_text("1::F::25::4::48067\n")
    data = import_movielens(tmp_path, tmp_path / "out", newest=0.5).data
    assert labels(data) == {("1", "30", 1.0), ("1", "40", 10.0)}
    assert data.items["title"].tolist() == ["Fée", "U"]
    assert data.profiles.to_numpy().tolist() == [["1", "female", "25 to 34", "college or graduate student"]]
