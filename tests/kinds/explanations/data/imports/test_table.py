"""A column map makes a data set of a table; what is wrong is named in the table's own rows and columns."""

from __future__ import annotations

import math
import re
from pathlib import Path
from textwrap import dedent

import pandas as pd
import pytest

from metaeval.base.errors import DataError
from metaeval.kinds.explanations.data import loading
from metaeval.kinds.explanations.data.imports.table import import_table
from tests.conftest import ROOT

WIDE_MAP = """\
name: wide
aspects:
  Clarity: {statement: It is clear, code: CL}
  Trust: {statement: I trust it, code: TR}
scale: {min: 1, max: 5}
units: {item_id: story, generator: system}
ratings:
  - columns: "Rater {rater} {code}"
    where: {rater: ["1", "2"]}
scores:
  - columns: ["{evaluator} (sim)", "Length"]
  - columns: "{judge} {code} {prompt}"
    evaluator: "{judge} {prompt}"
"""
WIDE = """\
story,system,Rater 1 CL,Rater 1 TR,Rater 2 CL,Rater 2 TR,Rater Avg CL,\
BLEU 2 (sim),Length,GPT CL 1,GPT TR 1,GPT AVG 1
007,a,1,2,3,,2,0.30000000000000004,10,4,4.5,4.25
8,a,5,5,5,5,5,0.1,20,,1,1
"""
LONG_MAP = """\
name: long
aspects: {Clarity: {statement: It is clear, code: CL}, Trust: {statement: I trust it}}
scale: {min: 1, max: 5}
units: {user_id: user, item_id: item, generator: system, explanation: text}
users: {age: age}
ratings:
  - columns: stars
    rater: {column: who}
    aspect: {column: what}
"""
LONG = """\
user,item,system,text,age,who,what,stars
u1,1,a,One,30,user,CL,4
u1,1,a,One,30,x,Clarity,3
u1,1,a,One,30,x,Trust,
u2,1,a,Two,40,user,Trust,2
"""


@pytest.fixture
def run(tmp_path):
    def _run(table: str | Path, table_map: str, suffix: str = ".csv"):
        path = table
        if isinstance(table, str):
            path = tmp_path / f"table{suffix}"
            path.write_text(table, encoding="utf-8")
        (tmp_path / "map.yaml").write_text(dedent(table_map), encoding="utf-8")
        return import_table(
            path, tmp_path / "map.yaml", tmp_path / "out", force=True, cache=tmp_path / "cache"
        )

    return _run


def test_a_wide_table(run, tmp_path):
    made = run(WIDE, WIDE_MAP)
    data = loading.load(tmp_path / "out")
    assert data.fingerprint == made.data.fingerprint
    assert made.unmapped == ("Rater Avg CL", "GPT AVG 1")
    assert data.raters == ("1", "2")
    assert data.aspects == {"Clarity": "It is clear", "Trust": "I trust it"}
    assert not data.texts
    assert data.explanations["item_id"].tolist() == ["007", "8"]
    scores = data.scores.set_index(["evaluator", "aspect", "item_id"])["score"]
    assert scores["BLEU 2", "", "007"] == 0.1 + 0.2
    assert scores["Length", "", "8"] == 20
    assert scores["GPT 1", "Trust", "007"] == 4.5
    assert math.isnan(scores["GPT 1", "Clarity", "8"])
    ratings = data.ratings.set_index(["rater", "aspect", "item_id"])["rating"]
    assert ratings["1", "Trust", "007"] == 2
    assert math.isnan(ratings["2", "Trust", "007"])


def test_a_map_states_the_quotation_of_a_tsv(run):
    table = LONG.replace(",", "\t").replace("One", '"One"')
    assert run(table, LONG_MAP, ".tsv").data.explanations["explanation"].tolist() == ['"One"', "Two"]
    stated = run(table, f"quote: '\"'\n{LONG_MAP}", ".tsv")
    assert stated.data.explanations["explanation"].tolist() == ["One", "Two"]


def test_a_long_table(run, tmp_path):
    made = run(LONG, LONG_MAP)
    data = loading.load(tmp_path / "out")
    assert made.unmapped == ()
    assert data.explanations["explanation"].tolist() == ["One", "Two"]
    assert data.users.to_dict("list") == {"user_id": ["u1", "u2"], "age": ["30", "40"]}
    assert data.raters == ("user", "x")
    assert data.ratings["aspect"].tolist() == ["Clarity", "Clarity", "Trust", "Trust"]


