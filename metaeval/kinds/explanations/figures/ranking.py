"""A forest plot of the leaderboard, with what people reach."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd

from metaeval.analysis.agreement.people import Line, people_lines, repeated_lines
from metaeval.analysis.agreement.reliability import without_lone_average
from metaeval.base.keys import noun
from metaeval.base.records import Kind
from metaeval.engine.charts import DASHED, ROWS, by_kind, evaluator_axis, interval_tooltip, layered
from metaeval.engine.correlation import COLUMN
from metaeval.engine.figure import HUNDRED, largest
from metaeval.engine.order.ranking import PeopleLine
from metaeval.engine.sheet import Column, value_text
from metaeval.kinds.details import made_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from metaeval.engine.alignment.policy import Policy
    from metaeval.engine.figure import Figure
    from metaeval.kinds.explanations.figures.scores import Material
    from metaeval.kinds.explanations.study import ExplanationStudy
    from metaeval.kinds.kind import Scored

CELL = list(COLUMN)
ESTIMATE = (
    *(Column(name, name.capitalize()) for name in COLUMN),
    Column("estimate", "Correlation", "hundred", "ci_low", "ci_high"),
)

_TRUTH = "\0truth"  # no annotator's name


def ranking(material: Material) -> Figure:
    """Draw a dot and an interval for each evaluator, the best on top."""
    scored = material.scored
    human = human_reference(
        material.correlations,
        material.kinds,
        scored.truth,
        scored.raters,
        scored.matched.policy,
        truth_raters=made_of(scored.study.truth).annotators,
    )
    frame = forest(material.correlations, material.kinds, human)
    with_people = frame["human"].notna().any()
    defined = set(frame.loc[frame["estimate"].notna(), "evaluator"])
    undefined = [str(name) for name in frame["evaluator"].unique() if name not in defined]
    n = frame["evaluator"].nunique()

    best_first = alt.EncodingSortField("estimate", op="max", order="descending")
    y = alt.Y("evaluator:N", sort=best_first, axis=evaluator_axis(n))
    across: dict[str, Any] = {"title": f"{HUNDRED} (higher is better)", "axis": alt.Axis(tickCount=8)}
    kinds = by_kind(frame["kind"].unique().tolist())
    # The same number in all rows: any of them will do.
    people = ROWS.mark_rule(strokeWidth=1.5, **DASHED).encode(x=alt.X("max(human_100):Q", **across))
    line = ROWS.mark_rule(strokeWidth=2, opacity=0.75).encode(
        x=alt.X("ci_low_100:Q", **across), x2="ci_high_100", y=y, color=kinds["color"]
    )
    tooltip = interval_tooltip(evaluator="evaluator", kind="kind")
    dot = ROWS.mark_point(filled=True, size=70, opacity=1).encode(
        x=alt.X("estimate_100:Q", **across), y=y, tooltip=tooltip, **kinds
    )
    chart = layered(
        f"Forest plot of {n} evaluators, the best on top: a dot for the correlation with the truth, a "
        "line for its interval, colour and shape for the kind.",
        ROWS.mark_rule(strokeWidth=1).encode(x=alt.XDatum(0, type="quantitative", **across)),
        line,
        dot,
        *([people] if with_people else []),
        height=n * (22 if n <= 20 else 17 if n <= 45 else 13),
        hundred=("estimate", "ci_low", "ci_high", "human"),
    )
    columns = [Column("evaluator", "Evaluator"), Column("kind", "Kind"), *ESTIMATE]
    notes = [
        "The correlation of each evaluator's scores with the truth.",
        material.intervals,
        "The dashed line is the best correlation of an annotator, or of a mean of several."
        if with_people
        else "",
        f"Undefined, so without a dot: {', '.join(undefined)}." if undefined else "",
    ]
    if with_people:
        columns.append(Column("human", "What people reach", "hundred"))
    title = "How well evaluators agree with the truth"
    return material.figure("ranking", title, frame, columns, notes, chart, COLUMN, finding=_best)


def _best(rows: pd.DataFrame) -> str:
    """Say which evaluator that is no person agrees best, and what people reach."""
    known = rows[rows["estimate"].notna()]
    tools = known[known["kind"] != str(Kind.ANNOTATOR)]
    if tools.empty:
        return ""
    best = largest(tools, "estimate")
    of = "Of all that are no person, " if len(tools) < len(known) else ""
    people = (
        f"; people reach {value_text(best['human'], 'hundred')}" if best["human"] == best["human"] else ""
    )
    estimate = value_text(best["estimate"], "hundred")
    return f"{of}{best['evaluator']} agrees best with the truth, {estimate}{people}"


def forest(correlations: pd.DataFrame, kinds: Mapping[str, Kind], human: pd.DataFrame) -> pd.DataFrame:
    """Return the correlations with ``kind`` and, the same for all evaluators, ``human`` and ``human_who``."""
    frame = without_lone_average(correlations)
    frame = frame[["evaluator", *CELL, "estimate", "ci_low", "ci_high"]].merge(human, on=CELL, how="left")
    frame.insert(1, "kind", [str(kinds.get(name, Kind.RECORDED)) for name in frame["evaluator"]])
    return frame


def human_reference(
    correlations: pd.DataFrame,
    kinds: Mapping[str, Kind],
    truth: pd.DataFrame,
    raters: pd.DataFrame | None,
    policy: Policy,
    *,
    truth_raters: Collection[str] = (),
) -> pd.DataFrame:
    """Return the human reference: the highest correlation of people in each column of a leaderboard.

    People are the annotators among the evaluators. If there are none, or their ratings make the truth, they
    are the lines of `metaeval.analysis.agreement.people.people`, against the truth or against the mean of the
    other annotators. The columns are ``aspect, level, coefficient, human, human_who``; there is no row where
    it is unknown.
    """
    annotators = [name for name, kind in kinds.items() if kind == Kind.ANNOTATOR]
    frame = correlations[correlations["evaluator"].isin(annotators) & correlations["estimate"].notna()]
    if frame.empty or truth_raters:
        frame = _lines(truth, raters, policy, truth_raters)
    best = frame.loc[frame.groupby(CELL, sort=False, observed=True)["estimate"].idxmax()]
    return best.rename(columns={"estimate": "human", "evaluator": "human_who"})[[*CELL, "human", "human_who"]]


def with_interval(line: PeopleLine, scored: Scored[ExplanationStudy]) -> PeopleLine:
    """Return a line of people with its interval, if it is none of an evaluator and the study makes any."""
    study, cell = scored.study, line.at
    policy = replace(scored.matched.policy, levels=(cell["level"],), coefficients=(cell["coefficient"],))
    in_truth = made_of(study.truth).annotators
    found = people_lines(scored.truth, scored.raters, policy, truth_raters=in_truth, truth_name=_TRUTH)
    of = next((one for one, _ in found if _named(one) == line.label), None)
    if of is None or study.bootstrap is None:
        return line
    cluster = study.bootstrap.cluster or noun(scored.cluster)
    numbers = of.correlated(policy, policy.coefficients, study.bootstrap.by(cluster))
    rows = [] if numbers is None else numbers[numbers["aspect"] == cell["aspect"]].to_dict("records")
    among = of.against != _TRUTH
    return replace(line, low=rows[0]["ci_low"], high=rows[0]["ci_high"], among=among) if rows else line


def with_themselves(scored: Scored[ExplanationStudy]) -> list[PeopleLine]:
    """Return how people agree with themselves, asked again, in the cell that orders the leaderboard."""
    study, lines = scored.study, list(repeated_lines(scored.repeats))
    if not lines or study.bootstrap is None:
        return []
    cell, cluster = study.ordered_by, study.bootstrap.cluster or noun(scored.cluster)
    policy = replace(scored.matched.policy, levels=(cell["level"],), coefficients=(cell["coefficient"],))
    found = lines[-1].correlated(policy, policy.coefficients, study.bootstrap.by(cluster))
    rows = [] if found is None else found[found["aspect"] == cell["aspect"]].to_dict("records")
    return [
        PeopleLine("people with themselves", dict(cell), r["estimate"], r["ci_low"], r["ci_high"], again=True)
        for r in rows
    ]


def _lines(
    truth: pd.DataFrame, raters: pd.DataFrame | None, policy: Policy, truth_raters: Collection[str]
) -> pd.DataFrame:
    """Return the lines of people, long, without intervals, which take most of the time."""
    lines = list(people_lines(truth, raters, policy, truth_raters=truth_raters, truth_name=_TRUTH))
    # Pairs of people are a reference only where two of them are all there is.
    of_one = [pair for pair in lines if pair[0].against.startswith((_TRUTH, "mean of "))]
    parts = [estimates.assign(evaluator=_named(line)) for line, estimates in of_one or lines]
    frame = pd.concat([pd.DataFrame(columns=["evaluator", *CELL, "estimate"]), *parts], ignore_index=True)
    return frame[frame["estimate"].notna()]


def _named(line: Line) -> str:
    """Return whose line it is, and against what, if that is not the truth."""
    named = line.who if line.who.startswith("mean of ") else f"annotator {line.who}"
    if line.against == _TRUTH:
        return named
    return f"{named} against {'the ' if line.against.startswith('mean of ') else ''}{line.against}"
