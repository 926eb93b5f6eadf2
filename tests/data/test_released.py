"""Releases of MovieLens: the files of 1M say what those of later releases say."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from metaeval.base.errors import DataError
from metaeval.data.released import read_movielens

FILES = {
    "ratings.dat": "1::10::5::978300760\n1::20::3::978302109\n2::10::4::978298413\n",
    "movies.dat": "10::Misérables, Les (1995)::Drama|Musical\n20::Odd: (x) (1999)::Horror\n",
    "users.dat": "1::F::1::10::48067\n2::M::56::16::70072\n",
}
CSV = {
    "ratings.csv": "userId,movieId,rating,timestamp\n" + FILES["ratings.dat"].replace("::", ","),
    "movies.csv": "movieId,title,genres\n"
    '10,"Misérables, Les (1995)",Drama|Musical\n20,Odd: (x) (1999),Horror\n',
}


def write(folder: Path, files: dict[str, str], encoding: str) -> Path:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text, encoding=encoding)
    return folder


def test_both_forms_of_a_release_are_read_alike(tmp_path: Path) -> None:
    old = read_movielens(write(tmp_path / "1m", FILES, "latin-1"))
    new = read_movielens(write(tmp_path / "new", CSV, "utf-8"))
    pd.testing.assert_frame_equal(old.ratings, new.ratings)
    pd.testing.assert_frame_equal(old.items, new.items)
    assert old.ratings["timestamp"].is_monotonic_increasing
    assert old.items.iloc[0].tolist() == ["10", "Misérables, Les", "1995", "Drama, Musical"]
    assert (new.profiles, new.tags, old.tags) == (None, None, None)
    assert old.profiles is not None
    # The ZIP code is not kept.
    assert old.profiles.to_numpy().tolist() == [
        ["1", "female", "under 18", "school student"],
        ["2", "male", "56 or more", "self-employed"],
    ]


def test_times_of_another_unit_than_of_a_release_are_named(tmp_path: Path) -> None:
    wrong = CSV | {"ratings.csv": CSV["ratings.csv"].replace("978302109", "978302109000")}
    with pytest.raises(
        DataError, match=r"ratings\.csv, row 3, column 'timestamp': is 978302109000, as millisec"
    ):
        read_movielens(write(tmp_path / "new", wrong, "utf-8"))


def test_a_line_of_1m_that_is_wrong_is_named(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "1m", FILES | {"ratings.dat": "1::10::5::9\n1::20::good::8\n2::10\n"}, "latin-1"
    )
    with pytest.raises(DataError, match=r"^ratings\.dat, row 3: has 2 fields; it needs 4: userId, movieId"):
        read_movielens(folder)
    (folder / "ratings.dat").write_text("1::10::5::9\n1::20::good::8\n")
    with pytest.raises(DataError, match=r"^ratings\.dat, row 2, column 'rating': is 'good'"):
        read_movielens(folder)
    (folder / "ratings.dat").unlink()
    with pytest.raises(DataError, match=r"there is no file ratings\.csv or ratings\.dat"):
        read_movielens(folder)
