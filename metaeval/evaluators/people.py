"""Distributions over the values of a scale: of people, the same for all units, and of several draws."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, nearest
from metaeval.base.records import SAMPLES, DataOfKind, DataSet, Kind, Scale, ScoreTable, Status
from metaeval.evaluators.base import BaseEvaluator, argument, flag, texts
from metaeval.evaluators.ensemble import Ensemble
from metaeval.evaluators.grid import FloatArray, Grid, frame_of, plain_codes, unit_positions
from metaeval.stats.agreement.distributions import likeliest, of_other_clusters, shares_in
from metaeval.stats.resampling.cluster_sums import mean_of_defined

_CLOSE = 0.005
"""How far from 1 the sum of probabilities may be, which come rounded."""


def shares_of(frame: pd.DataFrame, scale: Scale) -> FloatArray:
    """Return the distribution that each row of scores of one aspect has, shape (rows, values).

    That is its probabilities (`Scale.share_columns`), else how often each of its draws came
    (``sample_values``), else its score: all of it on one value, or, on a scale of two values, the share of
    the upper one. A row has NaN if its score is none of these.
    """
    values, score = np.array(scale.steps), frame["score"].to_numpy(dtype=np.float64, na_value=np.nan)
    found: FloatArray = (score[:, None] == values).astype(np.float64)
    if len(values) == 2 and not scale.labels:
        upper = (score - values[0]) / (values[1] - values[0])
        found = np.stack([1 - upper, upper], axis=1)
    found[(found < 0).any(axis=1) | (np.abs(found.sum(axis=1) - 1) > _CLOSE)] = np.nan
    found[np.isnan(score)] = np.nan
    if SAMPLES in frame:
        drawn = frame[SAMPLES].fillna("").astype(str).str.split().tolist()
        for at in (i for i, words in enumerate(drawn) if words):
            counts = (np.array(drawn[at], dtype=np.float64)[:, None] == values).sum(axis=0)
            found[at] = counts / len(drawn[at]) if counts.sum() == len(drawn[at]) else np.nan
    if {*scale.share_columns} & {*frame.columns}:
        told = frame.reindex(columns=scale.share_columns).apply(pd.to_numeric, errors="coerce")
        there = told.notna().any(axis=1).to_numpy()
        found[there] = told.fillna(0.0).to_numpy(np.float64)[there]
        found[there] /= found[there].sum(axis=1, keepdims=True)
    return found


def check_shares(frame: pd.DataFrame, scale: Scale, what: str) -> None:
    """Raise `DataError` if probabilities of one aspect are below 0, or do not sum up to 1."""
    columns = [c for c in scale.share_columns if c in frame]
    told = frame[columns].apply(pd.to_numeric, errors="coerce").dropna(how="all")
    wrong = (told < 0).any(axis=1) | ((told.sum(axis=1) - 1).abs() > _CLOSE)
    if wrong.any():
        row = told[wrong].iloc[0]
        said = ", ".join(f"{name} {value:g}" for name, value in row.dropna().items())
        raise DataError(f"{what}: probabilities must be 0 or more and sum up to 1, and a row has {said}")


def middle_of(shares: FloatArray, scale: Scale) -> FloatArray:
    """Return the score that stands for each distribution: its mean, or its likeliest word."""
    if scale.labels:
        at = likeliest(shares)
        return np.where(at < 0, np.nan, at.astype(np.float64))
    mean: FloatArray = shares @ np.array(scale.steps)
    return mean


def with_shares(
    name: str, kind: Kind, shares: Sequence[FloatArray], data: DataSet, aspects: Sequence[str]
) -> ScoreTable:
    """Return the scores of an evaluator whose distributions are given for each aspect and unit."""
    scores = np.stack([middle_of(s, data.scale.of(a)) for s, a in zip(shares, aspects, strict=True)], axis=1)
    frame = frame_of(Grid(scores, plain_codes(scores)), data, aspects, name)
    for at, aspect in enumerate(aspects):
        rows = slice(at * len(data), (at + 1) * len(data) - 1)  # the last one counts, too
        for column, values in zip(data.scale.of(aspect).share_columns, shares[at].T, strict=True):
            if column not in frame:
                frame[column] = np.nan
            frame.loc[rows, column] = values
    return ScoreTable(frame, {name: {}}, {name: kind})


class Shared(BaseEvaluator):
    """An evaluator that has a distribution for each unit."""

    @abstractmethod
    def shares(self, data: DataSet, aspect: str) -> FloatArray:
        """Return the distribution of each unit, shape (units, values); NaN for none."""

    def grid(self, data: DataSet, aspects: Sequence[str]) -> Grid:
        """Return means, or likeliest words."""
        found = [middle_of(self.shares(data, aspect), data.scale.of(aspect)) for aspect in aspects]
        scores = np.stack(found, axis=1)
        return Grid(scores, plain_codes(scores))

    def score(self, data: DataSet, aspects: Sequence[str]) -> ScoreTable:
        """Return the scores, with the probability of each value."""
        name, found = str(self.spec), [self.shares(data, aspect) for aspect in aspects]
        table = with_shares(name, self.kind, found, data, aspects)
        return replace(table, signatures={name: dict(self.signature(data))})

    def check(self, data: DataOfKind, aspects: Sequence[str]) -> None:
        """Raise `DataError` if there is no distribution for these aspects."""
        self.grid(data, aspects)


class OfPeople(Shared):
    """An evaluator that is made of people's ratings."""

    raters: Sequence[str]

    def signature(self, data: DataSet) -> Mapping[str, Any]:
        """Return the raters and the scale."""
        return {"raters": people_in(data, self.raters, self), "scale": str(data.scale)}

    def counts(self, data: DataSet, aspect: str) -> FloatArray:
        """Return how many people gave each unit each value, shape (units, values).

        `DataError` is raised if the scale has no single values, or the people cannot be found.
        """
        scale, chosen = data.scale.of(aspect), people_in(data, self.raters, self)
        if not scale.integer:
            raise DataError(
                f"{self} counts how many people gave each value, and ratings of {aspect!r} are {scale}; make "
                "them whole numbers or words"
            )
        given = data.ratings
        given = given[(given["aspect"] == aspect) & given["rating"].notna() & given["rater"].isin(chosen)]
        counts = np.zeros((len(data), len(scale.steps)))
        at = given["rating"].to_numpy(np.float64) - scale.steps[0]
        np.add.at(counts, (unit_positions(given, data), at.astype(np.int64)), 1.0)
        return counts


