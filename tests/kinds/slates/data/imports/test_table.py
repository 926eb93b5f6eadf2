"""Any table as duels, by a map: drawn of interactions, or as they are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from metaeval.base.errors import DataError
from metaeval.cli import main
from metaeval.kinds.slates.data.imports.table import import_table
from metaeval.kinds.slates.data.loading import load

MAP = """kind: slates
name: toys
interactions: {user_id: customer, item_id: sku, rating: stars, timestamp: day}
items: {title: product}
users: {town: city}
scale: {min: 1, max: 5}
domain: {noun: toy, plural: toys}
draw: {size: 3, slates: 3}
"""
ROWS = [
    f"{user},s{n},{(n * n + user) % 5 + 1},2024-0{n + 1}-1{user},Toy {n},Town {user}"
    for user in range(2)
    for n in range(9)
]
HEADER = "customer,sku,stars,day,product,city"
DUELS = """kind: slates
name: test
duels: {user_id: person, task: task, first: left, second: right, utility_first: l, utility_second: r}
tasks: {T1: which list was read longer}
"""


def write(folder: Path, name: str, *lines: str) -> Path:
    (folder / name).write_text("\n".join(lines) + "\n")
    return folder / name


def interactions(folder: Path, map_text: str = MAP, rows: list[str] = ROWS, header: str = HEADER):
    table, map_file = write(folder, "toys.csv", header, *rows), write(folder, "map.yaml", map_text)
    return import_table(table, map_file, folder / "out", force=True)


def test_interactions_with_ratings_and_dates(tmp_path: Path) -> None:
    data = interactions(tmp_path).data
    assert load(tmp_path / "out").fingerprint == data.fingerprint
    assert set(data.slates["item_id"]) == {"s5", "s6", "s7", "s8"}
    assert sorted(data.histories["item_id"].unique()) == ["s0", "s1", "s2", "s3", "s4"]
    assert data.histories["timestamp"].min() == 1704844800  # 10 January 2024
    assert (data.history_scale.min, data.history_scale.max) == (1, 5)
    assert data.profiles["town"].tolist() == ["Town 0", "Town 1"]
    assert data.items.set_index("item_id")["title"]["s3"] == "Toy 3"
    assert data.domain.plural == "toys"
    lists = data.slates.groupby(["user_id", "slate"])["item_id"].agg(list)
    for unit in data.table[data.table["task"] == "T1"].itertuples():
        stars = [(int(i[1:]) ** 2 + int(unit.user_id)) % 5 + 1 for i in lists[unit.user_id, unit.first]]
        assert unit.utility_first == pytest.approx(sum((s - 1) / 4 / 3 for s in stars))


def test_times_in_milliseconds_are_seconds_and_places_in_an_order_need_a_unit(tmp_path: Path) -> None:
    rows = [f"{user},s{n},{n % 5 + 1},{1704844800000 + n},Toy,Town" for user in range(2) for n in range(9)]
    found = interactions(tmp_path, rows=rows)
    assert "timestamp in milliseconds: 2024-01-10 to 2024-01-10" in found.lines()
    assert found.data.histories["timestamp"].min() == 1704844800
    rows = [row.replace("17048448000", "") for row in rows]
    with pytest.raises(DataError, match=r"toys\.csv, row 2, column 'day': is 0; write seconds since 1970 or"):
        interactions(tmp_path, rows=rows)
    assert interactions(tmp_path, f"{MAP}time_unit: seconds\n", rows).data.histories["timestamp"].max() == 4


def test_positions_are_a_reference_order(tmp_path: Path) -> None:
    changed = MAP.replace("rating: stars, timestamp: day", "position: place").replace(
        "scale: {min: 1, max: 5}\n", ""
    )
    rows = [f"{user},s{n},{10 * n},Toy,Town" for user in range(2) for n in range(9)]
    data = interactions(tmp_path, changed, rows, "customer,sku,place,product,city").data
    assert set(data.histories["item_id"]) == {"s0", "s1", "s2", "s3", "s4"}
    lists = data.slates.groupby(["user_id", "slate"])["item_id"].agg(list)
    for unit in data.table[data.table["task"] == "T2"].itertuples():
        items = lists[unit.user_id, unit.first]
        assert (unit.utility_first == 1) == (items == sorted(items))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("2,s1,6,2024-01-01,x,y", "column 'stars': is not on the scale; allowed are integers from 1 to 5"),
        ("2,s1,4,soon,x,y", "column 'day': is 'soon'; it may be seconds since 1970, or a date such as"),
        ("2,s1,4,,x,y", "column 'day': is not a time; it may be a number, or a date such as"),
        ("2,,4,2024-01-01,x,y", "column 'sku': is empty"),
        ("2,s1,4", "has 3 fields, the header has 6"),
    ],
)
def test_what_is_wrong_with_interactions_is_said(tmp_path: Path, row: str, said: str) -> None:
    with pytest.raises(DataError, match=rf"toys\.csv, row 20.*{said}"):
        interactions(tmp_path, rows=[*ROWS, row])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "rating: stars",
            "rating: star",
            "the column 'star' is not in the table; did you mean 'stars'",
        ),
        ("rating: stars, ", "", "line 3: interactions: name one of rating, gain and position"),
        ("scale: {min: 1, max: 5}\n", "", "the key 'scale' is missing; ratings need one"),
        ("{size: 3", "{size: 1", "draw.size"),
        (
            "name: toys",
            "name: toys\nseparator: ';'",
            "separator does not apply to interactions; leave it out",
        ),
    ],
)
def test_what_is_wrong_with_a_map_is_said(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(DataError, match=f"map.yaml.*{said}"):
        interactions(tmp_path, MAP.replace(old, new))


def test_duels_as_they_are(tmp_path: Path, capsys) -> None:
    rows = [
        "person,task,left,right,l,r",
        "u1,T1,a | b,c|d,0.5,0.25",
        'u1,T1,c|d,"[""a"", ""b""]",0.25,0.5',
        "u1,T2,b|a,a|b,1,0.9",
        "u1,T1,a|b,a|b,0.5,0.5",
        "u2,T1,a|b,c|d,0,1",
    ]
    write(tmp_path, "items.csv", "item_id,title", "a,Ant", "b,Bee", "c,Ant", "d,Cat")
    write(tmp_path, "past.csv", "user_id,item_id,rating", "u1,z,3")
    write(
        tmp_path,
        "map.yaml",
        DUELS,
        "tables: {items: items.csv, histories: past.csv}",
        "history_scale: {min: 1, max: 5}",
    )
    words = ["data", "import", "table", str(write(tmp_path, "duels.csv", *rows))]
    assert main([*words, "--map", str(tmp_path / "map.yaml"), "--out", str(tmp_path / "out")]) == 0
    assert "test: 10 units, 2 users, 5 duels" in capsys.readouterr().out
    data = load(tmp_path / "out")
    units = data.table[data.table["order"] == "first"]
    assert units["repeat"].tolist() == [0, 1, 0, 0, 0]  # the second is the first one, turned
    assert units["duel"].tolist() == ["2", "3", "4", "5", "6"]
    assert units["first"].tolist()[:2] == units["second"].tolist()[1::-1]
    assert units["first"].iloc[3] == units["second"].iloc[3]
    assert units["similarity"].tolist()[2:4] == [1, 1]
    assert 0 < units["similarity"].iloc[0] < 1
    assert data.tasks["T1"] == "which list was read longer"
    assert len(data.histories) == 1


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("u1,T1,a||b,c,1,0", "column 'left': has an empty place"),
        ("u1,T1,,c,1,0", "column 'left': names no item"),
        ("u1,T1,a,c|c,1,0", "column 'right': has the item 'c' twice"),
        ("u1,T1,a,c,,0", "column 'l': is empty"),
        ("u1,T2,a|b,c|d,1,0", "the two slates hold different items"),
    ],
)
def test_what_is_wrong_with_duels_is_said(tmp_path: Path, row: str, said: str) -> None:
    table = write(tmp_path, "duels.csv", "person,task,left,right,l,r", "u1,T1,a|b,c|d,0.5,0.25", row)
    with pytest.raises(DataError, match=rf"^duels\.csv, row 3.*{said}"):
        import_table(table, write(tmp_path, "map.yaml", DUELS), tmp_path / "out")
    assert not (tmp_path / "out").exists()


YELP = Path(__file__).parents[5] / "studies" / "maps" / "yelp.yaml"


def yelp(folder: Path, name: str, rows: list[dict[str, object]]) -> Path:
    return write(folder, f"yelp_academic_dataset_{name}.json", *map(json.dumps, rows))


def test_the_files_of_yelp_are_read_by_the_map_that_is_shipped(tmp_path: Path) -> None:
    """On files as Yelp documents them: JSON lines, a file each of businesses, reviews, users and tips."""
    place = {"name": "Bar", "city": "Tampa", "stars": 4.0, "attributes": {"WiFi": "u'no'"}, "hours": None}
    yelp(
        tmp_path,
        "business",
        [{"business_id": f"b{n}", **place, "categories": "Bars, Food"} for n in range(30)],
    )
    person = {"name": "Ann", "yelping_since": "2008-07-25 10:41:00", "review_count": 9, "elite": "2009"}
    people = [{"user_id": u, **person, "friends": "u1, u2"} for u in ("u0", "u9")]
    yelp(tmp_path, "user", people)
    tips = [("b25", "2018-07-02"), ("b26", "2019-07-02"), ("b19", "2017-07-02")]
    rows = [{"text": "Try it", "date": f"{day} 10:00:00", "business_id": b} for b, day in tips]
    yelp(tmp_path, "tip", [{**row, "user_id": "u0", "compliment_count": 0} for row in rows])
    reviews = [
        {
            "review_id": f"r{n}",
            "user_id": "u0",
            "business_id": f"b{n}",
            "stars": float(n % 5 + 1),
            "useful": 0,
        }
        | {"text": "Good\nplace", "date": f"2018-07-{n + 1:02d} 22:09:11"}
        for n in range(20)
    ]
    source = yelp(tmp_path, "review", reviews)
    data = import_table(source, shutil.copy(YELP, tmp_path), tmp_path / "out").data
    assert sorted(data.slates["item_id"].unique()) == sorted(f"b{n}" for n in range(10, 20))
    # Of tips, one came after the candidates, and one is of a candidate.
    assert sorted(data.histories["item_id"]) == sorted([*(f"b{n}" for n in range(10)), "b25"])
    assert data.histories.set_index("item_id")["rating"].isna().sum() == 1
    assert list(data.items) == ["item_id", "title", "categories", "city"]
    assert list(data.profiles) == ["user_id", "since", "reviews", "elite"]
    assert set(data.table["task"]) == {"T1", "T3"}
    assert data.tasks["T3"].endswith("the sum of rescaled ratings, for ratings have no order")
    stars = data.slates.assign(gain=data.slates["item_id"].str[1:].astype(int) % 5 / 4)
    worth = stars.groupby("slate")["gain"].mean()
    duels = data.table
    assert worth[duels["first"]].to_numpy() == pytest.approx(duels["utility_first"].to_numpy())


def test_tables_of_interactions_have_their_keys_and_times(tmp_path: Path) -> None:
    table = write(tmp_path, "toys.csv", HEADER, *ROWS)
    map_file = write(tmp_path, "m.yaml", MAP, "tables: {items: toys.csv}")
    with pytest.raises(
        DataError, match="fields of items come from the table or from `tables`, not from both"
    ):
        import_table(table, map_file, tmp_path / "out")
    without = MAP.replace("items: {title: product}\n", "")
    map_file = write(tmp_path, "m.yaml", without, "tables: {items: toys.csv}")
    with pytest.raises(DataError, match=r"toys.csv has no column 'item_id', which the table 'items' needs"):
        import_table(table, map_file, tmp_path / "out")
    write(tmp_path, "tips.csv", "user_id,item_id", "1,s1")
    map_file = write(tmp_path, "m.yaml", MAP, "tables: {histories: tips.csv}")
    with pytest.raises(DataError, match="a table of histories needs times"):
        import_table(table, map_file, tmp_path / "out")
