"""Tables in narrow places: nothing is lost, nothing is too wide, and every part names its rows."""

from __future__ import annotations

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from metaeval.engine.sheet import Column, Sheet
from metaeval.reports.cells import cells, fold, wrapped

NAMES = st.text("ab,/( 字", min_size=1, max_size=60)


@given(NAMES, st.integers(2, 40), st.booleans())
def test_lines_of_a_name_fit_and_hold_all_of_it(name: str, width: int, words: bool) -> None:
    lines = wrapped(name, width, cell_len, words=words)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == name.replace(" ", "")


@given(
    st.lists(st.tuples(NAMES, NAMES, NAMES), min_size=1, max_size=5),
    st.lists(st.integers(1, 12), min_size=1, max_size=8),
    st.integers(40, 120),
)
def test_every_column_is_somewhere_and_beside_the_names(
    names: list[tuple[str, str, str]], digits: list[int], room: int
) -> None:
    rows = [[name, *("9" * n for n in digits)] for name, *_ in names]
    texts = [True, *(False for _ in digits)]
    titles = ["evaluator", *(f"column {i}" for i in range(len(digits)))]
    parts = fold(titles, rows, texts, room=room, measure=cell_len, gap=2)
    assert parts[0].rows == tuple(range(len(rows)))
    assert {j for part in parts for j in part.columns} == set(range(len(titles)))
    assert all(part.columns[0] == 0 for part in parts)
    assert all(sum(part.widths) + 2 * (len(part.widths) - 1) <= room for part in parts)


def test_a_wide_table_keeps_as_much_as_it_can_in_its_first_part() -> None:
    rows = [["1", "Mean(Annotator('1'), Annotator('2'))", "30.58", "x" * 20], ["2", "b", "1.00", "—"]]
    texts, titles = [True, True, False, True], ["rank", "evaluator", "pearson", "why"]
    (whole,) = fold(titles, rows, texts, room=80, measure=cell_len, gap=2)
    assert whole.widths == (4, 36, 7, 20)
    (narrow,) = fold(titles, rows, texts, room=60, measure=cell_len, gap=2)
    assert narrow.widths == (4, 23, 7, 20)
    first, second = fold(titles, rows, texts, room=40, measure=cell_len, gap=2)
    assert (first.columns, second.columns) == ((0, 1, 2), (1, 3))
    assert second.rows == (0,)  # the other has nothing there


def test_names_that_only_two_columns_tell_apart_leave_room_for_the_third() -> None:
    rows = [
        ["Popularity()", "How many other users have it " * 4, "what a user chose"],
        ["Popularity()", "b", "—"],
    ]
    (whole,) = fold(["evaluator", "does", "needs"], rows, [True] * 3, room=80, measure=cell_len, gap=2)
    assert sum(whole.widths) + 4 <= 80
    assert min(whole.widths) >= 12


def test_a_title_that_comes_again_stays_beside_the_one_that_tells_what_it_is_of() -> None:
    titles = ["name", "clear", "Cluster", "fitting", "Cluster"]
    rows = [["a", "1.00 [0.50, 1.50]", "1", "2.00 [1.50, 2.50]", "2"]] * 2
    texts = [True, False, False, False, False]
    parts = fold(titles, [["b", *rows[0][1:]], *rows[1:]], texts, room=56, measure=len, gap=2)
    assert [part.columns for part in parts] == [(0, 1, 2), (0, 3, 4)]
    assert all(sum(part.widths) + 4 <= 56 for part in parts)


def test_numbers_of_a_column_have_as_many_decimals_unless_that_hides_one() -> None:
    frame = pd.DataFrame({"even": [0.9393, 1.3991], "far": [0.9393, 120.6], "near": [0.81, 0.05]})
    frame = frame.assign(low=[0.7, 0.0004], high=[0.92, 0.0996])
    columns = (Column("even", "", "number"), Column("far", "", "number"))
    sheet = Sheet("s", "S", frame, (*columns, Column("near", "", "number", "low", "high")))
    assert cells(sheet, even=True) == [
        ["0.939", "0.9393", "0.810 [0.700, 0.920]"],
        ["1.399", "120.6", "0.0500 [0.0004, 0.0996]"],
    ]
    assert cells(sheet)[0][0] == "0.9393"
