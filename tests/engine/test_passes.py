"""The engine of files against that of frames, on the same rows."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.engine import files, passes
from tests.engine.test_correlation import LEVELS, study
from tests.examples import examples

KINDS = ("likert", "thirds", "continuous", "offset", "constant")


def written(folder: Path, frame: pd.DataFrame, parts: int = 3) -> str:
    """Write a frame into several files, in its order, and return the glob of them."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.parquet"):
        old.unlink()
    for part, rows in enumerate(np.array_split(np.arange(len(frame)), parts)):
        frame.iloc[rows].to_parquet(folder / f"part-{part}.parquet", index=False, row_group_size=7)
    return str(folder / "*.parquet")


def outcome(scores, truth, **options):
    """Return the frame of correlations and the policy, or the sentence that refuses them."""
    try:
        found = me.correlate(scores, truth, **options)
    except MetaevalError as error:
        return str(error)
    return found


def assert_same(folder, scores, truth, **options):
    """Hold the engine of files to that of frames."""
    expected = outcome(scores, truth, **options)
    found = outcome(written(folder, scores), truth, engine="duckdb", **options)
    if isinstance(expected, str) or isinstance(found, str):
        assert found == expected
        return
    assert found.policy == {**expected.policy, "engine": "duckdb"}
    pd.testing.assert_frame_equal(found.frame, expected.frame, rtol=0, atol=1e-12, check_exact=False)


@st.composite
def studies(draw):
    """Draw scores with gaps, ties, statuses and blank aspects, and a truth, in any order of rows."""
    seed = draw(st.integers(0, 10_000))
    scores, truth = study(seed, kind=draw(st.sampled_from(KINDS)))
    rng = np.random.default_rng(seed)
    form = draw(st.sampled_from(("own", "blank", "none", "strange")))
    if form == "strange":
        scores.loc[rng.random(len(scores)) < 0.1, "aspect"] = "no aspect of the truth"
    elif form != "own":
        scores = scores.drop_duplicates(["user_id", "item_id", "generator", "evaluator"])
        scores = scores.drop(columns="aspect") if form == "none" else scores.assign(aspect=None)
    if draw(st.booleans()):
        scores = scores.assign(
            status=rng.choice(["ok", "missing", "example", "refused"], len(scores), p=[0.8, 0.1, 0.05, 0.05])
        )
    if draw(st.booleans()):
        scores.loc[rng.random(len(scores)) < 0.1, "score"] = np.nan
    if draw(st.booleans()):
        scores = scores.sample(frac=1, random_state=seed)
    if draw(st.booleans()):  # evaluators that scored next to nothing: all, or all but one
        most = draw(st.sampled_from(("x", "nobody")))
        scores = scores[(scores["evaluator"] == most) | (rng.random(len(scores)) < 0.03)]
    if draw(st.booleans()):  # units that the truth does not have
        truth = truth[rng.random(len(truth)) < 0.7]
    return scores, truth


@pytest.mark.slow
@settings(max_examples=examples(40), deadline=None)
@given(
    studies(),
    st.lists(st.sampled_from(LEVELS), min_size=1, unique=True),
    st.sampled_from((None, {"truth": 3, "score": 0}, {"score": 1.5}, {"truth": 2})),
    st.sampled_from(("skip", "zero")),
    st.sampled_from(("common", "own")),
    st.sampled_from((None, {"resamples": 20}, {"resamples": 20, "cluster": "item", "method": "bca"})),
    st.booleans(),
)
def test_files_give_the_board_of_frames(
    tmp_path_factory, drawn, levels, missing, undefined, units, bootstrap, in_pieces
):
    folder = tmp_path_factory.getbasetemp() / "scores"
    with pytest.MonkeyPatch.context() as patch:
        if in_pieces:  # each evaluator is read and worked through by itself
            patch.setattr(passes, "_BLOCK", 1)
            patch.setattr(files, "_ROWS", 3)
        assert_same(
            folder,
            *drawn,
            levels=levels,
            missing=missing,
            undefined_groups=undefined,
            units=units,
            bootstrap=bootstrap,
        )


def changed(scores: pd.DataFrame, row: int, column: str, value: object) -> pd.DataFrame:
    scores = scores.reset_index(drop=True)
    scores[column] = scores[column].astype(object) if isinstance(value, str) else scores[column]
    scores.loc[row, column] = value
    return scores.infer_objects()


