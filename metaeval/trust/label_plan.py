"""A plan of labels: units in the order in which people label them, until the question is decided."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, cast

import numpy as np
import pandas as pd
from pydantic import Field

from metaeval.analysis.families import purchases_sheet
from metaeval.base.errors import DataError, MetaevalError
from metaeval.base.records import FIRST, SECOND, Status
from metaeval.base.simulation import REAL
from metaeval.engine.sheet import Column, Sheet
from metaeval.evaluators.verdicts import NO_VERDICT, comparisons_of, pair_keys, points
from metaeval.runs.command import (
    Printed,
    RunOrFile,
    Seed,
    Typed,
    aspects_in,
    command,
    judges_of,
    verdict_lines,
)
from metaeval.runs.finished import OpenRun
from metaeval.stats.agreement.alternative import Advantages
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.significance import LEAST, chances, confidence_sequence, drawn
from metaeval.trust.correction import read_labels
from metaeval.trust.escalation import by_unit, confidence_of
from metaeval.trust.replacement import ratings_of_people
from metaeval.trust.verdicts.accuracy import against_gold
from metaeval.trust.verdicts.judged import JudgedPairs, judged_pairs, read_file, verdicts_of

if TYPE_CHECKING:
    from metaeval.kinds.kind import Scored


Rule: TypeAlias = Literal["mean", "right", "rmse", "accuracy"]
"""Weighted means of ratings are asked about; or how often a judge's score is a person's, or its advantage
over people, by an alignment."""
_SKIPPED = 0.2
"""Share of the units in the plan's order that may lack a label: for them the judge's score counts."""
_COLUMNS = ("aspect", "order", "probability", "weight", "score", "rule", "epsilon", "width", "above", "below")


@dataclass(frozen=True, slots=True, eq=False)
class LabelPlan:
    """A question about a value, Σ w y over units: above or below 0, or what it is to ± a width."""

    units: pd.DataFrame
    """Key columns, in the order of the plan; and with further columns, which are those of plan.csv."""
    keys: tuple[str, ...]

    @classmethod
    def drawn(
        cls,
        units: pd.DataFrame,
        weights: Floats,
        scores: Floats,
        doubt: Floats,
        *,
        seed: int,
        **fixed: str | float,
    ) -> LabelPlan:
        """Draw the order of units with their keys; ``fixed`` has the columns that are the same for all."""
        p = chances(weights, doubt)
        at = drawn(p, seed=seed)
        frame = units.iloc[at].assign(order=np.arange(1, len(at) + 1), **fixed)
        frame = frame.assign(probability=p[at], weight=weights[at], score=scores[at])
        return cls(frame[[*units, *_COLUMNS]].reset_index(drop=True), tuple(map(str, units)))

    @classmethod
    def read(cls, path: Path) -> LabelPlan | None:
        """Read plan.csv; None if the table is another one."""
        head = pd.read_csv(path, nrows=0, dtype=str).columns
        if not set(_COLUMNS) <= set(head):
            return None
        keys = tuple(c for c in head if c not in _COLUMNS)
        text = dict.fromkeys((*keys, "aspect", "rule", "above", "below"), str)
        frame = pd.read_csv(path, dtype=text, keep_default_na=False)
        if not len(frame):
            raise DataError(f"{path} is a plan without a unit")
        return cls(frame, keys)

    @property
    def aspect(self) -> str:
        """What is asked about."""
        return str(self._fixed("aspect"))

    @property
    def rule(self) -> Rule:
        """How labels become y."""
        return cast("Rule", self._fixed("rule"))

    def _fixed(self, column: str) -> Any:  # noqa: ANN401 - a text or a number
        return self.units[column].iloc[0]

    def ratings(self, labels: Mapping[str, Mapping[tuple[str, ...], float]]) -> Floats:
        """Return y of each unit, shape (units,), from labels by rater, key and aspect; NaN where it lacks."""
        index = list(self.units[[*self.keys, "aspect"]].astype(str).itertuples(index=False, name=None))
        table = np.array([[of.get(name, np.nan) for name in index] for of in labels.values()])
        if not table.size:
            return np.full(len(index), np.nan)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a unit without a label has NaN
            if self.rule == "mean":
                return np.asarray(np.nanmean(table, axis=0))
            score = self.units["score"].to_numpy(np.float64)
            if self.rule == "right":
                return np.asarray(np.nanmean(np.where(np.isnan(table), np.nan, table == score), axis=0))
            found = Advantages.of(table, score, self.rule)
            return float(self._fixed("epsilon")) - np.asarray(np.nanmean(found.person - found.judge, axis=0))

    def answer(self, ratings: Floats, alpha: float) -> Standing:
        """Return the answer from y of each unit; NaN before the last label is a unit that was skipped."""
        known = np.flatnonzero(~np.isnan(ratings))
        order = np.arange(known[-1] + 1 if known.size else 0)
        columns = self.units[["weight", "score", "probability"]].to_numpy(np.float64).T
        weights, scores, p = columns
        if self.rule != "mean":
            scores = np.zeros(len(scores))
        found = confidence_sequence(weights, scores, ratings, p, order, alpha=alpha)
        width = float(self._fixed("width"))
        stop = found.stop(0.0, width)
        end = stop or len(order)
        n = int((known < end).sum())
        if end - n > _SKIPPED * end:
            text = f"not decided: {end - n} of the plan's first {end} units have no label; label them first"
            return Standing(text, n)
        if end < min(LEAST, len(weights)):
            return Standing(
                f"not decided: label in the order of the plan; at least {LEAST} labels are needed", n
            )
        value, low, high = (float(v[end - 1]) for v in (found.value, found.low, found.high))
        if stop:
            said = self._fixed("above" if value > 0 else "below")
            return Standing(
                f"decided for these units: {said}; stop labelling", n, value, low, high, decided=True
            )
        if end == len(weights):
            return Standing("all units are labelled: there is no difference", n, value, low, high)
        # The interval narrows about with the root of the labels.
        more = min(len(weights), end * ((high - low) / 2 / max(width or abs(value), 1e-9)) ** 2) - end
        about = f"not decided: about {max(1, more):,.0f} more labels, if the estimate stays as it is"
        return Standing(about, n, value, low, high)


@dataclass(frozen=True, slots=True)
class Standing:
    """What the labels say so far."""

    verdict: str
    n_labelled: int
    estimate: float = np.nan
    ci_low: float = np.nan
    ci_high: float = np.nan
    decided: bool = False


def labels_of(
    frames: Iterable[pd.DataFrame], keys: Sequence[str], aspect: str
) -> dict[str, dict[tuple[str, ...], float]]:
    """Return labels of an aspect by rater, key and aspect, from tables with ``rater`` and ``rating``."""
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for frame in frames:
        own = frame[(frame["aspect"].astype(str) == aspect) & frame["rating"].notna()]
        names = own[[*keys, "aspect"]].astype(str).itertuples(index=False, name=None)
        for name, rater, rating in zip(names, own["rater"].astype(str), own["rating"], strict=True):
            found.setdefault(rater, {})[name] = float(rating)
    return found


_PLAN_COLUMNS = (
    Column("aspect", "Aspect"),
    Column("verdict", "Answer", keep=True),
    Column("estimate", "Estimate", "hundredths", "ci_low", "ci_high"),
    Column("n_labelled", "Labels used", "count"),
    Column("n_units", "Units asked about", "count"),
)


def plan_for(scored: Scored[Any], judge: str, aspect: str, how: Planning) -> LabelPlan:
    """Draw the plan for a question.

    ``better`` asks whether the mean of the first is above that of the second, or with ``width`` what their
    difference is; without it, ``width`` asks for the mean of all units. Without both: may the judge replace a
    person, whose advantage over it may be ``epsilon``?
    """
    better, epsilon, width = how.better, how.epsilon, how.width
    keys = list(scored.scores.keys)
    frame = scored.scores.frame
    own = frame[(frame["aspect"] == aspect) & frame["status"].eq(Status.OK.value) & frame["score"].notna()]
    units = own.loc[own["evaluator"] == judge, keys].drop_duplicates().reset_index(drop=True)
    if not len(units):
        raise MetaevalError(f"{judge} has no score for {aspect!r}")
    weights = np.full(len(units), 1 / len(units))
    above, below = (
        f"on them, {judge} is {word} a person (ε = {epsilon:g})" for word in ("as good as", "worse than")
    )
    scale = scored.scale.of(aspect)
    rule = "accuracy" if scale.labels else "rmse"
    if better:
        weights = _weights(units, better)
        above, below = (f"{better[0]} is {word} than {better[1]}" for word in ("better", "worse"))
    if width:
        above = below = f"the {'difference' if better else 'mean'} is known to ± {width:g}"
    if better or width:
        rule = "mean"
    units, weights = units[weights != 0].reset_index(drop=True), weights[weights != 0]
    index = pd.MultiIndex.from_frame(units)
    score = by_unit(own[own["evaluator"] == judge], keys, "score", index)
    if rule == "mean" and (score.min() < scale.min or score.max() > scale.max):
        score = np.full(len(score), (scale.min + scale.max) / 2)
    sure, _ = confidence_of(scored, judge, own, keys, index)
    top = sure[~np.isnan(sure)].max() if (~np.isnan(sure)).any() else 0.0
    fixed: dict[str, str | float] = {
        "aspect": aspect,
        "rule": rule,
        "epsilon": epsilon,
        "width": width,
        "above": above,
        "below": below,
    }
    return LabelPlan.drawn(units, weights, score, top - sure, seed=how.seed, **fixed)


def plan_for_pairs(pairs: JudgedPairs, how: Planning) -> LabelPlan:
    """Draw the plan for a question on verdicts on pairs, of the first of their judges.

    ``better`` asks whether the first wins more than half of its points against the second, or with ``width``
    what its win rate is; without it, ``width`` asks for the judge's accuracy. Without both: may the judge
    replace a person, whose advantage over it may be ``epsilon``? Ratings are points of ``first``, less 0.5.
    """
    judge, width = pairs.judges[0], how.width
    use = np.flatnonzero(~np.isnan(pairs.share[0]))
    score, rule = pairs.named[0] - 0.5, "accuracy"
    above, below = f"{judge} replaces a person (ε = {how.epsilon:g})", f"{judge} does not replace a person"
    sign = np.ones(len(pairs.units))
    if how.better:
        one, other = how.better
        sides = pairs.units[[FIRST, SECOND]].astype(str).to_numpy()
        sign = np.where((sides == [one, other]).all(axis=1), 1.0, 0.0) - (sides == [other, one]).all(axis=1)
        use = use[sign[use] != 0]
        score, rule = pairs.share[0] - 0.5, "mean"
        above, below = (f"{one} is {word} than {other}" for word in ("better", "worse"))
    elif width:
        rule = "right"
    if width:
        what = f"win rate of {how.better[0]}" if how.better else f"accuracy of {judge}"
        above = below = f"the {what} is known to ± {width:g}"
    if not len(use):
        compared = f" of {' and '.join(how.better)}" if how.better else ""
        raise MetaevalError(f"{judge} has no verdict on a pair{compared}")
    fixed: dict[str, str | float] = {"rule": rule, "epsilon": how.epsilon, "width": width}
    fixed |= {"aspect": pairs.aspect, "above": above, "below": below}
    doubt = pairs.sure[0].max(where=~np.isnan(pairs.sure[0]), initial=0.5) - pairs.sure[0]
    units, weights = pairs.units.iloc[use].reset_index(drop=True), sign[use] / len(use)
    return LabelPlan.drawn(units, weights, score[use], doubt[use], seed=how.seed, **fixed)


def labels_of_pairs(path: Path, people: Path | None) -> pd.DataFrame:
    """Return what people prefer of pairs, as ratings: points of ``first`` less 0.5, with their ``rater``.

    They are the verdicts in the file ``people``, or else the gold preferences of a file of verdicts.
    """
    if people is None:
        known = against_gold(verdicts_of(path))
        known = known[known["gold"] != NO_VERDICT]
        known = known.assign(rater="gold", rating=points(known["gold"]) - 0.5)
        return known.drop_duplicates([*pair_keys(known), FIRST, SECOND, "aspect"])
    compared = comparisons_of(read_file(people))
    return compared.assign(rater=compared["evaluator"], rating=points(compared["outcome"]) - 0.5)


def planning_sheet(
    plan: LabelPlan,
    judge: str,
    labels: Mapping[str, Mapping[tuple[str, ...], float]],
    *notes_of: str,
    alpha: float,
) -> Sheet:
    """Return the sheet ``plan``: the answer from labels by rater, key and aspect."""
    ratings = plan.ratings(labels)
    answer = plan.answer(ratings, alpha)
    known = np.flatnonzero(~np.isnan(ratings))
    skipped = int(known[-1] + 1 - len(known)) if known.size else 0
    replaced = "the judge's score counts" if plan.rule == "mean" else "judge and people count as equal"
    told = (
        "Units are drawn without replacement, with the probabilities of plan.csv: more often where the judge "
        "is in doubt. The estimate is unbiased for what all labels would give for these units, whatever the "
        f"judge does. The interval holds after every label at once (normal mixture; from {LEAST} on), so one "
        "may stop when it says so. It is about these units: it does not say what other users would say."
    )
    asked = f"{plan.aspect} and {judge}" if plan.aspect else judge
    notes = [f"Asked about {asked}; --aspect and --judge choose others.", told, *notes_of]
    if skipped:
        notes.append(f"{skipped} units were skipped; for them, {replaced}.")
    if plan.rule in ("rmse", "accuracy"):
        notes.append(
            "The value is ε less the mean advantage of a person over the judge, on these units. "
            "metaeval replace and audit ask whether it would hold for other people and users, too: they may "
            "say no, or leave open, what is decided here."
        )
    row = {"aspect": plan.aspect, "n_units": len(plan.units), **asdict(answer)}
    return Sheet("plan", "What to label next?", pd.DataFrame([row]), _PLAN_COLUMNS, tuple(notes))


def _weights(units: pd.DataFrame, question: Sequence[str]) -> Floats:
    first, second = question
    for key in units:
        sides = [(units[key].astype(str) == name).to_numpy() for name in question]
        if all(side.any() for side in sides) and first != second:
            return np.asarray(sides[0] / sides[0].sum() - sides[1] / sides[1].sum())
    raise MetaevalError(f"no key of the run has both {first!r} and {second!r}, or they are the same")


class Planning(Typed):
    """What is asked, and which labels there are."""

    better: tuple[str, str] | None = None
    """Is A better than B? Two generators, or values of another key."""
    epsilon: Annotated[float, Field(ge=0, le=1)] = 0.1
    """A person's advantage at most, without --better."""
    width: Annotated[float, Field(ge=0)] = 0.0
    """Until the difference, or the mean, is known to ± W."""
    judge: Annotated[str | None, "NAME"] = None
    """Evaluator whose scores are corrected.  [default: the first judge]"""
    aspect: str | None = None
    """Aspect of the question.  [default: the first]"""
    labels: Annotated[Path | None, "FILE.csv"] = None
    """Ratings so far, such as the set's ratings.csv; of a FILE, people's verdicts.  [default: the run's, or
    FILE's gold preferences]"""
    plan: Annotated[Path | None, "FILE.csv"] = None
    """Plan to write, or to go on with.  [default: plan.csv in RUN, or beside FILE]"""
    buy: bool = False
    """What to buy next for the run's families: users, members such as prompts, items or replies."""
    alpha: Annotated[float, Field(ge=0.0001, le=0.5)] = 0.05
    """Probability that it stops falsely."""
    seed: Seed = 0


