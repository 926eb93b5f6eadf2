"""What a correction rests on, for each aspect or ranking measure: who scored what, and what people rated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field

from metaeval.analysis.generator_estimates import check_labelled
from metaeval.base.counts import counted, plural_of
from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.keys import compared_key, noun
from metaeval.base.records import Status
from metaeval.engine.sheet import Column, Sheet, table
from metaeval.kinds.index import kind_named
from metaeval.runs.command import Aspects, Judges, Place, Printed, Seed, Typed, aspects_in, command, judges_of
from metaeval.runs.finished import OpenRun
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.regression.correction import LIKE, LabelledSample
from metaeval.stats.regression.prediction_powered import Combined
from metaeval.stats.resampling.rank_ranges import range_text, ranges_of
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS, holm
from metaeval.stats.weighted.sums import Clusters
from metaeval.trust.escalation import by_unit

if TYPE_CHECKING:
    from metaeval.kinds.kind import Scored


PER_JUDGE = 10
"""Clusters with labels that each judge takes; with fewer, the first judge alone corrects."""


@dataclass(frozen=True, slots=True, eq=False)
class Correcting:
    """What is to be corrected, and by which judges."""

    aspect: str
    """Or the ranking measure."""
    judges: tuple[str, ...]
    sample: LabelledSample
    """The judges' scores are in the order of their names."""
    groups: tuple[str, ...]
    """Names of generators, or of systems; one without a name, where units name none."""
    noun: str
    """What a group is called."""
    cluster: str
    """What a cluster is called."""
    refused: str = ""
    """Its type: ``complete``, ``few``, ``uninformative`` or ``unlike``; empty if it is corrected."""
    why: str = ""
    withheld: Floats | None = None
    """Ratings of all units, shape (n,), some of which the sample leaves out; None if it leaves out none."""

    @property
    def everything(self) -> LabelledSample:
        """The sample as one group."""
        return replace(self.sample, group=np.zeros_like(self.sample.group), n_groups=1)

    def judged(self, seed: int) -> Correcting:
        """Return it without the judges that tell nothing, and refused if it cannot be corrected."""
        sample, rated = self.sample, self.sample.rated
        n = len(np.unique(sample.clusters.of_unit[rated]))
        if n < FEWEST_CLUSTERS or rated.all():
            few = f"only {n} {plural_of(self.cluster)} have labels; {FEWEST_CLUSTERS} are needed"
            why = "every unit has a label, so there is nothing to correct" if rated.all() else few
            return replace(self, refused="complete" if rated.all() else "few", why=why)
        p = 1.0 if sample.probability is not None else sample.unlike(seed)
        if p < LIKE:
            why = (
                f"units with labels are not like the others (p = {p:.1g}, by {self.noun} and score); say in "
                "a column 'probability' of the labels with which probability each was drawn"
            )
            return replace(self, refused="unlike", why=why)
        r, low = sample.informative()
        tells = low > 0
        if not tells.any():
            two = set(np.unique(sample.ratings[rated])) <= {0.0, 1.0}
            what = "Youden's J" if two else "correlation with labels"
            value = sample.rogan_gladen().youden if two else float(r[0])
            why = (
                f"{self.judges[0]} tells nothing: its {what} is {value:.2f}, which is not shown to be above 0"
            )
            return replace(self, refused="uninformative", why=why)
        if tells.sum() > 1 and n < PER_JUDGE * tells.sum():
            tells &= np.cumsum(tells) == 1
        names = tuple(np.array(self.judges, dtype=object)[tells])
        return replace(self, judges=names, sample=replace(sample, scores=sample.scores[tells]))


