"""Off-policy values and the overlap beside them, as sheets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.simulation import Simulation
from metaeval.engine.sheet import Column, Sheet
from metaeval.stats.off_policy.support import OFTEN, THIN, WORST
from metaeval.stats.off_policy.terms import CHOSEN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from metaeval.kinds.exposure.off_policy.evaluation import Evaluation, OffPolicy, PolicyValue
    from metaeval.stats.off_policy.refusal import Rule


def values_sheet(
    found: Sequence[Evaluation],
    wanted: OffPolicy,
    *,
    force: bool = False,
    simulated: bool = False,
) -> Sheet:
    """Lay out the values of policies; refused values are left out, unless forced."""
    rows = [_row(of, value, force=force) for of in found for value in of.estimates]
    frame = pd.DataFrame(rows)
    said = [row["reason"] for row in rows if row["refused"]]
    of = f"{found[0].n_clusters:,} {'users' if found[0].of_users else 'rounds'}"
    resampled = f"{wanted.resamples:,} resamples of {of}; seed {wanted.seed}"
    notes = [f"Brackets hold 95 % bootstrap intervals ({resampled})."]
    if wanted.propensity == "fitted":
        notes.append("Propensities are fitted, and intervals take them as they are.")
    if "direct" in wanted.estimators:
        notes.append("The direct method has none: its error is that of its model.")
    if said:
        what = (
            "are shown all the same, and not to be relied on" if force else "are withheld; --force shows them"
        )
        notes.append(f"Refused values {what}. Why: {'; '.join(dict.fromkeys(said))}.")
    columns = (
        *([Column("policy", "Policy")] if len(found) > 1 else []),
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
    title = f"Off-policy value of {', '.join(of.policy for of in found)}"
    return Sheet("off_policy", title, frame, columns, tuple(notes), Simulation(simulated), principal=True)


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
        "n_rounds": value.weights.n,
        "n_clusters": of.n_clusters,
    }


def overlap_sheet(found: Sequence[Evaluation], rule: Rule, *, simulated: bool = False) -> Sheet:
    """Lay out how far a log shows what policies would do, and the limits."""
    frame = pd.DataFrame(
        [
            {"policy": of.policy, "quantity": quantity, "value": float(value), "error": error, "limit": limit}
            for of in found
            for quantity, value, error, limit in _overlap(of, rule)
        ]
    )
    columns = (
        *([Column("policy", "Policy")] if len(found) > 1 else []),
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
        "Misplaced: how far the sums of 1 / propensity of items are off the rounds, by the policy's mass on "
        f"them, where that is more than {WORST} standard errors."
    )
    hardly = (
        f"Hardly shown: fewer than {THIN} times, where the policy would show an item {OFTEN} times or more."
    )
    title = "Overlap of the policies"
    return Sheet("overlap", title, frame, columns, (weight, hardly, misplaced), Simulation(simulated))


def _overlap(of: Evaluation, rule: Rule) -> Iterator[tuple[str, float, float, str]]:
    weights, overlap = of.overlap.weights, of.overlap
    nan = float("nan")
    yield "rounds", weights.n, nan, ""
    yield "smallest propensity of a round", of.least_propensity, nan, ""
    yield "largest weight", weights.largest, nan, ""
    yield "largest weight, share of all", weights.largest_share, nan, ""
    yield "effective sample size", weights.effective, nan, f"at least {rule.effective_size:g}"
    share = weights.effective / weights.n
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
