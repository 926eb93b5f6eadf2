"""How often each score is given, and by how much scores are too high or too low, by user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from metaeval.analysis.agreement.measures import N_BINS, edges_of, on_scale
from metaeval.base.counts import plural_of
from metaeval.base.keys import key_columns, noun
from metaeval.base.records import AVERAGE, Kind, Scale
from metaeval.base.simulation import Simulation
from metaeval.engine.charts import ROWS, SHORTENED, evaluator_axis, layered, tooltip
from metaeval.engine.figure import BLUE, VERMILION, Figure, first_choices, largest
from metaeval.engine.sheet import Column, Sheet, columns, value_text
from metaeval.kinds.explanations.study import ExplanationStudy
from metaeval.kinds.kind import Scored
from metaeval.stats.coefficients.tables import Floats

MOST_GROUPS = 200
"""Users shown per evaluator; of more, so many at even steps of the order."""

_MOST_WIDE = 24  # histograms in wide panels
_SMALL_NUMBERS = "datum.value !== 0 && abs(datum.value) < 0.001 ? format(datum.value, '.0e') : datum.label"
_DISTRIBUTIONS = (
    *columns("text", evaluator="Evaluator", aspect="Aspect"),
    *columns("number", low="from", high="to"),
    *columns("share", share="Scores", truth_share="Truth"),
    Column("n_scores", "Number of scores", "count"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """What the figures of a run are made of; evaluators go by the names that are printed."""

    scored: Scored[ExplanationStudy]
    labels: Mapping[str, str]
    """Name of each evaluator → the name that is printed: it says so if the evaluator is simulated."""
    scores: pd.DataFrame
    correlations: pd.DataFrame
    kinds: Mapping[str, Kind]
    signatures: Mapping[str, Mapping[str, Any]]
    intervals: str
    """A sentence on the intervals; empty if the run made none."""
    first: Mapping[str, str]
    """Aspect, level and coefficient to show first."""

    def figure(  # noqa: PLR0917 - those of a sheet, and a chart
        self,
        name: str,
        title: str,
        frame: pd.DataFrame,
        columns: Iterable[Column],
        notes: Iterable[str],
        chart: alt.TopLevelMixin,
        choices: Iterable[str] = (),
        *,
        simulated: Simulation | None = None,
        **declared: Any,  # noqa: ANN401 - of Figure
    ) -> Figure:
        """Return a figure of a frame; empty notes are left out, and all evaluators are in it by default."""
        among = self.scored.scores.simulation if simulated is None else simulated
        sheet = Sheet(name, title, frame, tuple(columns), tuple(filter(None, notes)), among)
        names = {label: name for name, label in self.labels.items()}
        return Figure(sheet, chart, first_choices(frame, self.first, choices), names=names, **declared)


def distributions(material: Material) -> Figure | None:
    """Draw small histograms, one per evaluator, with the truth as an outline."""
    scores, scored = material.scores, material.scored
    ratings = on_scale(scores, scored.scale, material.kinds)
    frame = histograms(scores, scored.truth, scored.scale, ratings, f"truth: {scored.study.truth}")
    if frame is None:
        return None
    n = frame["evaluator"].nunique()
    across, panel, ticks = (3, 230, 5) if n <= _MOST_WIDE else (6, 120, 3)
    width = panel + 40
    axis = alt.Axis(
        grid=False, tickCount=ticks, labelOverlap="greedy", labelSeparation=5, labelExpr=_SMALL_NUMBERS
    )
    bins = ROWS.encode(
        x=alt.X("low:Q", bin="binned", title=None, axis=axis, scale=alt.Scale(zero=False, nice=False)),
        x2="high",
    )
    share = alt.Axis(format=".0%", tickCount=3)
    bars = bins.mark_bar(opacity=0.7, binSpacing=0).encode(
        y=alt.Y("share:Q", title="share", axis=share),
        color=alt.condition("datum.place === 0", alt.value(VERMILION), alt.value(BLUE)),
        tooltip=tooltip(
            evaluator="evaluator",
            low=("from", ".4~g"),
            high=("to", ".4~g"),
            share=("scores", ".1%"),
            truth_share=("truth", ".1%"),
        ),
    )
    outline = bins.mark_bar(fillOpacity=0, stroke=VERMILION, strokeWidth=1.6, binSpacing=0)
    truth = outline.encode(y=alt.Y("truth_share:Q", title="share", axis=share))
    header = alt.Header(
        labelLimit=width - 12,
        labelFontSize=11,
        labelAnchor="start",
        labelPadding=4,
        labelExpr=SHORTENED if n <= _MOST_WIDE else alt.Undefined,
    )
    panels = alt.layer(bars, truth.transform_filter("isValid(datum.truth_share)"))
    chart = (
        panels.properties(width=panel, height=70)
        .facet(
            alt.Facet("evaluator:N", title=None, sort=alt.EncodingSortField("place", "min"), header=header),
            columns=across,
            spacing=14,
            description=f"Histograms of the scores of {n - 1} evaluators and of the truth, one panel each.",
        )
        .resolve_scale(x="independent")
    )
    names = [str(name) for name in scores["evaluator"].unique()]
    shown = set(frame["evaluator"])
    unscored = [name for name in names if name not in shown]
    others = len(ratings) + len(unscored) < len(names)
    notes = (
        f"Share of the scores in each bin; ratings are {scored.scale}.",
        "A score on the border of two bins counts as half in each.",
        "The outline is the truth, beside evaluators that score on its scale." if ratings else "",
        f"Evaluators on other scales have {N_BINS} bins over their own range, the same for all aspects."
        if others
        else "",
        f"Without any score, and left out: {', '.join(unscored)}." if unscored else "",
    )
    return material.figure(
        "distributions",
        "How often each score is given",
        frame,
        _DISTRIBUTIONS,
        notes,
        chart,
        ["aspect"],
        caption_width=across * width,
        finding=_furthest,
    )


def _furthest(rows: pd.DataFrame) -> str:
    """Say which ratings are spread least like the truth: what half the sum of absolute differences moves."""
    moved = (
        (rows["share"] - rows["truth_share"]).abs().groupby(rows["evaluator"], sort=False).sum(min_count=1)
    )
    if not moved.notna().any():
        return ""
    return (
        f"{value_text(moved.max() / 2, 'share')} of the ratings by {moved.idxmax()} would have to change "
        "to be spread like the truth, the most of all"
    )


def histograms(
    scores: pd.DataFrame, truth: pd.DataFrame, scale: Scale, ratings: list[str], truth_name: str = "truth"
) -> pd.DataFrame | None:
    """Count how often scores fall into each bin, for every evaluator and for the truth.

    ``ratings`` are the evaluators whose scores are on the scale of the truth. There is a row per evaluator,
    aspect and bin: ``place`` of the evaluator (0 is the truth), the bin's ``low`` and ``high`` end, the
    ``share`` of the scores in it, the ``truth_share`` of the ratings in it (NaN for evaluators that are not
    on the truth's scale, and have 10 bins over their own range) and ``n_scores``. None is returned if there
    is no rating or no score.
    """
    rated = truth[truth["rating"].notna()]
    scored = scores[scores["score"].notna()]
    if rated.empty or scored.empty:
        return None
    everyone = [
        (truth_name, rated.assign(score=rated["rating"])),
        *scored.groupby("evaluator", sort=False, observed=True),
    ]
    of_truth: dict[str, Floats] = {}
    parts = []
    for place, (name, own) in enumerate(everyone):
        on = place == 0 or name in ratings
        by_aspect = dict(iter(own.groupby("aspect", sort=False, observed=True)["score"]))
        for aspect in map(str, truth["aspect"].unique()):
            edges = edges_of(scale.of(aspect)) if on else _own_edges(own["score"].to_numpy())
            values = by_aspect[aspect].to_numpy(dtype=np.float64) if aspect in by_aspect else np.zeros(0)
            share = shares(values, edges)
            if place == 0:
                of_truth[aspect] = share
            columns = {
                "evaluator": str(name),
                "place": place,
                "aspect": aspect,
                "low": edges[:-1],
                "high": edges[1:],
                "share": share,
                "truth_share": of_truth[aspect] if place and on else np.nan,
                "n_scores": len(values),
            }
            parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def shares(values: Floats, edges: Floats) -> Floats:
    """Return the share of the values in each bin; one on a border counts half in both bins. NaN for none."""
    n_bins = len(edges) - 1
    if not len(values):
        return np.full(n_bins, np.nan)
    sides: tuple[Any, Any] = ("left", "right")
    places = [np.clip(np.searchsorted(edges, values, side) - 1, 0, n_bins - 1) for side in sides]
    share: Floats = np.bincount(np.concatenate(places), minlength=n_bins) / 2 / len(values)
    return share


def _own_edges(values: Floats) -> Floats:
    low, high = float(values.min()), float(values.max())
    edges = np.linspace(low, high, N_BINS + 1)
    # A constant score, or a range too small for ten bins, has one bin.
    return edges if (np.diff(edges) > 0).all() else np.array([low - 0.5, high + 0.5])


def user_bias(material: Material) -> Figure | None:
    """Draw a strip of users for each evaluator: by how much its scores are too high or too low."""
    scale = material.scored.scale
    rows, n_users = bias_by_user(material.scores, material.scored.truth, scale, material.kinds)
    if rows is None:
        return None
    names = rows["evaluator"].unique().tolist()
    who = noun(key_columns(material.scored.truth)[0])
    many = plural_of(who)
    across: dict[str, Any] = {
        "title": "mean of score − truth (points of the scale)",
        "axis": alt.Axis(tickCount=9, labelOverlap="greedy", labelSeparation=6),
    }
    lines = ROWS.encode(y=alt.Y("evaluator:N", sort=names, axis=evaluator_axis(len(names))))
    # A summary is the same number in all rows of an evaluator: any of them will do.
    bar = lines.mark_bar(height=16, color=BLUE, opacity=0.3).encode(
        x=alt.X("min(q1):Q", **across), x2="min(q3)"
    )
    tick = lines.mark_tick(thickness=1.5, height=14, color=BLUE, opacity=0.8).encode(
        x=alt.X("bias:Q", **across),
        tooltip=tooltip(
            evaluator="evaluator", who=who, bias=("score − truth", "+.2f"), n_units=("units", ",")
        ),
    )
    diamond = lines.mark_point(filled=True, shape="diamond", size=90, color=VERMILION, opacity=1)
    chart = layered(
        f"Strips of the mean of score minus truth, one tick per {who}, for {len(names)} evaluators; "
        "a bar spans the middle half, a diamond is the mean.",
        bar,
        ROWS.mark_rule(strokeWidth=1.2).encode(x=alt.XDatum(0, type="quantitative", **across)),
        tick,
        diamond.encode(x=alt.X("min(mean):Q", **across)),
        height=30 * len(names),
    )
    shown = (
        *columns("text", evaluator="Evaluator", aspect="Aspect", who=who.capitalize()),
        Column("bias", "Mean of score − truth", "number"),
        Column("n_units", "Units", "count"),
    )
    notes = (
        f"Each tick is one of the {many}: the mean of score − truth over its units, in points of the scale.",
        f"Ratings are {scale}; above 0 the evaluator rates higher than the truth.",
        *scale.averaged,
        f"The bar spans the middle half of the {many}, the diamond is their mean.",
        "Only evaluators whose scores are ratings on the truth's scale are shown; nothing is filled in.",
        f"Of more than {MOST_GROUPS} {many}, {MOST_GROUPS} are shown, at even steps of the order."
        if len(rows) < n_users
        else "",
    )
    title = f"Bias by {many}: scores too high or too low"
    units = {"who": key_columns(material.scored.truth)[0]}
    return material.figure(
        "user_bias", title, rows, shown, notes, chart, ["aspect"], finding=_most_biased, units=units
    )


def _most_biased(rows: pd.DataFrame) -> str:
    most = largest(rows.assign(off=rows["mean"].abs()), "off")
    side = "higher" if most["mean"] > 0 else "lower"
    furthest = ", the furthest off" if len(rows["evaluator"].unique()) > 1 else ""
    return f"{most['evaluator']} rates {most['off']:.2f} points {side} than the truth on average{furthest}"


def bias_by_user(
    scores: pd.DataFrame, truth: pd.DataFrame, scale: Scale, kinds: Mapping[str, Kind]
) -> tuple[pd.DataFrame | None, int]:
    """Average score − truth by user, or by item in data without users, of evaluators on the truth's scale.

    Units without a score or a rating are left out. There is a row per evaluator, aspect and user: ``who``
    (the user), ``bias`` in points of the scale, ``n_units``, and, the same in all rows of an evaluator and
    aspect, ``mean``, ``q1``, ``median`` and ``q3`` over all users. The aspect ``average`` is the mean over
    the aspects of users who have all of them. Returned are at most `MOST_GROUPS` users, or None if no
    evaluator is on the scale, and how many rows there are of all users.
    """
    names = on_scale(scores, scale, kinds)
    keys = key_columns(truth)
    by = [*keys, "aspect"]
    own = scores.loc[scores["evaluator"].isin(names), [*by, "evaluator", "score"]]
    both = own.merge(truth[[*by, "rating"]], on=by).dropna(subset=["score", "rating"])
    if both.empty:
        return None, 0
    both["bias"] = both["score"] - both["rating"]
    groups = both.groupby(["evaluator", "aspect", keys[0]], sort=False, observed=True)["bias"]
    rows = groups.agg(bias="mean", n_units="size").reset_index().rename(columns={keys[0]: "who"})
    aspects = [str(a) for a in truth["aspect"].unique()]
    if len(aspects) > 1:
        of_user = rows.groupby(["evaluator", "who"], sort=False, observed=True)
        average = of_user.agg(bias=("bias", "mean"), n_units=("n_units", "sum"), n=("aspect", "size"))
        average = average[average["n"] == len(aspects)].drop(columns="n").reset_index().assign(aspect=AVERAGE)
        rows = pd.concat([average, rows], ignore_index=True)
    places = [rows["evaluator"].map(names.index), rows["aspect"].map([AVERAGE, *aspects].index)]
    frame = pd.concat([_summed_up(part) for _, part in rows.groupby(places)], ignore_index=True)
    return frame[["evaluator", "aspect", "who", "bias", "n_units", "mean", "q1", "median", "q3"]], len(rows)


def _summed_up(part: pd.DataFrame) -> pd.DataFrame:
    """Sort the users of an evaluator and aspect by bias, and add their mean and quartiles."""
    ordered = part.sort_values(["bias", "who"], kind="stable")
    q1, median, q3 = np.quantile(ordered["bias"], [0.25, 0.5, 0.75])
    ordered = ordered.assign(mean=ordered["bias"].mean(), q1=q1, median=median, q3=q3)
    if len(ordered) > MOST_GROUPS:
        ordered = ordered.iloc[np.linspace(0, len(ordered) - 1, MOST_GROUPS).round().astype(int)]
    return ordered
