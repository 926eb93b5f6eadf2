"""Any table becomes a log by a map; what is wrong is said of the table's own rows and columns."""

import pandas as pd
import pytest
from click.testing import CliRunner

from metaeval.base.errors import DataError
from metaeval.cli import cli
from metaeval.kinds.exposure.data.imports.table import import_table
from metaeval.kinds.exposure.data.loading import load, save
from tests.docs.pages import blocks

MAP = """kind: exposure
name: shop
log: {user_id: customer, item_id: sku, outcome: clicked, timestamp: at, position: slot, propensity: p}
context: {device: device}
items: {title: product, price: price}
users: {town: city}
tables: {test: random.csv}
outcome: {min: 0, max: 1}
"""
TABLE = """customer,sku,clicked,at,slot,p,device,product,price,city
ann,007,1,2024-05-31T12:00:00Z,1,0.5,phone,Hat,9.5,Rome
bob,007,0,2024-06-01,2,0.25,web,Hat,9.5,Oslo
ann,8,0,2024-06-02,1,0.25,web,Cap,,Rome
"""


@pytest.fixture
def shop(tmp_path):
    (tmp_path / "map.yaml").write_text(MAP)
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "random.csv").write_text("user_id,item_id,outcome\nann,8,1\n")
    return tmp_path


def test_columns_are_renamed_and_items_and_users_stand_once(shop):
    table, map_, out = (str(shop / name) for name in ("table.csv", "map.yaml", "out"))
    done = CliRunner().invoke(cli, ["data", "import", "table", table, "--map", map_, "--out", out])
    assert done.exit_code == 0, done.output
    assert "3 log rows" in done.output
    data = load(shop / "out")
    assert data.log["item_id"].tolist() == ["007", "007", "8"]
    assert data.log["timestamp"].tolist() == [1717156800, 1717200000, 1717286400]
    assert data.log["device"].tolist() == ["phone", "web", "web"]
    assert data.items[["item_id", "title"]].to_numpy().tolist() == [["007", "Hat"], ["8", "Cap"]]
    assert data.items["price"].tolist()[0] == 9.5
    assert data.profiles.to_numpy().tolist() == [["ann", "Rome"], ["bob", "Oslo"]]
    assert len(data.test) == 1


@pytest.mark.parametrize(
    ("times", "unit", "said"),
    [
        (("1717156800000", "1717200000000", "1717286400000"), "milliseconds", "2024-05-31 to 2024-06-02"),
        (("45443.5", "45444", "45445"), "excel", "2024-05-31 to 2024-06-02"),
        (("2024", "2023", "2024"), "years", "2023-01-01 to 2024-01-01"),
    ],
)
def test_times_in_another_unit_are_read_and_said_and_a_data_set_has_none(shop, times, unit, said):
    table = TABLE
    for old, new in zip(("2024-05-31T12:00:00Z", "2024-06-01", "2024-06-02"), times, strict=True):
        table = table.replace(old, new)
    (shop / "table.csv").write_text(table)
    done = import_table(shop / "table.csv", shop / "map.yaml", shop / "out")
    assert done.lines()[1:] == [f"timestamp in {unit}: {said}"]
    assert done.data.log["timestamp"].tolist()[1] == (1672531200 if unit == "years" else 1717200000)
    (shop / "map.yaml").write_text(f"{MAP}time_unit: {unit}\n")
    again = import_table(shop / "table.csv", shop / "map.yaml", shop / "again")
    assert again.data.fingerprint == done.data.fingerprint == load(shop / "out").fingerprint
    save(done.data, shop / "log", "csv")
    log = pd.read_csv(shop / "log" / "log.csv").assign(timestamp=times)
    log.to_csv(shop / "log" / "log.csv", index=False)
    checked = CliRunner().invoke(cli, ["data", "check", str(shop / "log")])
    assert checked.exit_code == 1
    assert f"log.csv, row 2, column 'timestamp': is {times[0]}, as {unit} are; write" in checked.output