MADE_MAP = """\
name: images
below: true
explode: ["{system}.0", "{system}.1"]
parts: {file: "{task}_rater{rater}"}
join: {image: [task, uid]}
combine: {both: {columns: ["{system}.0", "{system}.1"], by: geometric mean}}
aspects: [fit, look, all]
scale: {min: 0, max: 1, integer: false}
units: {item_id: image, generator: system}
ratings:
  - {columns: "{system}.0", rater: {column: rater}, aspect: fit}
  - {columns: "{system}.1", rater: {column: rater}, aspect: look}
  - {columns: both, rater: {column: rater}, aspect: all}
"""


def made_columns(folder: Path, table_map: str = MADE_MAP):
    for name, head in {"draw_rater1": "uid,m", "draw_rater2": "uid,m", "edit_rater1": "uid,n"}.items():
        (folder / f"{name}.csv").write_text(f'{head}\nx,"[1, 0.25]"\n', encoding="utf-8")
    (folder / "map.yaml").write_text(table_map, encoding="utf-8")
    files = [str(folder / f"{name}.csv") for name in ("draw_rater1", "draw_rater2", "edit_rater1")]
    return import_table(files, folder / "map.yaml", folder / "out", force=True)


def test_a_map_makes_columns_of_parts_of_several_and_of_numbers(tmp_path):
    made = made_columns(tmp_path)
    assert made.unmapped == ()
    ratings = made.data.ratings
    assert sorted({*zip(ratings["item_id"], ratings["generator"], ratings["rater"], strict=True)}) == [
        ("draw x", "m", "1"),
        ("draw x", "m", "2"),
        ("edit x", "n", "1"),
    ]
    assert ratings.groupby("aspect")["rating"].first().to_dict() == {"fit": 1, "look": 0.25, "all": 0.5}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("{task}_r", "{task}-r", "does not fit the pattern '{task}-rater{rater}'"),
        ("[task, uid]", "[tusk, uid]", "'tusk' is not in the table; did you mean 'task'"),
        ("{image:", "{uid:", "makes the column 'uid', which is there"),
    ],
)
def test_columns_that_cannot_be_made(tmp_path, old, new, said):
    with pytest.raises(DataError, match=re.escape(said)):
        made_columns(tmp_path, MADE_MAP.replace(old, new, 1))


MAP_ERRORS = {
    "unknown key": ("scale:", "scal:", ["map.yaml: line 5: unknown key 'scal'", "did you mean 'scale'"]),
    "unknown key inside": ("code: CL", "cod: CL", ["line 3", "did you mean 'code'"]),
    "unknown key of an entry": ("where:", "wher:", ["line 9: unknown key 'wher'", "did you mean 'where'"]),
    "column not in the table": ("item_id: story", "item_id: stori", ["'stori'", "did you mean 'story'"]),
    "exact score column": ('"Length"', '"Lenght"', ["'Lenght'", "did you mean 'Length'"]),
    "pattern that fits nothing": ("Rater {rater}", "Ratr {rater}", ["no column of the table fits"]),
    "placeholder of the template": (
        "{judge} {prompt}",
        "{judg} {prompt}",
        ["{judg}", "did you mean 'judge'"],
    ),
    "name without its part": ("{evaluator} (sim)", "{x} (sim)", ["{evaluator}"]),
    "where of nothing": ("{rater: [", "{rate: [", ["'rate'", "did you mean 'rater'"]),
    "number as text": ('["1", "2"]', '[1, "2"]', ["line 9", "quotes"]),
    "no generator": ("generator: system", "generatr: system", ["did you mean 'generatr'"]),
    "same evaluator twice": (
        '"Length"]',
        '"Length"]\n    evaluator: X',
        ["gives the evaluator 'X', and so does"],
    ),
    "all aspects and one": ('"{judge} {prompt}"', '"Length"', ["name them apart"]),
    "column twice": ('"Length"]', '"Length", "BLEU 2 (sim)"]', ["fits more than one entry"]),
    "two codes": ("code: TR", "code: CL", ["two aspects have one code"]),
    "rating of no aspect": ("Rater {rater} {code}", "Rater {rater} CL", ["say of which `aspect`"]),
}


@pytest.mark.parametrize("case", MAP_ERRORS)
def test_a_wrong_map_is_one_sentence(run, tmp_path, case):
    old, new, parts = MAP_ERRORS[case]
    assert old in WIDE_MAP
    with pytest.raises(DataError) as caught:
        run(WIDE, WIDE_MAP.replace(old, new, 1))
    said = " ".join(map(str, caught.value.problems))
    for part in parts:
        assert part in said
    assert "\n" not in said
    assert not (tmp_path / "out").exists()