WRONG = {
    "the same row twice": lambda s, t: (pd.concat([s, s.iloc[[30]], s.iloc[[4]]]), t),
    "a column without which rows are the same": lambda s, t: (
        pd.concat([s, s.assign(generator="g9")])[lambda both: both["evaluator"] == "x"],
        t.drop(columns="generator").drop_duplicates(["user_id", "item_id", "aspect"]),
    ),
    "no score": lambda s, t: (s.drop(columns="score"), t),
    "no evaluator": lambda s, t: (s.rename(columns={"evaluator": "evaluater"}), t),
    "no aspect in the truth": lambda s, t: (s, t.drop(columns="aspect")),
    "no rating": lambda s, t: (s, t.drop(columns="rating")),
    "no key": lambda s, t: (s[["evaluator", "aspect", "score"]], t),
    "an infinite rating": lambda s, t: (s, t.assign(rating=np.inf)),
    "a unit of the truth twice": lambda s, t: (s, pd.concat([t, t.iloc[[3]]])),
    "other aspects": lambda s, t: (s.assign(aspect="claer"), t),
    "other users": lambda s, t: (s.assign(user_id="nobody"), t),
    "numbers for texts": lambda s, t: (s.assign(user_id=1), t),
    "no truth": lambda s, t: (s, t.iloc[:0]),
    "no scores": lambda s, t: (s.iloc[:0], t),
    "an unknown level": lambda s, t: (s.drop(columns="item_id"), t.drop(columns="item_id")),
    "a word for a score": lambda s, t: (s.assign(score="good"), t),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_said_as_of_frames(tmp_path, wrong):
    scores, truth = WRONG[wrong](*study())
    levels = ["item"] if wrong == "an unknown level" else ["dataset"]
    expected = outcome(scores.reset_index(drop=True), truth, levels=levels)
    assert isinstance(expected, str)
    assert outcome(written(tmp_path / "scores", scores, 1), truth, levels=levels, engine="duckdb") == expected


def test_an_infinite_score_and_an_empty_name_are_said_with_row_and_file(tmp_path):
    scores, truth = study()
    infinite = scores.reset_index(drop=True)
    infinite.loc[len(infinite) - 1, "score"] = -np.inf
    found = outcome(written(tmp_path / "scores", infinite), truth, engine="duckdb")
    assert "column 'score' of the scores holds an infinite value in row" in found
    assert found.endswith("part-2.parquet; use NaN for none")
    nameless = scores.reset_index(drop=True)
    nameless.loc[5, "evaluator"] = None
    found = outcome(written(tmp_path / "scores", nameless, 1), truth, engine="duckdb")
    assert found == "column 'evaluator' of the scores is empty in row 5"


def test_folders_name_columns(tmp_path):
    scores, truth = study()
    scores = scores.replace({"evaluator": {"x": "BLEU(n=1)"}}).sort_values("evaluator", kind="stable")
    expected = me.correlate(scores, truth).frame
    scores.to_parquet(tmp_path / "it's [1]", partition_cols=["evaluator", "generator"])
    truth.to_parquet(tmp_path / "truth.parquet")
    for engine in ("duckdb", "memory"):
        found = me.correlate(tmp_path / "it's [1]", str(tmp_path / "truth.parquet"), engine=engine)
        pd.testing.assert_frame_equal(found.frame, expected, rtol=0, atol=1e-12, check_exact=False)
        assert found.policy["engine"] == engine


def test_the_engine_is_chosen_by_size(tmp_path, monkeypatch):
    scores, truth = study()
    given = written(tmp_path / "scores", scores)
    assert me.correlate(given, truth).policy["engine"] == "memory"
    monkeypatch.setattr(files, "available_memory", lambda: 2**32)
    monkeypatch.setattr(files, "BYTES_PER_ROW", 2**31 // len(scores))
    assert me.correlate(given, truth).policy["engine"] == "memory"
    monkeypatch.setattr(files, "BYTES_PER_ROW", 2**31 // len(scores) + 1)
    assert me.correlate(given, truth).policy["engine"] == "duckdb"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("nothing.parquet", "the scores: there is no file nothing.parquet; give a Parquet file"),
        ("*.parquet", r"the scores: there is no file \*.parquet; give"),
        ("scores.csv", "the scores: scores.csv is no Parquet file; give"),
        (".", "the scores: the folder . holds no Parquet file; give"),
        ("", "the scores: the path is empty; give"),
    ],
)
def test_what_is_no_parquet_file_is_said(tmp_path, monkeypatch, given, said):
    monkeypatch.chdir(tmp_path)
    Path("scores.csv").touch()
    with pytest.raises(MetaevalError, match=said):
        me.correlate(given, study()[1])


def test_a_broken_file_and_frames_for_duckdb_are_refused(tmp_path):
    (tmp_path / "scores.parquet").write_text("no Parquet", encoding="utf-8")
    scores, truth = study()
    for engine in ("auto", "duckdb", "memory"):
        with pytest.raises(MetaevalError, match=r"scores.parquet"):
            me.correlate(tmp_path / "scores.parquet", truth, engine=engine)
    with pytest.raises(MetaevalError, match="engine 'duckdb' reads scores in Parquet files; give their path"):
        me.correlate(scores, truth, engine="duckdb")
    with pytest.raises(MetaevalError, match=r"engine.*'duck'.*did you mean 'duckdb'"):
        me.correlate(scores, truth, engine="duck")
