"""Two explanations of an item for a user side by side, for people to say which is better."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from metaeval.base.records import FIRST, SECOND, Scale
from metaeval.engine.drilldown import UnitText
from metaeval.kinds.explanations import reading
from metaeval.kinds.explanations.kind import Explanations
from metaeval.kinds.explanations.pairwise.pairings import all_matches, compared_groups
from metaeval.kinds.explanations.text.texts import reference_columns
from metaeval.kinds.files.labels import WINNERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metaeval.engine.drilldown import UnitView
    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet


class ShownPairs(Explanations):
    """The showings of every two explanations of the same item for the same user, in both orders.

    They are units to label. Studies are of the explanations themselves.
    """

    labels = WINNERS

    def paired(self, data: ExplanationSet) -> ExplanationSet:
        """Return the showings of the explanations of a data set.

        Raises
        ------
        DataError
            If there are no two of the same item for the same user.
        """
        matches = all_matches(compared_groups(data, "a pair", "leave --pairs out"))
        one, two = (
            data.explanations.take([match[side] for match in matches]).reset_index(drop=True)
            for side in (1, 2)
        )
        *shared, author = data.keys
        told = [c for c in ("item_title", *reference_columns(data)) if c in one]
        # What only one of the two was written with would tell them apart.
        table = one[shared].join(one[told].where(one[told] == two[told]))
        table = table.assign(**{FIRST: one[author], SECOND: two[author]})
        both = [
            table.assign(order=order, explanation=left["explanation"], other=right["explanation"])
            for order, left, right in ((FIRST, one, two), (SECOND, two, one))
        ]
        return replace(
            data,
            explanations=pd.concat(both, ignore_index=True),
            aspects={aspect: _asked(statement) for aspect, statement in data.aspects.items()},
            scale=Scale(-1, 1),
            named_by=(*shared, FIRST, SECOND, "order"),
        )

    def unit_view(self, data: ExplanationSet, aspects: Sequence[str]) -> UnitView:
        """Show both texts, with what they have in common."""
        view = reading.unit_view(data, aspects)
        text, *references = view.texts
        other = UnitText("shown second", data.explanations["other"].tolist(), beside=True)
        columns = tuple(c for c in view.columns if c.name not in {FIRST, SECOND, "order"})
        return replace(view, columns=columns, texts=(replace(text, title="shown first"), other, *references))


def _asked(statement: str) -> str:
    return f"{statement}\nOf which is it more true?" if statement.strip() else "Which is better?"