def samples(
    scored: Scored[Any],
    judges: Sequence[str],
    aspects: Sequence[str],
    labels: pd.DataFrame,
    *,
    least: float | None = None,
) -> Iterator[Correcting]:
    """Yield what is to be corrected for each aspect.

    Parameters
    ----------
    labels
        Key columns, ``aspect`` and ``rating``, and maybe ``probability``: what people said, of some units.
    least
        Correct the share of ratings of this value or more, instead of the mean.
    """
    keys = list(scored.scores.keys)
    frame = scored.scores.frame
    frame = frame[frame["status"].eq(Status.OK.value) & frame["score"].notna()]
    group = compared_key(keys)
    for aspect in aspects:
        own = frame[(frame["aspect"] == aspect) & frame["evaluator"].isin(judges)]
        counts = own.groupby(keys, sort=False)["evaluator"].nunique()
        index = counts.index[counts == len(judges)]
        index = index if isinstance(index, pd.MultiIndex) else pd.MultiIndex.from_arrays([index], names=keys)
        if not len(index):
            raise MetaevalError(f"no unit has a score for {aspect!r} by {' and '.join(judges)}")
        scores = np.stack([by_unit(own[own["evaluator"] == name], keys, "score", index) for name in judges])
        given = labels[labels["aspect"].astype(str).isin([aspect, ""])].drop_duplicates(keys)
        ratings = by_unit(given, keys, "rating", index)
        probability = by_unit(given, keys, "probability", index) if "probability" in given else None
        if least is not None:
            ratings = np.where(np.isnan(ratings), np.nan, ratings >= least)
            scores = (scores >= least).astype(np.float64)
        units = index.to_frame(index=False)
        codes, names = _coded(units[group]) if group else (np.zeros(len(units), np.int64), [""])
        of_unit, clusters = _coded(units[scored.cluster]) if scored.cluster in keys else _coded(units.index)
        yield Correcting(
            aspect,
            tuple(judges),
            LabelledSample(
                ratings,
                scores,
                codes,
                len(names),
                Clusters(of_unit, len(clusters)),
                None if probability is None else np.where(np.isnan(ratings), 1.0, probability),
            ),
            tuple(names),
            noun(group) if group else "unit",
            noun(scored.cluster) if scored.cluster in keys else "unit",
        )


def samples_by_cluster(values: pd.DataFrame, truth: str, judges: Sequence[str]) -> Iterator[Correcting]:
    """Yield what is to be corrected of values of systems by topic, for each measure.

    ``values`` has ``evaluator``, ``measure``, ``system``, ``topic`` and ``value``, some of them by ``truth``.
    """
    known = list(dict.fromkeys(values["evaluator"]))
    wanted = [one_of(j, known, "no system was measured by the labels of") for j in judges]
    wanted = wanted or [name for name in known if name != truth]
    if not wanted:
        raise MetaevalError("systems were measured by people's labels alone; name a judge in the study")
    for measure, own in values.groupby("measure", sort=False):
        by = own.pivot_table("value", ["system", "topic"], "evaluator").reindex(columns=[truth, *wanted])
        by = by[by[wanted].notna().all(axis=1)]
        units = by.index.to_frame(index=False)
        (codes, names), (of_unit, topics) = (_coded(units[c]) for c in ("system", "topic"))
        sample = LabelledSample(
            by[truth].to_numpy(np.float64),
            by[wanted].to_numpy(np.float64).T,
            codes,
            len(names),
            Clusters(of_unit, len(topics)),
        )
        yield Correcting(str(measure), tuple(wanted), sample, tuple(names), "system", "topic")


def withholding(correcting: Correcting, n: int, seed: int) -> Correcting:
    """Keep the labels of n clusters, drawn at random, and withhold the others."""
    sample = correcting.sample
    known = np.unique(sample.clusters.of_unit[sample.rated])
    check_labelled(n, FEWEST_CLUSTERS, len(known), correcting.cluster)
    kept = np.random.default_rng(seed).choice(known, n, replace=False)
    ratings = np.where(np.isin(sample.clusters.of_unit, kept), sample.ratings, np.nan)
    return replace(correcting, sample=replace(sample, ratings=ratings), withheld=sample.ratings)


def _coded(values: Any) -> tuple[Ints, list[str]]:  # noqa: ANN401 - a column or an index
    codes, names = pd.factorize(values, sort=True)
    return codes.astype(np.int64), [str(name) for name in names]