def test_yahoo_r3_as_released(shop):
    """The map of the documentation, on files of the released format."""
    maps = {block.file: block.text for block in blocks("how-to/exposure.md") if block.file}
    (shop / "yahoo-r3.yaml").write_text(maps["yahoo-r3.yaml"])
    train, test = (shop / f"ydata-ymusic-rating-study-v1_0-{part}.txt" for part in ("train", "test"))
    train.write_text("1\t14\t5\n1\t35\t1\n2\t46\t1\n")
    test.write_text("1\t49\t1\n1\t126\t5\n")
    import_table(train, shop / "yahoo-r3.yaml", shop / "out")
    data = load(shop / "out")
    assert data.log["item_id"].tolist() == ["14", "35", "46"]
    assert data.log["outcome"].tolist() == [5, 1, 1]
    assert data.test.to_numpy().tolist() == [["1", "49", 1.0], ["1", "126", 5.0]]
    assert (data.exposure, data.positive) == ("pair", 4)


KUAIREC = "user_id,video_id,play_duration,video_duration,time,date,timestamp,watch_ratio\n"


def test_kuairec_as_released(shop):
    maps = {block.file: block.text for block in blocks("how-to/exposure.md") if block.file}
    (shop / "kuairec.yaml").write_text(maps["kuairec.yaml"])
    (shop / "big_matrix.csv").write_text(
        KUAIREC + "0,3649,13838,10867,2020-07-05 00:08:23.438,20200705,1593878903.438,1.273397\n"
        "0,9598,13665,10984,2020-07-05 00:13:41.297,20200705,1593879221.297,1.244082\n"
        "14,148,4381,6067,,,,0.722103\n"
    )
    (shop / "small_matrix.csv").write_text(KUAIREC + "14,183,11635,6100,,,,1.907377\n")
    (shop / "item_categories.csv").write_text('video_id,feat\n0,[8]\n1,"[27, 9]"\n')
    (shop / "user_features.csv").write_text("user_id,user_active_degree,is_lowactive\n0,high_active,0\n")
    import_table(shop / "big_matrix.csv", shop / "kuairec.yaml", shop / "out")
    data = load(shop / "out")
    assert data.log["timestamp"].tolist()[:2] == [1593878903.438, 1593879221.297]
    assert data.test.to_numpy().tolist() == [["14", "183", 1.907377]]
    assert data.items.to_numpy().tolist() == [["0", "[8]"], ["1", "[27, 9]"]]
    assert data.profiles.to_numpy().tolist() == [["0", "high_active"]]


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("table.csv", "0.5,phone", "0,phone", "table.csv, row 2, column 'p': the propensity 0 is not"),
        (
            "table.csv",
            "2024-05-31T12:00:00Z",
            "17",
            "table.csv, row 3, column 'at': is '2024-06-01'; it may be",
        ),
        ("table.csv", "bob,007,0", "bob,007,x", "table.csv, row 3, column 'clicked': is 'x'"),
        ("table.csv", "2024-06-01", "June", "table.csv, row 3, column 'at': is 'June'"),
        ("map.yaml", "sku", "skuu", "map.yaml: the column 'skuu' is not in the table; did you mean 'sku'?"),
        ("map.yaml", "{device: device}", "{outcome: device}", "is a column of its own in a log"),
        ("map.yaml", "user_id: customer, ", "", "`users` names fields of users, but `log` names no user_id"),
        (
            "map.yaml",
            "random.csv}",
            "{file: random.csv, columns: {user_id: usr}}}",
            "column 'usr' is not",
        ),
        ("map.yaml", "test: random", "items: random", "items are named in `tables` and in `items`"),
        ("map.yaml", "log:", "lgo:", "unknown key 'lgo'; did you mean 'log'?"),
        ("map.yaml", "max: 1", "max: 1}\npositive: 3\nextra: {", "unknown key 'extra'"),
    ],
)
def test_what_is_wrong_is_said_of_the_table_and_the_map(shop, file, old, new, says):
    text = (shop / file).read_text()
    assert old in text
    (shop / file).write_text(text.replace(old, new, 1))
    with pytest.raises(DataError) as error:
        import_table(shop / "table.csv", shop / "map.yaml", shop / "out")
    assert says in "\n".join(map(str, error.value.problems or [error.value]))
    assert not (shop / "out").exists()
