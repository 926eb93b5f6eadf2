"""What people would have said of all units: the answer, groups, differences, every way to correct."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field

from metaeval.base.counts import counted, plural_of
from metaeval.base.errors import MetaevalError
from metaeval.base.simulation import REAL, Simulation
from metaeval.engine.sheet import Column, Sheet, columns, table
from metaeval.kinds.index import kind_named
from metaeval.runs.command import (
    Aspects,
    Judges,
    Place,
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
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.regression.prediction_powered import Combined
from metaeval.stats.resampling.rank_ranges import range_text, ranges_of
from metaeval.stats.resampling.significance import holm
from metaeval.trust.correction_samples import (
    PER_JUDGE,
    Correcting,
    sample_of_pairs,
    samples,
    samples_by_cluster,
    withholding,
)
from metaeval.trust.verdicts.judged import judged_pairs

_ENDS = ("ci_low", "ci_high")
_ESTIMATE = Column("estimate", "Estimate", "number", *_ENDS)
_NUMBERS = (
    _ESTIMATE,
    Column("judge", "By the judge", "number"),
    Column("labels", "Labels alone", "number", "labels_ci_low", "labels_ci_high"),
    *columns("count", n_labelled="With labels", n_units="Units"),
)
_ANSWERS = (
    Column("aspect", "Aspect"),
    Column("verdict", "What would people have said?", keep=True),
    *_NUMBERS,
    Column("refused", "Refused", optional=True),
)
_GROUPS = (
    *columns("text", aspect="Aspect", group="Name", rank_range="Rank range"),
    *_NUMBERS,
    Column("withheld", "All labels", "number", optional=True),
)
_DIFFERENCES = (
    *columns("text", aspect="Aspect", first="First", second="Second"),
    Column("difference", "Difference", "number", *_ENDS),
    *columns("p", p="p", p_holm="p (Holm)"),
)
_WAYS = (
    *columns("text", aspect="Aspect", way="Way"),
    _ESTIMATE,
    Column("width", "Width, to labels alone", "share"),
    Column("chosen", "Chosen"),
)
POWERED = "PPI++"
_ALL_PAIRS = 10  # groups up to which every difference is shown; of more, those to the best


def correcting_sheets(
    cases: Iterable[Correcting],
    *notes: str,
    alpha: float,
    seed: int,
    printed: Mapping[str, str] = MappingProxyType({}),
) -> list[Sheet | None]:
    """Return the sheets ``correct``, ``correct-groups``, ``correct-differences`` and ``correct-ways``.

    ``printed`` has the short names of judges, for sentences.
    """
    answers, groups, differences, ways = [], [], [], []
    name = cluster = ""
    for each in cases:
        kept = each.judged(seed)
        name, cluster = each.noun, each.cluster
        answers.append(_answer(kept, alpha, printed))
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
        table("correct", "What would people have said?", answers, _ANSWERS, rule, level, *notes),
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


def _answer(kept: Correcting, alpha: float, printed: Mapping[str, str]) -> dict[str, Any]:
    one, whole = np.ones((1, 1)), kept.everything
    [estimate] = _ends(_chosen(kept, one, whole=True), alpha)
    [labels] = _ends(whole.labels_alone(one), alpha, "labels")
    judge = float(whole.scores[0].mean())
    value = f"{estimate['estimate']:.2f} ({estimate['ci_low']:.2f} to {estimate['ci_high']:.2f})"
    whom = f"{kept.about} a win rate of " if kept.about else ""
    if np.isnan(estimate["ci_low"]):
        verdict = f"cannot be said: {kept.why}"
    elif kept.refused:
        verdict = f"refused: {kept.why}; labels alone say {value}"
    else:
        name = printed.get(kept.judges[0], kept.judges[0])
        verdict = f"people would have given {whom}{value}; {name} gives {judge:.2f}"
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
    """Ratings of some units, such as a set's ratings.csv; maybe with a column 'probability'. Of a FILE:
    verdicts of people.  [default: the run's, or FILE's gold preferences]"""
    labelled: int | None = None
    """Keep the labels of so many users only, to see what the rest would have said."""
    least: Annotated[float | None, "--at-least X"] = None
    """Correct the share of ratings of X or more, not the mean."""
    alpha: Annotated[float, Field(ge=0.0001, le=0.5)] = 0.05
    """1 - confidence of the intervals."""
    seed: Seed = 0


_WIN_RATES = (
    "Of pairs: the points of each system in its pairs, 1 for a win and 0.5 for a tie, over both orders and "
    "repeats; the answer is about the system that the first judge prefers most."
)


@command("correct", view="correct")
def correction_of(run: RunOrFile, how: CorrectingOptions) -> Printed:
    """Say what people would have said of all units of the finished run in the folder RUN.

    Judges scored all units, people labelled some. Means, differences between generators and their order are
    the judges', corrected by the labels (prediction-powered inference). It is refused, with the reason, where
    a judge tells nothing, or units with labels are not like the others. Of ranking systems, measures are
    corrected by topic. The run's report.html shows the tables.
    In place of RUN, it takes a FILE of verdicts on pairs, made by `metaeval verdicts import`, some of them
    with gold preferences: win rates are corrected.
    """
    if isinstance(run, Path):
        if how.least is not None:
            raise MetaevalError("--at-least is for ratings; of verdicts on pairs, win rates are corrected")
        of_file = judged_pairs(run, how.judges, how.aspects, how.labels)
        return _printed([sample_of_pairs(pairs) for pairs in of_file], how, REAL, {}, _WIN_RATES)
    values = kind_named(run.record.study.kind).values_by_cluster(run.scored)
    if values is not None:
        cases = list(samples_by_cluster(values, run.record.truth.spec, how.judges))
    else:
        names = judges_of(run, how.judges, "name the evaluators that are corrected with --judge")
        given = run.truth if how.labels is None else read_labels(run, how.labels)
        aspects = aspects_in(run.scores.frame, how.aspects)
        cases = list(samples(run.scored, names, aspects, given, least=how.least))
    simulated = run.scores.simulation.among([name for each in cases for name in each.judges])
    return _printed(cases, how, simulated, run.record.names)


def _printed(
    cases: list[Correcting],
    how: CorrectingOptions,
    simulated: Simulation,
    names: Mapping[str, str],
    *notes: str,
) -> Printed:
    if how.labelled is not None:
        cases = [withholding(each, how.labelled, how.seed) for each in cases]
    sheets = correcting_sheets(cases, *notes, alpha=how.alpha, seed=how.seed, printed=names)
    return Printed(sheets, simulated, first=verdict_lines(sheets[0]))


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
