"""The judges of a run as stages of a cascade: how sure each is of each unit, and whether people agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metaeval.base.records import Scale, Status
from metaeval.base.spec import EvaluatorSpec
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.regression.correction import LIKE, LabelledSample
from metaeval.stats.weighted.sums import Clusters
from metaeval.trust.calibration.confidence import CONFIDENCE, agreed

if TYPE_CHECKING:
    from metaeval.kinds.kind import Scored


@dataclass(frozen=True, slots=True, eq=False)
class Stages:
    """Judges in the order in which they are asked, by one aspect."""

    aspect: str
    units: pd.DataFrame
    """Their key columns."""
    rated: NDArray[np.bool_]
    """Those that people rated, shape (units,)."""
    judges: tuple[str, ...]
    """Those that say how sure they are."""
    sources: tuple[str, ...]
    """Where the confidence of each comes from."""
    refused: dict[str, str]
    """Other judges → why they cannot decide anything."""
    confidence: Floats
    """Shape (judges, units); NaN for none."""
    right: Floats
    """Shape (judges, units): 1 if people agree, else 0; NaN where people or the judge gave nothing."""
    clusters: Clusters


def stages(
    scored: Scored[Any], judges: Sequence[str], aspects: Sequence[str], within: float | None
) -> list[Stages]:
    """Return the stages of each aspect; ``within`` is as of `agreed`."""
    frame = scored.scores.frame
    keys = list(scored.scores.keys)
    frame = frame[frame["status"].eq(Status.OK.value) & frame["score"].notna()]
    found = []
    for aspect in aspects:
        own = frame[frame["aspect"] == aspect]
        units = own.loc[own["evaluator"].isin(judges), keys].drop_duplicates().reset_index(drop=True)
        index = pd.MultiIndex.from_frame(units)
        truth = scored.truth[scored.truth["aspect"] == aspect].drop_duplicates(keys)
        rating = along(truth, keys, "rating", index)
        clustered = scored.cluster in keys
        codes = pd.factorize(units[scored.cluster])[0] if clustered else np.arange(len(units))
        clusters = Clusters(codes.astype(np.int64), int(codes.max(initial=-1)) + 1)
        parts, refused = {}, {}
        scale = scored.scale.of(aspect)
        for name in judges:
            mine = own[own["evaluator"] == name]
            score = along(mine, keys, "score", index)
            sure, source = confidence_of(scored, name, own, keys, index)
            right = agreed(score, rating, scale, within)
            there = ~np.isnan(score) & ~np.isnan(rating)
            why = _refusal(source, right is None, score, there, scale) or unlike(there, sure, clusters)
            if why:
                refused[name] = why
                continue
            sure = np.where(np.isnan(score), np.nan, sure)
            parts[name] = (source, sure, np.where(there, np.asarray(right, dtype=np.float64), np.nan))
        shape = (len(parts), len(units))
        found.append(
            Stages(
                aspect,
                units,
                ~np.isnan(rating),
                tuple(parts),
                tuple(source for source, _, _ in parts.values()),
                refused,
                np.array([sure for _, sure, _ in parts.values()]).reshape(shape),
                np.array([right for _, _, right in parts.values()], dtype=np.float64).reshape(shape),
                clusters,
            )
        )
    return found


def _refusal(source: str, stepless: bool, score: Floats, there: NDArray[np.bool_], scale: Scale) -> str:
    given = score[~np.isnan(score)]
    if not there.any():
        return "no unit has both the judge's score and a rating of people"
    if given.min() < scale.min or given.max() > scale.max:
        return "the judge's scores are not on people's scale"
    if stepless:
        return "the scale has no steps; say what agrees with --within POINTS"
    if not source:
        return (
            "nothing says how sure the judge is; ask it with expected=True, or several times "
            "(replicate=1, 2, …) as members of Mean(…), or name a panel"
        )
    return ""


def unlike(rated: NDArray[np.bool_], values: Floats, clusters: Clusters) -> str:
    """Say that units with ratings are unlike the others, by a judge's confidence or score; else nothing."""
    ratings, known = np.where(rated, 0.0, np.nan), np.flatnonzero(~np.isnan(values))
    same = np.zeros(len(known), dtype=np.int64)
    p = LabelledSample(ratings[known], values[None, known], same, 1, clusters.take(known)).unlike()
    return f"units with ratings are not like the others (p = {p:.1g})" if p < LIKE else ""


def along(frame: pd.DataFrame, keys: Sequence[str], column: str, index: pd.MultiIndex) -> Floats:
    """Return a column in the order of units; NaN for a unit without a row."""
    values = frame.set_index(pd.MultiIndex.from_frame(frame[list(keys)]))[column].reindex(index)
    return values.to_numpy(dtype=np.float64)


def confidence_of(
    scored: Scored[Any], name: str, own: pd.DataFrame, keys: Sequence[str], index: pd.MultiIndex
) -> tuple[Floats, str]:
    """Return how sure a judge is of each unit, and what says so: nothing, if that is empty."""
    mine = own[own["evaluator"] == name]
    if CONFIDENCE in mine and mine[CONFIDENCE].notna().any():
        return along(mine, keys, CONFIDENCE, index), "its stated confidence or probability"
    specs = {str(EvaluatorSpec.parse(str(spec))): known for known, spec in scored.study.specs.items()}
    spec = EvaluatorSpec.parse(str(scored.study.specs[name]))
    members = [specs[str(part)] for part in spec.parts if str(part) in specs]
    if len(members) < 2:
        return np.full(len(index), np.nan), ""
    scores = np.array([along(own[own["evaluator"] == m], keys, "score", index) for m in members])
    n = (~np.isnan(scores)).sum(axis=0)
    centre = np.nansum(scores, axis=0) / np.maximum(n, 1)
    spread = np.sqrt(np.nansum((scores - centre) ** 2, axis=0) / np.maximum(n, 1))
    return np.where(n > 1, -spread, np.nan), f"agreement of its {len(members)} members"
