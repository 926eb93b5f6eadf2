"""Scores of units as verdicts on pairs, for what coherence asks of them, and against ratings of slates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.analysis.verdicts.coherence import coherence
from metaeval.base.records import FIRST, SECOND, TIE
from metaeval.base.spec import EvaluatorSpec
from metaeval.stats.resampling.bootstrap import bootstrap
from metaeval.stats.resampling.cluster_sums import mean_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from metaeval.engine.alignment.aligned import Aligned
    from metaeval.engine.intervals import Bootstrap
    from metaeval.kinds.scored import Scored
    from metaeval.kinds.slates.study import SlatesStudy

RATING_TRANSITIVITY = "rating_transitivity"
_JUDGE, _RATER = "Slates", "SlateRating"
_WINNERS = np.array([SECOND, TIE, FIRST], dtype=object)


def coherence_table(scored: Scored[SlatesStudy], units: pd.DataFrame) -> pd.DataFrame:
    """Return the axioms of preference of each evaluator and task, those of ratings behind the others.

    Parameters
    ----------
    units
        What is known of each unit, in the order of the aligned scores.
    """
    data, options = scored.matched.aligned, scored.study.bootstrap
    how = {"resamples": options.resamples, "seed": options.seed} if options else {"resamples": 1}
    found = coherence(verdict_rows(data, units), **how)
    if options is None:
        found[["ci_low", "ci_high"]] = np.nan
    rated = pd.DataFrame(_rating_transitivity(data, units, raters_of(scored), options))
    return pd.concat([found, rated], ignore_index=True)[list(found)] if len(rated) else found


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


def _rating_transitivity(
    data: Aligned, units: pd.DataFrame, raters: Mapping[str, str], options: Bootstrap | None
) -> Iterator[dict[str, Any]]:
    """Yield the share of verdicts for the slate of the higher rating, of those that name one."""
    tasks = units["task"].to_numpy(dtype=object)
    for judge, rater in raters.items():
        if judge not in data.evaluators or rater not in data.evaluators:
            continue
        verdict, rating = (np.sign(data.scores[data.evaluators.index(name), 0]) for name in (judge, rater))
        both = np.nan_to_num(verdict * rating)
        for task in pd.unique(tasks):
            use = tasks == task
            there = use & (both != 0)
            if not there.any():
                continue
            codes, users = pd.factorize(units.loc[there, "user_id"])
            right = np.where(both[there] > 0, 1.0, 0.0)
            kept = np.bincount(codes, right, len(users)).astype(float)
            of = np.bincount(codes, minlength=len(users)).astype(float)
            statistic, low, high = mean_of(kept[None], of[None]), np.nan, np.nan
            if options:
                found = bootstrap(statistic, options.resampler(len(users)), bounds=(0.0, 1.0))
                low, high = float(found.low[0]), float(found.high[0])
            yield {
                "evaluator": judge,
                "task": task,
                "axiom": RATING_TRANSITIVITY,
                "estimate": float(kept.sum() / of.sum()),
                "ci_low": low,
                "ci_high": high,
                "chance": 0.5,
                "n": int(of.sum()),
                "n_clusters": len(users),
                "n_missing": int((use & np.isnan(verdict + rating)).sum()),
            }
