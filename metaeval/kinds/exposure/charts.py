"""Figures: agreement weighted and not, and by bin; recommenders by a judge; exposure by popularity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from metaeval.engine.figure import BLUE, GREEN, GREY, ORANGE, VERMILION, Figure, first_choices, largest
from metaeval.engine.sheet import Column, Sheet, columns, value_text
from metaeval.kinds.exposure.measures import ALL, CHANCE, EVALUATOR, PAIR_AUC
from metaeval.kinds.exposure.recommenders.link import CALIBRATION, POINTS
from metaeval.kinds.exposure.scored import ExposureScored
from metaeval.kinds.table import KindTable

WEIGHTINGS = ("weighted", "unweighted")
_NUMBERS = (Column("weighting", "Weighting"), Column("estimate", "PairAUC", "decimal", "ci_low", "ci_high"))
_CHANCE_NOTE = "The dashed line is chance."
_WITHIN = "within the range of the others"


def _weighed(scored: ExposureScored, *, whole: bool) -> pd.DataFrame:
    """Return the rows of all bins together, or those of single bins, with words for weightings."""
    table = scored.table(PAIR_AUC)
    words = table["weighted"].map(dict(zip(("true", "false"), WEIGHTINGS, strict=True)))
    return table.assign(weighting=words)[(table["bin"] == ALL) == whole]


def bias_figure(sheet: Sheet, _: Mapping[str, str]) -> Figure:
    """Draw PairAUC with and without weights, and the ``truth`` where it is known.

    The truth is agreement if exposure did not depend on popularity.
    """
    import altair as alt

    from metaeval.engine.charts import DASHED, ROWS, layered, scale_of, tooltip

    lines = tooltip(
        evaluator="evaluator",
        weighting="weighting",
        estimate=("PairAUC", ".4f"),
        ci_low=("from", ".4f"),
        ci_high=("to", ".4f"),
    )
    y = alt.Y("evaluator:N", title=None, sort=None)
    colour = alt.Color(
        "weighting:N", title=None, scale=scale_of(WEIGHTINGS, (BLUE, VERMILION)), legend={"orient": "top"}
    )
    beside = alt.YOffset("weighting:N", sort=list(WEIGHTINGS))
    estimate = alt.X("estimate:Q", title="PairAUC", scale={"zero": False})
    ends = ROWS.mark_rule(strokeWidth=2).encode(
        x=alt.X("ci_low:Q", title="PairAUC"), x2="ci_high", y=y, yOffset=beside, color=colour
    )
    dots = ROWS.mark_point(filled=True, size=70, opacity=1).encode(
        x=estimate, y=y, yOffset=beside, color=colour, tooltip=lines
    )
    truth = ROWS.mark_tick(color=GREY, thickness=3, size=40).encode(x=alt.X("truth:Q", title="PairAUC"), y=y)
    chart = layered(
        "PairAUC of each evaluator, weighted by inverse propensities and not.",
        *([truth] if "truth" in sheet.frame else []),
        ends,
        dots,
        ROWS.mark_rule(**DASHED).encode(x=alt.XDatum(CHANCE)),
        height=alt.Step(44, **{"for": "position"}),
    )
    return Figure(sheet, chart, finding=_best_weighted)


def _best_weighted(rows: pd.DataFrame) -> str:
    """Say who agrees best once popular items no longer weigh more, and what it reaches unweighted."""
    values = rows.pivot_table("estimate", "evaluator", "weighting", sort=False).dropna()
    if values.empty or not {*WEIGHTINGS} <= {*values}:
        return ""
    best = largest(values.reset_index(), WEIGHTINGS[0])
    weighted, plain = (value_text(best[w], "decimal") for w in WEIGHTINGS)
    name = best["evaluator"]
    return f"Weighted by inverse propensities, {name} agrees best: PairAUC {weighted}, unweighted {plain}"


BIAS = KindTable(
    "exposure_bias",
    "Agreement with and without weights",
    (EVALUATOR, *_NUMBERS),
    lambda scored: _weighed(scored, whole=True),
    ("Where popular items are shown more, unweighted agreement is that on popular items.", _CHANCE_NOTE),
    bias_figure,
)


def _bins_figure(sheet: Sheet, first: Mapping[str, str]) -> Figure:
    import altair as alt

    from metaeval.engine.charts import DASHED, ROWS, curves, tooltip

    x = alt.X("bin:N", title="bin of popularity, the most popular first", sort=None, axis={"labelAngle": 0})
    y = alt.Y("estimate:Q", title="PairAUC", scale={"zero": False})
    lines = tooltip(evaluator="evaluator", bin="bin", estimate=("PairAUC", ".4f"), n_pairs=("pairs", ","))
    said, chance = "PairAUC of each evaluator by bin of popularity.", alt.YDatum(CHANCE)
    over = [ROWS.mark_rule(**DASHED).encode(y=chance)]
    chart = curves(said, sheet.frame, x, y, ("ci_low", "ci_high"), lines, over=over)
    return Figure(sheet, chart, first_choices(sheet.frame, first, ["weighting"]), finding=_by_popularity)


def _by_popularity(rows: pd.DataFrame) -> str:
    """Say what the evaluator that is best over the bins reaches in the most and the least popular one."""
    known = rows[rows["estimate"].notna()]
    if known.empty:
        return ""
    best = known.groupby("evaluator", sort=False, observed=True)["estimate"].median().idxmax()
    own = known.loc[known["evaluator"] == best, "estimate"]
    first, last = (value_text(own.iloc[i], "decimal") for i in (0, -1))
    return f"{best}, the best over the bins: PairAUC {first} in the most popular bin, {last} in the last"


BY_BIN = KindTable(
    "agreement_by_bin",
    "Agreement by popularity",
    (EVALUATOR, Column("bin", "Bin"), *_NUMBERS),
    lambda scored: _weighed(scored, whole=False),
    notes=(_CHANCE_NOTE,),
    chart=_bins_figure,
)


def _points(scored: ExposureScored) -> pd.DataFrame:
    """Return the points of maps as they are drawn, the map with the highest ρ first; none without a map."""
    frame = scored.table(POINTS)
    if frame.empty or (maps := scored.table(CALIBRATION))["spearman"].isna().all():
        return frame.iloc[:0]
    frame = frame.merge(maps[["evaluator", "measure", "estimator", "spearman"]])
    frame = frame.sort_values("spearman", ascending=False, kind="stable", ignore_index=True)
    part = np.where(frame["predicted"].isna(), "score out of the range of the others", _WITHIN)
    part = np.where(frame["reason"] == "", part, "no map: " + frame["reason"].str.replace("_", " "))
    return frame.assign(measure=frame["measure"] + " by " + frame["estimator"].str.upper(), part=part)


def _map_figure(sheet: Sheet, first: Mapping[str, str]) -> Figure:
    import altair as alt

    from metaeval.engine.charts import ROWS, layered, tooltip, whiskers

    frame = sheet.frame
    x = alt.X("score:Q", title="judge's score (RJS)", scale={"zero": False})
    y = alt.Y("target:Q", title="value", scale={"zero": False})
    parts = [str(p) for p in sorted(frame["part"].unique(), key=lambda p: str(p) != _WITHIN)]
    colours = [BLUE if p == _WITHIN else GREY if p.startswith("no map") else VERMILION for p in parts]
    lines = tooltip(
        system="recommender",
        score=("score", ".3f"),
        target=("value", ".4f"),
        fitted=("map", ".4f"),
        predicted=("by a map of the others", ".4f"),
    )
    scale, legend = alt.Scale(domain=parts, range=colours), {"orient": "top", "columns": 2}
    chart = layered(
        "Recommenders by a judge's score, to the right, and by their target, upwards.",
        *whiskers(x, y, ("score_low", "score_high"), ("target_low", "target_high")),
        ROWS.mark_line(color=BLUE, strokeWidth=2).encode(x=x, y="fitted:Q"),
        ROWS.mark_point(filled=True, size=70, opacity=1).encode(
            x=x, y=y, color=alt.Color("part:N", title=None, scale=scale, legend=legend), tooltip=lines
        ),
        ROWS.mark_text(align="left", dx=7, dy=-8, fontSize=10).encode(x=x, y=y, text="system:N"),
    )
    chosen = first_choices(frame, first, ["evaluator", "measure"])
    return Figure(sheet, chart, chosen, finding=_ordered_alike)


def _ordered_alike(rows: pd.DataFrame) -> str:
    """Say how far a judge's scores order the recommenders as a measure does."""
    rho = rows["spearman"].iloc[0]
    if np.isnan(rho):
        return ""
    n, judge, measure = len(rows), rows["evaluator"].iloc[0], rows["measure"].iloc[0]
    return f"{judge} orders {n} recommenders as {measure} does with Spearman's ρ {rho:.2f}"


