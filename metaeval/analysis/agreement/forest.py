"""The correlations of a run for a forest plot, with the human reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from metaeval.analysis.agreement.people import people_lines
from metaeval.base.records import AVERAGE, Kind
from metaeval.base.simulation import REAL
from metaeval.engine.sheet import Column, Sheet

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from metaeval.analysis.agreement.people import Line
    from metaeval.base.simulation import Simulation
    from metaeval.engine.alignment.policy import Policy

_TRUTH = "\0truth"  # no annotator's name

CELL = ["aspect", "level", "coefficient"]
ESTIMATE = (
    Column("aspect", "Aspect"),
    Column("level", "Level"),
    Column("coefficient", "Coefficient"),
    Column("estimate", "Correlation", "hundred", "ci_low", "ci_high"),
)


def without_lone_average(correlations: pd.DataFrame) -> pd.DataFrame:
    """Drop the average over aspects where there is a single aspect."""
    several = correlations["aspect"].nunique() > 2
    return correlations if several else correlations[correlations["aspect"] != AVERAGE]


def forest(
    correlations: pd.DataFrame,
    kinds: Mapping[str, Kind],
    human: pd.DataFrame,
    *,
    intervals: str = "",
    simulated: Simulation = REAL,
) -> Sheet:
    """Return the correlations of all evaluators, with their kinds and the human reference.

    Parameters
    ----------
    correlations
        The columns of `metaeval.base.records.Correlation`.
    human
        What `human_reference` returned.
    intervals
        A sentence on how the intervals were made.

    Returns
    -------
    Sheet
        A row per evaluator, aspect, level and coefficient, with ``kind`` and, the same for all evaluators,
        ``human`` and ``human_who``: the highest estimate of a person or of a mean of people, and whose it is.
    """
    frame = without_lone_average(correlations)
    frame = frame[["evaluator", *CELL, "estimate", "ci_low", "ci_high"]].merge(human, on=CELL, how="left")
    frame.insert(1, "kind", [str(kinds.get(name, Kind.RECORDED)) for name in frame["evaluator"]])
    defined = set(frame.loc[frame["estimate"].notna(), "evaluator"])
    undefined = [str(name) for name in frame["evaluator"].unique() if name not in defined]
    notes = (
        "The correlation of each evaluator's scores with the truth.",
        *([intervals] if intervals else []),
        *(
            ["The dashed line is the best correlation of an annotator, or of a mean of several."]
            if frame["human"].notna().any()
            else []
        ),
        *([f"Undefined, so without a dot: {', '.join(undefined)}."] if undefined else []),
    )
    columns = [Column("evaluator", "Evaluator"), Column("kind", "Kind"), *ESTIMATE]
    if frame["human"].notna().any():
        columns.append(Column("human", "What people reach", "hundred"))
    return Sheet(
        "ranking", "How well evaluators agree with the truth", frame, tuple(columns), notes, simulated
    )


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
    other annotators.

    Parameters
    ----------
    truth, raters, policy, truth_raters
        As in `people`.

    Returns
    -------
    DataFrame
        ``aspect, level, coefficient, human, human_who``; no row where it is unknown.
    """
    annotators = [name for name, kind in kinds.items() if kind == Kind.ANNOTATOR]
    frame = correlations[correlations["evaluator"].isin(annotators) & correlations["estimate"].notna()]
    if frame.empty or truth_raters:
        frame = _lines(truth, raters, policy, truth_raters)
    best = frame.loc[frame.groupby(CELL, sort=False, observed=True)["estimate"].idxmax()]
    return best.rename(columns={"estimate": "human", "evaluator": "human_who"})[[*CELL, "human", "human_who"]]


def _lines(
    truth: pd.DataFrame, raters: pd.DataFrame | None, policy: Policy, truth_raters: Collection[str]
) -> pd.DataFrame:
    """Return the lines of people, long, without intervals, which take most of the time."""
    lines = list(people_lines(truth, raters, policy, truth_raters=truth_raters, truth_name=_TRUTH))
    # Pairs of people are a reference only where two of them are all there is.
    told = [n for n in lines if n[0].against == _TRUTH or n[0].against.startswith("mean of ")]
    parts = [found.assign(evaluator=_named(line)) for line, found in told or lines]
    frame = (
        pd.concat(parts, ignore_index=True)
        if parts
        else pd.DataFrame(columns=["evaluator", *CELL, "estimate"])
    )
    return frame[frame["estimate"].notna()]


def _named(line: Line) -> str:
    """Return whose line it is, and against what, if that is not the truth."""
    named = line.who if line.who.startswith("mean of ") else f"annotator {line.who}"
    if line.against == _TRUTH:
        return named
    return f"{named} against {'the ' if line.against.startswith('mean of ') else ''}{line.against}"
