"""What people should label next to decide a question, the estimate so far, and whether it is decided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.errors import MetaevalError
from metaeval.base.records import Status
from metaeval.engine.sheet import Column, Sheet
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.sequential import LEAST, chances, confidence_sequence, drawn
from metaeval.trust.escalating.stages import along, confidence_of

if TYPE_CHECKING:
    from metaeval.kinds.scored import Scored

_COLUMNS = (
    Column("aspect", "Aspect"),
    Column("verdict", "Answer"),
    Column("estimate", "Estimate", "hundredths", "ci_low", "ci_high"),
    Column("n_labelled", "Labels used", "count"),
    Column("n_units", "Units asked about", "count"),
)


def planning_sheet(
    scored: Scored[Any],
    labels: pd.DataFrame,
    judge: str,
    aspect: str,
    question: Sequence[str],
    *,
    alpha: float,
    seed: int,
) -> tuple[Sheet, pd.DataFrame]:
    """Return the sheet ``plan``, and the plan: key columns, ``aspect``, ``probability``, ``order``.

    Parameters
    ----------
    labels
        Key columns, ``aspect`` and ``rating``: what people have said so far.
    question
        Two values of a key column, such as generators: is the first better? Their means are compared.
    """
    keys = list(scored.scores.keys)
    frame = scored.scores.frame
    own = frame[(frame["aspect"] == aspect) & frame["status"].eq(Status.OK.value) & frame["score"].notna()]
    units = own.loc[own["evaluator"] == judge, keys].drop_duplicates().reset_index(drop=True)
    weights, said = _weights(units, question)
    units = units[weights != 0].reset_index(drop=True)
    weights = weights[weights != 0]
    index = pd.MultiIndex.from_frame(units)
    score = along(own[own["evaluator"] == judge], keys, "score", index)
    scale = scored.scale.of(aspect)
    if score.min() < scale.min or score.max() > scale.max:
        score = np.full(len(score), (scale.min + scale.max) / 2)
    sure, _ = confidence_of(scored, judge, own, keys, index)
    top = sure[~np.isnan(sure)].max() if (~np.isnan(sure)).any() else 0.0
    p = chances(weights, top - sure)
    at = drawn(p, 4 * len(units), seed=seed)
    plan = units.iloc[at].assign(aspect=aspect, probability=p[at], order=np.arange(1, len(at) + 1))
    given = labels[(labels["aspect"] == aspect) & labels["rating"].notna()].drop_duplicates(keys)
    rating = along(given, keys, "rating", index)
    missing = np.isnan(rating[at])
    until = int(missing.argmax()) if missing.any() else len(at)
    row = {"aspect": aspect, "n_units": len(units)} | _row(
        weights @ score + (weights * (rating - score) / p)[at[:until]], at, until, said, alpha
    )
    note = (
        "Units are drawn with replacement, with the probabilities of plan.csv: more often where the judge is "
        "in doubt. Each draw gives an unbiased estimate of what all labels would give for these units. The "
        f"interval holds after every label at once (normal mixture; from {LEAST} draws on), so one may stop "
        "when it says so. It is about these units: it does not say what other users would say."
    )
    sheet = Sheet(
        "plan",
        "What to label next?",
        pd.DataFrame([row]),
        _COLUMNS,
        (note,),
        scored.scores.simulation.among([judge]),
    )
    return sheet, plan.drop_duplicates(keys)


def _weights(units: pd.DataFrame, question: Sequence[str]) -> tuple[Floats, str]:
    first, second = question
    for key in units:
        sides = [(units[key].astype(str) == name).to_numpy() for name in question]
        if all(side.any() for side in sides) and first != second:
            return sides[0] / sides[0].sum() - sides[1] / sides[1].sum(), f"{first} is {{}} than {second}"
    raise MetaevalError(f"no key of the run has both {first!r} and {second!r}, or they are the same")


def _row(values: Floats, at: Any, until: int, said: str, alpha: float) -> dict[str, Any]:  # noqa: ANN401 - positions
    """Return the answer after the draws that have labels; what is labelled after the stop is not used."""
    found = confidence_sequence(values, alpha=alpha)
    stop = found.stop(0.0)
    end = stop or until
    row: dict[str, Any] = {"n_labelled": len(np.unique(at[:end])), "decided": bool(stop)}
    if end < LEAST:
        why = f"not decided: label in the order of the plan; at least {LEAST} draws are needed"
        return row | {"verdict": why, "estimate": np.nan, "ci_low": np.nan, "ci_high": np.nan}
    value, low, high = (float(v[end - 1]) for v in (found.value, found.low, found.high))
    row |= {"estimate": value, "ci_low": low, "ci_high": high}
    if stop:
        return row | {
            "verdict": f"decided: {said.format('better' if value > 0 else 'worse')}; stop labelling"
        }
    # The interval narrows about with the root of the draws.
    more = end * ((high - low) / 2 / max(abs(value), 1e-9)) ** 2 - end
    return row | {"verdict": f"not decided: about {more:,.0f} more draws, if the difference stays as it is"}
