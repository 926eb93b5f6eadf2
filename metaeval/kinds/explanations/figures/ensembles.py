"""The accuracy of ensembles of judges by their size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import pandas as pd

from metaeval.analysis.ensemble_frontier import Choosing
from metaeval.analysis.ensemble_subsets import ensembles as every_ensemble
from metaeval.base.errors import MetaevalError
from metaeval.base.records import Kind
from metaeval.engine.charts import OF_LEVEL, ROWS, times_hundred, tooltip
from metaeval.engine.figure import BLUE, VERMILION
from metaeval.engine.sheet import Column, value_text
from metaeval.kinds.explanations.judge.judge import NONE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metaeval.engine.alignment.prepared import Prepared
    from metaeval.engine.figure import Figure
    from metaeval.kinds.explanations.figures.scores import Material
    from metaeval.stats.coefficients.tables import Floats

MOST_COMBINED = 12
"""Judges whose subsets are all computed: 4,095 take a fraction of a second."""

FEWEST_COMBINED = 3
"""Judges of whom a figure is drawn: two have three subsets, which a table says better than boxes."""

_QUARTILES = ("minimum", "q1", "median", "q3", "maximum")


def ensembles(material: Material) -> Figure | None:
    """Draw boxes of the accuracy of ensembles by their size: one column per aspect, one row per level.

    This is Figure 4 of the study of LLM judges of explanations at RecSys 2024.
    """
    scored = material.scored
    scores = scored.scores
    judges = [name for name in material.labels if scores.kinds.get(name) == Kind.JUDGE]
    if len(judges) < FEWEST_COMBINED:
        return None
    combined = judges_to_combine(judges, scores.signatures)
    data = scored.matched.chosen(coefficients=["pearson"], evaluators=combined)
    frame = ensemble_spread(data)
    if frame is None:
        return None
    levels, aspects = (frame[column].unique().tolist() for column in ("level", "aspect"))
    sizes = int(frame["n_judges"].max())
    numbers = (*_QUARTILES, "mean")
    panel = max(110, 20 * sizes)
    width = min(18, int(0.6 * panel / sizes))
    boxes = ROWS.encode(
        x=alt.X("n_judges:O", title="judges", axis=alt.Axis(labelAngle=0)),
        tooltip=[
            alt.Tooltip("n_judges:O", title="judges"),
            *tooltip(n_subsets=("subsets", ","), **{f"{n}_100": (n, ".2f") for n in numbers}),
        ],
    )

    def up(column: str) -> alt.Y:
        return alt.Y(f"{column}_100:Q", title="Pearson's r × 100", scale=alt.Scale(zero=False))

    chart = (
        alt.layer(
            boxes.mark_rule(strokeWidth=1.2).encode(y=up("minimum"), y2="maximum_100"),
            boxes.mark_bar(width=width, color=BLUE, opacity=0.55).encode(y=up("q1"), y2="q3_100"),
            boxes.mark_tick(width=width, thickness=2, orient="horizontal").encode(y=up("median")),
            boxes.mark_point(filled=True, size=28, color=VERMILION, opacity=1).encode(y=up("mean")),
        )
        .properties(width=panel, height=130)
        .facet(
            row=alt.Row("level:N", sort=levels, title=None, header=alt.Header(labelExpr=OF_LEVEL)),
            column=alt.Column("aspect:N", sort=aspects, title=None, header=alt.Header(labelLimit=panel)),
            spacing=16,
            description=f"Box plots of the accuracy of the means of 1 to {sizes} judges, one panel per "
            "aspect and level.",
        )
        .transform_calculate(**times_hundred(*numbers))
    )
    columns = (
        Column("level", "Level"),
        Column("aspect", "Aspect"),
        Column("n_judges", "Judges", "count"),
        Column("n_subsets", "Subsets", "count"),
        *(Column(n, n, "hundred") for n in ("mean", *_QUARTILES)),
    )
    shown = ", ".join(material.labels[name] for name in data.evaluators)
    notes = (
        f"Pearson's r × 100 of the mean score of every subset of {sizes} judges.",
        "A box spans the middle half of the subsets, the line in it is their median, the dot their mean.",
        "Whiskers reach the worst and the best.",
        f"Of the run's {len(judges)} judges, {sizes} are combined: {shown}." if len(judges) > sizes else "",
    )
    return material.figure(
        "ensembles",
        "How well several judges together agree with the truth",
        frame,
        columns,
        notes,
        chart,
        simulated=scores.simulation.among(combined),
        caption_width=len(aspects) * (panel + 16) + 60,
        finding=_of_sizes,
    )


def _of_sizes(rows: pd.DataFrame) -> str:
    """Say what one judge and all together reach, in the first panel of what is summed up last."""
    panel = rows[(rows["level"] == rows["level"].iloc[0]) & (rows["aspect"] == rows["aspect"].iloc[-1])]
    one, every = (value_text(panel["mean"].iloc[i], "hundred") for i in (0, -1))
    where = f"{panel['aspect'].iloc[0]}, {panel['level'].iloc[0]} level"
    return f"One judge reaches {one} on average, the mean of {panel['n_judges'].max()} {every} ({where})"


def judges_to_combine(judges: Sequence[str], signatures: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the judges of a figure: all, or of more than 12 the first 12, those without examples first."""
    if len(judges) <= MOST_COMBINED:
        return list(judges)
    plain = [j for j in judges if signatures.get(j, {}).get("examples", NONE) == NONE]
    return (plain if len(plain) > 1 else list(judges))[:MOST_COMBINED]


def ensemble_spread(data: Prepared) -> pd.DataFrame | None:
    """Sum up Pearson's r of the means of all subsets of the judges, by the number of judges.

    There is a row per level, aspect and number of judges: ``n_subsets`` with a defined accuracy, and their
    ``mean, minimum, q1, median, q3, maximum``. None is returned where ensembles cannot be compared: fewer
    than two judges, no unit that all have, or a single user.
    """
    if not 2 <= len(data.evaluators) <= MOST_COMBINED:
        return None
    try:
        # Intervals and choices are not used here: one resample is enough.
        every = every_ensemble(data, how=Choosing(resamples=1, resamples_in_fold=1, folds=2, repeats=1))
    except MetaevalError:
        return None
    size = every.members.sum(axis=1)
    return pd.DataFrame(
        {"level": level, "aspect": aspect, "n_judges": k, **_summed_up(every.accuracy[v, a, size == k])}
        for v, level in enumerate(every.levels)
        for a, aspect in enumerate(every.aspects)
        for k in range(1, len(every.judges) + 1)
    )


def _summed_up(values: Floats) -> dict[str, float]:
    defined = values[~np.isnan(values)]
    if not len(defined):
        return {"n_subsets": 0, "mean": np.nan, **dict.fromkeys(_QUARTILES, np.nan)}
    quartiles = np.quantile(defined, [0, 0.25, 0.5, 0.75, 1])
    summary = dict(zip(_QUARTILES, map(float, quartiles), strict=True))
    return {"n_subsets": len(defined), "mean": float(defined.mean()), **summary}
