"""What the judges of a run cost, as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.simulation import MARK
from metaeval.engine.sheet import value_text
from metaeval.reports.escapes import markdown as escape

if TYPE_CHECKING:
    import pandas as pd

_PER_TEXT = ("USD", "tokens", "reasoning tokens", "time")


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
            value_text(row["lost"], "share"),
            value_text(row["usd_per_text"], "usd").replace("$", r"\$"),
            value_text(row["tokens_per_text"], "count"),
            value_text(row["reasoning_tokens_per_text"], "count"),
            value_text(row["seconds_per_text"], "seconds"),
            value_text(row["parse_rate"], "share"),
            value_text(row["usd"], "usd").replace("$", r"\$"),
        ]
        lines.append(f"| {name} | {escape(str(row['prompt']))} | {' | '.join(numbers)} |")
    about = (
        "The cost of a text covers all aspects, in one call or several, and repeated attempts. Calls "
        "without a reply cost nothing and are left out."
    )
    both = costs[costs["shared"] > 0]
    shared = [f"{s:.1%} of {escape(str(e))}" for e, s in zip(both["evaluator"], both["shared"], strict=True)]
    if shared:
        about += f" Calls that a judge above makes, too, are paid for once: {', '.join(shared)}."
    told = "Tokens include reasoning tokens. — means unknown."
    return "\n".join([*lines, "", f"{about} {told}", ""])
