"""A golden set to a spreadsheet and back: nothing is lost, and whatever does not fit is said."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from metaeval.base.errors import DataError
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
from metaeval.kinds.explanations.data.loading import from_frames, load, save
from metaeval.trust.labelling.golden import keys_of
from metaeval.trust.labelling.golden_table import export_labels, import_labels, unit_name
from tests.trust.saving import STYLES, Style, fill, read_rows, save_rows

ASPECTS = {"clear": "It is clear.", "=cmd|' /C calc'!A0": "It fits."}
AWKWARD = [
    'He said "watch it; or not", twice.',
    "First line.\nSecond line,\r\nthird.",
    "=cmd|' /C calc'!A0",
    "'=1+1 with a quote before it",
    "+49 170 is not a formula; -2, and @home",
    "🙂 👩‍👩‍👧 שלום \u202bעולם\u202c مرحبا",
    "\ttab\tand a lone \r return",
    "靠近湖边。＝很安静",
]
IDS = ["007", "1-2", "12345678901234567890", "=A1", "a,b;c", "TRUE", "1e5", "2025-01-02"]


def awkward(texts: list[str], scale: tuple[float, float, bool] = (1, 5, True)) -> ExplanationSet:
    """One unit a text, with ids that programs turn into something else; nobody has rated anything."""
    from metaeval.base.records import Scale

    count = len(texts)
    keys = pd.DataFrame(
        {
            "user_id": [IDS[i % len(IDS)] for i in range(count)],
            "item_id": [f"{i}" for i in range(count)],
            "generator": ["g,1" if i % 2 else "g;2" for i in range(count)],
        }
    )
    ratings = keys.head(0).assign(rater="", aspect="", rating=0.0)
    return from_frames(keys.assign(explanation=texts), ratings, aspects=ASPECTS, scale=Scale(*scale))


def unit_names(data: ExplanationSet) -> list[str]:
    return [unit_name(key) for key in keys_of(data)]


def labels_of(data: ExplanationSet, rater: str) -> dict[tuple[str, ...], float]:
    rows = data.ratings[data.ratings["rater"] == rater].dropna(subset=["rating"])
    return {tuple(r[:-1]): r[-1] for r in rows[[*data.keys, "aspect", "rating"]].itertuples(index=False)}


@pytest.mark.parametrize("style", STYLES.values(), ids=list(STYLES))
@pytest.mark.parametrize("blind", [False, True])
def test_a_set_labelled_in_a_spreadsheet_comes_back_whole(tmp_path: Path, style: Style, blind: bool) -> None:
    folder, file = save(awkward(AWKWARD), tmp_path / "set"), tmp_path / "labels.csv"
    export_labels(folder, file, rater="anna", blind=blind)
    assert len(read_rows(file)) == len(AWKWARD) + 1
    # In the order of the file: 1, 2, 3, 4, 5, 1, … for one aspect, and every second for the other.
    fill(file, lambda row, column: str(row % 5 + 1) if column == "clear" or row % 2 else "", style)
    found = import_labels(folder, file, rater="anna")
    again = load(folder)
    assert again.explanations["explanation"].tolist() == AWKWARD
    assert again.explanations["user_id"].tolist() == IDS
    assert again.fingerprint == found.data.fingerprint
    order = sorted(range(8), key=unit_names(again).__getitem__) if blind else range(8)
    units = list(again.units.itertuples(index=False, name=None))
    expected = {(*units[at], "clear"): row % 5 + 1 for row, at in enumerate(order)}
    expected |= {(*units[at], list(ASPECTS)[1]): row % 5 + 1 for row, at in enumerate(order) if row % 2}
    assert labels_of(again, "anna") == expected
    assert (found.new, found.replaced, found.same, found.unused) == (12, 0, 0, ())
    assert dict(found.units) == dict(zip(ASPECTS, (8, 4), strict=True))
    # What is there is written out again, and brings nothing new.
    export_labels(folder, file, rater="anna", separator="semicolon", force=True)
    assert import_labels(folder, file, rater="anna").same == 12


def test_labels_are_added_in_several_rounds(tmp_path: Path) -> None:
    folder, file = save(awkward(["one", "two", "three"]), tmp_path / "set", "csv"), tmp_path / "l.csv"
    export_labels(folder, file, rater="anna", aspects=["clear"])
    fill(file, lambda row, _: "4" if row == 0 else "")
    assert import_labels(folder, file, rater="anna").lines() == [
        "labels of 'anna', of 3 units: clear 1",
        "1 new, 0 replaced, 0 there already",
    ]
    before = (folder / "ratings.csv").read_bytes()
    assert import_labels(folder, file, rater="anna").same == 1
    assert (folder / "ratings.csv").read_bytes() == before
    fill(file, lambda row, _: "5" if row < 2 else "")
    with pytest.raises(DataError) as error:
        import_labels(folder, file, rater="anna")
    (problem,) = error.value.problems
    assert (problem.row, problem.column) == (2, "clear")
    assert "is 5, and 'anna' gave it 4 already" in problem.message
    assert (folder / "ratings.csv").read_bytes() == before
    assert import_labels(folder, file, rater="berta").new == 2
    found = import_labels(folder, file, rater="anna", replace=True)
    assert (found.new, found.replaced, found.same) == (1, 1, 0)
    fill(file, lambda *_: "")
    again = re.escape(f"fill in clear, and run again: metaeval golden import {folder} {file} --rater anna")
    with pytest.raises(DataError, match=f"^l.csv: holds no label of 'anna'; {again}$"):
        import_labels(folder, file, rater="anna", replace=True)
    file.write_text(file.read_text(encoding="utf-8-sig").partition("\n")[0], encoding="utf-8")
    with pytest.raises(DataError, match="holds no label"):  # nor has it a row
        import_labels(folder, file, rater="anna")
    assert sorted(labels_of(load(folder), "anna").values()) == [5, 5]
    assert sorted(p.name for p in folder.iterdir()) == ["dataset.yaml", "explanations.csv", "ratings.csv"]


def edited(row: int, column: str, value: str) -> Callable[[list[list[str]]], None]:
    def edit(rows: list[list[str]]) -> None:
        rows[row - 1][rows[0].index(column)] = value

    return edit


@pytest.mark.parametrize(
    ("edit", "row", "column", "says"),
    [
        (edited(3, "unit", "u-0"), 3, "unit", "is 'u-0', which the data set does not have"),
        (lambda rows: rows.append(rows[1]), 10, "unit", "the unit is already in row 2; keep one"),
        (edited(4, "explanation", "Another text"), 4, "explanation", "is not the text of this unit"),
        (edited(5, "clear", "6"), 5, "clear", "the label 6 is not on the scale; allowed are integers from 1"),
        (edited(5, "clear", "3,5"), 5, "clear", "the label 3,5 is not on the scale"),
        (edited(5, "clear", "good"), 5, "clear", "is 'good'; it may be a number, or empty"),
        (
            edited(1, "unit", "unt"),
            2,
            "user_id",
            "is '7', which the data set does not have; did you mean '007'",
        ),
    ],
)
def test_whatever_is_wrong_is_said_with_row_and_column(
    tmp_path: Path, edit: Callable[[list[list[str]]], None], row: int, column: str, says: str
) -> None:
    folder, file = save(awkward(AWKWARD), tmp_path / "set", "csv"), tmp_path / "l.csv"
    export_labels(folder, file, rater="anna")
    rows = read_rows(file)
    rows[1][rows[0].index("user_id")] = "7"  # as programs read 007; the column `unit` knows better
    rows[2][rows[0].index("clear")] = "4"
    edit(rows)
    save_rows(file, rows)
    before = (folder / "ratings.csv").read_bytes()
    with pytest.raises(DataError) as error:
        import_labels(folder, file, rater="anna")
    assert [(p.file, p.row, p.column) for p in error.value.problems] == [("l.csv", row, column)]
    assert says in error.value.problems[0].message
    assert (folder / "ratings.csv").read_bytes() == before


def test_files_of_other_programs_will_do(tmp_path: Path) -> None:
    """A table made elsewhere, with the keys, an aspect in full-width digits, and columns of its own."""
    folder = save(awkward(["one", "two"]), tmp_path / "set")
    file = tmp_path / "l.tsv"
    lines = [
        "generator\titem_id\tuser_id\tclear\tnotes\tclea",
        "g;2\t0\t007\t４\thm\t",
        "g,1\t1\t1-2\t 2.0 \t\t5",
    ]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = import_labels(folder, file, rater="anna")
    assert sorted(labels_of(found.data, "anna").values()) == [2, 4]
    assert found.unused == ("notes", "clea")
    assert found.lines()[-1] == "unused columns: 'notes', 'clea'; did you mean 'clear'?"


def test_an_aspect_may_be_called_like_a_column(tmp_path: Path) -> None:
    data = awkward(["one", "two"])
    from dataclasses import replace

    folder = save(replace(data, aspects={"explanation": "It is one.", "unit": "x"}), tmp_path / "set")
    export_labels(folder, tmp_path / "l.csv", rater="a")
    assert read_rows(tmp_path / "l.csv")[0][-3:] == ["explanation", "label: explanation", "label: unit"]
    fill(tmp_path / "l.csv", lambda row, _: str(row + 1))
    assert import_labels(folder, tmp_path / "l.csv", rater="a").units == {"explanation": 2, "unit": 2}


def test_what_is_shown(tiny: Path) -> None:
    export_labels(tiny, "l.csv", rater="anna", aspects=["fitting"], show=["reference"], blind=True)
    header, *rows = read_rows(Path("l.csv"))
    assert header == ["unit", "reference", "explanation", "fitting"]
    assert {row[-1] for row in rows} == {""}
    assert [row[0] for row in rows] == sorted(unit_names(load(tiny)))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"aspects": ["cler"]}, "has no aspect 'cler'; did you mean 'clear'? (it has: clear, fitting)"),
        ({"show": ["referenc"]}, "has no column 'referenc'; did you mean 'reference'?"),
        ({"show": ["unit"]}, "the column 'unit' already names the rows"),
        ({"rater": " "}, "the rater has no name"),
    ],
)
def test_what_cannot_be_exported(tiny: Path, options: dict[str, object], says: str) -> None:
    path = tiny / "explanations.csv"
    path.write_text(
        path.read_text(encoding="utf-8").replace(",reference", ",reference,unit", 1).replace(".\n", ".,x\n"),
        encoding="utf-8",
    )
    with pytest.raises(DataError) as error:
        export_labels(tiny, "l.csv", **{"rater": "anna", **options})
    assert says in str(error.value)
    assert not Path("l.csv").exists()


def test_labels_are_not_overwritten_by_accident(tiny: Path) -> None:
    Path("l.csv").write_text("my labels")
    with pytest.raises(DataError, match="exists already, maybe with labels; replace it with --force"):
        export_labels(tiny, "l.csv", rater="anna")
    assert Path("l.csv").read_text() == "my labels"
    export_labels(tiny, "l.csv", rater="anna", force=True)
    assert len(read_rows(Path("l.csv"))) == 19


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("007,0,g;2,anna,clear,5", "row 3, column 'aspect': is labelled twice"),
        ('1-2,1,"g,1",anna,claer,5', "did you mean 'clear'"),
        ('1-2,1,"g,1",anna,clear,9', "row 3, column 'clear': the label 9 is not on the scale"),
    ],
)
def test_a_row_per_label_is_taken_too(tmp_path: Path, more: str, message: str) -> None:
    folder, file = save(awkward(["one", "two"]), tmp_path / "set", "csv"), tmp_path / "long.csv"
    rows = "user_id,item_id,generator,rater,aspect,rating\n007,0,g;2,anna,clear,4\n"
    file.write_text(f"{rows}{more}\n", encoding="utf-8")
    with pytest.raises(DataError, match=message):
        import_labels(folder, file, rater="anna")
    file.write_text(rows + "007,0,g;2,bert,clear,2\n", encoding="utf-8")
    with pytest.raises(DataError, match="fill in the column 'rating' of rows whose rater is 'cleo', and run"):
        import_labels(folder, file, rater="cleo")
    assert import_labels(folder, file, rater="anna").lines()[1].startswith("1 new, 0 replaced")
    assert labels_of(load(folder), "anna") == {("007", "0", "g;2", "clear"): 4}