_ENDS = ("ci_low", "ci_high")
_ANSWERS = (
    Column("aspect", "Aspect"),
    Column("verdict", "What would people have said?", keep=True),
    Column("estimate", "Estimate", "number", *_ENDS),
    Column("judge", "By the judge", "number"),
    Column("labels", "Labels alone", "number", "labels_ci_low", "labels_ci_high"),
    Column("n_labelled", "With labels", "count"),
    Column("n_units", "Units", "count"),
    Column("refused", "Refused", optional=True),
)
_GROUPS = (
    Column("aspect", "Aspect"),
    Column("group", "Name"),
    Column("rank_range", "Rank range"),
    Column("estimate", "Estimate", "number", *_ENDS),
    Column("judge", "By the judge", "number"),
    Column("labels", "Labels alone", "number", "labels_ci_low", "labels_ci_high"),
    Column("n_labelled", "With labels", "count"),
    Column("n_units", "Units", "count"),
    Column("withheld", "All labels", "number", optional=True),
)
_DIFFERENCES = (
    Column("aspect", "Aspect"),
    Column("first", "First"),
    Column("second", "Second"),
    Column("difference", "Difference", "number", *_ENDS),
    Column("p", "p", "p"),
    Column("p_holm", "p (Holm)", "p"),
)
_WAYS = (
    Column("aspect", "Aspect"),
    Column("way", "Way"),
    Column("estimate", "Estimate", "number", *_ENDS),
    Column("width", "Width, to labels alone", "share"),
    Column("chosen", "Chosen"),
)
POWERED = "PPI++"
_ALL_PAIRS = 10  # groups up to which every difference is shown; of more, those to the best


def correcting_sheets(cases: Iterable[Correcting], *, alpha: float, seed: int) -> list[Sheet | None]:
    """Return the sheets ``correct``, ``correct-groups``, ``correct-differences`` and ``correct-ways``."""
    answers, groups, differences, ways = [], [], [], []
    name = cluster = ""
    for each in cases:
        kept = each.judged(seed)
        name, cluster = each.noun, each.cluster
        answers.append(_answer(kept, alpha))
        if len(kept.groups) > 1:
            by_group, pairs = _by_group(kept, alpha)
            groups += by_group
            differences += pairs
            answers[-1]["verdict"] += _order(by_group, name)
        ways += [{"aspect": each.aspect, **row} for row in _ways(kept, alpha, seed)]
    several = f"{PER_JUDGE} {plural_of(cluster)} with labels per judge"
    rule = (
        f"The rule, stated beforehand: {POWERED} (Angelopoulos, Duchi & Zrnic 2023), with a weight for each "
        f"judge that tells something where there are {several}, else with the first of them. It is refused, "
        "and the labels alone count, if no judge is shown to tell anything, or if units with labels are not "
        "like the others and their probabilities are not known."
    )
    ways_note = (
        "Strata: three parts of alike scores of the first judge. Isotonic: ratings that a cross-fitted map "
        "predicts from its scores, in place of the scores. Rogan–Gladen: of shares alone, with the interval "
        "of Lee et al. (2025)."
    )
    level = f"{1 - alpha:.0%} intervals; what one {cluster} has depends on each other."
    return [
        table("correct", "What would people have said?", answers, _ANSWERS, rule, level),
        table(
            "correct-groups",
            f"{plural_of(name).capitalize()}, as people would have rated them",
            groups,
            _GROUPS,
            f"Of one rank are those not worse than its best (tests of differences, Holm, α = {alpha:g}).",
        ),
        table("correct-differences", "Differences", differences, _DIFFERENCES, level),
        table("correct-ways", "Every way to correct", ways, _WAYS, ways_note),
    ]


def _ends(found: Combined, alpha: float, prefix: str = "") -> list[dict[str, float]]:
    low, high = found.interval(1 - alpha)
    names = (prefix or "estimate", *(f"{prefix}_{end}" if prefix else end for end in _ENDS))
    return [
        dict(zip(names, map(float, row), strict=True)) for row in zip(found.estimate, low, high, strict=True)
    ]


