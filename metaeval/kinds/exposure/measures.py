"""Agreement of verdicts on matched pairs with what users did: PairAUC and RJS, by inverse propensities.

A pair of a user's items weighs w = 1 / max(p, floor), summed over both items (the source's equation 1), p
being the propensity of the user and the item. PairAUC is the weighted share of verdicts that name the item
with the better outcome (equation 2). With a(u), that share of user u, RJS is the mean of 2 a(u) - 1 over
users, each weighted by the sum of the own weights; so RJS = 2 PairAUC - 1. Where users count alike it is
another number. A tie and an invalid answer name no item: the source counts them as wrong, so chance is below
one half for whoever gives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, unknown
from metaeval.base.records import Kind, Status
from metaeval.engine.alignment.aligned import Bools
from metaeval.engine.board import ESTIMATES, Cell
from metaeval.engine.measures import Measure, MeasuredCells, MeasuredUnits
from metaeval.engine.order.paired_tests import Tests
from metaeval.engine.sheet import Column, columns
from metaeval.evaluators.base import text
from metaeval.evaluators.chance import Preference
from metaeval.evaluators.grid import FloatArray
from metaeval.kinds.exposure.data.log_set import ITEM, KEYS, MATCHING, USER, WEIGHT, LogSet
from metaeval.kinds.exposure.judge import EVIDENCE
from metaeval.kinds.exposure.judge import WEIGHT as BY_SHARE
from metaeval.kinds.exposure.scored import ExposureScored
from metaeval.kinds.table import INTERVALS, KindTable
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.bootstrap import each
from metaeval.stats.resampling.cluster_sums import ClusterSums, ratio
from metaeval.stats.weighted.sums import Clusters

Ties = Literal["wrong", "half", "drop"]
IPS, NONE = "ips", "none"
"""Weightings: by inverse propensities, and all pairs alike."""
ALL, BIN = "all", "popularity"
INVALID = (
    *(Status.REFUSED, Status.UNPARSED, Status.OUT_OF_RANGE),
    *(Status.TRUNCATED, Status.INVENTED, Status.UNWEIGHED),
)
"""Why a question that was asked has no verdict; another reason leaves the pair out."""
_TIES: Mapping[Ties, str] = {
    "wrong": "Ties and invalid answers count as wrong, so chance is below one half.",
    "half": "Ties and invalid answers count as half right.",
    "drop": "Ties and invalid answers are left out, per evaluator.",
}
EVALUATOR, PAIRS = Column("evaluator", "Evaluator"), Column("n_pairs", "Pairs", "count")
UNITS = KindTable("units.parquet", "", (), lambda scored: scored.units(scored.data.table))
"""What is known of each unit: key columns, items, bins, weight, and how the pair was matched."""


CHANCE = 0.5
"""PairAUC of verdicts at random."""


def pair_measures(ties: Ties) -> tuple[Measure, ...]:
    """Return PairAUC, RJS, and RJS in which users count alike; a verdict of 0 counts as ``ties`` says."""

    def sums(verdicts: Floats, truth: Floats) -> list[Floats]:
        agreed = np.sign(verdicts) * np.sign(truth)
        right = (1 + agreed) / 2 if ties == "half" else (agreed > 0).astype(float)
        return [right, (agreed != 0).astype(float) if ties == "drop" else np.ones_like(right)]

    def rjs(of: Floats) -> Floats:
        return 2 * ratio(of[0], of[1]) - 1

    return (
        Measure("PairAUC", sums, lambda of: ratio(of[0], of[1]), (0.0, 1.0), chance=CHANCE),
        Measure("RJS", sums, rjs, (-1.0, 1.0)),
        Measure("RJS, users alike", sums, rjs, (-1.0, 1.0), alike=True),
    )


@dataclass(frozen=True, slots=True, eq=False)
class WeighedUnits(MeasuredUnits):
    """Units that do not count alike."""

    weights: Floats
    """Shape (E, n)."""

    def by_unit(self, measure: Measure) -> list[list[Floats]]:
        """Return what a measure sums up, each unit with its weight."""
        rows = zip(self.scores, self.weights, strict=True)
        return [[weight * v for v in measure.sums(x, self.truth)] for x, weight in rows]


class PairCells(MeasuredCells):
    """Measures of verdicts on matched pairs; a cell is a bin of popularity, a weighting and a measure."""

    by = "bin"
    form = "decimal"
    swapped = "verdicts"
    undefined = "it has no pair in the bin"

    def __init__(self, scored: ExposureScored) -> None:
        ties = scored.study.ties
        super().__init__(scored.matched, pair_measures(ties), intervals=scored.study.bootstrap)
        self.table = scored.units(scored.table(UNITS))
        self.truth: Floats = np.sign(scored.matched.aligned.truth[0])
        verdicts = np.sign(scored.matched.aligned.scores[:, 0])
        self.invalid: Bools = np.isin(self.laid_out("status"), [str(s) for s in INVALID])
        self.verdicts: Floats = np.where(self.invalid, 0.0, verdicts)
        by_share = [scored.scores.signatures[e].get(EVIDENCE) == BY_SHARE for e in self.evaluators]
        self.trust: Floats = np.ones_like(verdicts)
        if any(by_share):
            shares = self.laid_out(EVIDENCE)[by_share].astype(float)
            self.trust[by_share] = np.where(np.isnan(shares), 1.0, shares)
        self.notes = (
            "A pair is judged in both orders. It is left out if an evaluator was not asked about it.",
            _TIES[ties],
        )

    def laid_out(self, column: str) -> Any:  # noqa: ANN401 - numbers or texts
        """Return a column of the scores, shape (E, n); NaN where there is no row."""
        frame = self.matched.scores.frame
        wide = frame.set_index([*KEYS, "evaluator"])[column].unstack("evaluator")  # noqa: PD010 - of an index
        return wide.reindex(pd.MultiIndex.from_frame(self.table[[*KEYS]]))[self.evaluators].to_numpy().T

    @property
    def weightings(self) -> list[str]:
        """By inverse propensities, if the weights are known, and all alike."""
        return [IPS, NONE] if self.table[WEIGHT].notna().all() else [NONE]

    @cached_property
    def bins(self) -> Mapping[str, Bools]:
        """All pairs, and those of each bin of popularity → its units; further matchings are no part of it."""
        own = np.ones(len(self.table), dtype=bool)
        if MATCHING in self.table:
            own = (self.table[MATCHING] == "").to_numpy()
        if BIN not in self.table:
            return {ALL: own}
        bins = self.table[BIN].astype(str)
        names = sorted({*bins[own]} - {"", "nan"}, key=lambda name: (len(name), name))
        return {ALL: own, **{name: own & (bins == name).to_numpy() for name in names}}

    def tested(self, order: Cell, how: Tests) -> list[tuple[Cell, Tests]]:
        """Return the cells of all bins together, and the one that orders the leaderboard."""
        return [test for test in super().tested(order, how) if test[0]["bin"] == ALL or test[0] == order]

    @cached_property
    def parts(self) -> Mapping[str, tuple[int, Bools | slice]]:
        """Each bin and weighting → its units."""
        return {f"{name}, {w}": (0, use) for w in self.weightings for name, use in self.bins.items()}

    def at(self, value: str) -> dict[str, str]:
        """Return bin and weighting."""
        name, _, weighting = value.rpartition(", ")
        return {"bin": name, "weighting": weighting}

    @cached_property
    def _entering(self) -> Bools:
        """Which units have a truth and an answer, valid or not, of every evaluator that has any."""
        answered = ~np.isnan(self.verdicts)
        return np.asarray(answered[answered.any(axis=1)].all(axis=0) & ~np.isnan(self.truth))

    def said(self, value: str) -> str:
        """Return what a sentence says for a bin or a weighting."""
        return {ALL: "all bins", IPS: "weighted", NONE: "unweighted"}.get(value, f"bin {value}")

    def use(self, value: str) -> Bools:
        """Say of all units which enter for a bin."""
        return np.asarray(self._entering & np.asarray(self.parts[value][1]))

    def units(self, value: str) -> WeighedUnits:
        """Return the units of a bin, weighted."""
        return self.weighed(self.use(value), self.at(value)["weighting"])

    def weighed(self, use: Bools, weighting: str) -> WeighedUnits:
        """Return some units with their weights, in the clusters that have any of them."""
        weights = self.trust[:, use]
        if weighting == IPS:
            weights = weights * self.table[WEIGHT].to_numpy(np.float64)[use]
        return WeighedUnits(self.verdicts[:, use], self.truth[use], self.users(use).take(use), weights)

    def users(self, use: Bools) -> Clusters:
        """Return the users that have any of some units, as clusters of all units."""
        of_unit = self.matched.aligned.keys[USER]  # also of users without a valid verdict
        return Clusters(of_unit, int(of_unit.max()) + 1).among(use)

    def matched_on(self, matching: str) -> Bools:
        """Say which units enter of pairs that were matched in another way for an ablation."""
        return np.asarray(self._entering & (self.table[MATCHING] == matching))


def pair_auc_table(scored: ExposureScored) -> pd.DataFrame:
    """Return a row per evaluator, bin and weighting.

    PairAUC is the ``estimate``; ``ties`` and ``invalid`` are counts among its verdicts, which ``n_verdicts``
    counts in both orders.
    """
    cells, board = scored.cells, scored.board
    rows: list[dict[str, Any]] = []
    for value in cells.parts:
        use, at = cells.use(value), cells.at(value)
        pairs, users = (cells.table.loc[use, [*keys]].drop_duplicates() for keys in (KEYS[:2], [USER]))
        counts = {"n_pairs": len(pairs), "n_verdicts": int(use.sum()), "n_users": len(users)}
        auc, rjs, alike = (
            board.of({**at, "measure": m}).reset_index()[[*ESTIMATES]].to_numpy() for m in cells.measures
        )
        for e, name in enumerate(cells.evaluators):
            invalid, tied = cells.invalid[e, use], cells.verdicts[e, use] == 0
            rows.append(
                {
                    "evaluator": name,
                    "bin": at["bin"],
                    "weighted": str(at["weighting"] == IPS).lower(),
                    **dict(zip(ESTIMATES, auc[e], strict=True)),
                    "ties": int((tied & ~invalid).sum()),
                    "invalid": int(invalid.sum()),
                    **counts,
                    **dict(zip(("rjs", "rjs_low", "rjs_high"), rjs[e], strict=True)),
                    **dict(zip(("rjs_alike", "rjs_alike_low", "rjs_alike_high"), alike[e], strict=True)),
                }
            )
    return pd.DataFrame(rows)


PAIR_AUC = KindTable(
    "pair_auc.csv",
    "Agreement on matched pairs",
    (
        *columns("text", evaluator="Evaluator", bin="Bin", weighted="Weighted"),
        Column("estimate", "PairAUC", "decimal", "ci_low", "ci_high"),
        Column("rjs", "RJS", "decimal", "rjs_low", "rjs_high"),
        Column("rjs_alike", "RJS, users alike", "decimal", "rjs_alike_low", "rjs_alike_high"),
        *columns("count", ties="Ties", invalid="Invalid", n_pairs="Pairs", n_users="Users"),
    ),
    pair_auc_table,
    (
        (
            "PairAUC: the share of verdicts for the item with the better outcome. Weighted: by the sum of "
            "both items' inverse propensities, which do not change between resamples."
        ),
        "RJS = 2 PairAUC - 1, users weighted by the sum of their weights; users alike: its mean over users.",
        "Bin: the popularity quantile of both items, 0 for the most popular.",
        INTERVALS,
    ),
)


def by_field_table(scored: ExposureScored) -> pd.DataFrame | None:
    """Return PairAUC by evaluator and value of the field that the study names; weighted, if that is known."""
    if (by := scored.study.by) is None:
        return None
    cells, column = scored.cells, scored.kind.column(scored.data, by)
    keys = [key for key in column if key != "category"]
    of_unit = cells.table[keys].astype(str).merge(column.drop_duplicates(keys), "left", keys)["category"]
    weighting, measure = cells.weightings[0], next(iter(cells.measures.values()))
    rows: list[dict[str, Any]] = []
    for value in sorted(of_unit.dropna().unique()):
        use = cells.use(f"{ALL}, {weighting}") & (of_unit == value).to_numpy()
        if not use.any():
            continue
        units = cells.weighed(use, weighting)
        statistic = ClusterSums(units.sums(measure), measure.of_sums)
        found = each(cells.estimate(statistic, units.clusters.n, measure.bounds))
        counts = {"n_pairs": len(cells.table.loc[use, [*KEYS[:2]]].drop_duplicates())}
        counts |= {"n_users": units.clusters.n}
        for name, auc in zip(cells.evaluators, found, strict=True):
            ends = dict(zip(ESTIMATES, (auc.value, auc.low, auc.high), strict=True))
            rows.append({"evaluator": name, "field": by, "value": value, **ends, **counts})
    return pd.DataFrame(rows)


BY_FIELD = KindTable(
    "pair_auc_by.csv",
    "Agreement by a field of users or pairs",
    (
        *columns("text", evaluator="Evaluator", field="", value="Value"),
        Column("estimate", "PairAUC", "decimal", "ci_low", "ci_high"),
        *columns("count", n_pairs="Pairs", n_users="Users"),
    ),
    by_field_table,
    lambda scored, frame: (
        f"By {frame['field'].iloc[0]}. Pairs weigh what they weigh among all, where they have weights.",
        INTERVALS,
    ),
)


@dataclass(frozen=True, repr=False)
class PopularItem(Preference):
    """The item that more other users have in their log; in specs, ``Popularity()``."""

    called: ClassVar[str] = "Popularity"

    def worth(self, data: LogSet, side: str) -> FloatArray:
        """Return the number of users; the user's own row is one for both items of a pair."""
        pairs = data.log[[USER, ITEM]].drop_duplicates()
        users = pairs[ITEM].astype("str").value_counts()
        return np.asarray(data.table[side].map(users), dtype=np.float64)


