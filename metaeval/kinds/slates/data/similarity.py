"""How alike two slates are: the cosine of the means of their items' embeddings.

Two orders of the same items have the similarity 1: the mean knows no order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.records import FIRST, SECOND
from metaeval.kinds.known.entries import entries_of
from metaeval.kinds.known.similarity import cosines, text_vectors, unit_length
from metaeval.kinds.slates.data.slate_set import ITEM, SLATE, USER

if TYPE_CHECKING:
    from metaeval.stats.coefficients.tables import Floats

_DIGITS = 6


def similarities(
    duels: pd.DataFrame, slates: pd.DataFrame, items: pd.DataFrame | None, model: str | None = None
) -> Floats:
    """Return the similarity of the two slates of each duel; NaN where nothing is known of a slate's items.

    Parameters
    ----------
    duels
        ``user_id``, ``first`` and ``second``.
    slates
        ``user_id``, ``slate`` and ``item_id``.
    items
        ``item_id`` and text fields, of which all are embedded; None if nothing is known of items.
    model
        A model of sentence-transformers; TF-IDF over the items of the slates, if None.
    """
    from scipy import sparse

    if items is None:
        return np.full(len(duels), np.nan)
    known = items[items[ITEM].isin(slates[ITEM].unique())]
    told = entries_of(known, ITEM, [str(c) for c in known if c != ITEM])
    texts = [" ".join(value for _, value in of) for of in told.values()]
    if not texts:
        return np.full(len(duels), np.nan)
    names = pd.MultiIndex.from_frame(slates[[USER, SLATE]].drop_duplicates())
    row = names.get_indexer(pd.MultiIndex.from_frame(slates[[USER, SLATE]]))
    column = pd.Index(list(told)).get_indexer(pd.Index(slates[ITEM]))
    there = column >= 0
    holds: Any = sparse.csr_array(
        (np.ones(int(there.sum())), (row[there], column[there])), shape=(len(names), len(texts))
    )
    # The direction of the sum is that of the mean.
    means = unit_length(holds @ text_vectors(texts, model))
    first, second = (
        means[names.get_indexer(pd.MultiIndex.from_frame(duels[[USER, side]]))] for side in (FIRST, SECOND)
    )
    return np.round(cosines(first, second), _DIGITS)
