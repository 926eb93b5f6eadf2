"""The details of a run: further measures, what people reach, reliability, and where the variance lies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metaeval import evaluators
from metaeval.analysis.measures import measures
from metaeval.analysis.people import people
from metaeval.analysis.reliability import reliability
from metaeval.analysis.variance import variance
from metaeval.evaluators.annotator import Annotator
from metaeval.evaluators.ensemble import Mean
from metaeval.intervals import Bootstrap
from metaeval.policy import Policy, prepare
from metaeval.study.opened import open_run
from metaeval.types import Scale, ScoreTable

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import pandas as pd

    from metaeval.sheet import Sheet


def details(folder: str | os.PathLike[str]) -> list[Sheet]:
    """Return the details of a finished run.

    Raises
    ------
    RunFolderError
        If it is no run folder, the run is not finished, or its files are not those that it wrote.
    """
    run = open_run(folder)
    return details_of(run.scores, run.truth, run.raters, run.record)


def details_of(
    scores: ScoreTable, truth: pd.DataFrame, raters: pd.DataFrame | None, record: Mapping[str, Any]
) -> list[Sheet]:
    """Return the details of a run as sheets: ``measures``, ``people``, ``annotators``, ``retest``, …, ``variance``.

    Sheets that the data have nothing for are left out.

    Parameters
    ----------
    scores, truth
        What the run scored, and its truth (key columns, ``aspect``, ``rating``).
    raters
        Annotators' ratings: key columns, ``rater``, ``aspect``, ``rating``; None if there are none.
    record
        The content of ``run.json``: ``study`` as resolved, ``data`` with its ``scale``, ``truth`` and
        ``evaluators`` with their specs.
    """
    study = record["study"]
    policy = Policy.of(
        study["levels"], study["coefficients"], study["missing"], study["undefined_groups"], study["units"]
    )
    data = prepare(scores, truth, policy)
    people_only, of_truth = scores.simulated, annotators_of(record["truth"]["spec"])
    either = scores.simulated or bool(scores.simulated_evaluators)
    bootstrap = Bootstrap.of(study["bootstrap"])
    low, high, integer = record["data"]["scale"]
    sheets = [
        measures(
            data,
            scale=Scale(low, high, bool(integer)),
            seed=bootstrap.seed if bootstrap else 0,
            simulated=either,
        ),
        people(
            truth,
            raters,
            policy,
            truth_raters=of_truth,
            truth_name=_truth_name(record["truth"]["spec"]),
            bootstrap=bootstrap,
            simulated=people_only,
        ),
        *reliability(
            data,
            scores,
            truth,
            raters,
            annotators={n: annotators_of(e["spec"]) for n, e in record["evaluators"].items()},
            truth_raters=of_truth,
            truth_name=record["truth"]["spec"],
        ),
        variance(data, simulated=either),
    ]
    return [sheet for sheet in sheets if sheet is not None]
