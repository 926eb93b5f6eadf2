"""Ratings that are words without an order: read, written, and measured by κ and nominal α alone."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

import metaeval as me
from metaeval.base.errors import DataError, MetaevalError
from metaeval.data.manifest import FORMATS
from metaeval.kinds.explanations.data.imports.table import import_table
from metaeval.kinds.explanations.data.recorded import add_scores
from metaeval.kinds.reading import load
from metaeval.stats.agreement.raters import krippendorff_alpha
from metaeval.study.overview import data_sheets
from metaeval.trust.calibration.calibrating import calibration_of
from metaeval.trust.calibration.sheets import Calibrating

WORDS = ["10", "yes", "no"]  # one looks like a number, and is none
NAMED = {"item_id": "item_id", "generator": {"constant": "g"}}


def _map(people: list[str], models: list[str], labels: list[str]) -> str:
    about: dict[str, Any] = {"name": "words", "aspects": ["label"], "scale": {"labels": labels}}
    about |= {"units": NAMED, "ratings": [{"columns": people, "aspect": "label"}]}
    return json.dumps(about | {"scores": [{"columns": models, "aspect": "label"}]})


def _made(folder: Path, table: pd.DataFrame, people: list[str], models: list[str], labels: list[str]) -> Path:
    table.to_csv(folder / "words.csv", index=False)
    (folder / "map.yaml").write_text(_map(people, models, labels), encoding="utf-8")
    import_table(folder / "words.csv", folder / "map.yaml", folder / "data")
    return folder / "data"


def _small() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    said = {who: rng.choice(["yes", "no", "10", None], 40, p=[0.5, 0.3, 0.1, 0.1]) for who in ("a", "b", "m")}
    return pd.DataFrame({"item_id": [f"i{n}" for n in range(40)], **said})


def test_words_come_back_as_words(tmp_path: Path) -> None:
    table = _small()
    place = _made(tmp_path, table, ["a", "b"], ["m"], WORDS)
    data = load(place)
    assert str(data.scale) == "the words 10, yes, no"
    for suffix in FORMATS:
        again = load(data.save(tmp_path / suffix, suffix))
        assert again.fingerprint == data.fingerprint
    kept = pd.read_csv(tmp_path / "csv" / "ratings.csv", dtype=str, keep_default_na=False)
    wide = kept[kept["rater"] == "a"].set_index("item_id")["rating"].reindex(table["item_id"])
    assert list(wide) == list(table["a"].fillna(""))


def test_an_empty_label_gets_a_word_by_rename(tmp_path: Path) -> None:
    table = pd.DataFrame({"item_id": ["a", "b"], "ann": ["", "yes"], "m": ["yes", "yes"]})
    with pytest.raises(DataError, match="a label is empty, and an empty cell is a missing rating; give it a"):
        _made(tmp_path, table, ["ann"], ["m"], ["", "yes"])
    renamed = json.loads(_map(["ann"], ["m"], ["nothing", "yes"])) | {"rename": {"ann": {"": "nothing"}}}
    (tmp_path / "map.yaml").write_text(json.dumps(renamed), encoding="utf-8")
    made = import_table(tmp_path / "words.csv", tmp_path / "map.yaml", tmp_path / "renamed").data
    assert [*made.ratings["rating"]] == [0, 1]


def test_a_word_that_is_none_of_the_labels_is_named(tmp_path: Path) -> None:
    table = _small()
    table.loc[4, "b"] = "yess"
    with pytest.raises(DataError, match=r"row 6, column 'b': is 'yess'; allowed are the words 10, yes, no;"):
        _made(tmp_path, table, ["a", "b"], ["m"], WORDS)
    with pytest.raises(DataError, match="two or more different words"):
        _made(tmp_path, table, ["a", "b"], ["m"], ["yes", "yes"])


def test_some_aspects_in_words_and_some_in_numbers(tmp_path: Path) -> None:
    units = pd.DataFrame({"item_id": ["i", "j"], "generator": "g", "explanation": "t"})
    said = [("kind", "no"), ("kind", "yes"), ("clear", "3.5"), ("clear", "4")]
    ratings = pd.DataFrame(
        [("i" if n % 2 else "j", "g", "anna", *one) for n, one in enumerate(said)],
        columns=["item_id", "generator", "rater", "aspect", "rating"],
    )
    scales = {"kind": {"labels": ["yes", "no"]}, "clear": {"min": 1, "max": 5, "integer": False}}
    aspects = {name: {"statement": name, "scale": scale} for name, scale in scales.items()}
    data = me.from_frames(units, ratings, aspects=aspects)
    again = load(data.save(tmp_path / "data", "csv"))
    assert again.fingerprint == data.fingerprint
    assert sorted(again.ratings["rating"]) == [0, 1, 3.5, 4]
    rows = ["item_id,generator,aspect,score", "i,g,kind,yes", "j,g,kind,no", "i,g,clear,2.25", "j,g,clear,4"]
    (tmp_path / "s.csv").write_text("\n".join(rows), encoding="utf-8")
    more = add_scores(again, tmp_path / "s.csv", tool="table", evaluator="m")
    assert more.scores is not None
    assert list(more.scores["score"]) == [0, 1, 2.25, 4]
    plain = me.from_frames(units, ratings[ratings["aspect"] == "kind"], scale=["no", "yes"])
    assert list(plain.ratings["rating"]) == [0, 1]


def test_nothing_takes_words_for_an_order(tmp_path: Path) -> None:
    place = _made(tmp_path, _small(), ["a", "b"], ["m"], WORDS)
    data = load(place)
    for how in ({"cuts": (1,)}, {"measure": "linear"}):
        with pytest.raises(MetaevalError, match="words without an order"):
            calibration_of(place, Calibrating(truth="Annotator('a')", **how))
    for spec in ("Mean(Annotator('a'), Annotator('b'))", "Judge('simulated/any')"):
        with pytest.raises(DataError, match="'label' are words without an order"):
            me.score(data, [spec])
    (tmp_path / "study.yaml").write_text(
        f"dataset: {place}\ntruth: Annotator('a')\nevaluators: [Recorded('m')]\n"
    )
    with pytest.raises(MetaevalError, match="so there is no correlation"):
        me.run(tmp_path / "study.yaml", out=tmp_path / "run")
    spread = next(sheet for sheet in data_sheets(place) if sheet.name == "raters").frame
    assert spread["mean"].isna().all()
    assert (spread["n"] > 20).all()


@pytest.mark.parametrize("name", ["wax", "framing"])
def test_published_words(name: str, real_data: Path, tmp_path: Path) -> None:
    """κ and α of the released labels are those of scikit-learn and of the package krippendorff."""
    files = [real_data / "alttest" / name / f"{who}_annotations.json.gz" for who in ("human", "llm")]
    if not files[0].is_file():
        pytest.skip(f"no real data: {files[0]} is not there")
    people, models = (pd.DataFrame(json.loads(gzip.decompress(file.read_bytes()))) for file in files)
    table = people.add_prefix("p ").join(models, how="outer").rename_axis("item_id").reset_index()
    labels = sorted(set(table.melt("item_id")["value"].dropna()))
    humans = [c for c in table if str(c).startswith("p ")]
    place = _made(tmp_path, table, humans, list(models), labels)
    truth = humans[0]
    sheets = {
        s.name: s.frame
        for s in calibration_of(place, Calibrating(truth=f"Annotator({truth!r})", resamples=50))
    }
    rows = sheets["calibration"].set_index("evaluator")
    assert set(rows["by"]) == {"κ"}
    assert not {c for c in rows if c.startswith(("quadratic", "linear", "cut", "spearman", "kendall"))}
    codes = {label: n for n, label in enumerate(labels)}
    for who in [*humans[1:], *models]:
        both = table[[truth, who]].dropna()
        row = rows.loc[who if who in models else f"Annotator({who!r})"]
        if len(both) == 0:
            continue
        numbers = both.apply(lambda column: column.map(codes)).to_numpy(dtype=float).T
        alpha = krippendorff.alpha(numbers, level_of_measurement="nominal")
        assert row["kappa"] == pytest.approx(cohen_kappa_score(both[truth], both[who]), abs=1e-12)
        assert row["alpha"] == pytest.approx(alpha, abs=1e-12)
    data = load(place)
    every = data.ratings.pivot_table("rating", "rater", "item_id").to_numpy()
    expected = krippendorff.alpha(every, level_of_measurement="nominal")
    assert krippendorff_alpha(every, "nominal") == pytest.approx(expected, abs=1e-12)
