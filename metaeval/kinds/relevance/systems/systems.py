"""The systems of a collection, measured by every evaluator's labels; and labels that people did not give."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np
import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import MetaevalError
from metaeval.base.records import Kind, Scale, ScoreTable
from metaeval.engine.sheet import Column
from metaeval.kinds.registry import build
from metaeval.kinds.relevance.baselines import History
from metaeval.kinds.relevance.data.collection import ITEM, RELEVANCE, USER, Collection
from metaeval.kinds.relevance.measures import MeasurePair, SystemMeasure, measure_named
from metaeval.kinds.relevance.scored import RelevanceScored, RelevanceStudy
from metaeval.kinds.relevance.systems.effectiveness import Effectiveness, RankedRuns, effectiveness
from metaeval.kinds.table import KindTable
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.bootstrap import Estimate, Resampler, bootstrap
from metaeval.stats.resampling.cluster_sums import Statistic
from metaeval.stats.resampling.weights import in_threads

POOL = 10
"""The first items of a list: the depth of the pool and of popularity, if the collection has no depth."""
SCORE_SCALE = "score_scale"
"""What a signature calls the lowest and the highest score, where these are not labels."""
HOLES = "holes.csv"
EVALUATOR, MEASURE = BY = Column("evaluator", "Labels of"), Column("measure", "Measure")
PAIR = (*BY, Column("truth_measure", "Measure of the truth"))
ALL_EVALUATORS = "The file of this table has the labels of every evaluator."
_DIGITS = 12  # of a signature


def on_label_scale(scores: ScoreTable, scale: Scale) -> pd.DataFrame:
    """Return the scores; those on a scale of their own, such as sums of criteria, moved to that of labels.

    Lowest goes to lowest, highest to highest, the rest in proportion; nothing is rounded.
    """
    frame = scores.frame
    for name, signature in scores.signatures.items():
        if SCORE_SCALE in signature:
            low, high = signature[SCORE_SCALE]
            moved = scale.min + (frame["score"] - low) * (scale.max - scale.min) / (high - low)
            frame = frame.assign(score=frame["score"].where(frame["evaluator"] != name, moved))
    return frame


@dataclass(frozen=True, slots=True, eq=False)
class Judgements:
    """Labels of evaluators, the truth among them."""

    units: pd.DataFrame
    """``user_id`` and ``item_id``, no pair twice."""
    labels: Mapping[str, Floats]
    """Evaluator → its label of each unit; NaN where it has none."""
    own: Mapping[str, float] = field(default_factory=dict)
    """Evaluator whose labels have a scale of their own → the lowest of it."""
    notes: tuple[str, ...] = ()
    """What was rounded, and who was left out, in sentences."""
    pool: int | None = None
    """How many of the units, the first ones, are those of the collection; None: all."""

    @classmethod
    def of(
        cls,
        units: pd.DataFrame,
        scores: Mapping[str, Floats],
        scale: Scale,
        own: Mapping[str, float] = MappingProxyType({}),
    ) -> Judgements:
        """Make labels of scores of the units.

        On a scale of numbers, and on a scale of an evaluator's ``own``, every score is a label. On one of
        whole numbers, others are rounded to the nearest, halves up. An evaluator with a score outside the
        scale is left out, as its scores are no labels.
        """
        labels, notes = {}, []
        for name, score in scores.items():
            if name in own:
                labels[name] = score
                continue
            there = ~np.isnan(score)
            outside = there & ~((score >= scale.min) & (score <= scale.max))
            if outside.any():
                notes.append(
                    f"{name} cannot measure systems: {outside.sum():,} of its "
                    f"{counted(int(there.sum()), 'score')} lie outside the scale of the labels ({scale})."
                )
                continue
            labels[name] = np.floor(score + 0.5) if scale.integer else score
            if rounded := int((there & (labels[name] != score)).sum()):
                notes.append(
                    f"{counted(rounded, 'score')} of {name} (of {int(there.sum()):,}) are rounded to the "
                    "nearest label, halves up."
                )
        return cls(units.reset_index(drop=True), labels, own, tuple(notes))

    @classmethod
    def of_study(
        cls,
        units: pd.DataFrame,
        scores: pd.DataFrame,
        truth: pd.DataFrame,
        name: str,
        scale: Scale,
        *,
        own: Mapping[str, float] = MappingProxyType({}),
        pool: int | None = None,
    ) -> Judgements:
        """Make labels of the scores and the truth of a study, both as in `metaeval.kinds.kind.Scored`.

        ``units`` are those of the collection, the first ``pool`` ones, and what histories label besides;
        ``name`` is that of the truth.
        """
        index = pd.MultiIndex.from_frame(units[[USER, ITEM]])
        frames = {name: truth.rename(columns={"rating": "score"})}
        frames |= {str(e): frame for e, frame in scores.groupby("evaluator", sort=False) if e != name}
        labels = {}
        for evaluator, frame in frames.items():
            at = index.get_indexer(pd.MultiIndex.from_frame(frame[[USER, ITEM]]))
            labels[evaluator] = np.full(len(units), np.nan)
            labels[evaluator][at[at >= 0]] = frame["score"].to_numpy(dtype=np.float64)[at >= 0]
        return replace(cls.of(units[[USER, ITEM]], labels, scale, own), pool=pool)


@dataclass(frozen=True, eq=False)
class Orders:
    """The values of systems by the labels of the truth and of evaluators, which order the systems."""

    by_evaluator: Mapping[str, Effectiveness]
    truth: str
    pairs: Sequence[MeasurePair]
    resampler: Resampler | None = None
    coverage: Mapping[MeasurePair, Mapping[str, float]] = field(default_factory=dict)
    """Pair → evaluator → the share of the truth's labels in the systems' top that it has too."""
    least: float = 0.0
    """The coverage below which there is no τ."""

    @property
    def others(self) -> list[str]:
        """The evaluators without the truth."""
        return [name for name in self.by_evaluator if name != self.truth]


@dataclass(frozen=True, eq=False)
class Systems:
    """The systems of a collection, measured by every evaluator's labels."""

    data: Collection
    judgements: Judgements
    truth: str
    """Which of the evaluators is the truth."""
    names: Sequence[str]
    """The measures of systems."""
    pairs: Sequence[MeasurePair]
    """The measures that order systems."""
    resampler: Resampler | None = None
    """Of users; without it there are no intervals and no tests."""
    alpha: float = 0.05
    leave_out: bool = False
    """Whether a user without a list of a system is left out of its mean; else the user counts as 0."""
    least: float = 0.9
    """The share of the truth's labels in the systems' top that an evaluator needs for a τ."""

    def __post_init__(self) -> None:
        if self.truth not in self.judgements.labels:
            raise MetaevalError(f"systems cannot be measured by the truth: {' '.join(self.judgements.notes)}")

    @cached_property
    def measures(self) -> dict[str, SystemMeasure]:
        """The measures of systems, and those of the pairs, by their names."""
        names = dict.fromkeys([*self.names, *(name for pair in self.pairs for name in pair)])
        return {name: measure_named(name, relevant=self.data.relevant) for name in names}

    @cached_property
    def runs(self) -> RankedRuns:
        """The lists of the systems."""
        return RankedRuns.of(self.data.runs, self.judgements.units)

    @cached_property
    def by_evaluator(self) -> dict[str, Effectiveness]:
        """The effectiveness by the labels of each evaluator."""
        labels = self.judgements.labels
        values = in_threads(
            lambda name: self.measured(name, labels[name], [*self.measures.values()]), [*labels]
        )
        return dict(zip(labels, values, strict=True))

    def measured(self, evaluator: str, labels: Floats, measures: Sequence[SystemMeasure]) -> Effectiveness:
        """Measure the systems by labels on the scale of an evaluator.

        On a scale of its own, every label above the lowest and above 0 is relevant, unless the measure's name
        says more.
        """
        if evaluator in self.judgements.own:
            lowest = float(np.nextafter(max(self.judgements.own[evaluator], 0.0), np.inf))
            measures = [replace(measure, relevant=lowest) for measure in measures]
        return effectiveness(self.runs, labels, measures, leave_out=self.leave_out)

    @cached_property
    def orders(self) -> Orders:
        """What orders the systems."""
        coverage = {pair: self._coverage(pair) for pair in self.pairs}
        return Orders(self.by_evaluator, self.truth, self.pairs, self.resampler, coverage, self.least)

    def _coverage(self, pair: MeasurePair) -> dict[str, float]:
        """Return the share of the truth's labels in the systems' top that each evaluator has too.

        The top is what the truth's measure reads, or the depth of the pool. NaN of an evaluator that labels
        no user of the truth's: the systems are ordered on other users.
        """
        runs, labels = self.runs, self.judgements.labels
        top = np.zeros(runs.n_pairs + 1, dtype=bool)
        top[runs.pairs[:, :, : self.measures[pair.truth].depth or self.depth]] = True
        top[-1] = False
        judged = ~np.isnan(labels[self.truth]) & top[runs.pair_of_unit]
        users = self.by_evaluator[self.truth].users
        return {
            name: float((~np.isnan(own))[judged].mean()) if (users & effects.users).any() else np.nan
            for (name, own), effects in zip(labels.items(), self.by_evaluator.values(), strict=True)
        }

    @property
    def others(self) -> list[str]:
        """The evaluators without the truth."""
        return [name for name in self.judgements.labels if name != self.truth]

    @property
    def depth(self) -> int:
        """The depth of the pool."""
        return self.data.depth or POOL

    def estimate(self, statistic: Statistic, **options: tuple[float, float]) -> Estimate[Floats]:
        """Estimate a statistic of the users' weights, with percentiles of the bootstrap if there is one."""
        n = len(self.runs.users)
        if self.resampler is not None:
            return bootstrap(statistic, self.resampler.of(n), stretch=False, **options)
        value = statistic.at(np.ones((n, 1)))[:, 0]
        nothing = np.full(len(value), np.nan)
        return Estimate(value, nothing, nothing, n)


