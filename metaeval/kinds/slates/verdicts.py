"""Scores of units as verdicts on pairs, for what coherence asks of them, and against ratings of slates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from metaeval.analysis.verdicts.coherence import coherence_of
from metaeval.base.records import FIRST, SECOND, TIE
from metaeval.base.spec import EvaluatorSpec
from metaeval.stats.resampling.bootstrap import bootstrap
from metaeval.stats.resampling.cluster_sums import mean_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from metaeval.analysis.verdicts.axioms import JudgeAxioms
    from metaeval.engine.alignment.aligned import Aligned
    from metaeval.engine.intervals import Bootstrap
    from metaeval.kinds.scored import Scored
    from metaeval.kinds.slates.study import SlatesStudy
    from metaeval.stats.coefficients.tables import Floats

RATING_TRANSITIVITY = "rating_transitivity"
_JUDGE, _RATER = "Slates", "SlateRating"
_WINNERS = np.array([SECOND, TIE, FIRST], dtype=object)


def coherence_table(
    judges: Sequence[JudgeAxioms], rated: Sequence[RatedVerdicts], options: Bootstrap | None
) -> pd.DataFrame:
    """Return the axioms of preference of each evaluator and task, rating transitivity behind the others."""
    how = {"resamples": options.resamples, "seed": options.seed} if options else {"resamples": 1}
    found = coherence_of(judges, **how)
    if options is None:
        found[["ci_low", "ci_high"]] = np.nan
    further = pd.DataFrame([_rating_transitivity(one, options) for one in rated])
    return pd.concat([found, further], ignore_index=True)[list(found)] if len(further) else found


def verdict_rows(data: Aligned, units: pd.DataFrame) -> pd.DataFrame:
    """Return the verdicts of all evaluators as `metaeval.analysis.verdicts.coherence` takes them."""
    times, names = len(data.evaluators), ("task", "repeat", FIRST, SECOND)
    verdicts = np.sign(data.scores[:, 0])
    winner = _WINNERS[np.nan_to_num(verdicts).astype(int) + 1]
    winner[np.isnan(verdicts)] = ""
    users = np.tile(units["user_id"].to_numpy(dtype=object), times)
    return pd.DataFrame(
        {
            "evaluator": np.repeat(np.array(data.evaluators, dtype=object), len(units)),
            "cluster": users,
            "group": users,
            **{name: np.tile(units[name].to_numpy(dtype=object), times) for name in names},
            "winner": winner.ravel(),
        }
    )


def raters_of(scored: Scored[SlatesStudy]) -> dict[str, str]:
    """Return judge → the evaluator that rated single slates with the same model, or that the study names."""
    study, signatures = scored.study, scored.scores.signatures
    specs = {name: EvaluatorSpec.parse(spec).name for name, spec in study.specs.items()}

    def models(of: str) -> dict[str, tuple[Any, Any]]:
        named = [name for name, spec in specs.items() if spec == of and name in signatures]
        return {name: (signatures[name].get("model"), signatures[name].get("address")) for name in named}

    rater = {model: name for name, model in reversed(models(_RATER).items())}  # the first of a model
    same = {judge: rater[model] for judge, model in models(_JUDGE).items() if model in rater}
    return {**same, **study.ratings}


class RatedVerdicts(NamedTuple):
    """How often a judge's verdicts and ratings of slates name the same slate, of how often both name one."""

    judge: str
    task: str
    users: Any
    """Names in order, shape (users,)."""
    kept: Floats
    of: Floats
    n_missing: int


def rated_verdicts(data: Aligned, units: pd.DataFrame, raters: Mapping[str, str]) -> Iterator[RatedVerdicts]:
    """Yield by judge and task how verdicts agree with ratings, by user, where there is anything to compare.

    Parameters
    ----------
    raters
        Judge → the evaluator with its ratings; see `raters_of`.
    """
    tasks = units["task"].to_numpy(dtype=object)
    for judge, rater in raters.items():
        if judge not in data.evaluators or rater not in data.evaluators:
            continue
        verdict, rating = (np.sign(data.scores[data.evaluators.index(name), 0]) for name in (judge, rater))
        both = np.nan_to_num(verdict * rating)
        for task in pd.unique(tasks):
            use = tasks == task
            there = use & (both != 0)
            users, of_unit = np.unique(units.loc[there, "user_id"].to_numpy(dtype=str), return_inverse=True)
            kept, of = (
                np.bincount(of_unit, values, len(users)).astype(float)
                for values in (both[there].clip(0), np.abs(both[there]))
            )
            if len(users):
                yield RatedVerdicts(
                    judge, str(task), users, kept, of, int((use & np.isnan(verdict + rating)).sum())
                )


def _rating_transitivity(found: RatedVerdicts, options: Bootstrap | None) -> dict[str, Any]:
    n, low, high = len(found.users), np.nan, np.nan
    if options and n > 1:
        share = bootstrap(mean_of(found.kept[None], found.of[None]), options.resampler(n), bounds=(0.0, 1.0))
        low, high = float(share.low[0]), float(share.high[0])
    return {
        "evaluator": found.judge,
        "task": found.task,
        "axiom": RATING_TRANSITIVITY,
        "estimate": float(found.kept.sum() / found.of.sum()),
        "ci_low": low,
        "ci_high": high,
        "chance": 0.5,
        "n": int(found.of.sum()),
        "n_clusters": n,
        "n_missing": found.n_missing,
    }
