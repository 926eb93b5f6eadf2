"""The details of a run: further measures, what people reach, reliability, and where the variance lies."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from metaeval.analysis.agreement.measures import measures
from metaeval.analysis.agreement.people import people
from metaeval.analysis.agreement.reliability import MadeOf, reliability, variance
from metaeval.analysis.user_orders import order_sheets
from metaeval.base.records import USER_RATER, Kind, Scale
from metaeval.base.spec import USERS, EvaluatorSpec
from metaeval.engine.alignment.prepared import Matched
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.sheet import Sheet


def details(
    matched: Matched,
    raters: pd.DataFrame | None,
    scale: Scale,
    *,
    truth_spec: str,
    specs: Mapping[str, str],
    bootstrap: Bootstrap | None,
    repeats: pd.DataFrame | None = None,
) -> list[Sheet]:
    """Return the details of a run as sheets, without those that the data have nothing for.

    They are ``measures``, ``people``, ``annotators``, ``retest``, ``attenuation``, ``variance``, ``orders``
    and ``order-tests``. ``specs`` are those of the evaluators by their names, ``repeats`` as of
    `metaeval.kinds.kind.Scored`.
    """
    data, scores, truth = matched.prepared, matched.scores, matched.truth
    whole, truth_name = made_of(truth_spec), EvaluatorSpec.parse(truth_spec).short
    sheets = [
        measures(
            data,
            scale=scale,
            seed=bootstrap.seed if bootstrap else 0,
            people=[name for name, kind in scores.kinds.items() if kind == Kind.ANNOTATOR],
            simulated=scores.simulation,
        ),
        people(
            truth,
            raters,
            matched.policy,
            truth_raters=whole.annotators,
            truth_name="the user" if truth_name == USERS else truth_name,
            bootstrap=bootstrap,
            repeats=repeats,
            simulated=scores.simulation.among(()),
        ),
        *reliability(
            data,
            scores,
            truth,
            raters,
            made_of={name: made_of(spec) for name, spec in specs.items()},
            truth_made_of=whole,
            truth_name=truth_spec,
        ),
        variance(data, simulated=scores.simulation),
        *order_sheets(data, simulated=scores.simulation.among(())),
    ]
    return [sheet for sheet in sheets if sheet is not None]


def made_of(spec: str | EvaluatorSpec) -> MadeOf:
    """Return which annotators' ratings an evaluator holds, and whether it is their mean and nothing else."""
    given = EvaluatorSpec.parse(spec) if isinstance(spec, str) else spec
    if given.name in ("Annotator", "Labels"):
        names = frozenset(str(a) for a in (*given.args, *given.kwargs.values())) - {USER_RATER}
        return MadeOf(names, mean=bool(names))
    parts = [made_of(part) for part in given.parts]
    within = frozenset(n for p in parts for n in p.annotators)
    # Each part one annotator, and no annotator twice: then all weigh the same.
    plain = given.name == "Mean" and len(within) == len(parts) and all(p.mean for p in parts)
    return MadeOf(within, mean=plain and all(len(p.annotators) == 1 for p in parts))
