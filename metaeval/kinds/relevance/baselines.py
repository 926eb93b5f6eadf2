"""Evaluators of relevance without a model: popularity, similarity to the history, recorded labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np

from metaeval.base.errors import DataError
from metaeval.base.records import Kind, Status
from metaeval.evaluators.annotator import ratings_of
from metaeval.evaluators.base import BaseEvaluator, argument, text, texts, word
from metaeval.evaluators.grid import CODES, NO_ROW, OK, Grid
from metaeval.kinds.known_items import (
    cosines,
    fields_of,
    histories_of,
    items_of,
    other_users,
    text_vectors,
    unit_length,
)
from metaeval.kinds.relevance.data.collection import ITEM, KEYS, RELEVANCE, USER, Collection, Split, newest_of

if TYPE_CHECKING:
    import pandas as pd

OWN_SCALE = "own_scale"
"""What a signature calls the lowest and the highest label of a scale that is not the collection's."""


def _share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1


def _cuts(evaluator: object, cuts: Sequence[float], data: Collection) -> Sequence[float]:
    """Return cuts that map to the labels of relevance; raise `DataError` if they are too few or too many."""
    scale = data.scale.of(RELEVANCE)
    if len(cuts) != scale.max - scale.min:
        raise DataError(f"{evaluator}: {scale} need {scale.max - scale.min:g} cuts")
    return cuts


def _rising(cuts: object) -> bool:
    return isinstance(cuts, tuple) and [*cuts] == sorted({c for c in cuts if isinstance(c, int | float)})


@dataclass(frozen=True, repr=False)
class Labels(BaseEvaluator):
    """The labels of one rater of the collection: a person, or a model that was asked elsewhere.

    There is a row for each unit that the rater labelled; a label off the scale is ``out_of_range``. Labels
    on a scale of the rater's own order items and systems; they are compared with labels only by a map.

    Parameters
    ----------
    name
        The rater's name.
    cuts
        A map to the scale of the collection: the rising labels of the rater at which its second label
        begins, its third, and so on. With ``cuts=[2, 4, 5]``, a 0 or 1 is a 0, a 2 or 3 is a 1, a 4 is a 2
        and a 5 is a 3.
    """

    kind: ClassVar[Kind] = Kind.RECORDED
    needs: ClassVar[str] = "labels of that rater"

    name: str = text()
    cuts: Sequence[float] = argument((), (_rising, " are rising numbers such as [2, 4, 5], not {value!r}"))

    @classmethod
    def found_in(cls, data: Collection) -> list[str]:
        """Return those of the data."""
        return sorted(map(str, data.ratings["rater"].unique()))

    def grid(self, data: Collection, aspects: Sequence[str]) -> Grid:
        """Return the rater's labels."""
        ratings = ratings_of(data, aspects, self.name, self)
        scores, codes = ratings.scores.copy(), ratings.codes.copy()
        off, relevance = codes == OK, data.scale.of(RELEVANCE)
        for a, aspect in enumerate(aspects):
            own = data.scales.get(self.name, relevance) if aspect == RELEVANCE else data.scale.of(aspect)
            off[off[:, a], a] = [label not in own for label in scores[off[:, a], a]]
        scores[off], codes[off] = np.nan, CODES[Status.OUT_OF_RANGE]
        if self.cuts:
            mapped = np.searchsorted(_cuts(self, self.cuts, data), scores, side="right") + relevance.min
            scores = np.where(np.isnan(scores), np.nan, mapped)
        labelled, models = data.ratings, list(data.models)
        by_people = labelled.loc[~labelled["rater"].isin(models), [*KEYS]]
        if self.name in models and by_people.merge(labelled.loc[labelled["rater"] == self.name]).empty:
            # So that there is something to compare with the labels of people: it lacks them all.
            codes = np.where(codes == NO_ROW, CODES[Status.MISSING], codes)
        return Grid(scores, codes)

    def signature(self, data: Collection) -> Mapping[str, Any]:
        """Return the rater, the scale of its labels, whether it is its own, and the map to the other one."""
        own = data.scales.get(self.name)
        signature = {"rater": self.name, "scale": str(own or data.scale.of(RELEVANCE))}
        if self.cuts:
            return signature | {"cuts": list(self.cuts)}
        return signature | ({OWN_SCALE: [own.min, own.max]} if own else {})


