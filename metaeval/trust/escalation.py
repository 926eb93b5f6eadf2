"""The judges of a run as stages of a cascade: how sure each is of each unit, and whether people agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from metaeval.base.errors import MetaevalError
from metaeval.base.records import Scale, Status
from metaeval.base.simulation import REAL
from metaeval.base.spec import EvaluatorSpec
from metaeval.engine.sheet import Column, Sheet, columns, table
from metaeval.runs.command import (
    Aspects,
    Judges,
    Printed,
    RunOrFile,
    Typed,
    aspects_in,
    command,
    judges_of,
    verdict_lines,
)
from metaeval.stats.agreement.escalation import Cascade, cascade
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.regression.correction import LIKE, LabelledSample
from metaeval.stats.weighted.sums import Clusters
from metaeval.trust.analyses import costs_per_text
from metaeval.trust.calibration.sheets import CONFIDENCE, agreed
from metaeval.trust.verdicts.judged import JudgedPairs, judged_pairs, winners

if TYPE_CHECKING:
    from metaeval.analysis.ensemble_subsets import Costs
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
    winners: NDArray[np.object_] | None = None
    """What each judge, then nobody, names of each pair, shape (judges + 1, units); None of ratings."""


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
        rating = by_unit(truth, keys, "rating", index)
        clustered = scored.cluster in keys
        codes = pd.factorize(units[scored.cluster])[0] if clustered else np.arange(len(units))
        clusters = Clusters(codes.astype(np.int64), int(codes.max(initial=-1)) + 1)
        parts, refused = {}, {}
        scale = scored.scale.of(aspect)
        for name in judges:
            mine = own[own["evaluator"] == name]
            score = by_unit(mine, keys, "score", index)
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


def stages_of_pairs(pairs: JudgedPairs) -> Stages:
    """Return judges whose verdicts on pairs say how sure they are, as stages.

    A judge is as sure of a pair as `JudgedPairs.sure` says: by both orders, by repeats, or by the share that
    a verdict gives.
    """
    parts, refused = [], {}
    for at, name in enumerate(pairs.judges):
        there = ~np.isnan(pairs.right[at])
        sources = ["the share of its verdicts"] * pairs.graded
        sources += [f"its {pairs.verdicts[at]:g} verdicts on a pair"] * bool(pairs.verdicts[at] > 1)
        why = "" if there.any() else "no pair has both the judge's verdict and a preference of people"
        if not why and not sources:
            why = "nothing says how sure the judge is; ask it in both orders, or several times"
        why = why or unlike(there, pairs.sure[at], pairs.clusters)
        if why:
            refused[name] = why
        else:
            parts.append((at, " and ".join(sources)))
    used = [at for at, _ in parts]
    return Stages(
        pairs.aspect,
        pairs.units,
        ~np.isnan(pairs.gold),
        tuple(pairs.judges[at] for at in used),
        tuple(source for _, source in parts),
        refused,
        pairs.sure[used],
        pairs.right[used],
        pairs.clusters,
        winners(np.concatenate([pairs.named[used], np.full((1, len(pairs.units)), np.nan)])),
    )


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


def by_unit(frame: pd.DataFrame, keys: Sequence[str], column: str, index: pd.MultiIndex) -> Floats:
    """Return a column in the order of units; NaN for a unit without a row."""
    values = frame.set_index(pd.MultiIndex.from_frame(frame[list(keys)]))[column].reindex(index)
    return values.to_numpy(dtype=np.float64)


def confidence_of(
    scored: Scored[Any], name: str, own: pd.DataFrame, keys: Sequence[str], index: pd.MultiIndex
) -> tuple[Floats, str]:
    """Return how sure a judge is of each unit, and what says so: nothing, if that is empty."""
    mine = own[own["evaluator"] == name]
    if CONFIDENCE in mine and mine[CONFIDENCE].notna().any():
        return by_unit(mine, keys, CONFIDENCE, index), "its stated confidence or probability"
    specs = {str(EvaluatorSpec.parse(str(spec))): known for known, spec in scored.study.specs.items()}
    spec = EvaluatorSpec.parse(str(scored.study.specs[name]))
    members = [specs[str(part)] for part in spec.parts if str(part) in specs]
    if len(members) < 2:
        return np.full(len(index), np.nan), ""
    scores = np.array([by_unit(own[own["evaluator"] == m], keys, "score", index) for m in members])
    n = (~np.isnan(scores)).sum(axis=0)
    centre = np.nansum(scores, axis=0) / np.maximum(n, 1)
    spread = np.sqrt(np.nansum((scores - centre) ** 2, axis=0) / np.maximum(n, 1))
    return np.where(n > 1, -spread, np.nan), f"agreement of its {len(members)} members"


PERSON = "person"
"""Who decides what no judge is sure enough of."""
_SHARES = columns("share", people="Left to people", agreement="Agreement of the rest")
_VERDICTS = (
    Column("aspect", "Aspect"),
    Column("verdict", "Who looks at what", keep=True),
    *_SHARES,
    *columns("count", n_units="Units", n_labelled="With ratings"),
)
_STAGES = (
    *columns("text", aspect="Aspect", evaluator="Evaluator"),
    Column("decides", "Decides", "share"),
    Column("least", "If its confidence is at least", "number"),
    Column("agreement", "Agrees with people", "share"),
    Column("said", "Confidence"),
)
_CURVE = (
    *columns("text", aspect="Aspect", first_judge="From"),
    Column("share", "Each decides", "share"),
    *_SHARES,
    Column("p", "p", "p"),
    Column("cost", "Cost per unit", "number"),
    *columns("count", n_units="Units with ratings", n_clusters="Clusters"),
    Column("held", "Target holds"),
)


class Escalating(Typed):
    """Who is asked, and how often units that no person sees may disagree."""

    judges: Judges = ()
    """Evaluator to ask; give it once per evaluator, in the order in which they are asked.  [default: the
    run's judges]"""
    aspects: Aspects = ()
    alpha: Annotated[float, Field(ge=0, le=0.5)] = 0.1
    """How often units that no person sees may disagree."""
    delta: Annotated[float, Field(ge=0.0001, le=0.5)] = 0.05
    """Probability that more of them do."""
    within: Annotated[float | None, Field(ge=0)] = None
    """Points within which a score agrees.  [default: the same value of the scale]"""
    labels: Annotated[Path | None, "FILE.csv"] = None
    """Verdicts of people on the pairs of FILE.  [default: its gold preferences]"""
    route: Annotated[Path | None, "FILE.csv"] = None
    """Who decides each unit.  [default: route.csv in RUN, or beside FILE]"""


def escalating_sheets(
    by_aspect: Iterable[Stages],
    how: Escalating,
    costs: Costs | None,
    *notes: str,
    printed: Mapping[str, str] = MappingProxyType({}),
) -> tuple[list[Sheet | None], pd.DataFrame]:
    """Return the sheets, and the route: key columns, ``aspect`` and ``route``, the name of who decides.

    ``printed`` has the short names of judges, for sentences.
    """
    verdicts, of_stage, curve, routes = [], [], [], []
    for stage in by_aspect:
        price = np.array([costs.of_judge[name] for name in stage.judges]) if costs else None
        chosen = Cascade(0.0, 0, np.zeros(len(stage.units), dtype=np.int64), ())
        if stage.judges:
            chosen = cascade(
                stage.confidence, stage.right, stage.clusters, alpha=how.alpha, delta=how.delta, costs=price
            )
        names = [*stage.judges, PERSON]
        route = stage.units.assign(aspect=stage.aspect, route=np.array(names, dtype=object)[chosen.route])
        if stage.winners is not None:
            route = route.assign(winner=stage.winners[chosen.route, np.arange(len(route))])
        routes.append(route)
        verdicts.append({"aspect": stage.aspect, **_verdict(stage, chosen, how.alpha, how.delta, printed)})
        of_stage += [{"aspect": stage.aspect, **row} for row in _stages(stage, chosen)]
        for row in _different(chosen.tested) if stage.winners is not None else chosen.tested:
            first = stage.judges[int(row["first"])]
            holds = "yes" if row["holds"] else "no"
            curve.append({"aspect": stage.aspect, **row, "first_judge": first, "held": holds})
    unit = ("USD" if costs.unit == "usd" else costs.unit) if costs else ""
    said = (
        f"Agreement with people is at least {1 - how.alpha:.0%} among units that judges decide, with "
        f"probability {1 - how.delta:.0%}, for units drawn like those with ratings. Thresholds: "
        "fixed-sequence testing (Jung, Brahman & Choi 2024), from strict to loose, by a t test on sums by "
        "cluster, to which a cluster that disagrees is added. Cascades that begin with each judge share δ."
    )
    sheets = [
        table("escalate", "Who looks at what?", verdicts, _VERDICTS, said, *notes),
        table("escalate-stages", "What each judge decides", of_stage, _STAGES),
        table(
            "escalate-curve",
            "Cost and agreement",
            curve,
            [c for c in _CURVE if c.name != "cost" or costs],
            *([f"Cost: {unit} per unit, of judges alone."] if costs else []),
        ),
    ]
    return sheets, pd.concat(routes, ignore_index=True)


def _different(tested: Sequence[dict[str, float]]) -> Iterator[dict[str, float]]:
    """Yield the cascades that decide more than the one before: verdicts are sure to a few degrees only."""
    before = (-1.0, 1.0)
    for row in tested:
        if row["people"] < (before[1] if row["first"] == before[0] else 1.0):
            yield row
            before = (row["first"], row["people"])


def _verdict(
    stage: Stages, chosen: Cascade, alpha: float, delta: float, printed: Mapping[str, str]
) -> dict[str, Any]:
    n, judges = len(stage.units), len(stage.judges)
    decided = np.flatnonzero(chosen.route < judges)
    agrees = stage.right[chosen.route[decided], decided] if judges else np.empty(0)
    row: dict[str, Any] = {
        "people": 1 - len(decided) / max(n, 1),
        "agreement": float(np.nanmean(agrees)) if (~np.isnan(agrees)).any() else np.nan,
        "n_units": n,
        "n_labelled": int(stage.rated.sum()),
    }
    target = f"{1 - alpha:.0%} agreement"
    if not judges:
        why = "; ".join(dict.fromkeys(stage.refused.values()))
        row["verdict"] = f"cannot be said: {why}; people look at all units"
    elif not len(decided):
        few = (
            all(t["p"] > delta for t in chosen.tested) and len(np.unique(stage.clusters.of_unit)) < 3 / alpha
        )
        why = "too few clusters with ratings to show it" if few else "no judge reaches it where it is surest"
        row["verdict"] = f"people look at all units: {target} is not shown, {why}"
    else:
        parts = [
            f"{printed.get(name, name)} decides {np.mean(chosen.route == k):.0%}"
            for k, name in enumerate(stage.judges)
            if (chosen.route == k).any()
        ]
        row["verdict"] = f"{', '.join(parts)}; a person looks at {row['people']:.0%} ({target} holds)"
    return row


def _stages(stage: Stages, chosen: Cascade) -> list[dict[str, Any]]:
    rows = []
    for k, name in enumerate(stage.judges):
        mine = chosen.route == k
        agrees = stage.right[k, mine & ~np.isnan(stage.right[k])]
        rows.append(
            {
                "evaluator": name,
                "decides": float(mine.mean()),
                "least": float(stage.confidence[k, mine].min()) if mine.any() else np.nan,
                "agreement": float(agrees.mean()) if agrees.size else np.nan,
                "said": f"from {stage.sources[k]}",
            }
        )
    for name, why in stage.refused.items():
        empty = dict.fromkeys(("least", "agreement"), np.nan)
        rows.append({"evaluator": name, "decides": 0.0, **empty, "said": f"refused: {why}"})
    return rows


_OF_PAIRS = (
    "A pair's verdict is the side with most of the judge's verdicts on it, over both orders and repeats; how "
    "sure it is, their share, which orders pairs as the entropy of the mean preference does (SCOPE; Badshah, "
    "Emami & Sajjad 2026). A tie, or orders that differ, are the least sure."
)


@command("escalate", rated=True, view="escalate")
def escalation_of(run: RunOrFile, how: Escalating) -> Printed:
    """Say which units of the finished run in the folder RUN each judge decides, and which a person.

    A unit is handed on where a judge is not sure: by its confidence, or by how far the members of a panel, or
    repeated samples, are apart. Thresholds are such that units that no person sees agree with people in at
    least 1 - alpha, with probability 1 - delta, with units in clusters. `metaeval golden label --only` takes
    the route. The run's report.html shows the tables.
    In place of RUN, it takes a FILE of verdicts on pairs, made by `metaeval verdicts import`: a pair is
    handed on where both orders, or repeats, differ, or its share says so. The route has each winner.
    """
    if isinstance(run, Path):
        if how.within is not None:
            raise MetaevalError("--within is for ratings; verdicts on pairs agree or not")
        pairs = judged_pairs(run, how.judges, how.aspects, how.labels)
        sheets, frame = escalating_sheets(map(stages_of_pairs, pairs), how, None, _OF_PAIRS)
        route = how.route or run.with_name("route.csv")
        return Printed(
            sheets, REAL, {route: frame.to_csv(index=False)}, first=verdict_lines(sheets[0], named=True)
        )
    if how.labels is not None:
        raise MetaevalError("--labels is for a FILE of verdicts; a run has its own truth")
    names = judges_of(run, how.judges, "name who is asked first, second, … with --judge")
    by_aspect = stages(run.scored, names, aspects_in(run.truth, how.aspects), how.within)
    sheets, frame = escalating_sheets(
        by_aspect, how, costs_per_text(run.scores, names), printed=run.record.names
    )
    route = how.route or run.folder / "route.csv"
    simulated, first = run.scores.simulation.among(names), verdict_lines(sheets[0], named=True)
    return Printed(sheets, simulated, {route: frame.to_csv(index=False)}, first=first)
