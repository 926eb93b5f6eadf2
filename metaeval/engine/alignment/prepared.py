"""The policy of a study applied to aligned scores: what is missing is filled or left out, and counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, nearest, one_of
from metaeval.base.frames import flat
from metaeval.base.keys import ITEM, UNIT, Level, cluster_columns, compared_key, index_names, levels_of
from metaeval.base.records import AVERAGE, COEFFICIENTS, ScoreTable
from metaeval.engine.alignment.aligned import Aligned, Bools, align
from metaeval.engine.alignment.policy import Policy, allowed
from metaeval.stats.coefficients.levels import Estimates, Grouping
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.weighted.sums import Clusters

LEAST_SHARE = 0.05
"""The share of the rated units that an evaluator needs to be compared with others on their common units."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Scores of E evaluators and the truth, for A aspects and U units, as the policy leaves them."""

    policy: Policy
    evaluators: list[str]
    aspects: list[str]
    scores: Floats
    """Shape (E, A, U); finite everywhere."""
    truth: Floats
    """Shape (A, U); finite everywhere."""
    mask: Bools | None
    """Shape (E, A, U): units that enter; None if every unit does."""
    n_missing: Ints
    """Shape (E, A): units without a score of the evaluator, filled or left out."""
    truth_missing: Ints
    """Shape (A,): questions that a person was asked and did not answer."""
    n_rated: Ints
    """Shape (A,): units with a truth."""
    groupings: Mapping[str, Grouping]
    keys: Mapping[str, Ints]
    """Key column, in order → the code of each unit's value, shape (U,)."""
    labels: Mapping[str, pd.Index[Any]]
    """Key column → what the codes stand for."""
    n_left_out: Ints | None = None
    """Shape (A,): rated units left out of all evaluators, as some have no score; None if it was not asked."""
    apart: frozenset[str] = frozenset()
    """Evaluators on units of their own, and compared with no other, as they have so few scores."""
    used: Bools | None = None
    """Shape (A, U): units that enter for any evaluator, if these are some of the evaluators only."""
    found: dict[tuple[str, str], Estimates] = field(default_factory=dict, init=False, repr=False)
    """What `metaeval.engine.correlation.estimates` found: it is asked several times."""

    def __post_init__(self) -> None:
        """Refuse an aspect that has the name of the mean over aspects."""
        if AVERAGE in self.aspects:
            raise DataError(f"no aspect may be called {AVERAGE!r}, the name of their mean; rename the aspect")

    def units(self, evaluator: int, aspect: int) -> Bools | slice:
        """Return an index of the units that enter."""
        return slice(None) if self.mask is None else self.mask[evaluator, aspect]

    @property
    def entering(self) -> Bools:
        """Which units enter, shape (E, A, U); read-only."""
        return np.broadcast_to(np.True_, self.scores.shape) if self.mask is None else self.mask

    def places(self, aspects: Iterable[str] | None = None) -> list[int]:
        """Return the positions of aspects, of all if None; `MetaevalError` if there is no such aspect."""
        known = self.aspects
        return [known.index(one_of(a, known, "there is no aspect", "allowed")) for a in aspects or known]

    @property
    def levels(self) -> Mapping[str, Level]:
        """The levels that the keys allow, by name."""
        return levels_of(tuple(self.keys))

    @property
    def system(self) -> str | None:
        """The key column whose values are compared by their means, such as ``generator``; None if none is."""
        return compared_key(tuple(self.keys))

    @property
    def systems(self) -> tuple[str, ...]:
        """The values of that column; empty if there is none."""
        return () if self.system is None else tuple(map(str, self.labels[self.system]))

    @property
    def has_users(self) -> bool:
        """Whether the first key names people, not items, which are resampled in their place."""
        return self.cluster_name() != ITEM

    @property
    def between(self) -> tuple[str, ...]:
        """Those of the policy's levels that correlate the means of groups."""
        return tuple(level for level, g in self.groupings.items() if g.between)

    def cluster_name(self, name: str | None = None) -> str:
        """Return what is resampled: by default what the first key names, users or else items."""
        return name or next(iter(cluster_columns(tuple(self.keys))))

    def clusters(self, name: str) -> Clusters:
        """Return the cluster of each unit: what a key names, such as its ``user``, or the ``unit`` alone.

        Raises `DataError` if no key names it.
        """
        columns = cluster_columns(tuple(self.keys))
        if name not in (*columns, UNIT):
            raise DataError(
                f"the data name no {name} to resample by; resample by {', '.join(columns)} or unit"
                f"{nearest(str(name), [*columns, UNIT])}"
            )
        # Numbered by name, so that a seed means the same whatever the order of rows.
        of_name = {k: np.argsort(np.argsort(v.astype(str)))[self.keys[k]] for k, v in self.labels.items()}
        if name == UNIT:
            order = np.lexsort(list(of_name.values())[::-1])
            codes = np.empty(len(order), dtype=np.int64)
            codes[order] = np.arange(len(order))
        else:
            codes = of_name[columns[name]]
        entering = self.entering if self.used is None else self.used[None]
        return Clusters(codes, len(codes)).among(np.logical_or.reduce(entering, axis=(0, 1)))


