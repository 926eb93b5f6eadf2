"""What the judges of a run cost, one row per judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.keys import key_columns
from metaeval.base.records import Kind, Status
from metaeval.judging.lost import calls_of
from metaeval.judging.outcome import COSTS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    import pandas as pd

    from metaeval.base.records import ScoreTable

COLUMNS = (
    "evaluator",
    "model",
    "prompt",
    "texts",
    "lost",
    "usd",
    "usd_per_text",
    "tokens_per_text",
    "reasoning_tokens_per_text",
    "seconds_per_text",
    "parse_rate",
    "simulated",
)


def costs_of(scores: ScoreTable) -> pd.DataFrame:
    """Return what each judge cost.

    Returns
    -------
    DataFrame
        ``texts`` asked about; ``lost``: share of calls without a reply; ``usd`` in all; ``usd_per_text``,
        ``tokens_per_text`` and ``seconds_per_text``: per text on all aspects, all attempts together, over
        calls with a reply; ``reasoning_tokens_per_text``: tokens of thought among the tokens, NaN where the
        server counts none; ``parse_rate``: share of scores that are there. NaN where unknown.
    """
    import pandas as pd

    rows = []
    for name, signature in scores.signatures.items():
        if scores.kinds.get(name) == Kind.JUDGE and "model" in signature:
            frame = scores.frame[scores.frame["evaluator"] == name]
            pairs = scores.verdicts
            calls, lost = calls_of(frame, None if pairs is None else pairs[pairs["evaluator"] == name])
            asked = frame[frame["call"].notna() & (frame["call"] != "")]
            rows.append(_row(name, signature, asked, len(lost) / len(calls) if calls else float("nan")))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(name: str, signature: Mapping[str, Any], asked: pd.DataFrame, lost: float) -> dict[str, object]:
    texts = len(asked[list(key_columns(asked))].drop_duplicates())
    # Scores that an older version kept have no tokens of thought.
    sums = {c: float(asked[c].sum(skipna=False)) if c in asked else float("nan") for c in COSTS}
    sums["reasoning_tokens"] = sums["reasoning_tokens"] or float("nan")
    answered = texts * (1 - lost)
    per_text = {f"{c}_per_text": total / answered if answered else float("nan") for c, total in sums.items()}
    return {
        "evaluator": name,
        "model": signature["model"],
        "prompt": signature["prompt"]["name"],
        "texts": texts,
        "lost": lost,
        "usd": sums["usd"],
        **per_text,
        "parse_rate": float((asked["status"] == Status.OK.value).mean()) if len(asked) else float("nan"),
        "simulated": bool(signature.get("simulated", False)),
    }
