"""What biases are measured on: the scores of judges and the truth of the same units, in arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.base.keys import author_key, key_columns, nouns_of
from metaeval.base.records import AVERAGE, Status
from metaeval.engine.alignment import align

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from metaeval.base.records import Scale
    from metaeval.engine.alignment import Aligned, Bools
    from metaeval.stats.coefficients.tables import Floats, Ints

_OTHERS = "\x00others"  # no evaluator of a study is called so
_MOST = 0.8  # share of the units that other people must have rated for their ratings to be used


@dataclass(frozen=True, slots=True, eq=False)
class JudgedUnits:
    """Scores of E judges and the truth, for A aspects and U units; nothing is filled in."""

    judges: tuple[str, ...]
    aspects: tuple[str, ...]
    scores: Floats
    """Shape (E, A, U); NaN where a judge gave none."""
    truth: Floats
    """Shape (A, U); NaN where there is none."""
    cluster: Ints
    """Shape (U,): the cluster of each unit, numbered by name."""
    n_clusters: int
    generator: Ints
    """Shape (U,): what wrote each unit; 0 where that is not known."""
    generators: tuple[str, ...]
    """Empty if units do not say what wrote them."""
    length: Floats | None = None
    """Shape (U,): characters of the text; NaN where there is no text. None if lengths are not known."""
    second: Floats | None = None
    """Shape (A, U): the mean rating of people who are in neither the truth nor the judges; NaN where there is
    none. None if too few units have it."""
    clustered_by: str = "user"
    """What a cluster is called."""
    scale: Scale | None = None
    rates: frozenset[str] = field(default_factory=frozenset)
    """Judges whose scores are ratings on the truth's scale."""

    @classmethod
    def of(
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
        """Match scores with the truth.

        Parameters
        ----------
        scores
            Key columns, ``evaluator``, ``aspect``, ``score``.
        truth
            Key columns, ``aspect``, ``rating``; its rows say which units and aspects there are.
        judges
            Evaluators of the scores.
        cluster
            The key column whose values are resampled whole; the first, if left out.
        called
            Key column → what its values are called; by its name, if left out.
        length
            Key columns and ``length``, one row per unit; None if lengths are not known.
        second
            Ratings by people other than those of the truth: key columns, ``aspect`` and ``rating``. Several
            of one unit and aspect are averaged. None if there are none.
        scale, rates
            As the fields.

        Raises
        ------
        DataError
            If the frames cannot be matched.
        """
        asked = scores[scores["evaluator"].isin(list(judges))]
        if second is not None:
            asked = _with_others(asked, second)
        found = align(asked, truth, [])
        by_name = {k: _numbered(found.labels[k], found.keys[k]) for k in found.keys}
        called = called or nouns_of(by_name)
        who = cluster or next(iter(by_name))
        clusters, names = by_name[who]
        generator, generators = by_name.get(author_key(called), (np.zeros_like(clusters), ()))
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
            called[who],
            scale,
            rates,
        )

    @property
    def rows(self) -> list[str]:
        """Names of what numbers are of: each aspect, then the average if there are two or more."""
        return [*self.aspects, AVERAGE] if len(self.aspects) > 1 else list(self.aspects)

    def place(self, judge: str) -> int:
        """Return the position of a judge."""
        return self.judges.index(judge)

    def rated(self, judge: str) -> Bools:
        """Return which units have a score of the judge and a rating of the truth, shape (A, U)."""
        both: Bools = ~np.isnan(self.scores[self.place(judge)] + self.truth)
        return both


def _with_others(scores: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Add the mean ratings of other people, as if they were a judge's."""
    import pandas as pd

    by = [*key_columns(scores), "aspect"]
    means = second.groupby(by, sort=False, observed=True)["rating"].mean().reset_index(name="score")
    means = means.assign(evaluator=_OTHERS, **({"status": Status.OK.value} if "status" in scores else {}))
    return pd.concat([scores, means], ignore_index=True)


def _covering(found: Aligned, places: Sequence[int]) -> Floats | None:
    """Return the ratings of other people, if most of what is judged and rated has them."""
    ratings = found.scores[found.evaluators.index(_OTHERS)]
    used = ~np.isnan(found.truth) & ~np.isnan(found.scores[list(places)]).all(axis=0)
    enough = (~np.isnan(ratings) & used).sum(axis=1) >= _MOST * used.sum(axis=1)
    return ratings if enough.all() and used.any() else None


def _numbered(labels: pd.Index[Any], codes: Ints) -> tuple[Ints, tuple[str, ...]]:
    """Give numbers by name to those that occur, so that a seed means the same whatever the order of rows."""
    names, of_unit = np.unique(labels.astype(str).to_numpy(dtype=object)[codes], return_inverse=True)
    return of_unit, tuple(map(str, names))


def _lengths(length: pd.DataFrame, by_name: Mapping[str, tuple[Ints, tuple[str, ...]]]) -> Floats:
    """Return the length of each unit, NaN for one that is not in the table."""
    import pandas as pd

    named = list(by_name)
    units = pd.DataFrame({k: np.array(names, dtype=object)[codes] for k, (codes, names) in by_name.items()})
    known = length[[*named, "length"]].astype(dict.fromkeys(named, str)).drop_duplicates(named)
    return units.astype(str).merge(known, on=named, how="left")["length"].to_numpy(dtype=np.float64)
