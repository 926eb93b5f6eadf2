"""A data set of explanations: texts, people's ratings, what is known of users; and its ``dataset.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import pandas as pd
from pydantic import Field, field_validator

from metaeval.base.counts import plural_of
from metaeval.base.frames import html_heading, html_table
from metaeval.base.keys import noun
from metaeval.base.records import AVERAGE, Scale
from metaeval.base.simulation import Simulation
from metaeval.data.manifest import DataManifest, OnScale, RatedAspect, RatingScale, about
from metaeval.data.tables.entries import Name
from metaeval.data.tables.maps import KEYS
from metaeval.data.units import KeyedUnits, counts_of, fingerprint


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExplanationSet(KeyedUnits):
    """A data set: explanations, people's ratings of them, and what is known of the users.

    Parameters
    ----------
    explanations
        One row per unit: the key columns, ``explanation`` (absent if ``texts`` is false) and optional
        ``item_title``, ``reference``, ``reference_2``, …. Keys and texts are strings.
    ratings
        Long: key columns, ``rater``, ``aspect``, ``rating`` (float). A row whose rating is NaN is a
        question that was asked and not answered; a unit without a row was not asked about.
    aspects
        Name of each aspect → the statement that raters saw.
    scale
        The rating scale; ``scale.of(aspect)`` is that of one aspect.
    users
        One row per user: ``user_id`` and profile fields; None if there is none.
    scores
        Scores recorded from other tools, long: key columns, ``evaluator``, ``aspect`` ("" = all), ``score``.
    repeats
        Ratings of units that a rater was asked again, like ``ratings``; None if there are none.
    """

    explanations: pd.DataFrame
    ratings: pd.DataFrame
    aspects: Mapping[str, str]
    scale: Scale
    users: pd.DataFrame | None = None
    scores: pd.DataFrame | None = None
    repeats: pd.DataFrame | None = None
    texts: bool = True
    named_by: tuple[str, ...] = ()
    """Its key columns, if they are not ``KEYS``."""
    frames: ClassVar[tuple[str, ...]] = ("explanations", "ratings", "scores", "repeats")
    kind: ClassVar[str] = "explanations"
    saved_by: ClassVar[str] = "metaeval.kinds.explanations.data.loading"

    @property
    def keys(self) -> tuple[str, ...]:
        """The key columns: its own, else ``KEYS``, without ``user_id`` in a study without users."""
        return self.named_by or tuple(k for k in KEYS if k in self.explanations.columns)

    @property
    def raters(self) -> tuple[str, ...]:
        """All raters, sorted; ``user`` is the person the item was recommended to."""
        return tuple(sorted(map(str, self.ratings["rater"].unique())))

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the content (not the file format), as 64 hex digits."""
        tables = (self.explanations, self.ratings, self.users, self.scores, self.repeats)
        return fingerprint(self.aspects, self.scale, *tables)

    @property
    def counts(self) -> dict[str, int]:
        """What there is, in the singular → how many; no users is said too."""
        none = {} if self.named_by else {noun(k): 0 for k in KEYS}
        texts = self.explanations.get("explanation", pd.Series(dtype="str")).astype("str")
        empty = int((texts.str.strip() == "").sum())
        return {"unit": len(self)} | ({"empty text": empty} if empty else {}) | none | counts_of(self)

    def _repr_html_(self) -> str:
        """Show a notebook what there is of each, and the first explanations."""
        facts: dict[str, object] = {"units": f"{len(self):,}"}
        facts |= {plural_of(noun(k)): f"{self.explanations[k].nunique():,}" for k in self.keys}
        facts |= {"aspects": ", ".join(self.aspects), "ratings": f"{len(self.ratings):,}"}
        shown = html_table(self.explanations, rows=10, whole=".explanations")
        return html_heading(self.name, facts, simulated=Simulation(self.simulated)) + shown


class Manifest(DataManifest, OnScale):
    """The keys of ``dataset.yaml``."""

    kind: Literal["explanations"] = "explanations"
    texts: bool = True
    keys: list[Name] = Field(default_factory=list)
    aspects: Mapping[Name, Name | RatedAspect] = Field(min_length=1)
    scale: RatingScale | None
    extra: dict[str, Any] = Field(default_factory=dict)

    @field_validator("aspects")
    @classmethod
    def _no_average(cls, aspects: dict[str, Any]) -> dict[str, Any]:
        if AVERAGE in aspects:
            raise ValueError(
                f"an aspect may not be called {AVERAGE!r}, the mean over aspects is; rename the aspect"
            )
        return aspects

    @property
    def statements(self) -> dict[str, str]:
        """Aspect → the statement that raters saw."""
        return {n: a.statement if isinstance(a, RatedAspect) else a for n, a in self.aspects.items()}

    @property
    def scales(self) -> Scale:
        """The rating scale, of all aspects or of each."""
        own = {n: a.scale for n, a in self.aspects.items() if isinstance(a, RatedAspect)}
        found = {n: own.get(n) or self.scale for n in self.aspects}
        return Scale.over({n: scale.scale() for n, scale in found.items() if scale is not None})

    @classmethod
    def of(cls, data: ExplanationSet) -> Manifest:
        """Return the manifest of a data set in memory."""
        own = {n: RatingScale.of(scale) for n, scale in data.scale.own}
        return cls(
            **about(data),
            texts=data.texts,
            keys=list(data.named_by),
            aspects={
                n: RatedAspect(statement=s, scale=own[n]) if n in own else s for n, s in data.aspects.items()
            },
            scale=None if own else RatingScale.of(data.scale),
            extra=dict(data.extra),
        )
