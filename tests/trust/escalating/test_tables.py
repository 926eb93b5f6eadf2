"""`metaeval escalate`: who decides each unit, and a page that shows what is left to a person."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from metaeval.base.errors import DataError
from metaeval.cli import main
from metaeval.trust.escalation import escalation_of
from metaeval.trust.labelling.pages import label_set
from tests.trust.recorded import run_recorded

USERS, PER = 100, 8


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three members that agree with people where they agree with each other, and one judge alone."""
    folder = tmp_path_factory.mktemp("escalate")
    rng = np.random.default_rng(0)
    n = USERS * PER
    keys = pd.DataFrame({"item_id": [f"i{k}" for k in range(n)], "user_id": np.repeat(range(USERS), PER)})
    keys = keys.assign(generator="g")
    rating = rng.integers(1, 6, n)
    hard = rng.random(n) < 0.4
    scores = {name: np.where(hard, rng.integers(1, 6, n), rating) for name in "abc"}
    evaluators = "{a: Recorded('a'), b: Recorded('b'), c: Recorded('c'), panel: \"Mean(a, b, c)\"}"
    return run_recorded(folder, keys.assign(rating=rating), scores, evaluators=evaluators)


def test_a_panel_decides_where_it_agrees_and_people_the_rest(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["escalate", str(study / "run"), "--judge", "a", "--judge", "panel"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "panel decides" in said
    assert "refused: nothing says" in said
    route = pd.read_csv(study / "run" / "route.csv", dtype=str)
    assert set(route["route"]) == {"panel", "person"}
    assert 0.2 < (route["route"] == "person").mean() < 0.5
    session = label_set(study / "data", rater="ann", only=study / "run" / "route.csv")
    assert len(session.units) == (route["route"] == "person").sum()


def test_ratings_are_counted_where_no_judge_says_how_sure_it_is(study: Path, tmp_path: Path) -> None:
    sheets = escalation_of(study / "run", ["a"], route=tmp_path / "route.csv")
    assert list(sheets[0].frame["n_labelled"]) == [USERS * PER]


def test_a_route_without_keys_is_refused(study: Path) -> None:
    bad = study / "bad.csv"
    bad.write_text("unit\n1\n", encoding="utf-8")
    with pytest.raises(DataError, match="has no column"):
        label_set(study / "data", rater="ann", only=bad)
    assert main(["escalate", str(study / "run"), "--judge", "nobody"]) == 2
