"""What judges are said to cost is what the server counted, however texts and judges share its calls."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.cli import main
from tests.llm.server import Act, serving
from tests.tiny import write_study

PRICES = "{m: {input: 3, output: 15}, dear: {input: 30, output: 150}}"
STYLES = {
    "all aspects in one call": ["Judge('openai/m')"],
    "a call per aspect": ["Judge('openai/m', prompt='single-aspect')"],
    "samples": ["Judge('openai/m', samples=3, temperature=1)"],
    "samples, the first of which another judge asks, too": [
        "Judge('openai/m', samples=3, temperature=1)",
        "Judge('openai/m', temperature=1)",
    ],
    "pairs with equal texts": ["Pairwise('openai/m')"],
    "some pairs, and all": [
        "Pairwise('openai/m', pairs='sampled', n=1)",
        "Pairwise('openai/m', prompt='pairwise-single')",
        "Pairwise('openai/m', aggregate='elo')",
    ],
    "an ensemble of judges that ask alike": [
        "Judge('openai/m')",
        "Judge('openai/dear')",
        "Judge('openai/m', attempts=2)",
        "Mean(Judge('openai/m'), Judge('openai/dear'))",
    ],
}


class Ledger:
    """Answers as the schema asks, or not readably the first time; each call costs something else."""

    def __init__(self) -> None:
        self.usd = 0.0

    def __call__(self, body: dict[str, Any], before: int) -> Act:
        place = zlib.crc32(json.dumps(body, sort_keys=True).encode())
        prompt, completion = 100 + place % 97 + before, 10 + place % 7
        dear = 10 if body["model"] == "dear" else 1
        self.usd += dear * (3 * prompt + 15 * completion) / 1e6
        usage = {"prompt_tokens": prompt, "completion_tokens": completion}
        unread = before == 0 and place % 3 == 0 and body["temperature"] == 0
        fields = body["response_format"]["json_schema"]["schema"]["properties"]
        values = {name: field["enum"][0] if "enum" in field else 3 for name, field in fields.items()}
        return Act(text="Well." if unread else json.dumps(values), usage=usage)


@pytest.mark.parametrize("style", STYLES)
def test_the_costs_of_texts_add_up_to_what_the_server_counted(
    tiny: Path, style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    ledger = Ledger()
    with serving(ledger) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai)
        specs = [s.replace("openai/m'", "openai/m', reply='json'") for s in STYLES[style]]
        specs = [s.replace("openai/dear'", "openai/dear', reply='json'") for s in specs]
        judging = f"{{store: replies.sqlite, prices: {PRICES}}}"
        quick = {"bootstrap": "null", "details": "false", "judging": judging}
        study = write_study(tiny.parent / "s.yaml", evaluators=json.dumps(specs), **quick)
        for out in ("out", "again"):  # a stored reply costs what it cost
            assert main(["run", str(study), "--out", out]) == 0
            costs = pd.read_csv(f"{out}/cost.csv")
            assert costs["usd"].sum() == pytest.approx(ledger.usd)
            assert (costs["usd_per_text"] * costs["texts"]).sum() == pytest.approx(ledger.usd)
            scores = pd.read_parquet(f"{out}/scores.parquet")
            alone = costs.set_index("evaluator")["usd_alone"]
            of_judges = scores.groupby("evaluator", observed=True)["usd"].sum()
            assert of_judges[alone.index].tolist() == pytest.approx(alone.tolist())
            assert (alone.sum() > 1.001 * ledger.usd) == (costs["shared"] > 0).any()


def test_people_cost_what_the_study_says(tmp_path: Path) -> None:
    """No reply tells what a person costs; a judge's price is never stated here."""
    study = {
        "dataset": "data/sample",
        "evaluators": {
            "one": "Annotator('1')",
            "judge": "Judge('simulated/mini')",
            "other": "Annotator('2')",
        },
        "aspects": ["accuracy"],
        "truth": "User()",
        "costs": {"one": "0.111 per unit", "Annotator('2')": "2 per unit"},
        "bootstrap": None,
        "tests": None,
        "details": False,
    }
    me.run(study, tmp_path / "run")
    paid = pd.read_csv(tmp_path / "run" / "cost.csv").set_index("evaluator")
    assert paid.loc["one", ["texts", "usd_per_text", "usd"]].tolist() == pytest.approx(
        [528, 0.111, 528 * 0.111]
    )
    assert paid.loc["other", "usd_per_text"] == 2
    assert "$0.111" in (tmp_path / "run" / "leaderboard.md").read_text().replace("\\", "")
    for costs, message in (
        ({"nobody": "1 per unit"}, "there is no evaluator 'nobody'"),
        ({"judge": "1 per unit"}, "judge asks a model, whose replies say what it costs"),
        ({"one": "1 USD"}, "'1 USD' is no price; write USD per unit"),
    ):
        with pytest.raises(MetaevalError, match=message):
            me.run({**study, "costs": costs}, tmp_path / "other")