TABLE_ERRORS = {
    "not a number": ("0.1,20", "n/a,20", ("table.csv", 3, "BLEU 2 (sim)")),
    "off the scale": ("8,a,5", "8,a,7", ("table.csv", 3, "Rater 1 CL")),
    "unit twice": ("8,a,5", "007,a,5", ("table.csv", 3, None)),
    "no item": ("8,a,5", ",a,5", ("table.csv", 3, "story")),
    "ragged": ("8,a,5", "8,a", ("table.csv", 3, None)),
}


@pytest.mark.parametrize("case", TABLE_ERRORS)
def test_a_wrong_table_is_named_by_its_own_rows(run, tmp_path, case):
    old, new, where = TABLE_ERRORS[case]
    with pytest.raises(DataError) as caught:
        run(WIDE.replace(old, new, 1), WIDE_MAP)
    assert caught.value.problems[0][:3] == where
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("x,Clarity,3", "x,Clarty,3", ("table.csv", 3, "what")),
        ("u1,1,a,One,30,x,Clarity", "u1,1,a,Other,30,x,Clarity", ("table.csv", 3, "text")),
        ("u1,1,a,One,30,x,Clarity", "u1,1,a,One,31,x,Clarity", ("table.csv", 3, "age")),
        ("x,Clarity,3", "user,CL,3", ("table.csv", 3, None)),
        ("x,Clarity,3", ",Clarity,3", ("table.csv", 3, "who")),
    ],
)
def test_a_wrong_long_table(run, old, new, where):
    with pytest.raises(DataError) as caught:
        run(LONG.replace(old, new, 1), LONG_MAP)
    assert where in [p[:3] for p in caught.value.problems]


@pytest.mark.slow
def test_hanna_without_a_line_of_code(real_data, tmp_path):
    table = real_data / "hanna" / "hanna_wide.csv"
    made = import_table(table, ROOT / "studies" / "maps" / "hanna.yaml", tmp_path / "hanna")
    data = loading.load(tmp_path / "hanna")
    counts = data.counts
    assert (counts["unit"], counts["item"], counts["generator"], counts["user"]) == (1056, 96, 11, 0)
    assert (counts["aspect"], counts["rater"], counts["recorded evaluator"]) == (6, 3, 92)
    assert counts["missing rating"] == 0
    assert len(made.unmapped) == 44
    assert not data.texts
    for_all = data.scores[data.scores["aspect"] == ""]
    assert for_all["evaluator"].nunique() == 72
    assert "BLEU" in set(for_all["evaluator"])
    judges = data.scores[data.scores["aspect"] != ""]
    assert judges.groupby("evaluator")["aspect"].nunique().tolist() == [6] * 20
    assert data.scores["score"].notna().all()
    # To the last bit: Python's own reading of the text of the file is the judge.
    raw = pd.read_csv(table, dtype=str)
    bleu = data.scores.loc[data.scores["evaluator"] == "BaryScore-SD-0.001", "score"]
    assert bleu.tolist() == [float(v) for v in raw["BaryScore-SD-0.001 Ξε"]]
    mean = (
        data.ratings[data.ratings["aspect"] == "Empathy"].groupby(["item_id", "generator"])["rating"].mean()
    )
    given = raw.set_index(["item_id", "generator"])["Empathy"].astype(float)
    pd.testing.assert_series_equal(mean.sort_index(), given.sort_index(), check_names=False)


@pytest.mark.parametrize(("item", "raters"), [("unit", {"A", "B"}), ("{row: true}", {"A", "B", "unit"})])
def test_a_key_fits_no_pattern_of_ratings(item: str, raters: set[str], tmp_path: Path) -> None:
    (tmp_path / "coders.csv").write_text("unit,A,B\n1,3,4\n2,1,1\n", encoding="utf-8")
    (tmp_path / "map.yaml").write_text(
        "name: coded\naspects: {value: {statement: Which?}}\nscale: {min: 1, max: 4}\n"
        f"units: {{item_id: {item}, generator: {{constant: '3'}}}}\n"
        "ratings: [{columns: '{rater}', aspect: value}]\n",
        encoding="utf-8",
    )
    made = import_table(tmp_path / "coders.csv", tmp_path / "map.yaml", tmp_path / "out")
    assert {*made.data.ratings["rater"]} == raters
