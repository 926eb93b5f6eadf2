"""Duels of slates of each user's candidates, drawn by a seed and by the names of user and task.

For each user and task up to 100 slates of K items are drawn, each order and set as likely as any other:

- **T1, T3**: K different candidates, in the order drawn.
- **T2**: K candidates of which not all have the same gain; the slates are orders of these.

The first S slates of different utility are kept, so that every duel says something of regret and accuracy;
with ``equal`` the first S different ones. A user with fewer than two has no duels in the task. All pairs of
the S slates are duels, so that triples exist; or ``duels`` of them, as drawn, or spread evenly over three
bins between the least and the greatest similarity of the user's pairs.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field, ValidationInfo, field_validator

from metaeval.base.errors import DataError
from metaeval.base.records import FIRST, SECOND
from metaeval.base.validation import Count, Options, Seed, Switch
from metaeval.kinds.known_items import cosines, entries_of, text_vectors, unit_length
from metaeval.kinds.slates.data.slate_set import BOTH, DUEL, ITEM, ORDERING, POSITION, SET, SLATE, USER
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.weights import generator

UTILITIES = {
    SET: "which items: the sum of rescaled ratings",
    ORDERING: "which order of the same items: nDCG, against the best order of these items",
    BOTH: "which items in which order: nDCG, against the best list of the user's candidates",
}
"""Task → what the utility of a slate is in it."""
UNORDERED = UTILITIES | {
    BOTH: "which items in which order: the sum of rescaled ratings, for ratings have no order"
}
"""The same where a corpus has ratings and no order of items (the source's appendix A.3)."""
_DIGITS = 12  # so that sums of the same gains in another order are equal


def rescaled(ratings: Floats, low: float, high: float) -> Floats:
    """Return ratings moved from a scale to 0 … 1."""
    return (ratings - low) / (high - low)


def by_position(users: pd.Series[str], positions: pd.Series[float]) -> pd.Series[float]:
    """Return the gains of places in a user's reference order, from 1 for the first to 1/n for the last."""
    place = positions.groupby(users).rank(method="dense")
    return 1 - (place - 1) / place.groupby(users).transform("max")


def total(gains: Floats) -> Floats:
    """Return the sum of the rescaled ratings r' = gain / K of slates, which lies in 0 … 1.

    Parameters
    ----------
    gains
        Of shape (slates, K): the gains of their items.
    """
    found: Floats = np.round(gains.mean(axis=-1), _DIGITS)
    return found


def ndcg(gains: Floats, candidates: Floats) -> Floats:
    """Return the nDCG of slates: the sum of gain / log2(place + 1), as a share of the greatest possible.

    Parameters
    ----------
    gains
        Of shape (slates, K): the gains of their items, in order.
    candidates
        The gains of the items of which the best list of K is made. If all are 0, so is the nDCG.
    """
    size = gains.shape[-1]
    discounts = 1 / np.log2(np.arange(2, size + 2))
    best = -np.sort(-candidates)[:size] @ discounts[: len(candidates)]
    found: Floats = np.round(gains @ discounts / best, _DIGITS) if best else np.zeros(gains.shape[:-1])
    return found


def utilities(task: str, gains: Floats, slates: NDArray[np.intp], *, ordered: bool = True) -> Floats:
    """Return the utility of slates: rows of places in a user's candidates, which have these gains.

    Unless items are ``ordered``, T3 falls back to the sum of ratings.
    """
    if task == SET or (task == BOTH and not ordered):
        return total(gains[slates])
    return ndcg(gains[slates], gains[slates[0]] if task == ORDERING else gains)


_SIMILARITY_DIGITS = 6


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
    return np.round(cosines(first, second), _SIMILARITY_DIGITS)


GAIN, FOREIGN = "gain", "foreign"
_TRIES = 100
_BINS = 3
_SIDES = (FIRST, SECOND, f"utility_{FIRST}", f"utility_{SECOND}")
_DRAWN = "drawn"

Task = Literal["T1", "T2", "T3"]
_Probes = Annotated[int, Field(ge=0, le=1000, description="a whole number from 0 to 1000")]


class Sampling(Options):
    """How users, candidates and duels are drawn; the command line and maps take the same names."""

    called = "sampling"

    tasks: Annotated[tuple[Task, ...], Field(strict=False, min_length=1)] = ("T1", "T2", "T3")
    size: Annotated[int, Field(ge=2, le=1000, description="a whole number from 2 to 1000")] = 5
    slates: Annotated[int, Field(ge=2, le=_TRIES, description="a whole number from 2 to 100")] = 4
    duels: Count | None = Field(default=None, description="a whole number, 1 or more")
    by: Literal["user", "difficulty"] = Field(
        default="user", description="user; or difficulty, with the number of duels that are spread"
    )
    equal: Switch = False
    identical: _Probes = 1
    repeats: _Probes = 1
    users: int = Field(default=100, ge=0, description="a whole number; 0 for all")
    candidates: int = Field(default=20, description="a whole number that is not below the size of a slate")
    history: int = Field(default=20, ge=0, description="a whole number, 0 or more")
    embeddings: str | None = Field(default=None, description="the name of a model of sentence-transformers")
    seed: Seed = 0

    @field_validator("by", "candidates")
    @classmethod
    def _can_be_drawn(cls, given: str | int, info: ValidationInfo) -> str | int:
        if given == "difficulty" and info.data.get("duels") is None:
            raise ValueError("by: difficulty spreads a sample; say how many `duels` per user and task")
        if isinstance(given, int) and given < (size := info.data.get("size", 0)):
            raise ValueError(f"candidates: {given} are too few for slates of {size}")
        return given


class Drawn(NamedTuple):
    """Duels and their slates."""

    duels: pd.DataFrame
    """As in the file ``duels`` of a data set."""
    slates: pd.DataFrame
    """As in the file ``slates``."""
    without: dict[str, int]
    """Task → the number of users without duels in it."""


def draw_duels(
    candidates: pd.DataFrame, how: Sampling, items: pd.DataFrame | None = None, *, ordered: bool = True
) -> Drawn:
    """Return slates and duels of each user's candidates.

    Parameters
    ----------
    candidates
        A row per user and item: ``user_id``, ``item_id``, ``gain`` (0 … 1) and perhaps ``foreign``: whether
        the item is another user's, and so in no slate of T2. The order of the rows does not matter.
    how
        What to draw.
    items
        ``item_id`` and text fields, for the similarity.
    ordered
        Whether gains come from an order of items, such as that of a playlist or of clicks; not from ratings.

    Raises
    ------
    DataError
        If there is no duel at all.
    """
    every = candidates.sort_values([USER, ITEM], kind="stable", ignore_index=True)
    gains = every[GAIN].to_numpy(np.float64)
    own = ~every.get(FOREIGN, pd.Series(False, every.index)).to_numpy(dtype=bool)
    named = every[ITEM].to_numpy(dtype=object)
    duels: list[tuple[Any, ...]] = []
    slates: list[tuple[Any, ...]] = []
    without = dict.fromkeys(map(str, how.tasks), 0)
    for user, rows in every.groupby(USER, sort=False).indices.items():
        at = np.asarray(rows)
        for task in how.tasks:
            rng = generator(how.seed, str(user), task)
            of_task = at[own[at]] if task == ORDERING else at
            picks, worth = _slates(task, gains[of_task], how, rng, ordered=ordered)
            if len(picks) < 2:
                without[task] += 1
                continue
            names = np.array([f"{task}.{n}" for n in range(1, len(picks) + 1)], dtype=object)
            first, second = np.triu_indices(len(picks), 1)
            own_pair = np.arange(min(how.identical, len(picks)))
            one, other = np.concatenate([first, own_pair]), np.concatenate([second, own_pair])
            turn = np.concatenate([rng.permutation(len(first)), np.full(len(own_pair), -1)])
            duels.append((user, task, names[one], names[other], worth[one], worth[other], turn))
            place = np.tile(np.arange(1, how.size + 1), len(picks))
            slates.append((user, np.repeat(names, how.size), place, named[of_task[picks].ravel()]))
    if not duels:
        raise DataError(
            f"no user has two slates of {how.size} items and of different utility; give a smaller size"
        )
    found = _stacked((USER, "task", *_SIDES, _DRAWN), duels)
    listed = _stacked((USER, SLATE, POSITION, ITEM), slates)
    found["similarity"] = similarities(found, listed, items, how.embeddings)
    return Drawn(_sampled(found, how), listed, without)


def _slates(
    task: str, gains: Floats, how: Sampling, rng: np.random.Generator, *, ordered: bool
) -> tuple[NDArray[np.intp], Floats]:
    """Return the candidates of each slate, and the utility of each."""
    none = np.empty((0, how.size), np.intp), np.empty(0)
    if len(gains) < how.size:
        return none
    tried = rng.permuted(np.tile(np.arange(len(gains)), (_TRIES, 1)), axis=1)[:, : how.size]
    if task == ORDERING:
        differ = np.ptp(gains[tried], axis=1) > 0
        if not differ.any():
            return none
        tried = rng.permuted(np.tile(tried[differ.argmax()], (_TRIES, 1)), axis=1)
    worth = utilities(task, gains, tried, ordered=ordered)
    if not how.equal:
        differing = worth[:, None]
    elif task == SET:
        differing = np.sort(tried)
    else:
        differing = tried
    kept = np.sort(np.unique(differing, axis=0, return_index=True)[1])[: how.slates]
    return tried[kept], worth[kept]


def _stacked(columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    """Return a frame of rows whose cells are arrays, or a text for as many as the last of them has."""
    counts = [len(row[-1]) for row in rows]
    cells = zip(columns, zip(*rows, strict=True), strict=True)
    return pd.DataFrame(
        {c: np.repeat(v, counts) if isinstance(v[0], str) else np.concatenate(v) for c, v in cells}
    )


def _sampled(duels: pd.DataFrame, how: Sampling) -> pd.DataFrame:
    """Return the duels that are asked, named, with probes: identical slates, and repetitions."""
    per_user = [USER, "task"]
    probe = duels[_DRAWN] < 0
    asked = duels[~probe].sort_values([*per_user, _DRAWN], kind="stable")
    if how.by == "difficulty":
        turn = asked.groupby([*per_user, _bins(asked)]).cumcount()
        asked = asked.assign(turn=turn).sort_values([*per_user, "turn", _DRAWN], kind="stable")
    of_user = asked.groupby(per_user, sort=False)
    again = of_user.head(how.repeats)
    if how.duels is not None:
        asked = of_user.head(how.duels)
        again = again[again.index.isin(asked.index)]
    found = pd.concat([asked.sort_index(), duels[probe], again], ignore_index=True)
    found["repeat"] = np.repeat([0, 1], [len(found) - len(again), len(again)])
    found[DUEL] = found["first"] + "-" + found["second"].str.rpartition(".")[2]
    found.loc[found["repeat"] > 0, DUEL] += ", again"
    columns = [USER, DUEL, "task", *_SIDES, "repeat", "similarity"]
    return found.sort_values(per_user, kind="stable", ignore_index=True)[columns]


def _bins(duels: pd.DataFrame) -> pd.Series[int]:
    """Return which third of the user's similarities in the task each duel is in, 0 … 2."""
    similarity = duels["similarity"].fillna(0)
    of_user = similarity.groupby([duels[USER], duels["task"]])
    low, width = of_user.transform("min"), of_user.transform("max") - of_user.transform("min")
    return ((similarity - low) / width.where(width > 0, 1) * _BINS).clip(0, _BINS - 1).astype(int)
