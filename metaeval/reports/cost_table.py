"""What the judges of a run cost, as Markdown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from metaeval.base.simulation import MARK
from metaeval.reports.escapes import markdown as escape

if TYPE_CHECKING:
    import pandas as pd

_PER_TEXT = ("USD", "tokens", "tokens of thought", "seconds")


def cost_table(costs: pd.DataFrame) -> str:
    """Return a table with a row per judge, its heading and its caption."""
    titles = ["Judge", "prompt", "texts", "lost calls", *(f"{what} per text" for what in _PER_TEXT)]
    titles += ["parse rate", "USD"]
    lines = [
        "# What the judges cost",
        "",
        f"| {' | '.join(titles)} |",
        f"| :--- | :--- |{' ---: |' * (len(titles) - 2)}",
    ]
    for row in costs.to_dict("records"):
        name = escape(str(row["evaluator"])) + (MARK if row["simulated"] else "")
        numbers = [
            f"{row['texts']:,}",
            _number(row["lost"], ".1%"),
            _number(row["usd_per_text"], ".3g"),
            _number(row["tokens_per_text"], ",.0f"),
            _number(row["reasoning_tokens_per_text"], ",.0f"),
            _number(row["seconds_per_text"], ".2f"),
            _number(row["parse_rate"], ".1%"),
            _number(row["usd"], ",.2f"),
        ]
        lines.append(f"| {name} | {escape(str(row['prompt']))} | {' | '.join(numbers)} |")
    about = (
        "A text is judged on all aspects, in one call or several; repeated attempts are included. "
        "Calls that brought no reply cost nothing and are left out."
    )
    both = costs[costs["shared"] > 0]
    shared = [f"{s:.1%} of {escape(str(e))}" for e, s in zip(both["evaluator"], both["shared"], strict=True)]
    if shared:
        about += f" Calls that a judge above makes too are made and paid for once: {', '.join(shared)}."
    told = "Tokens of thought are among the tokens. What is not known is shown as —."
    return "\n".join([*lines, "", f"{about} {told}", ""])


def _number(value: float, form: str) -> str:
    return "—" if math.isnan(value) else format(value, form)
