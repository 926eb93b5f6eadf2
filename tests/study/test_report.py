"""What the report of a run holds: the run's own numbers, its calls, and what was tested."""

from __future__ import annotations

import base64
import gzip
import json
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.data.tables.maps import KEYS
from metaeval.llm.store.replies import Store
from tests.tiny import write_study, write_tiny

STUDY = {
    "evaluators": """
  length: "Length()"
  one: "Annotator('1')"
  two: "Annotator('2')"
  judge: "Judge('simulated/noise=0.3,unparsed=0.3', attempts=1)"
  single: "Judge('simulated/two', prompt='single-aspect', examples='personalized')"
  panel: "Mean(judge, single)"
""",
    "missing": "{truth: 3, score: 1}",
    "tests": "{permutations: 200}",
    "bootstrap": "{resamples: 50}",
}


def payload_of(page: Path) -> dict[str, Any]:
    """Read what the script of a page reads."""
    text = page.read_text(encoding="utf-8")
    (packed,) = re.findall(r'id="payload">([^<]*)<', text)
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def cell_of(payload: dict[str, Any], at: Iterable[int]) -> tuple[str, ...]:
    """Return the values of a cell: aspect, level, coefficient."""
    dimensions = payload["board"]["dimensions"]
    return tuple(d["values"][i]["name"] for d, i in zip(dimensions, at, strict=True))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> me.Run:
    """A run in a folder with its store, its data and its study."""
    folder = tmp_path_factory.mktemp("report")
    write_tiny(folder / "tiny")
    study = write_study(folder / "s.yaml", judging=f"{{store: {folder / 'replies.sqlite'}}}", **STUDY)
    return me.run(study, folder / "run")


@pytest.fixture(scope="module")
def payload(run: me.Run) -> dict[str, Any]:
    return payload_of(run.folder / "report.html")


@pytest.mark.slow
def test_cells_are_the_correlations(run: me.Run, payload: dict[str, Any]) -> None:
    cells = payload["cells"]
    names = [e["name"] for e in payload["evaluators"]]
    found = {
        (names[e], *cell_of(payload, at)): estimate
        for e, at, estimate in zip(
            cells["evaluator"], zip(*cells["at"], strict=True), cells["estimate"], strict=True
        )
    }
    expected = run.correlations.frame.set_index(["evaluator", "aspect", "level", "coefficient"])["estimate"]
    assert len(found) == len(expected)
    for key, estimate in found.items():
        value = expected[key]
        assert estimate is None if math.isnan(value) else estimate == pytest.approx(value, rel=1e-8)


def test_the_mean_of_the_groups_is_the_cell(run: me.Run, payload: dict[str, Any]) -> None:
    frame = run.correlations.frame.set_index(["evaluator", "aspect", "level", "coefficient"])
    for level, groups in zip(("user", "pair"), payload["groups"], strict=True):
        assert groups["at"] == {"level": level}
        assert groups["total"] == len(groups["ids"]) == len(groups["units"])
        terms = groups["columns"][0]
        assert terms["dimensions"] == ["aspect", "coefficient"]
        for c, coefficient in enumerate(("pearson", "spearman", "kendall")):
            for e, evaluator in enumerate(payload["evaluators"]):
                of_clear = np.array(terms["of"][e][0][c], dtype=float)
                row = frame.loc[(evaluator["name"], "clear", level, coefficient)]
                assert np.isnan(of_clear).sum() == row["n_undefined"]
                if row["n_undefined"] < row["n_groups"]:
                    assert np.nanmean(of_clear) == pytest.approx(row["estimate"], abs=1e-4)


def test_what_is_corrected_at_generator_level_stands_beside_the_plain_estimate(tmp_path: Path) -> None:
    study = write_study(
        tmp_path / "s.yaml",
        dataset=str(Path(__file__).parents[2] / "data" / "sample"),
        levels="[dataset, generator]",
        coefficients="[pearson]",
        bootstrap="{resamples: 50}",
        tests="{permutations: 100}",
    )
    run = me.run(study, tmp_path / "run")
    payload = payload_of(run.folder / "report.html")
    assert payload["board"]["second"]["title"] == "corrected"
    told = np.array(payload["cells"]["second"], dtype=float)
    np.testing.assert_allclose(told, run.correlations.frame["corrected"], rtol=1e-6)
    levels = [cell_of(payload, at)[1] for at in zip(*payload["cells"]["at"], strict=True)]
    assert [not math.isnan(x) for x in told] == [level == "generator" for level in levels]


