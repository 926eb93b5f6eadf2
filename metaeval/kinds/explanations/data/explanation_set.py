"""A data set of explanations: the texts, people's ratings of them, and what is known of the users."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from metaeval.base import notebook as html
from metaeval.base.counts import plural_of
from metaeval.base.keys import noun
from metaeval.base.simulation import Simulation
from metaeval.kinds.data import KeyedUnits, counts_of, fingerprint

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from metaeval.base.records import Scale

KEYS: tuple[str, ...] = ("user_id", "item_id", "generator")
"""The columns that name a unit; a study without users has no ``user_id``."""


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
    """

    explanations: pd.DataFrame
    ratings: pd.DataFrame
    aspects: Mapping[str, str]
    scale: Scale
    users: pd.DataFrame | None = None
    scores: pd.DataFrame | None = None
    name: str = "unnamed"
    licence: str = ""
    source: str = ""
    language: str = ""
    simulated: bool = False
    texts: bool = True
    named_by: tuple[str, ...] = ()
    """Its key columns, if they are not ``KEYS``."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    frames: ClassVar[tuple[str, ...]] = ("explanations", "ratings", "scores")
    kind: ClassVar[str] = "explanations"

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
        return fingerprint(self.aspects, self.scale, self.explanations, self.ratings, self.users, self.scores)

    @property
    def counts(self) -> dict[str, int]:
        """What there is, in the singular → how many; no users is said too."""
        none = {} if self.named_by else {noun(k): 0 for k in KEYS}
        return {"unit": len(self)} | none | counts_of(self)

    def _repr_html_(self) -> str:
        """Show a notebook what there is of each, and the first explanations."""
        facts: dict[str, object] = {"units": f"{len(self):,}"}
        facts |= {plural_of(noun(k)): f"{self.explanations[k].nunique():,}" for k in self.keys}
        facts |= {"aspects": ", ".join(self.aspects), "ratings": f"{len(self.ratings):,}"}
        shown = html.table(self.explanations, rows=10, whole=".explanations")
        return html.heading(self.name, facts, simulated=Simulation(self.simulated)) + shown
