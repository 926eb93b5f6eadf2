"""Evaluators of matched pairs without a model: popularity, and the recommenders of the data set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, nearest
from metaeval.base.records import Kind
from metaeval.evaluators.base import check_text
from metaeval.evaluators.chance import Preference
from metaeval.evaluators.grid import FloatArray
from metaeval.kinds.exposure.data.log_set import ITEM, USER, LogSet


@dataclass(frozen=True, repr=False)
class PopularItem(Preference):
    """The item that more other users have in their log; in specs, ``Popularity()``."""

    called: ClassVar[str] = "Popularity"

    def worth(self, data: LogSet, side: str) -> FloatArray:
        """Return the number of users; the user's own row is one for both items of a pair."""
        pairs = data.log[[USER, ITEM]].drop_duplicates()
        users = pairs[ITEM].astype("str").value_counts()
        return np.asarray(data.table[side].map(users), dtype=np.float64)


@dataclass(frozen=True, repr=False)
class System(Preference):
    """The item that a recommender of the data set gives the higher score, or the better rank.

    An item that is not on the user's list comes after all that are; two such items tie. A user without a list
    is ``missing``. ``name`` is the recommender's name in the table ``runs``.
    """

    kind: ClassVar[Kind] = Kind.RECORDED
    needs: ClassVar[str] = "lists of recommenders"

    name: str

    @classmethod
    def found_in(cls, data: LogSet) -> list[str]:
        """Return those of the data."""
        return [] if data.runs is None else [str(n) for n in data.runs["system"].unique()]

    def __post_init__(self) -> None:
        check_text("System", "name", self.name)

    def signature(self, data: LogSet) -> Mapping[str, Any]:
        """Return the recommender, and what it orders by."""
        return {"system": self.name, "by": self._by(self._lists(data))}

    def worth(self, data: LogSet, side: str) -> FloatArray:
        """Return the score, or the rank with its sign turned."""
        lists = self._lists(data)
        by = self._by(lists)
        known = lists.set_index([USER, ITEM])[by] * (1 if by == "score" else -1)
        known = known[~known.index.duplicated()]
        worth = known.reindex(pd.MultiIndex.from_frame(data.table[[USER, side]])).to_numpy(np.float64)
        below: FloatArray = np.where(np.isnan(worth), known.min() - 1, worth)
        return np.where(data.table[USER].isin(lists[USER].unique()), below, np.nan)

    def _lists(self, data: LogSet) -> pd.DataFrame:
        if data.runs is None:
            raise DataError(f"{self}: data set {data.name!r} has no table runs, so no recommenders; add it")
        lists = data.runs[data.runs["system"] == self.name]
        if lists.empty:
            names = sorted(map(str, data.runs["system"].unique()))
            raise DataError(
                f"{self}: data set {data.name!r} has no recommender {self.name!r}"
                f"{nearest(self.name, names)} (it has: {', '.join(names)})"
            )
        return lists

    @staticmethod
    def _by(lists: pd.DataFrame) -> str:
        """Return what items are ordered by: scores, where all items of the lists have one."""
        return "score" if "score" in lists and lists["score"].notna().all() else "rank"