@dataclass(frozen=True, repr=False)
class System(Preference):
    """The item that a recommender of the data set gives the higher score, or the better rank.

    An item that is not on the user's list comes after all that are; two such items tie. A user without a list
    is ``missing``. ``name`` is the recommender's name in the table ``runs``.
    """

    kind: ClassVar[Kind] = Kind.RECORDED
    needs: ClassVar[str] = "lists of recommenders"

    name: str = text()

    @classmethod
    def found_in(cls, data: LogSet) -> list[str]:
        """Return those of the data."""
        return [] if data.runs is None else [str(n) for n in data.runs["system"].unique()]

    def signature(self, data: LogSet) -> Mapping[str, Any]:
        """Return the recommender, and what it orders by."""
        return {"system": self.name, "by": self._by(self._lists(data))}

    def worth(self, data: LogSet, side: str) -> FloatArray:
        """Return the score, or the rank with its sign turned."""
        lists = self._lists(data)
        by = self._by(lists)
        known = lists.set_index([USER, ITEM])[by] * (1 if by == "score" else -1)
        known = known[~known.index.duplicated()]
        worth = known.reindex(pd.MultiIndex.from_frame(data.table[[USER, side]])).to_numpy(np.float64)
        below: FloatArray = np.where(np.isnan(worth), known.min() - 1, worth)
        return np.where(data.table[USER].isin(lists[USER].unique()), below, np.nan)

    def _lists(self, data: LogSet) -> pd.DataFrame:
        if data.runs is None:
            raise DataError(f"{self}: data set {data.name!r} has no table runs, so no recommenders; add it")
        lists = data.runs[data.runs["system"] == self.name]
        if lists.empty:
            names = sorted(map(str, data.runs["system"].unique()))
            said = f"{self}: data set {data.name!r} has no recommender"
            raise DataError(unknown(said, self.name, names))
        return lists

    @staticmethod
    def _by(lists: pd.DataFrame) -> str:
        """Return what items are ordered by: scores, where all items of the lists have one."""
        return "score" if "score" in lists and lists["score"].notna().all() else "rank"
