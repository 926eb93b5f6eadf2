"""Evaluators of relevance without a model: popularity, similarity to the history, recorded labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from metaeval.base.errors import DataError
from metaeval.base.records import Kind, Status
from metaeval.evaluators.annotator import ratings_of
from metaeval.evaluators.base import BaseEvaluator, argument, text, texts
from metaeval.evaluators.grid import CODES, NO_ROW, OK, Grid
from metaeval.kinds.known_items import cosines, fields_of, histories_of, items_of, text_vectors, unit_length
from metaeval.kinds.relevance.data.collection import ITEM, KEYS, USER, Collection

OWN_SCALE = "own_scale"
"""What a signature calls the lowest and the highest label of a scale that is not the collection's."""


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
        off, own = codes == OK, data.scales.get(self.name, data.scale)
        off[off] = [label not in own for label in scores[off]]
        scores[off], codes[off] = np.nan, CODES[Status.OUT_OF_RANGE]
        if self.cuts:
            if len(self.cuts) != data.scale.max - data.scale.min:
                raise DataError(f"{self}: {data.scale} need {data.scale.max - data.scale.min:g} cuts")
            mapped = np.searchsorted(self.cuts, scores, side="right") + data.scale.min
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
        signature = {"rater": self.name, "scale": str(own or data.scale)}
        if self.cuts:
            return signature | {"cuts": list(self.cuts)}
        return signature | ({OWN_SCALE: [own.min, own.max]} if own else {})


@dataclass(frozen=True, repr=False)
class Popularity(BaseEvaluator):
    """How many other users have the item in their history."""

    kind: ClassVar[Kind] = Kind.BASELINE
    needs: ClassVar[str] = "histories"

    def grid(self, data: Collection, aspects: Sequence[str]) -> Grid:
        """Return the number of users; an item in no one's history has 0."""
        if data.histories is None:
            raise DataError(f"{self}: data set {data.name!r} has no histories of users; add them")
        pairs = data.histories[[USER, ITEM]].drop_duplicates()
        users = data.units[ITEM].map(pairs[ITEM].value_counts()).fillna(0).to_numpy(np.float64)
        own = data.units.merge(pairs.assign(own=1.0), how="left")["own"].fillna(0).to_numpy()
        return Grid.repeated(users - own, len(aspects))


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