def people_in(data: DataSet, raters: Sequence[str], whose: object) -> list[str]:
    """Return the people who are meant, all if none is named; `DataError` if they are not two or more."""
    models = getattr(data, "models", ())
    known = sorted(str(r) for r in data.ratings["rater"].unique() if r not in models)
    for name in raters:
        if name not in known:
            listed = ", ".join(map(repr, known[:9])) + (", …" if len(known) > 9 else "")
            raise DataError(f"{whose}: nobody is called {name!r}; people are {listed}{nearest(name, known)}")
    chosen = list(raters) or known
    if len(chosen) < 2:
        only = f"; it has those of {chosen[0]!r} alone" if chosen else ""
        raise DataError(
            f"{whose} takes ratings of several people, and data set {data.name!r} has none{only}; name one "
            "person, such as User() or Annotator('…')"
        )
    return chosen


@dataclass(frozen=True, repr=False)
class People(OfPeople):
    """What people said of a unit, all of it: the truth is their distribution, not their mean.

    A unit that nobody rated is ``missing``.

    Parameters
    ----------
    raters
        The people who count; all of the data set, the users among them, if empty.
    sets
        Whether aspects rated 0 or 1 are the options of one question, so that the ones that a person gave are
        that person's set of labels. The coverage of all aspects is then of the sets.
    least
        The share of people from which on a value is one of those that people gave, for coverage; at 0 one
        person is enough.
    """

    kind: ClassVar[Kind] = Kind.ANNOTATOR
    needs: ClassVar[str] = "ratings of several people"

    raters: Sequence[str] = texts("['Ann1', 'Ann2']")
    sets: bool = flag()
    least: float = argument(
        0.0, (lambda given: isinstance(given, int | float) and 0 <= given <= 1, " must be from 0 to 1")
    )

    def shares(self, data: DataSet, aspect: str) -> FloatArray:
        """Return the share of people who gave each value."""
        return shares_in(self.counts(data, aspect))


@dataclass(frozen=True, repr=False)
class SameForAll(OfPeople):
    """One distribution for all units: that of all ratings of other clusters, such as other items.

    A judge that is no nearer to people than this knows nothing of single units.

    Parameters
    ----------
    raters
        The people whose ratings count; all, if empty.
    """

    kind: ClassVar[Kind] = Kind.BASELINE
    needs: ClassVar[str] = "ratings of several people"

    raters: Sequence[str] = texts("['Ann1', 'Ann2']")

    def shares(self, data: DataSet, aspect: str) -> FloatArray:
        """Return the shares of the ratings of other clusters."""
        cluster = pd.factorize(data.units[data.cluster])[0].astype(np.int64)
        return of_other_clusters(self.counts(data, aspect), cluster)


@dataclass(frozen=True, repr=False, init=False)
class Draws(Ensemble):
    """The distribution that several evaluators have together, such as repeated calls of one judge.

    Each of them counts alike: with its score, or with its own distribution if it has one.
    """

    def check(self, data: DataSet, aspects: Sequence[str]) -> None:
        """Do nothing: words are drawn, too."""

    def score(self, data: DataSet, aspects: Sequence[str]) -> ScoreTable:
        """Score the parts and put them together."""
        table = self.combine([part.score(data, aspects) for part in self.parts], data, aspects)
        return replace(table, signatures={str(self.spec): dict(self.signature(data))})

    def combine(self, tables: Sequence[ScoreTable], data: DataSet, aspects: Sequence[str]) -> ScoreTable:
        """Return the mean of the parts' distributions; a part whose score has none leaves a unit without."""
        found = []
        for aspect in aspects:
            scale = data.scale.of(aspect)
            parts = np.full((len(tables), len(data), len(scale.steps)), np.nan)
            for at, table in enumerate(tables):
                rows = table.frame[table.frame["aspect"] == aspect]
                parts[at, unit_positions(rows, data)] = shares_of(rows, scale)
            found.append(mean_of_defined(parts) if self.skip_missing else parts.mean(axis=0))
        table = with_shares(str(self.spec), self.kind, found, data, aspects)
        whole = super().combine(tables, data, aspects).frame
        failed = table.frame["score"].isna().to_numpy() & (whole["status"] != Status.OK).to_numpy()
        status = np.where(failed, whole["status"], table.frame["status"])
        return replace(table, frame=table.frame.assign(status=status))

    def middle(self, values: FloatArray, *, words: bool) -> FloatArray:
        """Return the first value of each column: which have one matters alone."""
        del words
        first: FloatArray = values[np.argmax(~np.isnan(values), axis=0), np.arange(values.shape[1])]
        return first
