"""Figures of judges: the effect of examples, and cost against accuracy."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from metaeval.analysis.agreement.reliability import without_lone_average
from metaeval.base.records import PRICE
from metaeval.engine.charts import OF_LEVEL, ROWS, interval_tooltip, layered, scale_of, times_hundred
from metaeval.engine.figure import GREY, HUNDRED, PALETTE, SHAPES, largest
from metaeval.engine.sheet import Column, value_text
from metaeval.judging.cost import costs_of
from metaeval.kinds.explanations.figures.ranking import CELL, ESTIMATE
from metaeval.kinds.explanations.judge.judge import NONE

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from metaeval.engine.figure import Figure
    from metaeval.kinds.explanations.figures.scores import Material

_ZERO_SHOT = "zero-shot"
_ORDER = (_ZERO_SHOT, "one-shot", "shuffled", "personalized")
_OPTIONS = (
    *("address", "temperature", "max_tokens", "parameters", "profile", "replicate", "reply", "attempts"),
    *("samples", "expected"),
)
_PRICED = "no model"
FEWEST_PRICED = 3
"""Costs of which a figure is drawn: of two points a table says more."""

_WIDE = 20  # largest over smallest cost, from which on equal steps are equal factors
_NARROW = 3  # and up to which an axis from zero would be mostly empty


def judge_names(signatures: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, str]]:
    """Return of each judge its model, and how it is asked.

    They are model, prompt and the options that differ between its judges; and ``zero-shot``, ``one-shot``, …,
    with the seed where only it differs.
    """
    judges = {n: s for n, s in signatures.items() if {"model", "prompt", "examples"} <= set(s)}
    alike: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for s in judges.values():
        alike.setdefault((str(s["model"]), str(s["prompt"]["name"])), []).append(s)
    asked: dict[str, tuple[str, str]] = {}
    for name, s in judges.items():
        named = str(s["model"]), str(s["prompt"]["name"])
        differing = (o for o in _OPTIONS if len({str(other.get(o)) for other in alike[named]}) > 1)
        options = [f"{o} {s[o]}" for o in differing if s.get(o) is not None]
        way = _ZERO_SHOT if s["examples"] == NONE else str(s["examples"])
        asked[name] = (", ".join([*named, *options]), way)
    times = Counter(asked.values())
    return {
        name: (model, f"{way}, seed {judges[name].get('seed')}")
        if times[model, way] > 1 and way != _ZERO_SHOT
        else (model, way)
        for name, (model, way) in asked.items()
    }


def judge_rows(correlations: pd.DataFrame, shown: Mapping[str, tuple[str, str]]) -> pd.DataFrame:
    """Return the correlations of some judges, each with its ``model`` and ``way`` of `judge_names`."""
    frame = without_lone_average(correlations)
    frame = frame[frame["evaluator"].isin(list(shown))]
    frame = frame[["evaluator", *CELL, "estimate", "ci_low", "ci_high"]].reset_index(drop=True)
    frame.insert(1, "model", [shown[name][0] for name in frame["evaluator"]])
    frame.insert(2, "way", [shown[name][1] for name in frame["evaluator"]])
    return frame


def prompting(material: Material) -> Figure | None:
    """Draw the ways of asking a model side by side: one row per model, one column per level.

    This is Figure 3 of the study of LLM judges of explanations at RecSys 2024.
    """
    frame = asked_in_ways(material.correlations, material.signatures)
    if frame is None:
        return None
    models, levels, aspects = (frame[column].unique().tolist() for column in ("model", "level", "aspect"))
    present = frame["way"].unique().tolist()
    known = [w for o in _ORDER for w in present if w == o or w.startswith(f"{o},")]
    ways = [*known, *(w for w in present if w not in known)]
    marks = ROWS.encode(
        x=alt.X("aspect:N", sort=aspects, title=None, axis=alt.Axis(labelAngle=-40)),
        xOffset=alt.XOffset("way:N", sort=ways),
        color=alt.Color(
            "way:N", title=None, sort=ways, scale=scale_of(ways, PALETTE), legend=alt.Legend(orient="top")
        ),
    )
    up: dict[str, Any] = {"title": HUNDRED, "axis": alt.Axis(grid=True)}
    line = marks.mark_rule(strokeWidth=1.5, opacity=0.75).encode(
        y=alt.Y("ci_low_100:Q", **up), y2="ci_high_100"
    )
    dot = marks.mark_point(filled=True, size=55, opacity=1).encode(
        y=alt.Y("estimate_100:Q", **up),
        shape=alt.Shape("way:N", title=None, sort=ways, scale=scale_of(ways, SHAPES)),
        tooltip=interval_tooltip(model="model and prompt", way="asked", aspect="aspect"),
    )
    zero = ROWS.mark_rule(strokeWidth=1).encode(y=alt.YDatum(0, type="quantitative", **up))
    panel = max(150, 14 * len(ways) * len(aspects))
    header = alt.Header(labelOrient="top", labelAnchor="start", labelLimit=3 * panel, labelPadding=6)
    of_level = alt.Header(labelAnchor="start", labelExpr=OF_LEVEL, labelPadding=2)
    chart = (
        alt.layer(zero, line, dot)
        .properties(width=panel, height=150)
        .facet(
            row=alt.Row("model:N", sort=models, title=None, header=header),
            column=alt.Column("level:N", sort=levels, title=None, header=of_level),
            description=f"Correlations of {len(models)} models and prompts with the truth: one row per "
            f"model, one column per level, {len(ways)} ways to ask side by side for each aspect.",
        )
        .transform_calculate(**times_hundred("estimate", "ci_low", "ci_high"))
    )
    columns = (Column("model", "Model and prompt"), Column("way", "Asked"), *ESTIMATE)
    notes = (
        (
            "The same model and prompt without an example (zero-shot), with a rated example of any user "
            "(one-shot), of the same user (personalized), or of another user (shuffled)."
        ),
        material.intervals,
    )
    return material.figure(
        "prompting",
        "The effect of examples on a judge",
        frame,
        columns,
        notes,
        chart,
        ["coefficient"],
        simulated=material.scored.scores.simulation.among(frame["evaluator"].unique()),
        caption_width=len(levels) * (panel + 20) + 60,
        finding=_best_way,
    )


def _best_way(rows: pd.DataFrame) -> str:
    """Say which examples change a model most, on average over the panels."""
    means = rows.pivot_table("estimate", "model", "way", sort=False)
    if _ZERO_SHOT not in means:
        return ""
    gains = means.drop(columns=_ZERO_SHOT).sub(means[_ZERO_SHOT], axis=0)
    gains = gains.melt(ignore_index=False).dropna().reset_index()
    if gains.empty:
        return ""
    most = largest(gains.assign(size=gains["value"].abs()), "size")
    side, by = "better" if most["value"] > 0 else "worse", value_text(most["size"], "hundred")
    return f"Asked {most['way']} rather than {_ZERO_SHOT}, {most['model']} agrees {side} by {by} on average"


def asked_in_ways(
    correlations: pd.DataFrame, signatures: Mapping[str, Mapping[str, Any]]
) -> pd.DataFrame | None:
    """Return the correlations of models that were asked in two ways or more; None if there are none."""
    names = judge_names(signatures)
    n_ways = Counter(model for model, _ in set(names.values()))
    shown = {name: both for name, both in names.items() if n_ways[both[0]] > 1}
    return judge_rows(correlations, shown) if shown else None


def cost(material: Material) -> Figure | None:
    """Draw judges by what they cost and how well they agree with the truth, with the frontier as a step."""
    costs = costs_of(material.scored.scores)
    costs = costs.assign(evaluator=costs["evaluator"].astype(object).map(material.labels))
    frame = cost_accuracy(material.correlations, costs, material.signatures)
    if frame is None:
        return None
    models, ways = frame["model"].unique().tolist(), frame["way"].unique().tolist()
    low, high = float(frame["cost"].min()), float(frame["cost"].max())
    usd = frame["unit"].iloc[0] == "usd"
    title, form = ("USD per unit", "$~g") if usd else ("tokens per unit", ",~r")
    if low > 0 and high / low > _WIDE:
        scale = alt.Scale(type="log")
    elif low > 0 and high <= _NARROW * low:  # with a tenth at each end, or nearly equal costs look far apart
        scale = alt.Scale(domain=[0.9 * low, 1.1 * high])
    else:
        scale = alt.Scale(zero=True)
    up: dict[str, Any] = {"title": HUNDRED, "scale": alt.Scale(zero=False)}
    marks = ROWS.encode(
        x=alt.X("cost:Q", title=title, scale=scale, axis=alt.Axis(format=form, tickCount=6)),
        y=alt.Y("estimate_100:Q", **up),
    )
    colour = alt.Color(
        "model:N",
        title="model and prompt",
        scale=scale_of(models, PALETTE),
        legend=alt.Legend(orient="top", columns=1, labelLimit=420),
    )
    shape = alt.Shape(
        "way:N",
        title="asked",
        scale=scale_of(ways, SHAPES),
        legend=alt.Legend(orient="top", columns=1, symbolFillColor=GREY),
    )
    step = marks.mark_line(interpolate="step-after", strokeWidth=1.5, strokeDash=[5, 3], color=GREY)
    chart = layered(
        f"{frame['evaluator'].nunique()} judges: cost per unit on the horizontal axis, correlation with "
        "the truth on the vertical one; a step line joins the Pareto frontier.",
        step.transform_filter("datum.frontier"),
        marks.mark_rule(strokeWidth=1.5, opacity=0.6).encode(
            y=alt.Y("ci_low_100:Q", **up), y2="ci_high_100", color=colour
        ),
        marks.mark_point(filled=True, size=90, opacity=1).encode(
            color=colour,
            shape=shape,
            tooltip=interval_tooltip(evaluator="judge", cost=(title, ".4~g")),
        ),
        hundred=("estimate", "ci_low", "ci_high"),
    )
    judges = frame["evaluator"].unique()
    unknown = [name for name in judge_names(material.signatures) if name not in judges]
    columns = (
        Column("evaluator", "Judge"),
        Column("cost", title.replace("tokens", "Tokens"), "usd" if usd else "number"),
        *ESTIMATE,
        Column("frontier", "On the frontier"),
    )
    notes = (
        "The cost of a unit covers all aspects, in one call or several, and repeated attempts.",
        material.intervals,
        (
            "The stepped line is the Pareto frontier: no judge that costs the same or less has a higher "
            "estimate."
            if frame[frame["frontier"]].groupby(list(CELL))["cost"].nunique().gt(1).any()
            else ""
        ),
        f"Left out, of unknown cost: {', '.join(unknown)}." if unknown else "",
    )
    return material.figure(
        "cost",
        "Accuracy and cost",
        frame,
        columns,
        notes,
        chart,
        CELL,
        simulated=material.scored.scores.simulation.among(judges),
        finding=_best_and_cheapest,
    )


def _best_and_cheapest(rows: pd.DataFrame) -> str:
    known = rows[rows["estimate"].notna()].assign(saved=-rows["cost"])
    if known.empty:
        return ""
    best, cheapest = largest(known, "estimate"), largest(known, "saved")
    second = "no judge costs less"
    if cheapest["cost"] < best["cost"]:
        less = value_text(1 - cheapest["cost"] / best["cost"], "share")
        reached = value_text(cheapest["estimate"], "hundred")
        second = f"{cheapest['evaluator']} costs {less} less and reaches {reached}"
    return f"{best['evaluator']} agrees best, {value_text(best['estimate'], 'hundred')}; {second}"


def cost_accuracy(
    correlations: pd.DataFrame, costs: pd.DataFrame, signatures: Mapping[str, Mapping[str, Any]]
) -> pd.DataFrame | None:
    """Put each judge's cost beside its correlations, and mark the Pareto frontier.

    There is one row per judge, or other evaluator of a stated price, aspect, level and coefficient, with
    ``cost`` of a text on all aspects (NaN in
    ``costs`` where unknown), its ``unit`` (``usd``, or ``tokens`` where the price of fewer than two judges is
    known and not nothing), ``model``, ``way`` and ``frontier``: no judge that is as cheap or cheaper has a
    higher estimate. None is returned for fewer than three costs.
    """
    priced = {name: (name, _PRICED) for name, of in signatures.items() if PRICE in of}
    names = judge_names(signatures) | priced
    costs = costs.set_index("evaluator")
    # Models that cost nothing on your own server are told apart by their tokens.
    unit = "usd" if (costs["usd_per_text"].astype(float) > 0).sum() > 1 else "tokens"
    cost = costs[f"{unit}_per_text"].astype(float).dropna()
    cost = cost[cost.index.isin(list(names))]
    if len(cost) < FEWEST_PRICED or not (cost > 0).any():
        return None
    frame = judge_rows(correlations, {name: names[name] for name in cost.index})
    frame["cost"] = cost.reindex(frame["evaluator"]).to_numpy()
    frame["unit"] = unit
    ordered = frame.sort_values(["cost", "estimate"], ascending=[True, False], kind="stable")
    # The best of the cheaper ones; NaN neither is on the frontier nor hides what follows.
    best = ordered.groupby(CELL, sort=False, observed=True)["estimate"].transform(
        lambda estimates: estimates.cummax().ffill().shift().fillna(-np.inf)
    )
    frame["frontier"] = ordered["estimate"] > best
    return frame