def systems_of(scored: RelevanceScored) -> Systems | None:
    """Return the systems of a study; None if the collection has no run.

    Raises
    ------
    MetaevalError
        If a measure is not known, or the truth is not on the scale of the labels.
    """
    study, data = scored.study, scored.data
    if data.runs.empty:
        return None
    scale = scored.scale.of(RELEVANCE)
    frame = on_label_scale(scored.scores, scale)
    frame = frame[frame["aspect"] == RELEVANCE]
    lowest = scored.own_scales
    chosen, truth = labels_of_histories(study, data), scored.truth[scored.truth["aspect"] == RELEVANCE]
    units = pd.concat([data.units, *(of[[USER, ITEM]] for of in chosen.values())])[[USER, ITEM]]
    for name, of in chosen.items():  # all of them, not those of units alone
        if name == study.truth:
            truth = of.rename(columns={"score": "rating"})
        frame = pd.concat([frame[frame["evaluator"] != name], of.assign(evaluator=name)])
    judgements = Judgements.of_study(
        *(units.drop_duplicates(), frame, truth, study.truth, scale), own=lowest, pool=len(data)
    )
    resampler = study.bootstrap.resampler() if study.bootstrap else None
    alpha = study.tests.alpha if study.tests else 0.05
    leave_out = study.missing_lists == "skip"
    return Systems(
        *(data, judgements, study.truth, study.measures, study.pairs, resampler, alpha, leave_out),
        study.least_coverage,
    )


