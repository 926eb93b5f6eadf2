"""The details of a run: further measures, what people reach, reliability, and where the variance lies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.analysis.agreement.measures import measures
from metaeval.analysis.agreement.people import people
from metaeval.analysis.agreement.reliability import MadeOf, reliability
from metaeval.analysis.agreement.variance import variance
from metaeval.base.spec import EvaluatorSpec
from metaeval.engine.intervals import Bootstrap
from metaeval.runs.finished import open_run
from metaeval.study.specs import specs_in

if TYPE_CHECKING:
    import os

    import pandas as pd

    from metaeval.engine.matched import Matched
    from metaeval.engine.sheet import Sheet
    from metaeval.runs.record import Record


def details(folder: str | os.PathLike[str]) -> list[Sheet]:
    """Return the details of a finished run.

    Raises
    ------
    RunFolderError
        If it is no run folder, the run is not finished, or its files are not those that it wrote.
    """
    run = open_run(folder)
    return details_of(run.matched, run.raters, run.record)


def details_of(matched: Matched, raters: pd.DataFrame | None, record: Record) -> list[Sheet]:
    """Return the details of a run as sheets, without those that the data have nothing for.

    They are ``measures``, ``people``, ``annotators``, ``retest``, ``attenuation`` and ``variance``.

    Parameters
    ----------
    matched
        What the run scored, and its truth.
    raters
        Annotators' ratings: key columns, ``rater``, ``aspect``, ``rating``; None if there are none.
    record
        What ``run.json`` says.
    """
    data, scores, truth = matched.prepared, matched.scores, matched.truth
    spec = record.truth.spec
    whole = made_of(spec)
    bootstrap = Bootstrap.read(record.study.bootstrap)
    sheets = [
        measures(
            data,
            scale=record.data.scale,
            seed=bootstrap.seed if bootstrap else 0,
            simulated=scores.simulation,
        ),
        people(
            truth,
            raters,
            matched.policy,
            truth_raters=whole.annotators,
            truth_name="the user" if spec == "User()" else spec,
            bootstrap=bootstrap,
            simulated=scores.simulation.among(()),
        ),
        *reliability(
            data,
            scores,
            truth,
            raters,
            made_of={name: made_of(spec) for name, spec in record.specs.items()},
            truth_made_of=whole,
            truth_name=spec,
        ),
        variance(data, simulated=scores.simulation),
    ]
    return [sheet for sheet in sheets if sheet is not None]


def made_of(spec: str | EvaluatorSpec) -> MadeOf:
    """Return which annotators' ratings an evaluator holds, and whether it is their mean and nothing else."""
    given = EvaluatorSpec.parse(spec) if isinstance(spec, str) else spec
    if given.name == "Annotator":
        names = [str(a) for a in (*given.args, *given.kwargs.values())]
        return MadeOf(frozenset(names), mean=True)
    parts = [made_of(p) for a in (*given.args, *given.kwargs.values()) for p in specs_in(a)]
    within = frozenset(n for p in parts for n in p.annotators)
    # Each part one annotator, and no annotator twice: then all weigh the same.
    plain = given.name == "Mean" and len(within) == len(parts) and all(p.mean for p in parts)
    return MadeOf(within, mean=plain and all(len(p.annotators) == 1 for p in parts))
