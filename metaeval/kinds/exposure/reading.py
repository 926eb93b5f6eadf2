"""What a reader of a report sees of a pair: both items as they were shown, and what the user did before."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from metaeval.base.records import FIRST, SECOND
from metaeval.engine.drilldown import Groups, Rated, UnitColumn, UnitText, UnitView
from metaeval.engine.measured_groups import measured_groups
from metaeval.kinds.exposure.data.log_set import KEYS, MATCHING, PAIR, USER, WEIGHT
from metaeval.kinds.reading import called, fields_text, histories_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metaeval.kinds.exposure.data.log_set import LogSet
    from metaeval.kinds.exposure.pair_auc import PairCells


def unit_view(data: LogSet, aspects: Sequence[str]) -> UnitView:
    """Return how showings of pairs are shown: both items side by side, and what is known of the user."""
    table, names = data.table, called(data)
    users = table[USER].astype(str).tolist()
    own = table[table[MATCHING] == ""] if MATCHING in table else table
    histories = histories_text(data, replace(data, table=own).judged)
    profiles = fields_text(data.profiles, USER)
    bins = [str(c) for c in ("popularity", "age", "category") if c in table]
    sides = {side: [names.get(item) or item for item in table[side].astype(str)] for side in (FIRST, SECOND)}
    return UnitView(
        (
            *(UnitColumn(key, data.nouns[key], table[key].astype(str).tolist()) for key in KEYS),
            *(
                UnitColumn(name, f"bin of {name}", table[name].astype(str).tolist(), key=False)
                for name in bins
            ),
        ),
        (
            UnitText("shown first", sides[FIRST]),
            UnitText("shown second", sides[SECOND], beside=True),
            UnitText(
                "weight of the pair",
                [None if w != w else f"{w:.4g}" for w in table[WEIGHT]],  # noqa: PLR0124 NaN
                blind=False,
            ),
            UnitText("profile of the user", [profiles.get(user) for user in users]),
            UnitText("what the user did before", [histories.get(user) for user in users]),
        ),
        tuple(Rated(aspect, data.aspects.get(aspect, "")) for aspect in aspects),
    )


def pair_groups(cells: PairCells) -> list[Groups]:
    """Return the measures of each evaluator by user, and by pair, for every bin and weighting."""
    return [
        measured_groups(cells, cells.table, noun, keys, undefined="it has no pair in the bin")
        for noun, keys in (("user", (USER,)), ("pair", (USER, PAIR)))
    ]
