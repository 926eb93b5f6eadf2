"""Logs of exposures: which items were shown to whom, what came of it, and matched pairs of a user's items."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metaeval.base.errors import DataError
from metaeval.base.records import FIRST, SECOND, USER_RATER, Scale
from metaeval.data.units import KeyedUnits, counts_of, fingerprint, in_both_orders

SOURCE, STEP, REASON = "source", "step", "reason"
SYNTH = "synth"
"""The source of every synthetic row, and of no other row."""
USER, PAIR, ORDER = "user_id", "pair", "order"
KEYS: tuple[str, ...] = (USER, PAIR, ORDER)
"""The columns that name a unit: one showing of a pair."""
ITEM, TIME, OUTCOME, POSITION, PROPENSITY = "item_id", "timestamp", "outcome", "position", "propensity"
PROBABILITY = "probability"
"""``probability_NAME`` is the probability that the policy NAME gives the logged item."""
WEIGHT, MATCHING = "weight", "matching"
PREFERENCE = "preference"
"""The one aspect of a unit."""
QUESTION = "Which of the two items does the user prefer?"
VERDICTS = Scale(-1, 1)
"""What a score may be: 1 for the item that is shown first, -1 for the other one, 0 for a tie."""


def is_policy(column: object) -> bool:
    """Say whether a column of a log holds the probabilities of a policy of its own."""
    return str(column).startswith(f"{PROBABILITY}_")


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticRows:
    """Synthetic interactions. They are no frame, so they cannot be put among the rows of a log by mistake."""

    frame: pd.DataFrame
    """``user_id``, ``item_id``, ``step`` (of the user, from 1), ``source`` (``synth``) and ``reason``."""

    def __post_init__(self) -> None:
        if not synthetic(self.frame).all():
            raise DataError(f"every synthetic row has the {SOURCE} {SYNTH!r}")

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.frame)


def synthetic(frame: pd.DataFrame) -> NDArray[np.bool_]:
    """Return which rows say that they are synthetic."""
    if SOURCE not in frame:
        return np.zeros(len(frame), dtype=bool)
    return np.asarray(frame[SOURCE] == SYNTH, dtype=bool)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LogSet(KeyedUnits):
    """A log of exposures, what is known of items and users, and matched pairs of a user's items.

    Raises `DataError` if the log, pairs, ratings or the random sample hold rows that say they are synthetic.
    """

    table: pd.DataFrame
    """One row per unit, and two units per pair, one for each order in which its items can be shown:
    ``user_id``, ``pair``, ``order`` (``first``: the pair's first item is shown first), ``first`` and
    ``second`` (items, as shown), ``weight`` (of the pair; NaN where it is not known) and the bins that the
    items share, such as ``popularity`` and ``age``. A set without pairs has no units. Where a study adds
    pairs that are matched otherwise, ``matching`` says how; it is empty for the others."""
    ratings: pd.DataFrame
    """Long: key columns, ``rater`` (``user``), ``aspect`` (``preference``), ``rating``: the sign of the mean
    outcome of the item that is shown first, less that of the other one, in the user's own log."""
    log: pd.DataFrame
    """One row per exposure: ``user_id`` (not of every log), ``item_id``, ``outcome`` and, where known,
    ``timestamp`` (seconds), ``position`` (1 is first), ``propensity``, and fields of the context. Names and
    texts are categoricals, so that millions of rows fit in memory."""
    outcome: Scale
    positive: float
    """The least outcome that is a success."""
    statement: str = ""
    """What an outcome is."""
    exposure: str = "choice"
    """What a propensity is the probability of: ``choice``, that the item was chosen for this row; ``pair``,
    that the log holds this user and item at all, so that those of a user need not sum to 1."""
    items: pd.DataFrame | None = None
    """``item_id`` and fields; ``price`` and ``released`` (seconds) are numbers."""
    profiles: pd.DataFrame | None = None
    """``user_id`` and text fields."""
    runs: pd.DataFrame | None = None
    """What recommenders recommend: ``system``, ``user_id``, ``item_id``, ``rank`` and maybe ``score``."""
    test: pd.DataFrame | None = None
    """Outcomes of items drawn at random: ``user_id``, ``item_id``, ``outcome``."""
    synthetic: SyntheticRows | None = None
    """Made-up interactions, which never enter a truth."""
    scores: pd.DataFrame | None = None
    aspects: Mapping[str, str] = field(default_factory=lambda: {PREFERENCE: QUESTION})
    scale: Scale = VERDICTS
    keys: tuple[str, ...] = KEYS
    frames: ClassVar[tuple[str, ...]] = ("table", "ratings", "scores")
    kind: ClassVar[str] = "exposure"
    saved_by: ClassVar[str] = "metaeval.kinds.exposure.data.loading"

    def __post_init__(self) -> None:
        truths = {"log": self.log, "pairs": self.table, "ratings": self.ratings, "test": self.test}
        for name, frame in truths.items():
            if frame is not None and synthetic(frame).any():
                raise DataError(
                    f"{name} has synthetic rows, which no truth may hold; put them into `synthetic`"
                )

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the content, as 64 hex digits."""
        made_up = None if self.synthetic is None else self.synthetic.frame
        known = (self.items, self.profiles, self.runs, self.test, made_up)
        return fingerprint(
            *(self.aspects, self.outcome, self.table, self.ratings, self.scores, *known),
            positive=self.positive,
            statement=self.statement,
            exposure=self.exposure,
            tables=[frame is not None for frame in known],
            log=_digest(self.log),
        )

    @property
    def counts(self) -> dict[str, int]:
        """What there is, in the singular → how many."""
        log = {"log row": len(self.log), "item": self.log[ITEM].nunique()}
        pairs = self.table[[USER, PAIR]].drop_duplicates()
        known = {
            "described item": self.items,
            "profile": self.profiles,
            "random outcome": self.test,
            "synthetic row": self.synthetic,
        }
        numbers = {k: n for k, n in counts_of(self).items() if k != ORDER} | {PAIR: len(pairs)}
        numbers["user"] = self.log[USER].nunique() if USER in self.log else 0
        if self.runs is not None:
            numbers["system"] = self.runs["system"].nunique()
        return log | numbers | {what: len(frame) for what, frame in known.items() if frame is not None}

    @property
    def histories(self) -> pd.DataFrame | None:
        """What users with pairs did: ``user_id``, ``item_id``, ``rating`` (the outcome) and ``timestamp``."""
        if USER not in self.log:
            return None
        own = self.log[self.log[USER].isin(self.table[USER].unique())]
        columns = [c for c in (USER, ITEM, OUTCOME, TIME) if c in own]
        return own[columns].astype({USER: "str", ITEM: "str"}).rename(columns={OUTCOME: "rating"})

    @property
    def judged(self) -> pd.DataFrame:
        """The items of each user's pairs, a row each: ``user_id`` and ``item_id``."""
        sides = [self.table[[USER, side]].set_axis([USER, ITEM], axis=1) for side in (FIRST, SECOND)]
        return pd.concat(sides).drop_duplicates()

    def without(self, column: str, values: Sequence[str]) -> Self:
        """Return the set without these users, pairs or orders; what the log says of a user goes, too."""
        # Named in full: a dataclass with slots is not the class that a bare `super` looks for.
        left = KeyedUnits.without(self, column, values)
        if column != USER:
            return left

        def kept(frame: pd.DataFrame) -> pd.DataFrame:
            return frame[~frame[USER].isin(list(values))].reset_index(drop=True)

        others = ("log", "profiles", "runs", "test")
        frames = {name: frame for name in others if (frame := getattr(self, name)) is not None}
        made_up = self.synthetic and SyntheticRows(kept(self.synthetic.frame))
        own: dict[str, Any] = {name: kept(frame) for name, frame in frames.items() if USER in frame}
        return replace(left, **own, synthetic=made_up)


def _digest(log: pd.DataFrame) -> str:
    """Return SHA-256 over a log whose texts are categoricals; the order of the rows is free."""
    columns = sorted(log.columns)
    hashes = pd.util.hash_pandas_object(log[columns], index=False).to_numpy()
    return hashlib.sha256("\x1f".join(columns).encode() + np.sort(hashes).tobytes()).hexdigest()


def units_of(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the units of a row per pair, both orders of each, one after the other."""
    filled = pairs.assign(**{WEIGHT: pairs.get(WEIGHT, np.nan)})
    head = [*KEYS, FIRST, SECOND]
    return in_both_orders(filled)[[*head, *(c for c in filled if c not in head)]]


def preferences_of(units: pd.DataFrame, log: pd.DataFrame) -> pd.DataFrame:
    """Return the ratings of units: 1, -1 or 0, as the user's mean outcome of the first item is higher."""
    ratings = units[[*KEYS]].assign(rater=USER_RATER, aspect=PREFERENCE)
    if not len(units):
        return ratings.assign(rating=np.empty(0))
    named = log[USER].isin(units[USER].unique())
    outcomes = log[named].astype({USER: "str", ITEM: "str"}).groupby([USER, ITEM])[OUTCOME].mean()
    first, second = (
        outcomes.reindex(pd.MultiIndex.from_frame(units[[USER, side]])).to_numpy() for side in (FIRST, SECOND)
    )
    return ratings.assign(rating=np.sign(first - second))