CURVE = KindTable(
    "calibration_curve",
    "From a judge's score of recommenders to their Recall and nDCG",
    (
        *columns("text", evaluator="Judge", measure="Measure", system="Recommender"),
        Column("score", "Score", "decimal", "score_low", "score_high"),
        Column("target", "Value", "decimal", "target_low", "target_high"),
        *columns("decimal", fitted="Map", predicted="Predicted by the others"),
    ),
    _points,
    (
        (
            "Every dot is a recommender. The line is the fitted isotonic regression. Without a line there "
            "is no map; the colour says why. Grey bars are intervals."
        ),
    ),
    _map_figure,
)


def exposure_figure(sheet: Sheet) -> Figure:
    """Draw the sheet of the exposure curve as lines over the popularity bins."""
    import altair as alt

    from metaeval.engine.charts import ROWS, layered

    bins, *curves = sheet.columns
    names = [curve.name for curve in curves]
    long = sheet.frame.melt("bin", names, "of", "share")
    scale = alt.Scale(domain=names, range=[GREY, ORANGE, BLUE, GREEN])
    drawn = ROWS.encode(
        x=alt.X("bin:N", title="popularity bin, the most popular first", sort=None),
        y=alt.Y("share:Q", title="share of exposures", scale={"zero": True}, axis={"format": "%"}),
        color=alt.Color("of:N", title=None, scale=scale, sort=names),
    )
    chart = layered(sheet.title, drawn.mark_line(), drawn.mark_point(filled=True), height=260)
    shown = (bins, Column("of", "Of"), Column("share", "Share", "share"))
    return Figure(replace(sheet, frame=long, columns=shown), chart, finding=_most_exposed)


def _most_exposed(rows: pd.DataFrame) -> str:
    """Say what share of all exposures the most popular bin takes at most, and of which curve."""
    most = largest(rows[rows["bin"] == rows["bin"].iloc[0]], "share")
    return f"The most popular bin takes {value_text(most['share'], 'share')} of the exposures ({most['of']})"
