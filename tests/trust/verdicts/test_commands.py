"""Runs with pairwise judges: what they leave, broken off, carried elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError, StoppedError
from metaeval.llm.store.replies import Store
from metaeval.runs.finished import export_run, open_run
from metaeval.trust.verdicts.commands import coherence_of, pairwise_of
from tests.kinds.explanations.judge.test_judge import KEY
from tests.llm.server import Act, serving
from tests.study.runs import tiny_run
from tests.tiny import write_study

PAIR = "Pairwise('simulated/x,first_bias=0.3')"
SWISS = "Pairwise('simulated/x', pairs='swiss', rounds=1, per='generator')"
MORE = {"missing": "{truth: 3, score: 0}", "bootstrap": "{resamples: 20}", "tests": "", "details": "false"}


def clear(body: dict[str, Any], _before: int) -> Act:
    return Act(text=json.dumps({"clear": 1 + len(json.dumps(body)) % 2, "fitting": 0}))


@pytest.mark.slow
def test_a_run_holds_its_verdicts(tiny: Path) -> None:
    evaluators = f'{{length: Length(), pair: "{PAIR}", swiss: "{SWISS}", both: "Mean(pair, swiss)"}}'
    folder = tiny_run(tiny.parent, "run", evaluators=evaluators)
    run = open_run(folder)
    verdicts = run.verdicts
    assert verdicts is not None
    assert verdicts.groupby("evaluator").size().to_dict() == {"pair": 6 * 3 * 2 * 2, "swiss": 6 * 1 * 2 * 2}
    assert run.scores.signatures["swiss"]["outcome"]["calls_saved"] == 24
    assert "verdicts.parquet" in run.record.outputs
    board = (folder / "leaderboard.md").read_text(encoding="utf-8")
    assert "| pair (simulated) |" in board
    pairs, ranking = pairwise_of(folder, resamples=50)
    assert set(pairs.frame["evaluator"]) == {"pair (simulated)", "swiss (simulated)"}
    assert set(ranking.frame["aspect"]) == {"clear", "fitting", "average"}
    again = tiny_run(tiny.parent, "again", evaluators=evaluators)
    assert (again / "verdicts.parquet").read_bytes() == (folder / "verdicts.parquet").read_bytes()
    # The same folder for a study without pairs: the verdicts of before are not this run's.
    tiny_run(tiny.parent, "run")
    assert open_run(folder).verdicts is None
    with pytest.raises(MetaevalError, match="no verdicts on pairs; give its study a pairwise evaluator"):
        pairwise_of(folder)
    with pytest.raises(MetaevalError, match="evaluator 'pare'; did you mean 'pair'"):
        pairwise_of(again, ["pare"])


@pytest.mark.slow
def test_coherence_of_a_run_is_that_of_its_verdicts(tiny: Path) -> None:
    run = tiny_run(tiny.parent, "run", evaluators=f'{{length: Length(), pair: "{PAIR}"}}')
    found = coherence_of(run, resamples=50)[0].frame.set_index(["task", "axiom"])
    assert set(found["evaluator"]) == {"pair"}
    assert found["n"]["clear", "asymmetry"] == found["n"]["fitting", "asymmetry"] == 6 * 3
    other = tiny_run(tiny.parent, "other", evaluators="{length: Length()}")
    with pytest.raises(MetaevalError, match="no verdicts on pairs"):
        coherence_of(other)


@pytest.mark.slow
def test_broken_off_it_goes_on_and_its_replies_can_be_carried(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(clear) as server:
        first, later = (
            f"Pairwise('openai/gpt-4o', replicate={n}, base_url='{server.openai}')" for n in (0, 1)
        )
        given = {"evaluators": f'{{first: "{first}", later: "{later}"}}', **MORE}
        # The three texts are the same for every user and item, so that each judge makes six calls in all.
        write_study(Path("s.yaml"), judging="{store: replies.sqlite, max_calls: 8}", **given)
        with pytest.raises(StoppedError, match="1 of 2 evaluators are kept"):
            me.run("s.yaml", "out")
        assert len(server.log) == 8
        assert not Path("out/verdicts.parquet").exists()
        write_study(Path("s.yaml"), judging="{store: replies.sqlite}", **given)
        done = me.run("s.yaml", "out")
        assert len(server.log) == 12
        whole = me.run("s.yaml", "whole")
        assert len(server.log) == 12
    pd.testing.assert_frame_equal(open_run("out").verdicts, open_run("whole").verdicts)
    assert whole.correlations.frame.equals(done.correlations.frame)
    # Every reply is exported, not only the one that stands beside a score.
    assert export_run("out", Path("all.jsonl")) == 12
    with Store("replies.sqlite") as store:
        assert store.rows("SELECT count(*) FROM replies") == [(12,)]