def labels_of_histories(study: RelevanceStudy, data: Collection) -> dict[str, pd.DataFrame]:
    """Return the labels of each ``History`` among the evaluators and the truth."""
    texts = {study.truth: study.truth, **study.specs}
    built = {n: build(t, known={"History": History}) for n, t in texts.items() if t.startswith("History(")}
    return {name: one.labels(data) for name, one in built.items() if isinstance(one, History)}


def of_systems(
    make: Callable[[Systems], pd.DataFrame | None], *, detail: bool = False
) -> Callable[[RelevanceScored], pd.DataFrame | None]:
    """Return what makes a table of a study; None without systems, or for a detail that is not wanted."""

    def rows(scored: RelevanceScored) -> pd.DataFrame | None:
        wanted = scored.study.details or not detail
        systems = scored.once(systems_of) if wanted else None
        return None if systems is None else make(systems)

    return rows


def of_truth(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the truth, which come first: a table of all evaluators would be long."""
    rows: pd.DataFrame = frame[frame["evaluator"] == frame["evaluator"].iloc[0]]
    return rows


def _notes(systems: Systems) -> pd.DataFrame:
    return pd.DataFrame({"note": systems.judgements.notes})


NOTES = KindTable("system_notes.csv", "", (Column("note", ""),), of_systems(_notes))


def holes(
    systems: Systems, signatures: Mapping[str, str], judges: Sequence[str]
) -> dict[str, pd.DataFrame | str]:
    """Return judges' labels of the units that the truth has no label of, as files in TREC's format.

    The files have no place for a comment. So the second column, the iteration, which tools ignore, names
    judge and signature in every line, and ``holes.csv`` says which file is whose.

    Parameters
    ----------
    signatures
        Evaluator → what tells its settings apart, such as a digest.

    Returns
    -------
    dict
        File name → lines ``user iteration item label``; and ``holes.csv``, in which ``n_left_out`` counts
        names with a blank, which the format cannot hold. Empty if there is no hole that a judge filled.
    """
    units, labels = systems.judgements.units, systems.judgements.labels
    blank = (units[USER].astype(str) + units[ITEM].astype(str)).str.contains(r"\s").to_numpy(dtype=bool)
    files: dict[str, pd.DataFrame | str] = {}
    rows = []
    for name in judges:
        if name not in systems.others:
            continue
        filled = np.isnan(labels[systems.truth]) & ~np.isnan(labels[name])
        if not filled.any():
            continue
        file = f"holes.{_slug(name)}.qrels"
        while file in files:
            file = file.replace(".qrels", "-2.qrels")
        signature = signatures.get(name, "")
        iteration = _slug(f"{name}:{signature}".rstrip(":"), keep=":")
        written = np.flatnonzero(filled & ~blank)
        keys = units.iloc[written][[USER, ITEM]].itertuples(index=False)
        lines = (
            f"{u} {iteration} {i} {x:g}\n" for (u, i), x in zip(keys, labels[name][written], strict=True)
        )
        files[file] = "".join(lines)
        row = {"file": file, "evaluator": name, "signature": signature, "iteration": iteration}
        rows.append(row | {"n_labels": len(written), "n_left_out": int((filled & blank).sum())})
    return {**files, HOLES: pd.DataFrame(rows)} if rows else {}


def holes_of_study(scored: RelevanceScored) -> dict[str, pd.DataFrame | str]:
    """Return the files of the judges of a study, and of raters that are models."""
    if (systems := scored.once(systems_of)) is None:
        return {}
    scores, models = scored.scores, {f"Labels({rater!r})" for rater in scored.data.models}
    specs = scored.study.specs.items()
    judges = [name for name, spec in specs if scores.kinds[name] == Kind.JUDGE or spec in models]
    return holes(systems, {name: _digest(s) for name, s in scores.signatures.items()}, judges)


def _digest(signature: Mapping[str, object]) -> str:
    text = json.dumps(signature, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _slug(text: str, keep: str = "") -> str:
    return re.sub(rf"[^\w.{re.escape(keep)}-]+", "-", text).strip("-") or "judge"
