"""What is known of items and users, and what a prompt or a reader is shown of it."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, MetaevalError, MissingExtraError, needed, unknown
from metaeval.base.records import DataOfKind
from metaeval.evaluators.grid import IntArray
from metaeval.llm.calls.price import tokens_of
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.weights import permutation


def entries_of(frame: pd.DataFrame, key: str, fields: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """Return the names and values of the fields of each item, or user, without empty ones.

    Names and values stand on one line each: in a list, a second line could pass for another entry.
    """
    names = [" ".join(field.split()) for field in fields]
    columns = []
    for field in fields:
        known = frame[field].notna()
        columns.append([" ".join(str(v).split()) for v in frame[field].astype(object).where(known, "")])
    return {
        str(of): [(name, value) for name, value in zip(names, values, strict=True) if value]
        for of, *values in zip(frame[key], *columns, strict=True)
    }


def lines_of(entries: Mapping[str, Sequence[tuple[str, str]]]) -> dict[str, str]:
    """Return a line for each item of which something is known."""
    return {item: "; ".join(f"{name}: {value}" for name, value in of) for item, of in entries.items() if of}


USER, ITEM = "user_id", "item_id"
"""What the tables of items, histories and profiles call a user and an item, in every kind that has them."""


def fields_of(data: DataOfKind, chosen: Sequence[str]) -> list[str]:
    """Return the fields of items that were chosen, all if none were; raise `DataError` for an unknown one."""
    if data.items is None:
        raise DataError(f"data set {data.name!r} has no items file, so nothing is known of its items; add it")
    known = [str(column) for column in data.items if column != ITEM]
    for name in chosen:
        if name not in known:
            raise DataError(unknown(f"the items of data set {data.name!r} have no field", name, known))
    return list(chosen) or known


def items_of(data: DataOfKind, chosen: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """Return the names and values of the chosen fields of each item; the errors are those of `fields_of`."""
    fields = fields_of(data, chosen)
    return {} if data.items is None else entries_of(data.items, ITEM, fields)


def histories_of(data: DataOfKind, judged: pd.DataFrame) -> pd.DataFrame:
    """Return the histories of the users, without the items that are to be judged for them.

    An item may be in a user's history and among those that are ``judged`` for the user (``user_id`` and
    ``item_id``): shown with the user's rating, it would give the answer away. `DataError` is raised if there
    are no histories.
    """
    if data.histories is None:
        raise DataError(f"data set {data.name!r} has no histories of users; add them")
    own = data.histories[data.histories[USER].isin(data.units[USER].unique())]
    pairs = [pd.MultiIndex.from_frame(frame[[USER, ITEM]]) for frame in (own, judged)]
    kept: pd.DataFrame = own[~pairs[0].isin(pairs[1])]
    return kept


def items_or_names(
    data: DataOfKind, chosen: Sequence[str], judged: pd.DataFrame, noun: str
) -> dict[str, list[tuple[str, str]]]:
    """Return what is told of each item that is judged or in a history: its name, where nothing is known."""
    known = items_of(data, chosen) if data.items is not None or chosen else {}
    frames = [judged, *([] if data.histories is None else [data.histories])]
    names = dict.fromkeys(str(item) for frame in frames for item in frame[ITEM].unique())
    return {item: known.get(item) or [(noun, item)] for item in names}


def recent_histories(data: DataOfKind, judged: pd.DataFrame) -> pd.DataFrame:
    """Return `histories_of`, the last ones first: by time, else by row."""
    past = histories_of(data, judged)[::-1]
    return past.sort_values("timestamp", ascending=False, kind="stable") if "timestamp" in past else past


def other_users(evaluator: object, data: DataOfKind, rows: pd.DataFrame) -> Floats:
    """Return how many other users than that of each row have its item in their history.

    ``rows`` has ``user_id`` and ``item_id``. `DataError` is raised if there are no histories.
    """
    if data.histories is None:
        raise DataError(f"{evaluator}: data set {data.name!r} has no histories of users; add them")
    pairs = data.histories[[USER, ITEM]].drop_duplicates()
    users = rows[ITEM].map(pairs[ITEM].value_counts()).fillna(0).to_numpy(np.float64)
    own = rows[[USER, ITEM]].merge(pairs.assign(own=1.0), how="left")["own"].fillna(0).to_numpy()
    return np.asarray(users - own, dtype=np.float64)


TITLE = "title"
_SHOWN = 30
"""Items of a history; a reader sees the whole in the prompt."""


def titles_of(data: DataOfKind) -> dict[str, str]:
    """Return the titles of items; empty if they have none."""
    titled = data.items is not None and TITLE in data.items
    return dict(data.items[[ITEM, TITLE]].to_numpy()) if titled else {}


def fields_text(frame: pd.DataFrame | None, key: str) -> dict[str, str]:
    """Return of each item, or user, a line per field that is not empty."""
    if frame is None:
        return {}
    of = entries_of(frame, key, [c for c in frame.columns if c != key])
    return {name: "\n".join(f"{field}: {value}" for field, value in own) for name, own in of.items()}


def called(data: DataOfKind) -> dict[str, str]:
    """Return what items are called: their titles, or their fields where they have none."""
    return titles_of(data) or {i: of.replace("\n", "; ") for i, of in fields_text(data.items, ITEM).items()}


def histories_text(data: DataOfKind, judged: pd.DataFrame) -> dict[str, str]:
    """Return the last items of each user's history, as a prompt has them, and how many more there are.

    ``judged`` are the items to leave out; see `metaeval.kinds.known_items.recent_histories`.
    """
    if data.histories is None:
        return {}
    names_of, past = called(data), recent_histories(data, judged)
    found = {}
    for user, own in past.groupby(USER, sort=False):
        shown = own.iloc[:_SHOWN]
        names = [names_of.get(item) or item for item in shown[ITEM]]
        if "rating" in shown:
            names = [n if r != r else f"{n} ({r:g})" for n, r in zip(names, shown["rating"], strict=True)]  # noqa: PLR0124 NaN
        more = len(own) - len(shown)
        found[str(user)] = "\n".join([*names, *([f"… and {more:,} more"] if more else [])])
    return found


_RATED = "; rated {:g}"


USER_SAMPLE: Mapping[str, object] = {
    "profile": [{"name": "age", "value": "30"}],
    "history": tuple(
        {"text": "title: C; rated 4", "shown": "1", "total": "2", "recent": recent, "ratings": ratings}
        for recent, ratings in ((True, None), (False, {"low": "1", "high": "5"}))
    ),
}
"""Examples of what `user_profiles` tells of a user: ``profile`` is a list of name and value; ``history`` has
``text``, ``shown`` and ``total`` (numbers of items), ``recent`` and ``ratings`` (``low`` and ``high``)."""


class Profiles(NamedTuple):
    """What is told of each user."""

    of: Callable[[str], Mapping[str, Any] | None]
    """User → the values of a prompt that are the user's own; None if nothing is known of the user."""
    cut: Sequence[str]
    """Users whose histories are longer than the model takes."""


