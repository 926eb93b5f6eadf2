"""Agreement of pairs, and ablations, as sheets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.engine.sheet import Column, Sheet
from metaeval.kinds.relevance.agreement import ALL, RELEVANT, SHARES

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from metaeval.base.simulation import Simulation

_PAIRS = (
    "Pairs of two items of one user with different labels. Agreement: the scores order them as the labels "
    "do; tie: the scores are equal; disagreement: they order them the other way."
)
_GAP = (
    f"Gap: the difference of the two labels; '{RELEVANT}' are pairs of a relevant and a non-relevant item, "
    f"'{ALL}' all pairs."
)
_CHANGE = (
    "Change and p: agreement against the first row, in paired tests that swap users, corrected by Holm for "
    "the number of variants."
)
_SHARES = tuple(Column(n, n.capitalize(), "share", f"{n}_low", f"{n}_high") for n in SHARES)


def agreement_sheet(frame: pd.DataFrame, intervals: str, simulated: Simulation) -> Sheet:
    """Return agreement of pairs by evaluator and gap between the labels."""
    return Sheet(
        "agreement",
        "Agreement on pairs of items",
        frame,
        (
            Column("evaluator", "Evaluator"),
            Column("gap", "Gap"),
            *_SHARES,
            Column("n_pairs", "Pairs", "count"),
            Column("n_users", "Users", "count"),
        ),
        (
            _PAIRS,
            _GAP,
            intervals,
        ),
        simulated,
    )


def ablation_sheets(frame: pd.DataFrame, intervals: str, simulated: Simulation) -> Iterator[Sheet]:
    """Yield a sheet per judge: its variants, each against the judge as it is."""
    for base, rows in frame.groupby("base", sort=False):
        repeated = rows["repeats_low"].notna().any()
        change = Column(
            "agreement_change", "Change", "share", "agreement_change_low", "agreement_change_high"
        )
        yield Sheet(
            f"ablation-{base}",
            f"Variants of {base}",
            rows.reset_index(drop=True),
            (
                Column("evaluator", "Variant"),
                *_SHARES,
                change,
                Column("p", "p", "p"),
                *(
                    [Column("repeats_low", "Repeats from", "share"), Column("repeats_high", "to", "share")]
                    if repeated
                    else []
                ),
            ),
            (
                "Pairs of a relevant and a non-relevant item of one user.",
                _CHANGE,
                intervals,
                *(
                    [
                        (
                            "Repeats: the 95 % interval of their mean agreement (Student's t), with the "
                            "users "
                            "fixed."
                        )
                    ]
                    if repeated
                    else []
                ),
            ),
            simulated,
        )
