"""Pairs of a file of verdicts: what each judge says of them, how sure it is, and what people prefer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.keys import noun
from metaeval.base.records import FIRST, SECOND, TIE
from metaeval.data.labels import update_labels
from metaeval.data.verdicts.verdict_columns import REPEAT
from metaeval.data.verdicts.verdict_table import read_verdicts
from metaeval.evaluators.verdicts import NO_VERDICT, mean_points, pair_keys, points
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.weighted.sums import Clusters
from metaeval.trust.verdicts.accuracy import against_gold, preferred_by


@dataclass(frozen=True, slots=True, eq=False)
class JudgedPairs:
    """Pairs that judges compared by one aspect, each once: both orders and all repeats together."""

    aspect: str
    units: pd.DataFrame
    """What names a pair: the keys of both texts, ``first`` and ``second``."""
    judges: tuple[str, ...]
    share: Floats
    """What ``first`` has of a judge's verdicts on a pair, shape (judges, pairs); NaN without one."""
    verdicts: Floats
    """How many a judge gave, at most, on one pair, shape (judges,)."""
    graded: bool
    """Whether verdicts say how sure they are."""
    gold: Floats
    """The points of ``first`` by people, 1, 0 or 0.5, shape (pairs,); NaN without a preference."""
    clusters: Clusters
    cluster: str
    """What a cluster is called."""

    @property
    def sure(self) -> Floats:
        """The share of a judge's verdicts on a pair for the side that it names, shape (judges, pairs).

        It orders pairs as the entropy of the mean preference over both orders does (Badshah, Emami & Sajjad
        2026, arXiv 2602.13110).
        """
        return np.maximum(self.share, 1 - self.share)

    @property
    def named(self) -> Floats:
        """The points of ``first`` by what a judge says of a pair, 1, 0 or 0.5, shape (judges, pairs)."""
        return np.sign(self.share - 0.5) / 2 + 0.5

    @property
    def right(self) -> Floats:
        """1 where a judge names what people prefer, else 0; NaN where either says nothing."""
        there = ~np.isnan(self.share) & ~np.isnan(self.gold)
        return np.where(there, self.named == self.gold, np.nan)


def read_file(path: Path) -> pd.DataFrame:
    """Read a file of verdicts; those that people just gave on a page, too."""
    update_labels(path.parent)
    return read_verdicts(path)


def verdicts_of(path: Path, people: Path | None = None) -> pd.DataFrame:
    """Read a file of verdicts; what ``people`` prefer by a file of theirs stands in for its ``gold``."""
    verdicts = read_file(path)
    return verdicts if people is None else preferred_by(read_file(people), verdicts)


def evaluators_in(verdicts: pd.DataFrame, wanted: Sequence[str]) -> list[str]:
    """Return the evaluators of verdicts that are wanted, or all."""
    known = [str(name) for name in verdicts["evaluator"].unique()]
    names = [one_of(name, known, "there are no verdicts of an evaluator", "there are") for name in wanted]
    return list(dict.fromkeys(names)) or known


def judged_pairs(
    path: Path, judges: Sequence[str] = (), aspects: Sequence[str] = (), people: Path | None = None
) -> list[JudgedPairs]:
    """Return the pairs of a file of verdicts, by aspect.

    ``judges`` are asked in this order (all, if empty); ``people`` is a file of verdicts of people, which
    stands in for its ``gold``. `DataError` is raised if a file is not valid (`metaeval.evaluators.verdicts`).
    """
    verdicts = verdicts_of(path, people)
    names = evaluators_in(verdicts, judges)
    compared = against_gold(verdicts) if "gold" in verdicts else against_gold(verdicts.assign(gold=""))
    known = [str(aspect) for aspect in compared["aspect"].unique()]
    if aspects and known == [""]:
        raise MetaevalError("the verdicts name no aspects; leave --aspect out")
    wanted = [one_of(aspect, known, "there is no aspect", "there are") for aspect in aspects] or known
    keys = [*(key for key in pair_keys(verdicts) if key != REPEAT), FIRST, SECOND]
    compared = compared.assign(share=mean_points(compared), gold=points(compared["gold"]))
    given = (compared[["shown_first", "shown_second"]] != NO_VERDICT).sum(axis=1)
    compared = compared.assign(given=given)[compared["evaluator"].isin(names)]
    found = []
    for aspect in wanted:
        own = compared[compared["aspect"] == aspect]
        units = own[keys].drop_duplicates().reset_index(drop=True)
        index = pd.MultiIndex.from_frame(units)
        of_judge = own.groupby([*keys, "evaluator"], sort=False, observed=True)[["share", "given"]].agg(
            {"share": "mean", "given": "sum"}
        )
        by = [of_judge.xs(name, level="evaluator").reindex(index) for name in names]
        gold = own.groupby(keys, sort=False)["gold"].first().reindex(index)
        codes, clusters = pd.factorize(units[keys[0]])
        found.append(
            JudgedPairs(
                aspect,
                units,
                tuple(names),
                np.stack([one["share"].to_numpy(dtype=np.float64) for one in by]),
                np.array([one["given"].max() for one in by], dtype=np.float64),
                "share" in verdicts,
                gold.to_numpy(dtype=np.float64),
                Clusters(codes.astype(np.int64), len(clusters)),
                noun(keys[0]),
            )
        )
    return found


def winners(named: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.object_]]:
    """Return the side that points of ``first`` name; empty for NaN."""
    return np.select([named == 1, named == 0, named == 0.5], [FIRST, SECOND, TIE], "").astype(object)