def user_profiles(
    data: DataOfKind,
    items: Mapping[str, Sequence[tuple[str, str]]],
    past: pd.DataFrame,
    *,
    history: int,
    drawn: int | None = None,
    room: int | None = None,
) -> Profiles:
    """Return what is told of each user: the profile, if there is one, and a part of the history.

    ``items`` has names and values of what is told of each item; one of the history without any is left out.
    ``past`` is what users chose (`metaeval.kinds.known_items.histories_of`), the most recent first, of which
    ``history`` items are told at most.

    With a seed ``drawn`` they are drawn, and not the most recent ones; a user's depend on it and the user
    alone, if the order of ``past`` does not depend on that of the data's rows. Profile and history take at
    most ``room`` tokens (`metaeval.llm.calls.price.tokens_of`), if there is a limit; the last items in that
    order are cut.
    """
    told = {} if data.profiles is None else entries_of(data.profiles, USER, _fields(data.profiles))
    lines = lines_of(items)
    past = past[past[ITEM].isin(list(lines))]
    rows = past.groupby(USER, sort=False).indices
    chosen: list[str] = past[ITEM].tolist()
    ratings: list[float] = past["rating"].tolist() if "rating" in past else [math.nan] * len(past)
    tokens = {item: tokens_of([line, _RATED]) for item, line in lines.items()}
    kept: dict[str, IntArray] = {}
    cut: list[str] = []
    for user in map(str, data.units[USER].unique()):
        at: IntArray = np.asarray(rows.get(user, ()), np.intp)
        if drawn is not None:
            at = at[permutation(len(at), drawn, "history", user)]
        kept[user] = at[:history]
        if room is not None:
            beside = tokens_of(text for entry in told.get(user, ()) for text in entry)
            needs = np.cumsum([tokens[chosen[i]] for i in kept[user]]) + beside
            fit = int(np.searchsorted(needs, room, "right"))
            if fit < len(kept[user]):
                cut.append(user)
                kept[user] = kept[user][:fit]
    ends = _ends(ratings)

    @functools.lru_cache(maxsize=2)  # a long text, needed for the units of one user after the other
    def of(user: str) -> dict[str, Any] | None:
        shown, known = kept[user], told.get(user, ())
        if history and not len(shown) and not known:
            return None
        rated = (("" if math.isnan(ratings[i]) else _RATED.format(ratings[i])) for i in shown)
        past = {
            "shown": f"{len(shown):,}",
            "total": f"{len(rows.get(user, ())):,}",
            "recent": drawn is None,
            "ratings": ends,
            "text": "\n".join(lines[chosen[i]] + said for i, said in zip(shown, rated, strict=True)),
        }
        profile = [{"name": name, "value": value} for name, value in known]
        return {"profile": profile or None, "history": past if len(shown) else None}

    return Profiles(of, cut)


