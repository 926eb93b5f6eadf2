"""What the judges of a run cost, one row per judge."""

from __future__ import annotations

from statistics import fmean
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
    "shared",
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
        ``texts`` asked about; ``lost``: share of calls without a reply; ``shared``: share of calls that a
        judge above it makes too, which are asked once; ``usd`` in all, without those; ``usd_per_text``,
        ``tokens_per_text`` and ``seconds_per_text``: per text on all aspects, all attempts together, over
        calls with a reply; ``reasoning_tokens_per_text``: reasoning tokens among the tokens, NaN where the
        server counts none; ``parse_rate``: share of scores that are there. NaN where unknown.
    """
    import numpy as np
    import pandas as pd

    rows = []
    above: set[str] = set()
    for name, signature in scores.signatures.items():
        if scores.kinds.get(name) == Kind.JUDGE and "model" in signature:
            frame = scores.frame[scores.frame["evaluator"] == name]
            pairs = scores.verdicts
            calls, lost = calls_of(frame, None if pairs is None else pairs[pairs["evaluator"] == name])
            asked = frame[frame["call"].notna() & (frame["call"] != "")]
            shares = {"lost": lost, "shared": calls & above}
            row = _row(name, signature, asked, {k: _share(some, calls) for k, some in shares.items()})
            own = np.array([fmean(key not in above for key in of.split()) for of in asked["call"]])
            paid = asked["usd"].to_numpy(dtype=float)[own > 0] * own[own > 0]
            rows.append({**row, "usd": float(paid.sum())})
            above |= calls
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(
    name: str, signature: Mapping[str, Any], asked: pd.DataFrame, shares: Mapping[str, float]
) -> dict[str, object]:
    texts = len(asked[list(key_columns(asked))].drop_duplicates())
    # Scores that an older version kept have no reasoning tokens.
    sums = {c: float(asked[c].sum(skipna=False)) if c in asked else float("nan") for c in COSTS}
    sums["reasoning_tokens"] = sums["reasoning_tokens"] or float("nan")
    answered = texts * (1 - shares["lost"])
    per_text = {f"{c}_per_text": total / answered if answered else float("nan") for c, total in sums.items()}
    return {
        "evaluator": name,
        "model": signature["model"],
        "prompt": signature["prompt"]["name"],
        "texts": texts,
        **shares,
        **per_text,
        "parse_rate": float((asked["status"] == Status.OK.value).mean()) if len(asked) else float("nan"),
        "simulated": bool(signature.get("simulated", False)),
    }


def _share(some: set[str], calls: set[str]) -> float:
    return len(some) / len(calls) if calls else float("nan")
