"""Units that do not fit in memory, in parts, against the engine of frames."""

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.engine.out_of_core import correlating, files
from tests.engine.out_of_core.test_correlating import outcome, studies, written
from tests.engine.test_correlation import LEVELS, study

pytest.importorskip("duckdb")

PARTS = files.Parquet.parts


@pytest.fixture(scope="module", autouse=True)
def _in_parts():
    """Work with seven parts or more, evaluator by evaluator."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files.Parquet, "parts", 7)
        patch.setattr(correlating, "_BLOCK", 1)
        yield


@settings(max_examples=25, deadline=None)
@given(
    studies(),
    st.lists(st.sampled_from(LEVELS), min_size=1, unique=True),
    st.lists(st.sampled_from(("pearson", "spearman", "kendall")), min_size=1, unique=True),
    st.sampled_from((None, {"truth": 3, "score": 0}, {"score": 1.5}, {"truth": 2})),
    st.sampled_from(("skip", "zero")),
    st.sampled_from(("common", "own")),
)
def test_parts_give_the_board_of_frames(
    tmp_path_factory, drawn, levels, coefficients, missing, undefined, units
):
    scores, truth = drawn
    options = {
        "levels": levels,
        "coefficients": coefficients,
        "missing": missing,
        "undefined_groups": undefined,
        "units": units,
    }
    expected = outcome(scores, truth, **options)
    folder = tmp_path_factory.getbasetemp()
    given = written(folder / "scores", scores), written(folder / "truth", truth)
    found = outcome(*given, engine="duckdb", **options)
    if isinstance(found, str) and "ranks" in found:
        whole = scores["score"].dropna() % 1 == 0
        assert not whole.all()
        assert {"spearman", "kendall"} & {*coefficients}
        assert {"dataset", "item"} & {*levels}
        return
    if isinstance(expected, str) or isinstance(found, str):
        assert found == expected
        return
    assert found.policy == {**expected.policy, "engine": "duckdb"}
    pd.testing.assert_frame_equal(found.frame, expected.frame, rtol=0, atol=1e-12, check_exact=False)


def test_what_takes_all_units_is_said_with_its_memory(tmp_path):
    scores, truth = study(kind="continuous")
    given = written(tmp_path / "scores", scores), written(tmp_path / "truth", truth)
    with pytest.raises(MetaevalError, match=r"^intervals of 108 ratings need all of them in memory; leave"):
        me.correlate(*given, bootstrap={"resamples": 20}, engine="duckdb")
    said = (
        r"^spearman of continuous scores at dataset level ranks 108 ratings at once, which takes 0.0 GB, and"
    )
    with pytest.raises(MetaevalError, match=said):
        me.correlate(*given, engine="duckdb")
    assert len(me.correlate(*given, levels=["user", "pair"], engine="duckdb"))
    nobody = written(tmp_path / "others", scores.assign(item_id="nothing"))
    with pytest.raises(
        MetaevalError, match="no unit of the scores is in the truth, by user_id, item_id, gen"
    ):
        me.correlate(nobody, given[1], levels=["user"], engine="duckdb")


def test_the_number_of_parts_follows_from_the_ratings(tmp_path, monkeypatch):
    _, truth = study()
    table = files.Parquet.of(written(tmp_path / "truth", truth), "the truth")
    size = files.BYTES_PER_RATING * len(truth)
    monkeypatch.setattr(files.Parquet, "parts", PARTS)
    for memory, parts in ((3 * size, 1), (2 * size, 1), (2 * size - 1, 2), (size // 2, 4)):
        monkeypatch.setattr(files, "available_memory", lambda memory=memory: memory)
        assert table.parts == parts
