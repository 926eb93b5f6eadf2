"""The arrays that biases are measured on: judges' scores and the truth of the same units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from metaeval.base.keys import author_key, key_columns, nouns_of
from metaeval.base.records import AVERAGE, FIRST, SECOND, TIE, Scale, Status
from metaeval.engine.alignment.aligned import Aligned, Bools, align
from metaeval.evaluators.verdicts import NO_VERDICT, WINNERS, comparisons_of, pair_keys
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.cluster_sums import summed
from metaeval.stats.weighted.sums import Clusters

_OTHERS = "\x00others"  # no evaluator has this name
_MOST = 0.8  # share of the units that further people must have rated
_VALUES = np.array([{TIE: 0.5, FIRST: 1.0, SECOND: 0.0, "": np.nan}[winner] for winner in WINNERS])
"""The points of a pair's first text, by the code of the winner."""
SHOWN = ["shown_first", "shown_second"]
"""The columns with the points of a pair's first text in either order."""


@dataclass(frozen=True, slots=True, eq=False)
class JudgedUnits:
    """Scores of E judges and the truth, for A aspects and U units; missing values stay NaN."""

    judges: tuple[str, ...]
    aspects: tuple[str, ...]
    scores: Floats
    """Shape (E, A, U)."""
    truth: Floats
    """Shape (A, U)."""
    cluster: Ints
    """Shape (U,): the cluster of each unit, numbered by name."""
    n_clusters: int
    generator: Ints
    """Shape (U,): position of the unit's generator; 0 if generators are not known."""
    generators: tuple[str, ...]
    """Empty if they are not known."""
    length: Floats | None = None
    """Shape (U,): characters of the text; NaN without a text. None if lengths are not known."""
    second: Floats | None = None
    """Shape (A, U): mean rating of people who are in neither the truth nor the judges. None if too few units
    have one."""
    scale: Scale | None = None
    rates: frozenset[str] = field(default_factory=frozenset)
    """Judges whose scores are ratings on the truth's scale."""

    @classmethod
    def matched(
        cls,
        scores: pd.DataFrame,
        truth: pd.DataFrame,
        judges: Sequence[str],
        *,
        cluster: str = "",
        called: Mapping[str, str] | None = None,
        length: pd.DataFrame | None = None,
        second: pd.DataFrame | None = None,
        scale: Scale | None = None,
        rates: frozenset[str] = frozenset(),
    ) -> JudgedUnits:
        """Match scores (key columns, ``evaluator``, ``aspect``, ``score``) with the truth; else `DataError`.

        The rows of the truth (key columns, ``aspect``, ``rating``) say which units and aspects there are.
        ``cluster`` is the key column whose values are resampled whole (the first, if left out); ``called``
        maps key columns to nouns; ``length`` has key columns and ``length``, ``second`` the ratings of
        further people, which are averaged by unit and aspect. The others are as the fields.
        """
        asked = scores[scores["evaluator"].isin(list(judges))]
        if second is not None:
            # Aligned as if they were the scores of one more judge.
            by = [*key_columns(asked), "aspect"]
            means = second.groupby(by, sort=False, observed=True)["rating"].mean().reset_index(name="score")
            ok = {"status": Status.OK.value} if "status" in asked else {}
            asked = pd.concat([asked, means.assign(evaluator=_OTHERS, **ok)], ignore_index=True)
        found = align(asked, truth, [])
        by_name = {k: _numbered(found.labels[k], found.keys[k]) for k in found.keys}
        who = cluster or next(iter(by_name))
        clusters, names = by_name[who]
        generator, generators = by_name.get(
            author_key(called or nouns_of(by_name)), (np.zeros_like(clusters), ())
        )
        places = [found.evaluators.index(name) for name in judges]
        return cls(
            tuple(judges),
            tuple(found.aspects),
            found.scores[places],
            found.truth,
            clusters,
            len(names),
            generator,
            generators,
            None if length is None else _lengths(length, by_name),
            _covering(found, places) if _OTHERS in found.evaluators else None,
            scale,
            rates,
        )

    @property
    def rows(self) -> list[str]:
        """The aspects, then the average if there are two or more."""
        return [*self.aspects, AVERAGE] if len(self.aspects) > 1 else list(self.aspects)

    @property
    def doublings(self) -> Floats | None:
        """The binary logarithm of each text's length, shape (U,); None if lengths are not known."""
        return None if self.length is None else np.log2(np.where(self.length > 0, self.length, np.nan))

    def of(self, judge: str) -> Floats:
        """Return the scores of a judge, shape (A, U)."""
        scores: Floats = self.scores[self.judges.index(judge)]
        return scores

    def rated(self, judge: str) -> Bools:
        """Return which units have a score of the judge and a rating of the truth, shape (A, U)."""
        both: Bools = ~np.isnan(self.of(judge) + self.truth)
        return both

    def by_cluster(self, values: Floats, use: Bools) -> Floats:
        """Sum values over the units in use, both of shape (A, U), to shape (A, n_clusters)."""
        return summed(values, use, self.cluster, self.n_clusters)