def test_what_was_tested_has_rank_ranges(run: me.Run, payload: dict[str, Any]) -> None:
    tested = {cell_of(payload, t["at"]): t for t in payload["tests"]}
    assert ("average", "dataset", "pearson") in tested
    assert ("clear", "user", "kendall") in tested
    assert ("clear", "dataset", "kendall") not in tested  # takes long
    ranking = pd.read_csv(run.folder / "ranking.csv", dtype=str, keep_default_na=False).set_index(
        "evaluator"
    )["rank_range"]
    first = tested["average", "dataset", "pearson"]
    names = [e["name"] for e in payload["evaluators"]]
    assert dict(zip(names, first["range"], strict=True)) == ranking.to_dict()
    assert "200 swaps" in first["sentence"]


def test_bias_is_that_of_evaluators_on_the_scale(run: me.Run, payload: dict[str, Any]) -> None:
    names = [e["name"] for e in payload["evaluators"]]
    bias = dict(zip(names, payload["groups"][0]["columns"][1]["of"], strict=True))
    assert bias["length"] is None
    scores = run.scores.frame.query("evaluator == 'one' and aspect == 'clear'")
    truth = pd.read_parquet(run.folder / "truth.parquet")
    joined = scores.merge(truth, on=[*KEYS, "aspect"])
    naive = (joined["score"] - joined["rating"]).groupby(joined["user_id"]).mean()
    assert {e["name"] for e in payload["evaluators"] if e["onScale"]} == {n for n in names if bias[n]}
    assert bias["one"][0] == pytest.approx(naive.sort_index().tolist(), abs=1e-4)


def test_every_score_of_a_judge_leads_to_its_call(run: me.Run, payload: dict[str, Any]) -> None:
    names = [e["name"] for e in payload["evaluators"]]
    units, calls = payload["units"], payload["calls"]
    keys = ["user_id", "item_id", "generator"]
    ids = list(
        zip(
            *([c["values"][i] for i in c["codes"]] for c in units["columns"] if c["name"] in keys),
            strict=True,
        )
    )
    assert calls["of"][names.index("panel")] is None
    with Store(run.folder.parent / "replies.sqlite") as store:
        for judge in ("judge", "single"):
            of = run.scores.frame.query("evaluator == @judge").set_index([*keys, "aspect"])
            for a, aspect in enumerate(("clear", "fitting")):
                for unit, at in enumerate(calls["of"][names.index(judge)][a]):
                    key = of.loc[(*ids[unit], aspect), "call"]
                    if at < 0:
                        assert key == ""
                        continue
                    told = calls["replies"][at]
                    assert told["key"] == key
                    assert told["text"] == store.get(key).text
                    asked = "\n".join(
                        "\n".join(calls["lines"][i] for i in m["lines"]) for m in told["prompt"]
                    )
                    assert units["texts"][units["parts"][0]["texts"][unit]] in asked
    statuses = units["statuses"][names.index("judge")][0]["status"]
    assert "unparsed" in {units["statusNames"][s] for s in statuses}
    assert not calls["note"]


def test_the_glossary_has_the_words_of_this_study(payload: dict[str, Any]) -> None:
    told = dict(payload["glossary"] + payload["words"])
    assert "pair: the mean of the coefficients within each pair of a user and an item" in told["level"]
    assert "item: the mean" not in told["level"]
    assert "unparsed: the reply has no score" in told["why missing"]
    assert "refused" not in told["why missing"]
    assert payload["tests"]
    assert "those the data allow" in told["rank range"]


def test_a_run_without_tests_or_intervals_has_a_report(tiny: Path, tmp_path: Path) -> None:
    assert tiny.is_dir()
    study = write_study(tmp_path / "s.yaml", tests="null", bootstrap="null", details="false")
    payload = payload_of(me.run(study, tmp_path / "run").folder / "report.html")
    assert payload["tests"] == payload["sheets"] == []
    assert set(payload["cells"]["low"]) == {None}
    assert payload["calls"]["replies"] == []
