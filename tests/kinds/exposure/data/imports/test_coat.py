"""The self-chosen ratings of Coat are a log with the released propensities, the random ones a test."""

import gzip

import pytest
from click.testing import CliRunner

from metaeval.base.errors import DataError
from metaeval.cli import cli
from metaeval.kinds.exposure.data.imports.coat import import_coat
from metaeval.kinds.exposure.data.loading import load
from tests.kinds.relevance.data.imports.test_coat import released  # noqa: F401 a fixture

RELEASED = "0.5 0.25\n0.125 1\n"


def test_ratings_propensities_and_features(released):  # noqa: F811
    (released / "propensities.ascii").write_text(RELEASED)
    import_coat(released, released / "out")
    data = load(released / "out")
    columns = ["user_id", "item_id", "outcome", "propensity"]
    assert data.log[columns].to_numpy().tolist() == [["1", "1", 2.0, 0.5], ["2", "2", 4.0, 1.0]]
    assert data.test.to_numpy().tolist() == [["1", "2", 5.0], ["2", "1", 3.0]]
    assert data.items.to_numpy().tolist() == [["1", "red", "rain: long"], ["2", "blue", ""]]
    assert (data.exposure, data.positive, data.outcome.max) == ("pair", 4, 5)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0.5 0.5\n", r"has the shape \(1, 2\); it should be \(2, 2\)"),
        ("0.5 0\n1 1\n", "holds a number that is not a probability above 0"),
        ("0.5 x\n1 1\n", "is not a table of numbers"),
        (None, "there is no file"),
    ],
)
def test_propensities_that_are_not_as_released_are_refused(released, text, says):  # noqa: F811
    if text is not None:
        (released / "propensities.ascii.gz").write_bytes(gzip.compress(text.encode()))
    with pytest.raises(DataError, match=says):
        import_coat(released, released / "out")
    assert not (released / "out").exists()


def test_the_released_files(real_data, tmp_path):
    arguments = ["coat", str(real_data / "coat"), "--kind", "exposure", "--out", str(tmp_path / "coat")]
    done = CliRunner().invoke(cli, ["data", "import", *arguments])
    assert done.exit_code == 0, done.output
    assert "6,960 log rows" in done.output
    data = load(tmp_path / "coat")
    assert len(data.test) == 290 * 16
    rated = data.log["outcome"] / data.log["propensity"]
    assert round(rated.sum() / (290 * 300), 3) == 2.424