_OF_PAIRS = (
    "Of pairs: a win counts 0.5, a loss -0.5 and a tie 0 for A, so that the estimate is its win rate less "
    "one half; of the judge, by the share of its verdicts. An accuracy is the share of pairs on which the "
    "judge names what people prefer."
)


@command("plan", view="plan")
def plan_of(run: RunOrFile, how: Planning) -> Printed:
    """Say which units of the finished run in the folder RUN people should label next, and when to stop.

    The question is whether A is better than B (--better A B), what the mean is (--width W), or else whether
    the judge may replace a person.
    Units are drawn with known probabilities, more often where the judge is in doubt, so that the corrected
    answer is unbiased. plan.csv in RUN has their order: `metaeval golden label --only` takes it, and its page
    stops when the question is decided. With labels, it is said here; one may ask after each label.
    With --buy, it says what the mean of each family of evaluators would gain by twice the users, prompts,
    items or replies, and plans no labels.
    In place of RUN, it takes a FILE of verdicts on pairs, made by `metaeval verdicts import`: is the win rate
    of A against B above one half, or what is it, or the judge's accuracy (--width W)?
    """
    if isinstance(run, Path):
        if how.buy:
            raise MetaevalError("--buy is for runs with families; a FILE of verdicts has none")
        pairs = judged_pairs(
            run, () if how.judge is None else [how.judge], [how.aspect] if how.aspect else ()
        )[0]
        drawn = plan_for_pairs(pairs, how)
        frame = labels_of_pairs(run, how.labels)
        path = how.plan or run.with_name("plan.csv")
        labels = labels_of([frame], drawn.keys, drawn.aspect)
        sheet = planning_sheet(drawn, pairs.judges[0], labels, _OF_PAIRS, alpha=how.alpha)
        return Printed([sheet], REAL, {path: _kept(path, drawn)}, first=verdict_lines(sheet))
    if how.buy:
        return Printed([_purchases(run)])
    wanted = [] if how.judge is None else [how.judge]
    name = judges_of(run, wanted, "name the evaluator whose scores are corrected with --judge")[0]
    asked = aspects_in(run.scores.frame, [] if how.aspect is None else [how.aspect])[0]
    drawn = plan_for(run.scored, name, asked, how)
    path = how.plan or run.folder / "plan.csv"
    content = _kept(path, drawn)
    if how.labels is not None:
        frames = [read_labels(run, how.labels, each_rater=True)]
    elif how.better or how.width:
        frames = [run.truth.assign(rater="truth")]
    else:
        frames = [ratings_of_people(run.scored, list(run.scores.keys))]
    sheet = planning_sheet(drawn, name, labels_of(frames, drawn.keys, asked), alpha=how.alpha)
    return Printed([sheet], run.scores.simulation.among([name]), {path: content}, first=verdict_lines(sheet))


def _kept(path: Path, drawn: LabelPlan) -> str:
    """Return the content of plan.csv; one that is there is kept, for labels may have followed it."""
    content = drawn.units.to_csv(index=False)
    if path.exists() and path.read_text(encoding="utf-8") != content:
        raise MetaevalError(
            f"{path} is a plan of another question, judge or seed, and labels may have followed it; give the "
            "same ones, or write this plan to another file with --plan"
        )
    return content


def _purchases(run: OpenRun) -> Sheet | None:
    """Return what twice as many of something bring, in the cell that orders the leaderboard."""
    scored = run.scored
    if not scored.study.family:
        raise MetaevalError(f"the run in {run.folder} has no family, for which more could be bought")
    cell, cluster = run.board.cell(run.record.order), scored.matched.prepared.cluster_name()
    words = run.record.named(run.board).words(cell)
    return purchases_sheet(scored.families(cell), words, run.board.form, cluster=cluster)