def _fields(profiles: pd.DataFrame) -> list[str]:
    return [str(column) for column in profiles if column != USER]


def _ends(ratings: Sequence[float]) -> dict[str, str] | None:
    """Return the lowest and the highest rating; None if there are none."""
    known = [rating for rating in ratings if not math.isnan(rating)]
    return {"low": f"{min(known):g}", "high": f"{max(known):g}"} if known else None


WORDS = r"\w+"


def text_vectors(texts: Sequence[str], model: str | None = None) -> Any:  # noqa: ANN401 - a csr_array of SciPy, which is imported where it is used
    """Return a row of length 1 per text, of zeros if there is nothing in the text: a csr_array.

    The vectors are those of a model of sentence-transformers, or without a ``model`` of TF-IDF with
    scikit-learn's default weights, whose words are runs of letters, digits and ``_``, in lower case.
    `MissingExtraError` is raised if a model is named and sentence-transformers is not installed.
    """
    from scipy import sparse

    if model is not None:
        return unit_length(sparse.csr_array(_embedded(texts, model)))
    text = needed("sklearn.feature_extraction.text", "similarity by TF-IDF", "exposure")
    try:
        return sparse.csr_array(text.TfidfVectorizer(token_pattern=WORDS).fit_transform(texts))
    except ValueError:  # there is no word in any of them
        return sparse.csr_array((len(texts), 1))


def unit_length(vectors: Any) -> Any:  # noqa: ANN401 - as in `text_vectors`
    """Return the rows of a csr_array at length 1, those of zeros as they are."""
    from scipy import sparse

    lengths = np.sqrt(np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel())
    return sparse.diags_array(1 / np.where(lengths > 0, lengths, 1)) @ vectors


def cosines(one: Any, other: Any) -> Floats:  # noqa: ANN401 - as in `text_vectors`
    """Return the cosines of rows of two csr_arrays, all of length 1; NaN where one is of zeros."""
    found = np.asarray(one.multiply(other).sum(axis=1)).ravel()
    there = (abs(one).sum(axis=1) > 0) & (abs(other).sum(axis=1) > 0)
    return np.where(there, found, np.nan)


def _embedded(texts: Sequence[str], model: str) -> Floats:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingExtraError(f"embeddings by {model!r}", "embeddings") from error
    try:
        encoder = SentenceTransformer(model)
    except (OSError, ValueError) as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise MetaevalError(f"the model {model!r} of embeddings could not be loaded: {said}") from error
    found = np.asarray(encoder.encode(list(texts)), dtype=np.float64)
    # A model gives a vector for an empty text, too.
    there: Floats = found * np.array([bool(text.strip()) for text in texts])[:, None]
    return there
