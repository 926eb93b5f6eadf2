"""Off-policy values, refused where the log does not support them, and the overlap beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from metaeval.engine.sentences import made_from
from metaeval.engine.sheet import Column, Sheet, columns, decimals_of, value_text
from metaeval.kinds.exposure.off_policy.evaluation import Evaluation, PolicyValue
from metaeval.kinds.exposure.scored import ExposureScored
from metaeval.kinds.exposure.study import ExposureStudy
from metaeval.kinds.table import KindTable
from metaeval.stats.off_policy.estimators import CHOSEN, RULE, Estimator, Refusal
from metaeval.stats.off_policy.overlap import OFTEN, THIN, WORST, WeightTotals
from metaeval.stats.resampling.bootstrap import NOTHING


def value_columns(
    estimator: Estimator, ends: Iterable[float], weights: WeightTotals, unshown: float, reason: str
) -> dict[str, Any]:
    """Return the columns that values of policies and of recommenders share; naive ones use no weights."""
    name, (change, at) = estimator
    used = name != "naive"
    return {
        "estimator": name,
        "clip": at if change == "clip" else np.nan,
        **dict(zip(("value", "ci_low", "ci_high"), ends, strict=True)),
        "ess": weights.effective if used else np.nan,
        "mean_weight": weights.mean if used else np.nan,
        "support": 1 - unshown,
        "refused": bool(reason),
        "reason": reason,
        "trim": at if change == "trim" and name not in CHOSEN else np.nan,
    }


def reasons(refusals: Iterable[Refusal]) -> str:
    """Return what a table says of refusals; "" if there are none."""
    return "; ".join(f"{reason}: {text}" for reason, text in refusals)


def values_frame(evaluations: Sequence[Evaluation], *, force: bool = False) -> pd.DataFrame:
    """Return a row per policy and estimator, without values that are refused, unless forced."""
    return pd.DataFrame([_row(e, value, force=force) for e in evaluations for value in e.estimates])


def _row(evaluation: Evaluation, value: PolicyValue, *, force: bool) -> dict[str, Any]:
    weights, log, random, known = value.weights, evaluation.log, evaluation.random, evaluation.on_policy
    reason, (name, (_, at)) = reasons(value.refusals), value.estimator
    hidden = bool(reason) and not force
    estimate, relative = (NOTHING, NOTHING) if hidden else (value.estimate, value.relative)
    errors = np.empty(0) if hidden else value.errors
    ends = estimate.value, estimate.low, estimate.high
    return {
        "policy": evaluation.policy,
        **value_columns(value.estimator, ends, weights, evaluation.overlap.support.unshown, reason),
        "chosen": at if name in CHOSEN else np.nan,
        "n_rounds": round(weights.expected),
        "n_clusters": log.n_clusters,
        "resampled": "users" if len(log.users) else "rounds",
        "propensities": log.source,
        **relative.row("relative"),
        **random.row("random_sample"),
        "on_policy": known,
        "error": abs(estimate.value / known - 1) if known else np.nan,
        "squared_error": (estimate.value - known) ** 2,
        "error_mean": errors.mean() if len(errors) else np.nan,
        "error_sd": errors.std(ddof=1) if len(errors) > 1 else np.nan,
    }


_KNOWN = (
    *columns("number", random_sample="Random sample", on_policy="On policy", error="Relative error"),
    *columns("number", error_mean="In subsamples", error_sd="Deviation"),
)
"""Columns that are shown where something is known beside the log."""


def values_sheet(scored: ExposureScored, frame: pd.DataFrame, *, force: bool = False) -> Sheet:
    """Lay out what `values_frame` returns."""
    frame = frame.assign(refused=frame["reason"] != "")  # a file has them as texts
    notes = [*intervals_notes(frame, scored.study)]
    if refused := list(dict.fromkeys(filter(None, frame["reason"]))):
        what = (
            "are shown anyway; do not rely on them"
            if force
            else "are withheld; --force of metaeval off-policy shows them"
        )
        notes.append(f"Refused values {what}. Why: {'; '.join(refused)}.")
    policies = list(dict.fromkeys(frame["policy"]))
    changed = {"clip": "Clip", "trim": "Trim", "chosen": "τ or λ"}
    shown = (
        *([Column("policy", "Policy")] if len(policies) > 1 else []),
        Column("estimator", "Estimator"),
        *(Column(name, title, "number") for name, title in changed.items() if frame[name].notna().any()),
        Column("value", "Value", "number", "ci_low", "ci_high"),
        Column("relative", "÷ log", "number"),
        *(column for column in _KNOWN if frame[column.name].notna().any()),
        Column("ess", "Effective sample size", "count"),
        Column("mean_weight", "Mean weight", "number"),
        Column("refused", "Refused"),
    )
    title, simulated = f"Off-policy value of {', '.join(policies)}", scored.scores.simulation.among(())
    return Sheet("off_policy", title, frame, shown, tuple(notes), simulated, principal=True)


_TRUSTED = ("dr", "sndr", "snips", "ips", "switch-dr", "dros", "direct")
"""Estimators in the order in which a sentence takes one."""


def values_lines(frame: pd.DataFrame) -> Iterator[str]:
    """Say what each policy would have earned, by one estimator, or why it cannot be told.

    It is shown to be above or below the log's mean if the interval of their ratio leaves out 1.
    """
    for policy, rows in frame.groupby("policy", sort=False):
        plain = rows[rows[["clip", "trim"]].isna().all(axis=1) & (rows["estimator"] != "naive")]
        known = plain[~plain["refused"] & plain["value"].notna()].set_index("estimator")
        if known.empty:
            why = "; ".join(dict.fromkeys(filter(None, plain["reason"]))) or "no estimator has a value"
            yield f"What {policy} would have earned cannot be told: {why}."
            continue
        row = known.loc[next(name for name in _TRUSTED if name in known.index)]
        ends = row["value"], row["ci_low"], row["ci_high"]
        value, low, high = (value_text(v, "number", decimals_of("number", *ends)) for v in ends)
        interval = "" if np.isnan(row["ci_low"]) else f" [{low}, {high}]"
        shown = (
            "shown to be above"
            if row["relative_low"] > 1
            else "shown to be below"
            if row["relative_high"] < 1
            else "not shown to differ from"
        )
        yield (
            f"{policy} would have had a mean outcome of {value}{interval} by {row.name}, "
            f"{value_text(row['relative'], 'number')} times the log's, and is {shown} it."
        )


def intervals_notes(frame: pd.DataFrame, study: ExposureStudy) -> Iterator[str]:
    """Say where propensities come from, and how intervals were made."""
    options, refits = study.bootstrap, study.propensity.refits
    source = frame["propensities"][0]
    yield f"Propensities were {'those of naive Bayes' if source == 'naive-bayes' else source}."
    yield "÷ log: the value, divided by the mean of the log."
    if frame["random_sample"].notna().any():
        of = frame.iloc[0]
        yield (
            f"Random sample: its mean outcome, {of['random_sample']:.4g} [{of['random_sample_low']:.4g}, "
            f"{of['random_sample_high']:.4g}], which estimates the policy that shows every item alike."
        )
    if frame["error"].notna().any():
        yield "Relative error: |value / on-policy value - 1|; in subsamples: its mean over bootstrap samples."
    if options is None:
        return
    n = int(frame["n_clusters"][0])
    made = made_from(options.resampler(n), f"resamples of {n:,} {frame['resampled'][0]}")
    yield f"Brackets hold {100 * options.confidence:g} % intervals from {made}."
    direct = (frame["estimator"] == "direct").any() and study.predictions is None
    weighted = ["weighted values"] if source != "logged" else []
    refitted = " and ".join([*weighted, *(["the direct method"] if direct else [])])
    if refitted and refits < 2:
        yield f"{refitted} have no intervals, because models were fitted once (--refits)."
    elif refitted:
        yield (
            f"For {refitted}: models fitted again in each of {refits} resamples; the estimate ± the t "
            "quantile × their standard deviation."
        )
    if direct:
        yield "Intervals of the direct method do not count the bias of its model."


OFF_POLICY = KindTable(
    "off_policy.csv",
    "Off-policy value",
    columns("text", policy="", estimator="", refused="", reason="", resampled="", propensities=""),
    lambda scored: values_frame(scored.evaluations),
    layout=lambda scored, frame: [values_sheet(scored, frame)],
)


def overlap_frame(scored: ExposureScored) -> pd.DataFrame:
    """Return how far a log shows what policies would do, and the limits: a row per policy and quantity."""
    rows = [(e.policy, *row) for e in scored.evaluations for row in _quantities(e)]
    return pd.DataFrame(rows, columns=["policy", "quantity", "value", "error", "limit"])


def _quantities(evaluation: Evaluation) -> Iterator[tuple[str, float, float, str]]:
    overlap, nan, rule = evaluation.overlap, np.nan, RULE
    weights, support, (off, z) = overlap.weights, overlap.support, overlap.imbalance
    yield "rounds", weights.expected, nan, ""
    yield "smallest propensity of a round", float(evaluation.log.propensity.min()), nan, ""
    yield "largest weight", weights.largest, nan, ""
    yield "largest weight, share of all", weights.largest_share, nan, ""
    yield "effective sample size", weights.effective, nan, f"at least {rule.effective_size:g}"
    share = weights.effective / weights.expected
    yield "effective sample size, share of the rounds", share, nan, f"at least {rule.effective_share:g}"
    limit = f"1 ± {rule.mean_weight:g}, and {rule.noise:g} standard errors"
    yield "mean weight", weights.mean, weights.error, limit
    limit = f"at most {rule.unshown:g} more than chance, and {rule.noise:g} standard errors"
    yield "policy on items never shown", support.unshown, nan, limit
    yield "policy that chance would leave out", support.by_chance, support.error, ""
    yield "policy on items hardly shown", support.thin, nan, f"at most {rule.thin:g}"
    yield "policy misplaced by propensities", support.misplaced, nan, f"at most {rule.propensity:g}"
    limit = f"at most {rule.balance:g}, or {WORST} standard errors"
    yield "imbalance of the context, standard deviations", off, abs(off / z) if z else nan, limit


def overlap_sheet(scored: ExposureScored, frame: pd.DataFrame) -> Sheet:
    """Lay out what `overlap_frame` returns."""
    shown = (
        *([Column("policy", "Policy")] if len(set(frame["policy"])) > 1 else []),
        Column("quantity", "Overlap"),
        *columns("number", value="Value", error="Standard error"),
        Column("limit", "Limit"),
    )
    notes = (
        (
            "A weight is the evaluated policy's probability of the item that was shown, divided by the "
            "logged propensity."
        ),
        (
            f"Hardly shown: fewer than {THIN} times, though the policy would show the item {OFTEN} times or "
            "more."
        ),
        (
            "Misplaced: the deviation of the sums of 1 / propensity per item from the number of rounds, "
            f"weighted by the policy, where it exceeds {WORST} standard errors."
        ),
    )
    simulated = scored.scores.simulation.among(())
    return Sheet("policy_overlap", "Overlap of the policies", frame, shown, notes, simulated)


POLICY_OVERLAP = KindTable(
    "policy_overlap.csv",
    "Overlap of the policies",
    columns("text", policy="", quantity="", limit=""),
    overlap_frame,
    layout=lambda scored, frame: [overlap_sheet(scored, frame)],
)
