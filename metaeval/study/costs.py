"""What the judges of a run cost, one row a judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.types import KEYS, Kind, Status

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    import pandas as pd

    from metaeval.types import ScoreTable

COLUMNS = (
    "evaluator",
    "model",
    "prompt",
    "texts",
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
        ``texts`` that were asked about; ``usd`` in all; ``usd_per_text``, ``tokens_per_text`` and
        ``seconds_per_text`` for one text on all aspects, whether in one call or several, repeated attempts
        included; ``parse_rate``: the share of wanted scores that are there. NaN where it is not known: an
        unknown price is never 0.
    """
    import pandas as pd

    rows = []
    for name, signature in scores.signatures.items():
        if scores.kinds.get(name) == Kind.JUDGE and "model" in signature:
            frame = scores.frame[scores.frame["evaluator"] == name]
            rows.append(_row(name, signature, frame[frame["call"].notna() & (frame["call"] != "")]))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(name: str, signature: Mapping[str, Any], asked: pd.DataFrame) -> dict[str, object]:
    texts = len(asked[[k for k in KEYS if k in asked.columns]].drop_duplicates())
    sums = {c: float(asked[c].sum(skipna=False)) for c in ("usd", "tokens", "seconds")}
    per_text = {c: total / texts if texts else float("nan") for c, total in sums.items()}
    return {
        "evaluator": name,
        "model": signature["model"],
        "prompt": signature["prompt"]["name"],
        "texts": texts,
        "usd": sums["usd"],
        "usd_per_text": per_text["usd"],
        "tokens_per_text": per_text["tokens"],
        "seconds_per_text": per_text["seconds"],
        "parse_rate": float((asked["status"] == Status.OK.value).mean()) if len(asked) else float("nan"),
        "simulated": bool(signature.get("simulated", False)),
    }