def _chosen(kept: Correcting, contrasts: Floats, *, whole: bool = False) -> Combined:
    sample = kept.everything if whole else kept.sample
    return sample.labels_alone(contrasts) if kept.refused else sample.powered(contrasts)


def _answer(kept: Correcting, alpha: float) -> dict[str, Any]:
    one, whole = np.ones((1, 1)), kept.everything
    [estimate] = _ends(_chosen(kept, one, whole=True), alpha)
    [labels] = _ends(whole.labels_alone(one), alpha, "labels")
    judge = float(whole.scores[0].mean())
    value = f"{estimate['estimate']:.2f} ({estimate['ci_low']:.2f} to {estimate['ci_high']:.2f})"
    if np.isnan(estimate["ci_low"]):
        verdict = f"cannot be said: {kept.why}"
    elif kept.refused:
        verdict = f"refused: {kept.why}; labels alone say {value}"
    else:
        verdict = f"people would have given {value}; {kept.judges[0]} gives {judge:.2f}"
    return {
        "aspect": kept.aspect,
        "verdict": verdict,
        **estimate,
        "judge": judge,
        **labels,
        "n_labelled": int(whole.rated.sum()),
        "n_units": len(whole.ratings),
        "refused": kept.refused,
    }


def _by_group(kept: Correcting, alpha: float) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    n = len(kept.groups)
    sample, every = kept.sample, np.eye(n)
    means = _chosen(kept, every)
    first, second = np.triu_indices(n, 1)
    apart = _chosen(kept, every[first] - every[second])
    p = apart.p()
    corrected = holm(p)
    worse = np.ones((n, n))  # small where the column is worse than the row
    worse[first, second] = np.where(apart.estimate > 0, corrected, 1)
    worse[second, first] = np.where(apart.estimate < 0, corrected, 1)
    best, last = ranges_of(worse <= alpha, ~np.isnan(means.estimate))
    judge = [float(sample.scores[0][sample.group == g].mean()) for g in range(n)]
    rows: list[dict[str, Any]] = []
    ends = zip(_ends(means, alpha), _ends(sample.labels_alone(every), alpha, "labels"), strict=True)
    for g, (estimate, labels) in enumerate(ends):
        here = sample.group == g
        rows.append(
            {
                "aspect": kept.aspect,
                "group": kept.groups[g],
                "rank_range": range_text(best[g], last[g]),
                **estimate,
                "judge": judge[g],
                **labels,
                "n_labelled": int(sample.rated[here].sum()),
                "n_units": int(here.sum()),
            }
        )
        if kept.withheld is not None:
            rows[-1]["withheld"] = float(np.nanmean(kept.withheld[here]))
    order = np.argsort(-means.estimate, kind="stable")  # without an estimate: last
    rows = [rows[g] for g in order]
    low, high = apart.interval(1 - alpha)
    pairs = [
        {
            "aspect": kept.aspect,
            "first": kept.groups[a],
            "second": kept.groups[b],
            "difference": float(apart.estimate[k]),
            "ci_low": float(low[k]),
            "ci_high": float(high[k]),
            "p": float(p[k]),
            "p_holm": float(corrected[k]),
        }
        for k, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True))
        if n <= _ALL_PAIRS or order[0] in (a, b)
    ]
    return rows, pairs


def _order(rows: list[dict[str, Any]], noun: str) -> str:
    top = [row["group"] for row in rows if row["rank_range"].split("–")[0] == "1"]
    if not top:
        return ""
    others = counted(len(top) - 1, f"other {noun}")
    return f"; {top[0]} is the best" if len(top) == 1 else f"; {top[0]} or {others} may be the best"


