"""A golden set to a spreadsheet and back: nothing is lost, and whatever does not fit is said."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.base.errors import DataError
from metaeval.kinds.explanations.data.loading import from_frames, load, save
from metaeval.trust.labelling.golden import sample as drawn
from metaeval.trust.labelling.golden_files import export_labels, unit_names
from metaeval.trust.labelling.golden_import import import_labels
from tests.trust.labelling.test_spreadsheet import TEXTS
from tests.trust.saving import STYLES, Style, fill, read_rows, save_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet

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


@settings(max_examples=30)
@given(
    st.lists(TEXTS.filter(str.strip), min_size=1, max_size=6),
    st.sampled_from(sorted(STYLES)),
    st.lists(st.sampled_from(["", "1", "2.5", "-1.25"]), min_size=12, max_size=12),
    st.booleans(),
)
def test_whatever_the_texts_are(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], style: str, said: list[str], blind: bool
) -> None:
    place = tmp_path_factory.mktemp("golden")
    folder, file = save(awkward(texts, (-2, 3, False)), place / "set", "csv"), place / "labels.csv"
    export_labels(folder, file, rater="anna", blind=blind)
    fill(file, lambda row, column: said[2 * row + (column == "clear")], STYLES[style])
    found = import_labels(folder, file, rater="anna")
    assert found.data.explanations["explanation"].tolist() == texts
    assert sorted(labels_of(load(folder), "anna").values()) == sorted(
        float(cell) for cell in said[: 2 * len(texts)] if cell
    )
    # What is there is written out again, and brings nothing new.
    export_labels(folder, file, rater="anna", separator="semicolon", force=True)
    assert import_labels(folder, file, rater="anna").same == found.new


def test_a_text_that_could_run_is_text(tmp_path: Path) -> None:
    folder, file = save(awkward(AWKWARD), tmp_path / "set"), tmp_path / "labels.csv"
    export_labels(folder, file, rater="anna")
    for row in read_rows(file):
        for cell in row:
            assert not cell.lstrip().startswith(("=", "+", "-", "@")), cell


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
    assert import_labels(folder, file, rater="anna", replace=True).new == 0
    assert sorted(labels_of(load(folder), "anna").values()) == [5, 5]
    assert sorted(p.name for p in folder.iterdir()) == ["dataset.yaml", "explanations.csv", "ratings.csv"]


def test_a_question_that_was_not_answered_gets_its_answer(tiny: Path) -> None:
    export_labels(tiny, "l.csv", rater="user")
    rows = read_rows(Path("l.csv"))
    ((row, at),) = [(r, c) for r, cells in enumerate(rows) for c, cell in enumerate(cells) if not cell]
    rows[row][at] = "3"
    save_rows(Path("l.csv"), rows)
    count = len(load(tiny).ratings)
    found = import_labels(tiny, "l.csv", rater="user")
    assert (found.new, found.replaced, found.same) == (1, 0, 35)
    assert len(load(tiny).ratings) == count
    assert not load(tiny).ratings["rating"].isna().any()


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
        (edited(4, "explanation", ""), 4, "explanation", "is not the text of this unit"),
        (edited(5, "clear", "6"), 5, "clear", "the label 6 is not on the scale; allowed are integers from 1"),
        (edited(5, "clear", "3,5"), 5, "clear", "the label 3,5 is not on the scale"),
        (edited(5, "clear", "good"), 5, "clear", "is 'good'; it may be a number, or empty"),
        (edited(5, "clear", "04. May"), 5, "clear", "is '04. May'; it may be a number"),
        (edited(5, "clear", "1e0"), 5, "clear", "is '1e0'; it may be a number"),
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


def test_a_column_that_was_sorted_by_itself_is_seen(tmp_path: Path) -> None:
    folder, file = save(awkward(["c", "a", "b"]), tmp_path / "set"), tmp_path / "l.csv"
    export_labels(folder, file, rater="anna")
    header, *rows = read_rows(file)
    at = header.index("explanation")
    for row, text in zip(rows, sorted(r[at] for r in rows), strict=True):
        row[at] = text
    save_rows(file, [header, *rows])
    with pytest.raises(DataError) as error:
        import_labels(folder, file, rater="anna")
    assert [p.row for p in error.value.problems] == [2, 3, 4]


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


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("unit,clearr\nx,1\n", "row 1: has no column of an aspect; did you mean 'clear'? (aspects: clear,"),
        ("item_id,clear\n0,1\n", "row 1: has neither the column 'unit' nor 'user_id', 'generator', to name"),
    ],
)
def test_files_that_are_none(tmp_path: Path, text: str, says: str) -> None:
    folder = save(awkward(["one"]), tmp_path / "set")
    (tmp_path / "l.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as error:
        import_labels(folder, tmp_path / "l.csv", rater="anna")
    assert says in str(error.value)


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
        ({"separator": "pipe"}, "may be comma, semicolon, tab, not 'pipe'"),
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


def test_a_golden_set_is_labelled(sample: Path, tmp_path: Path) -> None:
    """The whole way: draw, label in German Excel, and correlate with the labels as truth."""
    import metaeval as me

    folder = save(drawn(load(sample), 30, ["generator", "language"]).data, tmp_path / "gold", "csv")
    export_labels(folder, tmp_path / "l.csv", rater="anna", separator="semicolon")
    text = (tmp_path / "l.csv").read_bytes().decode("utf-8-sig").replace('";"";"";"";""', '";"4";"";"2";"1"')
    (tmp_path / "l.csv").write_bytes(text.encode("utf-16"))
    found = import_labels(folder, tmp_path / "l.csv", rater="anna")
    assert dict(found.units) == {"persuasiveness": 30, "transparency": 0, "accuracy": 30, "satisfaction": 30}
    assert "anna" in me.load(folder).raters
    assert me.load(folder).extra["golden"]["seed"] == 0
    scores = me.score(me.load(folder), ["Annotator('anna')"]).frame
    assert scores.groupby("aspect")["score"].mean().dropna().to_dict() == {
        "accuracy": 2,
        "persuasiveness": 4,
        "satisfaction": 1,
    }


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
    assert import_labels(folder, file, rater="anna").lines()[1].startswith("1 new, 0 replaced")
    assert labels_of(load(folder), "anna") == {("007", "0", "g;2", "clear"): 4}
