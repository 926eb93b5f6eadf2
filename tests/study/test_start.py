"""Whatever the table, `metaeval init` writes a study that can be run, or says in words why it does not."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.kinds.explanations.data.imports.table import import_table
from metaeval.study.plan import plan
from metaeval.study.start import Started, start
from tests.examples import examples

if TYPE_CHECKING:
    pass


_HEADS = (
    "user|item|text|trust|model|rater|aspect|rating|gpt trust|bleu|id|user|text_1|text_2|"
    "rating_1|rating_2|trust (me)|trust (anna)|Film A - ok?|Film B - ok?|Überzeugend|推荐理由|"
    "{n}|a{b}|x\ny|'q'||  |=1+1|average|no|[x]|*|n|trust[SQ001]|lastpage|ResponseId|StartDate|"
    "a.b.c|reference"
)
HEADS = _HEADS.split("|")
CELLS = [
    st.integers(1, 5).map(str),
    st.floats(-1, 100, allow_nan=False).map("{:.2f}".format),
    st.sampled_from(
        ["a text that is long enough, with a comma", "短い", "two\nlines of text", "<b>x</b>", "{user}"]
    ),
    st.sampled_from(
        ["Agree", "Strongly agree", "n/a", "A1", "A3", "4 - yes", "★★", "4/5", "No", "7 %", "1,5"]
    ),
    st.sampled_from(["", "nan", "inf", "1e400", "-0", "\x07", "TRUE", "u1", "u2", "gpt-4", "anna"]),
]


@st.composite
def tables(draw: st.DrawFn) -> list[list[str]]:
    heads = draw(st.lists(st.sampled_from(HEADS), min_size=1, max_size=8))
    kinds = [*heads]
    kinds += ["trust"] if draw(st.booleans()) and "trust" not in heads else []
    cells = [CELLS[0] if k == "trust" else draw(st.sampled_from(CELLS)) for k in kinds]
    return [kinds, *draw(st.lists(st.tuples(*cells).map(list), max_size=12))]


ACCEPTED = [
    ["user", "item", "text", "rating"],
    *([f"u{i // 3}", f"i{i}", f"{i} is a text of some length", str(i % 5 + 1)] for i in range(12)),
]


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    table=tables(),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252", "gb18030"]),
    separator=st.sampled_from([",", ";", "\t"]),
)
@example(table=ACCEPTED, encoding="utf-8", separator=",")
@example(table=ACCEPTED, encoding="utf-16", separator=";")
def test_any_table_is_a_study_or_a_sentence(table: list[list[str]], encoding: str, separator: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        file, out = Path(place, "my table.csv"), Path(place, "out")
        with file.open("w", encoding=encoding, errors="replace", newline="") as written:
            csv.writer(written, delimiter=separator).writerows(table)
        try:
            made = start(
                [str(file)],
                out,
                said={},
                ask=lambda _, default, read, **_more: read(default),
                tell=lambda _: None,
            )
        except MetaevalError:
            made = None
            assert table != ACCEPTED
        assert (out / "data").exists() == (made is not None)
        assert made or not out.exists() or [p.name for p in out.iterdir()] == ["map.yaml"]
        if made is None:
            return
        assert plan(out / "study.yaml").data.fingerprint == me.load(out / "data").fingerprint
        again = import_table(file, out / "map.yaml", Path(place, "again")).data
        assert again.fingerprint == made.data.fingerprint


def test_what_many_units_lack_is_no_evaluator_of_the_first_study(tmp_path: Path) -> None:
    """Units that one evaluator lacks are compared by none, so the study would be of the few that all have."""
    rows = [
        ["user", "item", "text", "review", "trust (me)", "trust (anna)", "trust (ben)", "trust (coder 1)"]
    ]
    for i in range(20):
        rated = ["4", str(i % 5 + 1), "3" if i < 9 else "", "2" if i < 19 else ""]
        rows.append(
            [
                f"u{i % 4}",
                f"i{i}",
                f"{i} is a text of some length",
                "I liked its songs" if i % 2 else "",
                *rated,
            ]
        )
    with (tmp_path / "t.csv").open("w", encoding="utf-8", newline="") as written:
        csv.writer(written).writerows(rows)
    said = {"trust (anna)": "rating", "trust (ben)": "rating"}
    start(
        [str(tmp_path / "t.csv")],
        tmp_path / "t",
        said=said,
        ask=lambda _, default, read, **_more: read(default),
        tell=lambda _: None,
    )
    text = (tmp_path / "t" / "study.yaml").read_text(encoding="utf-8")
    assert "# - BLEU(n=4)   # 10 of 20 units have no reference" in text
    found = [*plan(tmp_path / "t" / "study.yaml").scoring.named]
    mean = "Mean(Annotator('anna'), Annotator('ben'), Annotator('coder 1'), skip_missing=True)"
    assert found == ["Random(seed=0)", "Length()", "Annotator('anna')", "Annotator('coder 1')", mean]


def test_texts_that_nobody_has_rated_are_a_data_set_without_a_study(tmp_path: Path) -> None:
    rows = [row[:3] for row in ACCEPTED]
    for name, table in (("texts", rows), ("rated", ACCEPTED)):
        with (tmp_path / f"{name}.csv").open("w", encoding="utf-8", newline="") as written:
            csv.writer(written).writerows(table)

    def make(name: str, out: str = "out", **options: object) -> Started:
        how = {
            "said": {},
            "ask": lambda _, default, read, **_more: read(default),
            "tell": lambda _: None,
            **options,
        }
        return start([str(tmp_path / name)], tmp_path / out, **how)

    with pytest.raises(MetaevalError, match="if nobody has rated yet, name what people are to rate"):
        make("texts.csv")
    with pytest.raises(MetaevalError, match="and 'rating' of rated"):
        make("rated.csv", aspects=["trust"])
    made = make("texts.csv", aspects=["trust", "fun"], scale=(1, 7))
    assert sorted(p.name for p in made.folder.iterdir()) == ["data", "map.yaml"]
    assert made.following == f"metaeval golden label {tmp_path}/out/data --rater NAME"
    again = import_table(tmp_path / "texts.csv", made.folder / "map.yaml", tmp_path / "again").data
    assert (again.fingerprint, str(again.scale)) == (made.data.fingerprint, "integers from 1 to 7")
    with pytest.raises(MetaevalError, match=r"nobody has rated .*; let people label it: metaeval golden"):
        make("out/data", "study")
