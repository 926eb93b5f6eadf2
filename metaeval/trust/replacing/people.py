"""What people and evaluators gave to each unit of a run, as arrays."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.keys import noun
from metaeval.base.records import USER_RATER, Kind, Scale, Status
from metaeval.kinds.details import made_of
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.weighted.sums import Clusters
from metaeval.trust.escalating.stages import confidence_of, unlike

if TYPE_CHECKING:
    from metaeval.kinds.kind import Scored


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """An evaluator and the people who rated the same units, by one aspect."""

    evaluator: str
    aspect: str
    scale: Scale
    people: tuple[str, ...]
    ratings: Floats
    """Shape (people, units); NaN for none."""
    scores: Floats
    """Shape (units,); NaN for none."""
    cluster: Ints
    """Shape (units,), in ``range(n_clusters)``."""
    n_clusters: int
    unlike: str = ""
    """Why these units do not stand for all that the evaluator scored; empty if they do."""

    @property
    def on_scale(self) -> bool:
        """Whether the scores can be held against ratings one by one."""
        given = self.scores[~np.isnan(self.scores)]
        ends = given.size and given.min() >= self.scale.min and given.max() <= self.scale.max
        return bool(ends) and (not self.scale.labels or not (given % 1).any())


def panels(
    scored: Scored[Any],
    evaluators: Sequence[str] = (),
    aspects: Sequence[str] = (),
    cluster: str | None = None,
) -> Iterator[Panel]:
    """Yield each evaluator with all people whose ratings it does not hold, by aspect.

    Parameters
    ----------
    scored
        Of a finished run. People are its annotators, and the users where they are the truth.
    evaluators, aspects
        Those of the run that are wanted. If left out: the judges, or all but baselines and people where there
        are none; all aspects.
    cluster
        What units are clustered by, such as ``item``; the run's cluster, if left out.

    Raises
    ------
    MetaevalError
        For an unknown name, and if no unit has ratings of two people.
    """
    keys = [c for c in scored.truth.columns if c not in ("aspect", "rating")]
    by = {noun(key): key for key in keys}
    name = one_of(cluster or noun(scored.cluster), list(by), "units cannot be clustered by", "but by")
    rated = ratings_of_people(scored, keys)
    known = [str(aspect) for aspect in rated["aspect"].unique()]
    wanted = [one_of(aspect, known, "there is no aspect", "there are") for aspect in aspects] or known
    several = rated.groupby([*keys, "aspect"], observed=True)["rater"].nunique()
    if not (several > 1).any():
        raise MetaevalError(
            "no unit of the run has ratings of two people, so nobody says how well people agree; a judge is "
            "held against one person's ratings by: metaeval calibrate RUN"
        )
    scores = scored.scores.frame
    scores = scores[scores["status"].eq(Status.OK.value) & scores["score"].notna()]
    for evaluator in _chosen(scored, evaluators):
        within = made_of(scored.study.specs[evaluator]).annotators
        own = scores[scores["evaluator"] == evaluator]
        for aspect in wanted:
            of_people = rated[(rated["aspect"] == aspect) & ~rated["rater"].isin(within)]
            table = of_people.pivot_table("rating", keys, "rater", observed=True, sort=False)
            here = own[own["aspect"] == aspect]
            given = here.set_index(keys)["score"].reindex(table.index)
            codes, found = pd.factorize(table.index.get_level_values(by[name]))
            every = pd.MultiIndex.from_frame(here[keys])
            sure, source = confidence_of(scored, evaluator, scores[scores["aspect"] == aspect], keys, every)
            of_all, clusters = pd.factorize(here[by[name]])
            yield Panel(
                evaluator,
                aspect,
                scored.scale.of(aspect),
                tuple(map(str, table.columns)),
                table.to_numpy(dtype=np.float64).T,
                given.to_numpy(dtype=np.float64),
                codes.astype(np.int64),
                len(found),
                unlike(
                    every.isin(table.index[table.notna().sum(axis=1) > 1]),
                    sure if source else here["score"].to_numpy(dtype=np.float64),
                    Clusters(of_all.astype(np.int64), len(clusters)),
                ),
            )


def ratings_of_people(scored: Scored[Any], keys: Sequence[str]) -> pd.DataFrame:
    """Return all ratings of people, with the users' where these are the truth."""
    columns = [*keys, "aspect", "rater", "rating"]
    tables = [] if scored.raters is None else [scored.raters[columns]]
    if scored.study.truth == "User()":
        tables.append(scored.truth.assign(rater=USER_RATER)[columns])
    found = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)
    return found[found["rating"].notna()].drop_duplicates([*keys, "aspect", "rater"])


def _chosen(scored: Scored[Any], wanted: Sequence[str]) -> list[str]:
    known, kinds = list(scored.scores.evaluators), scored.scores.kinds
    if wanted:
        return [one_of(name, known, "the run has no evaluator") for name in wanted]
    judges = [name for name in known if kinds.get(name) == Kind.JUDGE]
    people: Collection[Kind] = (Kind.BASELINE, Kind.ANNOTATOR)
    return judges or [name for name in known if kinds.get(name) not in people]
