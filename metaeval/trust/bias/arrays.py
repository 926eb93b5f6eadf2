"""What biases are measured on: the scores of judges and the truth of the same units, in arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.base.frames import flat
from metaeval.base.records import AVERAGE, KEYS, Status
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
    """Shape (U,): the user of each unit, or its item in data without users; numbered by name."""
    n_clusters: int
    generator: Ints
    """Shape (U,)."""
    generators: tuple[str, ...]
    length: Floats | None = None
    """Shape (U,): characters of the text; NaN where there is no text. None if lengths are not known."""
    second: Floats | None = None
    """Shape (A, U): the mean rating of people who are in neither the truth nor the judges; NaN where there is
    none. None if too few units have it."""
    clustered_by: str = "user"
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
        length
            Key columns and ``length``, a row a unit; None if lengths are not known.
        second
            Ratings of other people than those of the truth: key columns, ``aspect`` and ``rating``; of
            several of a unit and aspect the mean is taken. None if there are none.
        scale, rates
            As the fields.

        Raises
        ------
        DataError
            If the frames cannot be matched.
        """
        columns = (*KEYS, "evaluator", "aspect", "score", "status", "rating")
        asked = scores[scores["evaluator"].isin(list(judges))]
        if second is not None:
            asked = _with_others(asked, second)
        found = align(flat(asked, columns), flat(truth, columns), [])
        by_name = {k: _numbered(found.labels[k], found.keys[k]) for k in found.keys}
        who = "user_id" if "user_id" in found.keys else "item_id"
        cluster, names = by_name[who]
        generator, generators = by_name["generator"]
        places = [found.evaluators.index(name) for name in judges]
        return cls(
            tuple(judges),
            tuple(found.aspects),
            found.scores[places],
            found.truth,
            cluster,
            len(names),
            generator,
            generators,
            None if length is None else _lengths(length, by_name),
            _covering(found, places) if _OTHERS in found.evaluators else None,
            who.removesuffix("_id"),
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

    keys = [k for k in (*KEYS, "aspect") if k in scores.columns]
    means = second.groupby(keys, sort=False, observed=True)["rating"].mean().reset_index(name="score")
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

    keys = list(by_name)
    units = pd.DataFrame({k: np.array(names, dtype=object)[codes] for k, (codes, names) in by_name.items()})
    known = length[[*keys, "length"]].astype(dict.fromkeys(keys, str)).drop_duplicates(keys)
    return units.astype(str).merge(known, on=keys, how="left")["length"].to_numpy(dtype=np.float64)
