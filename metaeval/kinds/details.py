"""The details of a run: further measures, what people reach, reliability, and where the variance lies."""

from __future__ import annotations

from metaeval.analysis.agreement.measures import measures
from metaeval.analysis.agreement.people import people
from metaeval.analysis.agreement.reliability import MadeOf, reliability
from metaeval.analysis.agreement.variance import variance
from metaeval.base.records import USER_RATER
from metaeval.base.spec import EvaluatorSpec
from metaeval.engine.sheet import Sheet
from metaeval.kinds.scored import Scored
from metaeval.kinds.study import Study


def details(scored: Scored[Study]) -> list[Sheet]:
    """Return the details of a run as sheets, without those that the data have nothing for.

    They are ``measures``, ``people``, ``annotators``, ``retest``, ``attenuation`` and ``variance``.
    """
    study, scores, truth, raters = scored.study, scored.scores, scored.truth, scored.raters
    data = scored.matched.prepared
    whole = made_of(study.truth)
    sheets = [
        measures(
            data,
            scale=scored.scale,
            seed=study.bootstrap.seed if study.bootstrap else 0,
            simulated=scores.simulation,
        ),
        people(
            truth,
            raters,
            scored.matched.policy,
            truth_raters=whole.annotators,
            truth_name="the user" if study.truth == "User()" else study.truth,
            bootstrap=study.bootstrap,
            simulated=scores.simulation.among(()),
        ),
        *reliability(
            data,
            scores,
            truth,
            raters,
            made_of={name: made_of(spec) for name, spec in study.specs.items()},
            truth_made_of=whole,
            truth_name=study.truth,
        ),
        variance(data, simulated=scores.simulation),
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