def _covering(found: Aligned, places: Sequence[int]) -> Floats | None:
    """Return the ratings of other people, if most units that are scored and rated have them."""
    ratings = found.scores[found.evaluators.index(_OTHERS)]
    used = ~np.isnan(found.truth) & ~np.isnan(found.scores[list(places)]).all(axis=0)
    enough = (~np.isnan(ratings) & used).sum(axis=1) >= _MOST * used.sum(axis=1)
    return ratings if enough.all() and used.any() else None


def _numbered(labels: pd.Index[Any], codes: Ints) -> tuple[Ints, tuple[str, ...]]:
    """Return numbers by name, so that draws do not depend on the order of rows, and the names."""
    names, of_unit = np.unique(labels.astype(str).to_numpy(dtype=object)[codes], return_inverse=True)
    return of_unit, tuple(map(str, names))


def _lengths(length: pd.DataFrame, by_name: Mapping[str, tuple[Ints, tuple[str, ...]]]) -> Floats:
    named = list(by_name)
    units = pd.DataFrame({k: np.array(names, dtype=object)[codes] for k, (codes, names) in by_name.items()})
    known = length[[*named, "length"]].astype(dict.fromkeys(named, str)).drop_duplicates(named)
    return units.astype(str).merge(known, on=named, how="left")["length"].to_numpy(dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class VerdictPairs:
    """The verdicts of one judge on one aspect, one row per pair with an answer in both orders."""

    judge: str
    aspect: str
    frame: pd.DataFrame
    """Key columns of the pair, and the points of its first text when ``shown_first`` and ``shown_second``."""
    n_left_out: int
    """Pairs without an answer in both orders."""
    cluster: str = ""
    """The key column whose values are resampled whole; default: the first."""

    def clusters(self) -> Clusters:
        """Return the cluster of each pair, numbered by name."""
        column = self.frame[self.cluster or self.frame.columns[0]]
        names, codes = np.unique(column.astype(str).to_numpy(dtype=object), return_inverse=True)
        return Clusters(codes, len(names))


def pairs_of(verdicts: pd.DataFrame, cluster: str = "") -> list[VerdictPairs]:
    """Match the two orders of each pair, by evaluator and aspect; `DataError` if verdicts are not valid.

    ``verdicts`` are described in `metaeval.evaluators.verdicts`; ``cluster`` is the key column whose values
    are resampled whole (the first, if left out).
    """
    both = comparisons_of(verdicts)
    keys = [*pair_keys(verdicts), "first", "second"]
    answered = (both[SHOWN] != NO_VERDICT).all(axis=1)
    for column in SHOWN:
        both[column] = _VALUES[both[column].to_numpy()]
    found = []
    for (judge, aspect), own in both.groupby(["evaluator", "aspect"], sort=False, observed=True):
        usable = own[answered[own.index]]
        frame = usable.sort_values(keys, kind="stable", ignore_index=True)[[*keys, *SHOWN]]
        left_out = len(own) - len(usable)
        found.append(VerdictPairs(str(judge), str(aspect), frame, left_out, cluster))
    return found


def totals(values: Sequence[ArrayLike], clusters: Clusters) -> Floats:
    """Sum values of pairs by cluster, each to shape (1, n_clusters)."""
    rows = np.asarray(values, dtype=np.float64)
    return summed(rows, np.ones(rows.shape, dtype=bool), clusters.of_unit, clusters.n)[:, None]