def _ways(kept: Correcting, alpha: float, seed: int) -> list[dict[str, Any]]:
    if kept.refused in {"few", "complete"}:
        return []
    one, whole = np.ones((1, 1)), kept.everything
    found = {
        "labels alone": whole.labels_alone(one),
        POWERED: whole.powered(one),
        f"{POWERED}, by strata": whole.by_strata(one),
        f"{POWERED}, isotonic": whole.powered(one, whole.mapped(seed)),
        f"{kept.judges[0]} alone, as if it were people": whole.judge_alone(one),
    }
    rows: list[dict[str, Any]] = [{"way": way, **_ends(value, alpha)[0]} for way, value in found.items()]
    values = {*np.unique(whole.ratings[whole.rated]), *np.unique(whole.scores[0])}
    if values <= {0.0, 1.0}:
        share = whole.rogan_gladen(1 - alpha)
        rows.append(
            {"way": "Rogan–Gladen", "estimate": share.estimate, "ci_low": share.low, "ci_high": share.high}
        )
    alone = rows[0]["ci_high"] - rows[0]["ci_low"]
    picked = "labels alone" if kept.refused else POWERED
    for row in rows:
        row["width"] = (row["ci_high"] - row["ci_low"]) / alone if alone > 0 else np.nan
        row["chosen"] = "yes" if row["way"] == picked else ""
    return rows


class CorrectingOptions(Typed):
    """What is corrected, and by which labels."""

    judges: Judges = ()
    """Evaluator to correct; may be given again: each gets a weight.  [default: the run's judges]"""
    aspects: Aspects = ()
    labels: Annotated[Path | None, "FILE.csv"] = None
    """Ratings of some units, such as a set's ratings.csv; maybe with a column 'probability'.  [default: the
    run's]"""
    labelled: int | None = None
    """Keep the labels of so many users only, to see what the rest would have said."""
    least: Annotated[float | None, "--at-least X"] = None
    """Correct the share of ratings of X or more, not the mean."""
    alpha: Annotated[float, Field(ge=0.0001, le=0.5)] = 0.05
    """1 - confidence of the intervals."""
    seed: Seed = 0


@command("correct", view="correct")
def correction_of(run: OpenRun, how: CorrectingOptions) -> Printed:
    """Say what people would have said of all units of the finished run in the folder RUN.

    Judges scored all units, people labelled some. Means, differences between generators and their order are
    the judges', corrected by the labels (prediction-powered inference). It is refused, with the reason, where
    a judge tells nothing, or units with labels are not like the others. Of ranking systems, measures are
    corrected by topic. The run's report.html shows the tables.
    """
    values = kind_named(run.record.study.kind).values_by_cluster(run.scored)
    if values is not None:
        cases = list(samples_by_cluster(values, run.record.truth.spec, how.judges))
    else:
        names = judges_of(run, how.judges, "name the evaluators that are corrected with --judge")
        given = run.truth if how.labels is None else read_labels(run, how.labels)
        aspects = aspects_in(run.scores.frame, how.aspects)
        cases = list(samples(run.scored, names, aspects, given, least=how.least))
    if how.labelled is not None:
        cases = [withholding(each, how.labelled, how.seed) for each in cases]
    simulated = run.scores.simulation.among([name for each in cases for name in each.judges])
    return Printed(correcting_sheets(cases, alpha=how.alpha, seed=how.seed), simulated)


def read_labels(run: OpenRun, path: Place, *, each_rater: bool = False) -> pd.DataFrame:
    """Return what people said in a table: the mean over raters, or each rater's."""
    keys = list(run.scores.keys)
    given = pd.read_csv(path, dtype=dict.fromkeys(keys, str))
    if lacking := [c for c in (*keys, "aspect", "rating") if c not in given]:
        raise MetaevalError(f"{path} has no column {lacking[0]!r}")
    if each_rater:
        return given if "rater" in given else given.assign(rater="")
    columns = ["rating", *(["probability"] if "probability" in given else [])]
    given = given.groupby([*keys, "aspect"])[columns].mean().reset_index()
    if "probability" in given and not given["probability"].dropna().between(0, 1, inclusive="right").all():
        raise MetaevalError(f"{path} has a probability that is not above 0 and at most 1")
    return given
