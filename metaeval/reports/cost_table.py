"""What the judges of a run cost, as Markdown."""

from __future__ import annotations

import pandas as pd

from metaeval.base.simulation import MARK
from metaeval.engine.sheet import Column, Sheet, columns
from metaeval.reports.sheets import sheet_to_markdown

_COLUMNS = (
    Column("label", "Judge"),
    Column("prompt", "prompt"),
    Column("texts", "texts", "count"),
    Column("lost", "lost calls", "share"),
    Column("usd_per_text", "USD per text", "usd"),
    Column("tokens_per_text", "tokens per text", "count"),
    Column("reasoning_tokens_per_text", "reasoning tokens per text", "count"),
    Column("seconds_per_text", "time per text", "seconds"),
    *columns("share", unread="unread", unread_first="unread, in order", unread_second="unread, swapped"),
    Column("usd", "USD", "usd"),
)
_ABOUT = (
    "The cost of a text covers all aspects, in one call or several, and repeated attempts. Calls without a "
    "reply cost nothing and are left out."
)
_UNREAD = (
    "Tokens include reasoning tokens. Unread: replies that came and cannot be read; in order: with the first "
    "of two shown first. — means unknown."
)


def cost_table(costs: pd.DataFrame) -> str:
    """Return a table with a row per judge, its heading and its caption."""
    both = costs[costs["shared"] > 0]
    shared = [f"{share:.1%} of {name}" for name, share in zip(both["evaluator"], both["shared"], strict=True)]
    if shared:
        shared = [f"Calls that a judge above makes, too, are paid for once: {', '.join(shared)}."]
    frame = costs.assign(label=costs["evaluator"] + costs["simulated"].map({True: MARK, False: ""}))
    sheet = Sheet("costs", "What the judges cost", frame, _COLUMNS, (_ABOUT, *shared, _UNREAD))
    return sheet_to_markdown(sheet)[1:]  # a heading of the first level
