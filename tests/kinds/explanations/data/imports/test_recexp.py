from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metaeval.base.errors import DataError
from metaeval.kinds.explanations.data import loading
from metaeval.kinds.explanations.data.imports.recexp import FILES, import_recexp, seen_text
from tests.kinds.explanations.data import released


@pytest.fixture
def source(tmp_path):
    return released.write(tmp_path / "released")


def test_a_release_becomes_a_data_set(source, tmp_path):
    made = import_recexp(source, tmp_path / "out", digests=released.digests(source))
    data = loading.load(tmp_path / "out")
    assert data.fingerprint == made.fingerprint
    assert data.explanations.to_dict("list") == {
        "user_id": ["-11", "-11", "22"],
        "item_id": ["527", "527", "8"],
        "generator": released.TYPES,
        "explanation": ["导演是某人", "有5<6人看过", "好看"],
        "item_title": ["甲 A", "甲 A", "乙 B"],
        "reference": ["我喜欢", "我喜欢", "一般"],
    }
    wide = data.ratings.set_index(["rater", "aspect"])["rating"]
    np.testing.assert_array_equal(wide["user", "persuasiveness"], [4, np.nan, 2])
    assert wide["user", "accuracy"].tolist() == [1, 2, 3]
    assert wide["1", "accuracy"].tolist() == [3, 3, 3]
    assert wide["2", "satisfaction"].tolist() == [5, 5, 5]
    assert data.users.to_dict("list")["total"] == ["<100", "<100"]
    assert data.users["user_id"].tolist() == ["-11", "22"]
    assert (data.licence, data.language, data.simulated) == ("none stated", "zh", False)


def test_the_raw_ids_are_written_nowhere(source, tmp_path):
    import_recexp(source, tmp_path / "out", digests=released.digests(source))
    for kind in ("csv", "jsonl"):
        loading.save(loading.load(tmp_path / "out"), tmp_path / kind, kind)
    for path in tmp_path.rglob("*"):
        if path.is_file() and "released" not in path.parts:
            assert b"1380000" not in path.read_bytes()


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_was_not_released_is_refused(source, tmp_path, name):
    digests = released.digests(source)
    (source / name).write_bytes((source / name).read_bytes() + b"\n")
    with pytest.raises(DataError, match=f"{name}: is not the file that was released") as caught:
        import_recexp(source, tmp_path / "out", digests=digests)
    assert "1380000" not in str(caught.value)
    (source / name).unlink()
    with pytest.raises(DataError, match=f"{name}: is not in"):
        import_recexp(source, tmp_path / "out", digests=digests)
    assert not (tmp_path / "out").exists()


def test_a_pickle_that_was_not_released_is_never_loaded(source, tmp_path):
    trace = tmp_path / "trace"
    (source / "df_explanation.pkl").write_bytes(b"cos\nsystem\n(S'touch " + str(trace).encode() + b"'\ntR.")
    with pytest.raises(DataError, match="not the file that was released; nothing of it was used"):
        import_recexp(source, tmp_path / "out")
    assert not trace.exists()


@pytest.mark.parametrize(
    ("source_text", "text"),
    [
        ("好看", "好看"),
        (" 好看 \n", "好看"),
        ("导演是<span title='<img src=\"x\"/>'>某人 </span>", "导演是某人"),
        ("a<br>b &amp; c", "ab & c"),
        ("5 < 6", "5 < 6"),
    ],
)
def test_the_text_that_people_saw(source_text, text):
    assert seen_text(source_text) == text


@pytest.fixture(scope="module")
def real(real_data, tmp_path_factory):
    out = tmp_path_factory.mktemp("recexp") / "out"
    import_recexp(real_data / "recexp", out)
    return loading.load(out)


def test_the_real_study(real, real_data):
    assert real.counts == {
        "unit": 2536,
        "user": 39,
        "item": 140,
        "generator": 9,
        "aspect": 4,
        "rater": 3,
        "recorded evaluator": 0,
        "rating": 30423,
        "missing rating": 9,
    }
    missing = real.ratings[real.ratings["rating"].isna()]
    assert missing.groupby(["rater", "aspect"]).size().to_dict() == {
        ("user", "persuasiveness"): 3,
        ("user", "transparency"): 6,
    }
    assert real.raters == ("1", "2", "user")
    assert len(real.users) == 39
    assert not real.users["total"].str.contains("&").any()
    third = pd.read_csv(real_data / "recexp" / "third_party.csv", dtype=str)
    assert real.explanations["explanation"].tolist() == third["explanation_text"].str.strip().tolist()
    references = real.explanations.groupby(["user_id", "item_id"])["reference"].nunique()
    assert (references == 1).all()
    assert len(references) == 310


@pytest.mark.parametrize(
    ("aspect", "published"),
    [("persuasiveness", 19.88), ("transparency", 15.66), ("accuracy", 10.16), ("satisfaction", 14.93)],
)
def test_the_published_correlation_of_annotator_1(real, aspect, published):
    ratings = real.ratings[real.ratings["aspect"] == aspect].set_index("rater")["rating"]
    pearson = np.corrcoef(ratings["user"].fillna(3), ratings["1"])[0, 1]
    assert round(100 * pearson, 2) == published
