"""Off-policy values and the overlap beside them, as sheets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.engine.sentences import made_from
from metaeval.engine.sheet import Column, Sheet
from metaeval.kinds.exposure.off_policy.evaluation import RULE
from metaeval.stats.off_policy.support import OFTEN, THIN, WORST
from metaeval.stats.off_policy.terms import CHOSEN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from metaeval.base.simulation import Simulation
    from metaeval.engine.intervals import Bootstrap
    from metaeval.kinds.exposure.off_policy.evaluation import Evaluation, PolicyValue
    from metaeval.stats.off_policy.refusal import Rule


def values_frame(found: Sequence[Evaluation], *, force: bool = False) -> pd.DataFrame:
    """Return a row per policy and estimator, without values that are refused, unless forced."""
    return pd.DataFrame([_row(of, value, force=force) for of in found for value in of.estimates])


def values_sheet(
    frame: pd.DataFrame, how: Bootstrap | None, refits: int, *, simulated: Simulation, force: bool = False
) -> Sheet:
    """Lay out what `values_frame` returns."""
    frame = frame.assign(refused=frame["reason"] != "")  # as a file has them, they are texts
    notes = [*intervals_said(frame, how, refits)]
    if frame["refused"].any():
        said = dict.fromkeys(frame.loc[frame["refused"], "reason"])
        what = (
            "are shown anyway; do not rely on them"
            if force
            else "are withheld; --force of metaeval off-policy shows them"
        )
        notes.append(f"Refused values {what}. Why: {'; '.join(said)}.")
    policies = list(dict.fromkeys(frame["policy"]))
    columns = (
        *([Column("policy", "Policy")] if len(policies) > 1 else []),
        Column("estimator", "Estimator"),
        *(
            Column(name, name.capitalize(), "number")
            for name in ("clip", "trim")
            if frame[name].notna().any()
        ),
        *([Column("chosen", "τ or λ", "number")] if frame["chosen"].notna().any() else []),
        Column("value", "Value", "number", "ci_low", "ci_high"),
        Column("ess", "Effective sample size", "count"),
        Column("mean_weight", "Mean weight", "number"),
        Column("refused", "Refused"),
    )
    title = f"Off-policy value of {', '.join(policies)}"
    return Sheet("off_policy", title, frame, columns, tuple(notes), simulated, principal=True)


def intervals_said(frame: pd.DataFrame, how: Bootstrap | None, refits: int) -> Iterator[str]:
    """Say where propensities come from, and how intervals were made."""
    fitted = frame["propensities"][0] == "fitted"
    yield f"Propensities were {frame['propensities'][0]}."
    if how is None:
        return
    n = int(frame["n_clusters"][0])
    made = made_from(how.resampler(n), f"resamples of {n:,} {frame['resampled'][0]}")
    yield f"Brackets hold {100 * how.confidence:g} % intervals from {made}."
    direct = (frame["estimator"] == "direct").any()
    anew = [
        *(["weighted values"] if fitted else []),
        *(["the direct method"] if direct else []),
    ]
    if anew and refits < 2:
        yield f"{' and '.join(anew)} have no intervals, because models were fitted once (--refits)."
    elif anew:
        yield (
            f"For {' and '.join(anew)}: models fitted again in each of {refits} resamples; the estimate ± "
            "the "
            "t quantile × their standard deviation."
        )
    if direct:
        yield "Intervals of the direct method do not count the bias of its model."


def _row(of: Evaluation, value: PolicyValue, *, force: bool) -> dict[str, Any]:
    name, (change, at) = value.estimator
    refused = bool(value.refusals)
    shown = force or not refused
    used = name != "naive"
    return {
        "policy": of.policy,
        "estimator": name,
        "clip": at if change == "clip" else np.nan,
        "value": value.found.value if shown else np.nan,
        "ci_low": value.found.low if shown else np.nan,
        "ci_high": value.found.high if shown else np.nan,
        "ess": value.weights.effective if used else np.nan,
        "mean_weight": value.weights.mean if used else np.nan,
        "support": 1 - of.overlap.support.unshown,
        "refused": refused,
        "reason": "; ".join(f"{r.reason}: {r.text}" for r in value.refusals),
        "trim": at if change == "trim" and name not in CHOSEN else np.nan,
        "chosen": at if name in CHOSEN else np.nan,
        "n_rounds": round(value.weights.expected),
        "n_clusters": of.log.n_clusters,
        "resampled": "users" if len(of.log.users) else "rounds",
        "propensities": "fitted" if of.log.fitted else "logged",
    }


def overlap_frame(found: Sequence[Evaluation]) -> pd.DataFrame:
    """Return how far a log shows what policies would do, and the limits: a row per policy and quantity."""
    return pd.DataFrame(
        [
            {"policy": of.policy, "quantity": quantity, "value": float(value), "error": error, "limit": limit}
            for of in found
            for quantity, value, error, limit in _overlap(of, RULE)
        ]
    )


def overlap_sheet(frame: pd.DataFrame, simulated: Simulation, name: str = "overlap") -> Sheet:
    """Lay out what `overlap_frame` returns."""
    columns = (
        *([Column("policy", "Policy")] if len(set(frame["policy"])) > 1 else []),
        Column("quantity", "Overlap"),
        Column("value", "Value", "number"),
        Column("error", "Standard error", "number"),
        Column("limit", "Limit"),
    )
    weight = (
        "A weight is the evaluated policy's probability of the item that was shown, divided by the logged "
        "propensity."
    )
    misplaced = (
        "Misplaced: the deviation of the sums of 1 / propensity per item from the number of rounds, "
        f"weighted by the policy, where it exceeds {WORST} standard errors."
    )
    hardly = (
        f"Hardly shown: fewer than {THIN} times, though the policy would show the item {OFTEN} times or more."
    )
    title = "Overlap of the policies"
    return Sheet(name, title, frame, columns, (weight, hardly, misplaced), simulated)


def _overlap(of: Evaluation, rule: Rule) -> Iterator[tuple[str, float, float, str]]:
    weights, overlap = of.overlap.weights, of.overlap
    nan = float("nan")
    yield "rounds", weights.expected, nan, ""
    yield "smallest propensity of a round", float(of.log.propensity.min()), nan, ""
    yield "largest weight", weights.largest, nan, ""
    yield "largest weight, share of all", weights.largest_share, nan, ""
    yield "effective sample size", weights.effective, nan, f"at least {rule.effective_size:g}"
    share = weights.effective / weights.expected
    yield "effective sample size, share of the rounds", share, nan, f"at least {rule.effective_share:g}"
    off = f"1 ± {rule.mean_weight:g}, and {rule.noise:g} standard errors"
    yield "mean weight", weights.mean, weights.error, off
    beyond = f"at most {rule.unshown:g} more than chance, and {rule.noise:g} standard errors"
    yield "policy on items never shown", overlap.support.unshown, nan, beyond
    yield "policy that chance would leave out", overlap.support.by_chance, overlap.support.error, ""
    yield "policy on items hardly shown", overlap.support.thin, nan, f"at most {rule.thin:g}"
    yield "policy misplaced by propensities", overlap.misplaced, nan, f"at most {rule.propensity:g}"
    by, z = overlap.imbalance
    error = abs(by / z) if z else nan
    limit = f"at most {rule.balance:g}, or {WORST} standard errors"
    yield "imbalance of the context, standard deviations", by, error, limit