@dataclass(frozen=True, repr=False)
class History(BaseEvaluator):
    """Labels taken from the users' histories, as offline evaluation takes them: what a user chose later.

    An item that a user chose is relevant, with a 1 on a scale of its own; every other has no label. Systems
    are measured by all such items, also by those that are no units of the collection. They have to be made
    without this part of the histories.

    Parameters
    ----------
    newest
        The share of the histories that gives labels, the last by their ``timestamp``; 1 for all.
    split
        ``user``: the newest of each user; ``time``: the newest of all, after one date.
    cuts
        A map from ratings to labels of the collection, as that of `Labels`: the rising ratings at which the
        second label begins, the third, and so on.
    """

    kind: ClassVar[Kind] = Kind.BASELINE
    needs: ClassVar[str] = "histories"

    newest: float = argument(1.0, (_share, " is a share above 0, such as 0.2, not {value!r}"))
    split: Split = word("user", get_args(Split))  # noqa: RUF009 - a field
    cuts: Sequence[float] = argument((), (_rising, " are rising numbers such as [2, 4, 5], not {value!r}"))

    def labels(self, data: Collection) -> pd.DataFrame:
        """Return ``user_id``, ``item_id`` and ``score`` of what users chose; `DataError` if nobody knows."""
        past = data.histories
        needed = [*(["timestamp"] if self.newest < 1 else []), *(["rating"] if self.cuts else [])]
        if past is None or (lacking := [column for column in needed if column not in past]):
            what = "histories of users" if past is None else f"column {lacking[0]!r} in its histories"
            raise DataError(f"{self}: data set {data.name!r} has no {what}; add it")
        cuts = _cuts(self, self.cuts, data) if self.cuts else ()
        if self.newest < 1:
            past = past.sort_values(["timestamp", *KEYS], kind="stable", ignore_index=True)
            past = past[newest_of(past, self.newest, self.split)]
        past = past.drop_duplicates([*KEYS], keep="last")
        past = past[past[USER].isin(data.units[USER].unique())]
        if not self.cuts:
            return past[[*KEYS]].assign(score=1.0).reset_index(drop=True)
        past = past[past["rating"].notna()]
        labels = np.searchsorted(cuts, past["rating"], side="right") + data.scale.of(RELEVANCE).min
        return past[[*KEYS]].assign(score=labels).reset_index(drop=True)

    def grid(self, data: Collection, aspects: Sequence[str]) -> Grid:
        """Return the labels of units; a unit that the user did not choose is ``missing``."""
        scores = data.units[[*KEYS]].merge(self.labels(data), how="left")["score"]
        grid = Grid.repeated(scores.to_numpy(np.float64), len(aspects))
        of_relevance = np.array(aspects) == RELEVANCE
        return Grid(np.where(of_relevance, grid.scores, np.nan), np.where(of_relevance, grid.codes, NO_ROW))

    def signature(self, data: Collection) -> Mapping[str, Any]:
        """Return the share, and how it is mapped or what scale it has."""
        of = {"newest": self.newest, "split": self.split}
        return {**of, **({"cuts": [*self.cuts]} if self.cuts else {OWN_SCALE: [0.0, 1.0]})}


@dataclass(frozen=True, repr=False)
class Popularity(BaseEvaluator):
    """How many other users have the item in their history."""

    kind: ClassVar[Kind] = Kind.BASELINE
    needs: ClassVar[str] = "histories"

    def grid(self, data: Collection, aspects: Sequence[str]) -> Grid:
        """Return the number of users; an item in no one's history has 0."""
        return Grid.repeated(other_users(self, data, data.units), len(aspects))


@dataclass(frozen=True, repr=False)
class ItemSimilarity(BaseEvaluator):
    """Similarity of an item to the items of the user's history, by the words of its fields.

    It is the cosine of the item and the mean of the items of the history, each a vector of TF-IDF over the
    words in lower case, weighted as scikit-learn does by default. Items that are judged for the user are left
    out of the history. A user without a history, or an item without words, is ``missing``.

    Parameters
    ----------
    fields
        Fields of the items; all, if empty.
    """

    kind: ClassVar[Kind] = Kind.BASELINE
    needs: ClassVar[str] = "fields of items, histories"

    fields: Sequence[str] = texts("['genres']")

    def signature(self, data: Collection) -> Mapping[str, Any]:
        """Return the fields, and how words are weighed."""
        return {"fields": fields_of(data, self.fields), "weights": "TF-IDF, smoothed, L2"}

    def grid(self, data: Collection, aspects: Sequence[str]) -> Grid:
        """Return the cosines."""
        import pandas as pd
        from scipy import sparse

        items = items_of(data, self.fields)
        vectors = text_vectors([" ".join(value for _, value in of) for of in items.values()])
        past = histories_of(data, data.units)
        at, users = pd.Index(list(items)), pd.Index(data.units[USER].unique())
        known = past[past[ITEM].isin(at)].drop_duplicates([USER, ITEM])
        of_user = sparse.csr_array(
            (np.ones(len(known)), (users.get_indexer(known[USER].array), at.get_indexer(known[ITEM].array))),
            shape=(len(users), len(at)),
        )
        profiles = unit_length(of_user @ vectors)
        item = at.get_indexer(data.units[ITEM].array)
        asked = np.flatnonzero(item >= 0)
        scores = np.full(len(data), np.nan)
        mine = profiles[users.get_indexer(data.units[USER].array)[asked]]
        scores[asked] = cosines(mine, vectors[item[asked]])
        return Grid.repeated(scores, len(aspects))
