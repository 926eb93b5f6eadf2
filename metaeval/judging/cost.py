"""What the judges of a run cost, one row a judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.keys import key_columns
from metaeval.base.records import Kind, Status
from metaeval.judging.lost import calls_of

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
    "seconds_per_text",
    "parse_rate",
    "simulated",
)


def costs_of(scores: ScoreTable) -> pd.DataFrame:
    """Return what each judge cost.

    Returns
    -------
    DataFrame
        ``texts`` that were asked about; ``lost``: the share of calls that brought no reply; ``usd`` in all;
        ``usd_per_text``, ``tokens_per_text`` and ``seconds_per_text`` for one text on all aspects, whether in
        one call or several, repeated attempts included, over the calls that brought a reply; ``parse_rate``:
        the share of wanted scores that are there. NaN where it is not known: an unknown price is never 0.
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
    sums = {c: float(asked[c].sum(skipna=False)) for c in ("usd", "tokens", "seconds")}
    answered = texts * (1 - lost) if texts else 0.0
    per_text = {c: total / answered if answered else float("nan") for c, total in sums.items()}
    return {
        "evaluator": name,
        "model": signature["model"],
        "prompt": signature["prompt"]["name"],
        "texts": texts,
        "lost": lost,
        "usd": sums["usd"],
        "usd_per_text": per_text["usd"],
        "tokens_per_text": per_text["tokens"],
        "seconds_per_text": per_text["seconds"],
        "parse_rate": float((asked["status"] == Status.OK.value).mean()) if len(asked) else float("nan"),
        "simulated": bool(signature.get("simulated", False)),
    }