def prepare(scores: ScoreTable | pd.DataFrame, truth: pd.DataFrame, policy: Policy) -> Prepared:
    """Match scores with the truth and apply the policy.

    Raises `DataError` if the frames cannot be matched, or no unit is left.
    """
    return under(policy, align(*plain(scores, truth), policy.levels))


def plain(scores: ScoreTable | pd.DataFrame, truth: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the frames of scores and truth, with what names units in columns; both have an aspect or none.

    Raises `DataError` if they are no frames, or empty.
    """
    if not isinstance(scores, ScoreTable | pd.DataFrame) or not isinstance(truth, pd.DataFrame):
        raise DataError("scores must be a ScoreTable or a DataFrame, and truth a DataFrame")
    frame = scores.frame if isinstance(scores, ScoreTable) else scores
    for name, given in (("scores", frame), ("truth ratings", truth)):
        if not len(given):
            raise DataError(f"the {name} are empty: there is nothing to correlate")
    frame, truth = (flat(given, index_names(given)) for given in (frame, truth))
    return frame, truth if "aspect" in truth else truth.assign(aspect=_only_aspect(frame))


def _only_aspect(scores: pd.DataFrame) -> str:
    """Return the aspect of a truth that does not name it: that of the scores."""
    named = sorted(str(a) for a in scores["aspect"].dropna().unique() if a) if "aspect" in scores else []
    if len(named) > 1:
        raise DataError(
            f"the truth has no column 'aspect', and the scores are of {', '.join(named)}: add a column "
            "'aspect' to the truth"
        )
    return named[0] if named else "rating"


def under(policy: Policy, data: Aligned, common: Common | None = None) -> Prepared:
    """Apply a policy to aligned scores, which have its levels; `DataError` if no unit is left.

    ``common`` is of all evaluators, if these are some of them.
    """
    no_truth = np.isnan(data.truth)
    asked = data.asked
    unanswered = no_truth if asked is None else no_truth & asked
    in_truth: Bools | None = asked
    if policy.truth == "drop" and unanswered.any():
        in_truth = ~no_truth
    truth = np.where(no_truth, 0.0 if policy.truth == "drop" else policy.truth, data.truth)

    none = np.isnan(data.scores)
    judged = np.ones(data.truth.shape, dtype=bool) if in_truth is None else in_truth
    candidates = none & judged
    if data.example is not None:
        candidates &= ~data.example
    n_missing = candidates.sum(axis=2)
    mask: Bools | None = None
    left_out: Ints | None = None
    apart: frozenset[str] = frozenset()
    if in_truth is not None or data.example is not None or (policy.score == "drop" and none.any()):
        mask = np.broadcast_to(judged, none.shape).copy()
        if policy.score == "drop":
            mask &= ~none
        elif data.example is not None:
            mask &= ~data.example
    if none.any():
        scores = np.where(none, 0.0 if policy.score == "drop" else policy.score, data.scores)
    else:
        scores = data.scores
    used = None if common is None else common.entering
    if policy.common and mask is not None and (common or len(data.evaluators) > 1):
        if common is None:
            common = Common(judged.sum(axis=1), judged.shape[1])
            common.meet(data.evaluators, mask)
            common.refuse_none(data.aspects)
        few, shared = common.few(mask), common.shared
        used = None if used is None else used & shared
        mask &= shared | few[:, :, None]
        left_out = (judged & ~shared).sum(axis=1)
        apart = frozenset(data.evaluators[e] for e in np.flatnonzero(few.any(axis=1)))
    return Prepared(
        policy,
        data.evaluators,
        data.aspects,
        scores,
        truth,
        mask,
        n_missing,
        unanswered.sum(axis=1),
        judged.sum(axis=1),
        {level: data.groupings[level] for level in policy.levels},
        data.keys,
        data.labels,
        left_out,
        apart=apart,
        used=used,
    )


class Common:
    """The units that all evaluators with any score for an aspect have, found some evaluators at a time.

    Evaluators with fewer than `LEAST_SHARE` of the rated units of an aspect do not narrow them down, unless
    nobody has more.
    """

    def __init__(self, n_rated: Ints, n_units: int) -> None:
        self._least = LEAST_SHARE * n_rated
        self._of_all = np.ones((len(n_rated), n_units), dtype=bool)
        self._of_most = self._of_all.copy()
        self.entering = ~self._of_all
        """Units of any evaluator."""
        self._n_units: dict[str, Ints] = {}

    def meet(self, evaluators: Sequence[str], mask: Bools) -> None:
        """Narrow the units down to those of more evaluators, shape (E, A, U)."""
        n_units = mask.sum(axis=2)
        none, few = n_units == 0, n_units < self._least
        of_all = np.logical_and.reduce(mask | none[:, :, None], axis=0)
        self._of_all &= of_all
        differ = (few > none).any()
        self._of_most &= np.logical_and.reduce(mask | few[:, :, None], axis=0) if differ else of_all
        self.entering |= np.logical_or.reduce(mask, axis=0)
        self._n_units.update(zip(evaluators, n_units, strict=True))

    @property
    def _most(self) -> Bools:
        """For which aspects some evaluator has many units, shape (A,)."""
        many = [(n > 0) & (n >= self._least) for n in self._n_units.values()]
        return np.asarray(np.any(many, axis=0))

    @property
    def shared(self) -> Bools:
        """Shape (A, U)."""
        return np.where(self._most[:, None], self._of_most, self._of_all)

    def few(self, mask: Bools) -> Bools:
        """Say which evaluators would take nearly all units of an aspect from the others, shape (E, A)."""
        n_units = mask.sum(axis=2)
        return np.asarray((n_units > 0) & (n_units < self._least) & self._most)

    def refuse_none(self, aspects: Sequence[str]) -> None:
        """Raise `DataError` if the evaluators with units of an aspect share none."""
        for a, n_shared in enumerate(self.shared.sum(axis=1)):
            scored = {name: int(n[a]) for name, n in self._n_units.items() if n[a]}
            if scored and not n_shared:
                fewest = min(scored, key=lambda name: scored[name])
                raise DataError(
                    f"no unit has a score for {aspects[a]!r} from every evaluator ({fewest!r} has "
                    f"only {scored[fewest]}); leave it out, or set `missing.score` or `units: own`"
                )


@dataclass(frozen=True, eq=False)
class Matched:
    """Scores and the truth under the policy of a study."""

    scores: ScoreTable
    truth: pd.DataFrame
    """Key columns, ``aspect`` and ``rating``; NaN for a question without an answer."""
    policy: Policy

    @cached_property
    def aligned(self) -> Aligned:
        """Both over the same units, at the levels of the policy."""
        return align(*plain(self.scores, self.truth), self.policy.levels)

    @cached_property
    def prepared(self) -> Prepared:
        """Both as the policy leaves them."""
        return under(self.policy, self.aligned)

    @property
    def keys(self) -> pd.DataFrame:
        """The key columns of each unit, in the order of the aligned scores."""
        labels = self.aligned.labels
        codes = {key: code for key, code in self.aligned.keys.items() if key in labels}
        return pd.DataFrame({key: labels[key].to_numpy()[code] for key, code in codes.items()})

    def chosen(
        self,
        *,
        levels: Sequence[str] | None = None,
        coefficients: Sequence[str] | None = None,
        evaluators: Sequence[str] | None = None,
    ) -> Prepared:
        """Return the same at other levels, by other coefficients or of some evaluators; errors: `prepare`."""
        policy = replace(
            self.policy,
            levels=tuple(levels or self.policy.levels),
            coefficients=tuple(coefficients or self.policy.coefficients),
        )
        allowed("coefficients", policy.coefficients, COEFFICIENTS)
        there = set(policy.levels) <= set(self.aligned.groupings)
        whole = self.aligned if there else align(*plain(self.scores, self.truth), policy.levels)
        return under(policy, whole if evaluators is None else whole.among(evaluators))
