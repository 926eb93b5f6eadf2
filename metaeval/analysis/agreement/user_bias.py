"""Bias of evaluators by user: the mean of score − rating."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.analysis.agreement.distributions import on_scale
from metaeval.base.counts import plural_of
from metaeval.base.keys import key_columns, noun
from metaeval.base.records import AVERAGE
from metaeval.base.simulation import REAL
from metaeval.engine.sheet import Column, Sheet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metaeval.base.records import Kind, Scale
    from metaeval.base.simulation import Simulation

MOST_GROUPS = 200
"""Users shown per evaluator; of more, so many at even steps of the order."""


def user_bias(
    scores: pd.DataFrame,
    truth: pd.DataFrame,
    scale: Scale,
    *,
    kinds: Mapping[str, Kind],
    simulated: Simulation = REAL,
) -> Sheet | None:
    """Average score − truth by user, or by item in data without users.

    Only evaluators on the truth's scale are included; units without a score or a rating are left out.

    Parameters
    ----------
    scores, truth, scale, kinds, simulated
        As in `metaeval.analysis.agreement.distributions.distributions`.

    Returns
    -------
    Sheet or None
        A row per evaluator, aspect and user: ``who`` (the user), ``bias`` in points of the scale,
        ``n_units``, and, the same in all rows of an evaluator and aspect, ``mean``, ``q1``, ``median`` and
        ``q3`` over all users. The aspect ``average`` is the mean over the aspects of users who have all of
        them. None if no evaluator is on the scale.
    """
    names = on_scale(scores, scale, kinds)
    keys = key_columns(truth)
    who, by = keys[0], [*keys, "aspect"]
    wanted = scores.loc[scores["evaluator"].isin(names), [*by, "evaluator", "score"]]
    both = wanted.merge(truth[[*by, "rating"]], on=by).dropna(subset=["score", "rating"])
    if both.empty:
        return None
    both["bias"] = both["score"] - both["rating"]
    groups = both.groupby(["evaluator", "aspect", who], sort=False, observed=True)["bias"]
    found = groups.agg(bias="mean", n_units="size").reset_index().rename(columns={who: "who"})
    aspects = [str(a) for a in truth["aspect"].unique()]
    if len(aspects) > 1:
        of_user = found.groupby(["evaluator", "who"], sort=False, observed=True)
        average = of_user.agg(bias=("bias", "mean"), n_units=("n_units", "sum"), n=("aspect", "size"))
        average = average[average["n"] == len(aspects)].drop(columns="n").reset_index().assign(aspect=AVERAGE)
        found = pd.concat([average, found], ignore_index=True)
    place = {name: i for i, name in enumerate(names)}
    of_aspect = {a: i for i, a in enumerate([AVERAGE, *aspects])}
    parts = [
        _summed_up(part)
        for _, part in sorted(
            found.groupby(["evaluator", "aspect"], sort=False, observed=True),
            key=lambda item: (place[str(item[0][0])], of_aspect[str(item[0][1])]),
        )
    ]
    frame = pd.concat(parts, ignore_index=True)
    people = noun(who)
    many = plural_of(people)
    thinned = len(frame) < len(found)
    return Sheet(
        "user_bias",
        f"Bias by {many}: scores too high or too low",
        frame[["evaluator", "aspect", "who", "bias", "n_units", "mean", "q1", "median", "q3"]],
        (
            Column("evaluator", "Evaluator"),
            Column("aspect", "Aspect"),
            Column("who", people.capitalize()),
            Column("bias", "Mean of score − truth", "number"),
            Column("n_units", "Units", "count"),
        ),
        (
            (
                f"Each tick is one of the {many}: the mean of score − truth over its units, in points of the "
                "scale."
            ),
            f"Ratings are {scale}; above 0 the evaluator rates higher than the truth.",
            *scale.averaged,
            f"The bar spans the middle half of the {many}, the diamond is their mean.",
            "Only evaluators whose scores are ratings on the truth's scale are shown; nothing is filled in.",
            *(
                [f"Of more than {MOST_GROUPS} {many}, {MOST_GROUPS} are shown, at even steps of the order."]
                if thinned
                else []
            ),
        ),
        simulated,
    )


def _summed_up(part: pd.DataFrame) -> pd.DataFrame:
    """Sort the users of an evaluator and aspect by bias, and add their mean and quartiles."""
    ordered = part.sort_values(["bias", "who"], kind="stable")
    q1, median, q3 = np.quantile(ordered["bias"], [0.25, 0.5, 0.75])
    ordered = ordered.assign(mean=ordered["bias"].mean(), q1=q1, median=median, q3=q3)
    if len(ordered) > MOST_GROUPS:
        ordered = ordered.iloc[np.linspace(0, len(ordered) - 1, MOST_GROUPS).round().astype(int)]
    return ordered
