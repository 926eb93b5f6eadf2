"""A baseline on disk: what is written comes back, what was touched is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metaeval.base.errors import MetaevalError
from metaeval.trust.gate.baseline import Baseline, read_baseline, write_baseline
from metaeval.trust.gate.rules import Rules
from tests.examples import examples
from tests.trust.gates import scored

RULES = Rules({"clear": 3.0, "clear/short": 3.2}, {"*": 0.3}, 0.01, 0.1)


def baseline(**options) -> Baseline:
    return Baseline(scored(0, users=4, **options), RULES, "category", "user")


def test_it_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "main.json"
    given_ = baseline(call="0123456789abcdef")
    assert write_baseline(path, given_) == [path, tmp_path / "main.units.csv"]
    found = read_baseline(path)
    assert (found.rules, found.by, found.cluster) == (RULES, "category", "user")
    for field in ("evaluator", "identity", "scale", "data", "fingerprint", "simulated"):
        assert getattr(found.scored, field) == getattr(given_.scored, field)
    keys = ["user_id", "item_id", "generator", "category", "aspect"]
    pd.testing.assert_frame_equal(
        found.scored.frame.sort_values(keys, ignore_index=True)[[*keys, "score", "call"]],
        given_.scored.frame.sort_values(keys, ignore_index=True)[[*keys, "score", "call"]],
        check_dtype=False,
    )


def test_a_review_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "main.json"
    write_baseline(path, baseline())
    text = path.read_text(encoding="utf-8")
    record = json.loads(text)
    assert text == json.dumps(record, indent=2, sort_keys=True) + "\n"
    assert record["thresholds"]["min"] == {"clear": 3.0, "clear/short": 3.2}
    frame = baseline().scored.frame
    clear = frame[frame["aspect"] == "clear"]
    assert record["means"]["clear"]["mean"] == pytest.approx(clear["score"].mean())
    short = clear[clear["category"] == "short"]["score"]
    assert record["means"]["clear"]["by"]["short"] == {"mean": short.mean(), "units": 8, "missing": 0}
    assert len(text) < 2500
    # The order of a run's rows says nothing, and one changed score is one changed line.
    shuffled = baseline()
    again = replace(shuffled.scored, frame=shuffled.scored.frame.sample(frac=1, random_state=0))
    write_baseline(tmp_path / "again.json", replace(shuffled, scored=again))
    before = (tmp_path / "main.units.csv").read_text(encoding="utf-8").splitlines()
    assert sorted(before[1:]) == before[1:]
    changed = again.frame.assign(score=again.frame["score"].where(again.frame.index != 5, 1.0))
    write_baseline(path, replace(shuffled, scored=replace(again, frame=changed)))
    after = path.with_name("main.units.csv").read_text(encoding="utf-8").splitlines()
    assert sum(a != b for a, b in zip(before, after, strict=True)) == 1


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1, max_size=8)


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    users=st.lists(NAMES, min_size=1, max_size=5, unique=True),
    aspects=st.lists(NAMES, min_size=1, max_size=3, unique=True),
    calls=st.booleans(),
    seed=st.integers(0, 99),
)
def test_any_name_and_any_score_comes_back(tmp_path: Path, users, aspects, calls: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [
        {
            "user_id": u,
            "item_id": "i",
            "generator": "g",
            "category": u,
            "aspect": a,
            "score": rng.choice([1.0, 0.1 + 0.2, 1e-9]) if n else 3.0,
            "call": f"{rng.integers(9)}" if calls else "",
        }
        for u in users
        for n, a in enumerate(aspects)
    ]
    frame = pd.DataFrame(rows)
    frame.loc[1:, "score"] = frame.loc[1:, "score"].where(rng.random(len(frame) - 1) < 0.8)
    given_ = replace(baseline(), scored=replace(scored(0, users=1), frame=frame), rules=Rules())
    write_baseline(tmp_path / "b.json", given_)
    found = read_baseline(tmp_path / "b.json").scored.frame
    by = ["user_id", "aspect"]
    one, other = (f.set_index(by).sort_index()[["score", "call", "category"]] for f in (frame, found))
    pd.testing.assert_frame_equal(one, other, check_dtype=False)


@pytest.mark.parametrize("text", ["{", "[" * 90_000])
def test_what_is_not_json_is_no_baseline(tmp_path: Path, text: str) -> None:
    (tmp_path / "main.json").write_text(text, encoding="utf-8")
    with pytest.raises(MetaevalError, match="is not JSON, so not a baseline"):
        read_baseline(tmp_path / "main.json")


def test_scores_that_were_touched_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "main.json"
    _, units = write_baseline(path, baseline())
    units.write_text(units.read_text(encoding="utf-8").replace("3.0", "2.0"), encoding="utf-8")
    with pytest.raises(
        MetaevalError, match=r"main\.units\.csv is not the file that main\.json was written with"
    ):
        read_baseline(path)
    units.unlink()
    with pytest.raises(MetaevalError, match=r"is not there, a file that belongs to main\.json"):
        read_baseline(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.pop("judge"), "incomplete or damaged .*judge.*--write-baseline"),
        (lambda r: r["thresholds"].update(min={"clear": "high"}), "incomplete or damaged"),
        (lambda r: r["thresholds"].update(alpha=0.7), "alpha is 0.7"),
        (lambda r: r.update(format="other"), "not a baseline of this version"),
    ],
)
def test_a_file_that_is_not_whole_is_refused(tmp_path: Path, change, message: str) -> None:
    path = tmp_path / "main.json"
    write_baseline(path, baseline())
    record = json.loads(path.read_text(encoding="utf-8"))
    change(record)
    path.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(MetaevalError, match=message):
        read_baseline(path)


def test_what_is_no_baseline_is_said(tmp_path: Path) -> None:
    with pytest.raises(MetaevalError, match=r"there is no baseline .* --write-baseline"):
        read_baseline(tmp_path / "none.json")
    (tmp_path / "x.json").write_text("{", encoding="utf-8")
    with pytest.raises(MetaevalError, match="not JSON, so not a baseline"):
        read_baseline(tmp_path / "x.json")
    with pytest.raises(MetaevalError, match=r"must end in \.json"):
        write_baseline(tmp_path / "x.yaml", baseline())
    empty = baseline()
    nothing = replace(empty.scored, frame=empty.scored.frame.assign(score=np.nan))
    with pytest.raises(MetaevalError, match="scored nothing"):
        write_baseline(tmp_path / "x.json", replace(empty, scored=nothing))
