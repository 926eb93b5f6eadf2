"""A test collection: labels of users' interest in items, runs of systems, and what is known of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
import pandas as pd

from metaeval.base.records import Scale
from metaeval.data.units import KeyedUnits, counts_of, fingerprint

USER, ITEM = "user_id", "item_id"
KEYS: tuple[str, ...] = (USER, ITEM)
"""The columns that name a unit; in TREC's files the query and the document."""
RELEVANCE = "relevance"
"""The aspect of a unit that measures systems; a collection may have further ones, such as familiarity."""
Split = Literal["user", "time"]
"""Whether the newest rows are those of each user, or of all."""


def newest_of(ordered: pd.DataFrame, share: float, split: Split) -> pd.Series[bool]:
    """Say which rows of histories, in the order of time and with an index from 0, are the newest share."""
    if split == "time":
        return pd.Series(np.arange(len(ordered)) >= round((1 - share) * len(ordered)))
    of_user = ordered.groupby(USER)
    return of_user.cumcount(ascending=False) < (share * of_user[ITEM].transform("size")).round()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Collection(KeyedUnits):
    """Labels of users' interest in items, runs of systems, and what is known of users and items.

    Parameters
    ----------
    table
        One row per unit: the key columns. Every pair that has a label is one; so is every pair that a system
        ranks among the first `depth`, and each of those that are `drawn`. Keys are strings.
    ratings
        Long: key columns, ``rater``, ``aspect``, ``rating`` (float): the label. Those of people are on the
        scale, or NaN; models may have said others, which count as missing, unless they have a scale of their
        own.
    aspects
        ``relevance``, the first, and further aspects → the question that raters answered.
    scale
        The scale of the labels, by aspect.
    runs
        What systems recommended: ``system``, key columns, ``rank`` (1 is first, no gap and none twice within
        a system and user) and, if known, ``score``.
    items
        One row per item: ``item_id`` and text fields, such as ``title``; None if nothing is known of them.
    histories
        ``user_id``, ``item_id``, and, if known, ``rating`` and ``timestamp``; None if there are none.
    profiles
        One row per user: ``user_id`` and text fields; None if there are none.
    labels
        Label → its name, such as 0 → "not interested"; empty if they have none.
    relevant
        The lowest label that counts as relevant, in measures that know only relevant and not.
    depth
        The first how many of each run are units even if no one labelled them.
    drawn
        How many of the items in a user's lists are units, too, drawn at random, each as likely.
    models
        Raters that are models, not people.
    scales
        Rater → its scale, if that is another one: its labels order systems, and are no labels of `scale`.
    """

    table: pd.DataFrame
    ratings: pd.DataFrame
    aspects: Mapping[str, str]
    scale: Scale
    runs: pd.DataFrame
    items: pd.DataFrame | None = None
    histories: pd.DataFrame | None = None
    profiles: pd.DataFrame | None = None
    labels: Mapping[int, str] = field(default_factory=dict)
    relevant: float = 1
    depth: int = 0
    drawn: int = 0
    models: tuple[str, ...] = ()
    scales: Mapping[str, Scale] = field(default_factory=dict)
    scores: pd.DataFrame | None = None
    keys: tuple[str, ...] = KEYS
    frames: ClassVar[tuple[str, ...]] = ("table", "ratings", "scores", "runs", "histories")
    kind: ClassVar[str] = "relevance"
    saved_by: ClassVar[str] = "metaeval.kinds.relevance.data.loading"

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the content, as 64 hex digits."""
        return fingerprint(
            self.aspects,
            self.scale,
            *(self.table, self.ratings, self.scores),
            *(self.runs, self.items, self.histories, self.profiles),
            labels=sorted(self.labels.items()),
            relevant=self.relevant,
            models=sorted(self.models),
            **({"scales": sorted((n, s.facts()) for n, s in self.scales.items())} if self.scales else {}),
        )

    @property
    def counts(self) -> dict[str, int]:
        """What there is, in the singular → how many."""
        known = {"described item": self.items, "history row": self.histories, "profile": self.profiles}
        counts = counts_of(self) | {"system": self.runs["system"].nunique(), "ranked item": len(self.runs)}
        return counts | {what: len(frame) for what, frame in known.items() if frame is not None}
