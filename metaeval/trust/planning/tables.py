"""What people should label next to decide a question: the plan, and the answer so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.errors import MetaevalError
from metaeval.base.records import Status
from metaeval.engine.sheet import Column, Sheet
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.sequential import LEAST
from metaeval.trust.escalating.stages import along, confidence_of
from metaeval.trust.planning.plan import LabelPlan

if TYPE_CHECKING:
    from metaeval.kinds.kind import Scored

_COLUMNS = (
    Column("aspect", "Aspect"),
    Column("verdict", "Answer", keep=True),
    Column("estimate", "Estimate", "hundredths", "ci_low", "ci_high"),
    Column("n_labelled", "Labels used", "count"),
    Column("n_units", "Units asked about", "count"),
)


def plan_for(
    scored: Scored[Any],
    judge: str,
    aspect: str,
    better: Sequence[str] | None,
    *,
    epsilon: float,
    seed: int,
    width: float = 0.0,
) -> LabelPlan:
    """Draw the plan for a question.

    Parameters
    ----------
    better
        Two values of a key column, such as generators: is the mean of the first above that of the second? If
        None: may the judge replace a person, whose advantage over it may be ``epsilon``?
    width
        Instead: what is that difference, or the mean of all units if ``better`` is None, to ± so much?
    """
    keys = list(scored.scores.keys)
    frame = scored.scores.frame
    own = frame[(frame["aspect"] == aspect) & frame["status"].eq(Status.OK.value) & frame["score"].notna()]
    units = own.loc[own["evaluator"] == judge, keys].drop_duplicates().reset_index(drop=True)
    if not len(units):
        raise MetaevalError(f"{judge} has no score for {aspect!r}")
    weights = np.full(len(units), 1 / len(units))
    above, below = f"{judge} replaces a person (ε = {epsilon:g})", f"{judge} does not replace a person"
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
    score = along(own[own["evaluator"] == judge], keys, "score", index)
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
    return LabelPlan.drawn(units, weights, score, top - sure, seed=seed, **fixed)


def planning_sheet(
    scored: Scored[Any],
    plan: LabelPlan,
    judge: str,
    labels: Mapping[str, Mapping[tuple[str, ...], float]],
    *,
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
    notes = [f"Asked about {plan.aspect} and {judge}; --aspect and --judge choose others.", told]
    if skipped:
        notes.append(f"{skipped} units were skipped; for them, {replaced}.")
    if plan.rule != "mean":
        notes.append(
            "The value is ε less the mean advantage of a person over the judge. metaeval replace asks more: "
            "would it hold for other people and users? It may need more labels where this is decided."
        )
    row = {"aspect": plan.aspect, "n_units": len(plan.units), **asdict(answer)}
    title, simulated = "What to label next?", scored.scores.simulation.among([judge])
    return Sheet("plan", title, pd.DataFrame([row]), _COLUMNS, tuple(notes), simulated)


def _weights(units: pd.DataFrame, question: Sequence[str]) -> Floats:
    first, second = question
    for key in units:
        sides = [(units[key].astype(str) == name).to_numpy() for name in question]
        if all(side.any() for side in sides) and first != second:
            return np.asarray(sides[0] / sides[0].sum() - sides[1] / sides[1].sum())
    raise MetaevalError(f"no key of the run has both {first!r} and {second!r}, or they are the same")
