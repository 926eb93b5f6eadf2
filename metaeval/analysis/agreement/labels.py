"""How far evaluators agree with people: in labels, at cuts of the scale, and in order, with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from metaeval.base.errors import MetaevalError, exact, nearest
from metaeval.base.progress import progress
from metaeval.base.records import Scale, Status
from metaeval.base.simulation import REAL, Simulation
from metaeval.engine.alignment.aligned import align
from metaeval.engine.alignment.prepared import Prepared
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.sheet import Column, Sheet
from metaeval.evaluators.grid import CODES, STATUSES
from metaeval.stats.agreement.detection import DETECTIONS, RocArea, detection
from metaeval.stats.agreement.raters import KAPPAS, LabelAgreement
from metaeval.stats.coefficients.levels import Grouping
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.bootstrap import NOTHING, Estimate, Resampler, bootstrap, each
from metaeval.stats.resampling.cluster_sums import Statistic
from metaeval.stats.resampling.weights import one_thread
from metaeval.stats.weighted.statistic import statistic
from metaeval.stats.weighted.sums import Clusters

MOST_LABELS = 20
"""Scores on a scale of more labels are compared by their order alone."""

RANKS = ("spearman", "kendall")
Weighed: TypeAlias = Callable[[Floats, Scale, Clusters, Resampler], Mapping[str, Estimate[float]]]
"""Ratings of shape (raters, units), their scale, clusters and resamples → measures by name."""
MEASURES = (*KAPPAS, "alpha", *RANKS)
"""Measures of a verdict, beside kappa at a cut."""


@dataclass(frozen=True, slots=True, eq=False)
class Agreement:
    """An evaluator's agreement with people on an aspect, over all units or a stratum."""

    evaluator: str
    aspect: str
    stratum: str
    """Empty for all units."""
    n_units: int
    """Units that people and the evaluator rated."""
    n_clusters: int
    statuses: Mapping[str, int]
    """Units that people alone rated, by the status of the evaluator's score."""
    measured: Mapping[str, Estimate[float]]
    """By measure: those of `MEASURES`; ``cut 3`` and ``alpha 3`` for kappa and alpha of 'three or more'."""
    labels: tuple[float, ...] = ()
    """The scale's labels; empty if scores or ratings are no labels of it."""
    table: Ints | None = None
    """Confusion table, shape (labels, labels): people's label by the evaluator's."""
    words: tuple[str, ...] = ()
    """What the labels stand for, if they have no order."""
    detected: Mapping[float, Mapping[str, Estimate[float]]] = field(default_factory=dict)
    """By cut: `DETECTIONS`, of scores on the scale, and ``auc`` of those that pass by the truth."""
    chance: Mapping[str, Estimate[float]] = field(default_factory=dict)
    """What ``weighed`` of `agreements` measured."""

    def measure(self, wanted: str | None, cuts: Sequence[float] = ()) -> str:
        """Return the measure that stands for the agreement as a whole.

        That is the one wanted; else kappa at the first cut; else kappa of two labels, quadratic kappa of more
        labels in an order, or Spearman's coefficient of scores that are no labels.
        """
        if wanted is not None:
            return wanted
        if cuts:
            return cut_name(cuts[0])
        if self.labels:
            return "kappa" if len(self.labels) == 2 or self.words else "quadratic"
        return "kappa" if self.words else "spearman"

    @property
    def names(self) -> tuple[str, ...]:
        """The labels as they are shown."""
        return self.words or tuple(f"{v:g}" for v in self.labels)

    def value(self, measure: str) -> Estimate[float]:
        """Return a measure; NaN if it is not defined for these scores."""
        return self.measured.get(measure, NOTHING)


def cut_name(cut: float) -> str:
    """Return the name of kappa of pass (the cut or more) and fail."""
    return f"cut {cut:g}"


def alpha_name(cut: float) -> str:
    """Return the name of alpha of pass and fail."""
    return f"alpha {cut:g}"


def check_measure(given: str | None) -> None:
    """Raise `MetaevalError` if a measure is not known."""
    if given is not None and given not in MEASURES:
        raise MetaevalError(
            f"--measure {given!r} is not known{nearest(given, MEASURES)} (allowed: {', '.join(MEASURES)}, or "
            "--cut for kappa of pass and fail)"
        )


def check_cuts(cuts: Sequence[float], scale: Scale) -> None:
    """Raise `MetaevalError` if a cut does not divide the scale."""
    for cut in cuts:
        if not scale.min < cut <= scale.max:
            raise MetaevalError(
                f"--cut {exact(cut)} does not split the scale, {scale}: labels from the cut on pass, so give "
                f"one above {scale.min:g}, up to {scale.max:g}"
            )


@one_thread()
def agreements(
    data: Prepared,
    scores: pd.DataFrame,
    truth: pd.DataFrame,
    *,
    scale: Scale,
    bootstrap: Bootstrap,
    cuts: Sequence[float] = (),
    strata: Sequence[str] | None = None,
    weighed: Weighed | None = None,
) -> list[Agreement]:
    """Measure the agreement of every evaluator with the truth, aspect by aspect.

    Parameters
    ----------
    data
        Scores and truth; missing values dropped, by evaluator. Its levels are not used.
    scores, truth
        The frames behind ``data``, with statuses of missing scores; they may have more evaluators, aspects.
    scale, bootstrap
        Of the truth, and how intervals are made; all evaluators get the same resamples.
    cuts
        Labels from which on a unit passes; every one of a scale with few labels, if empty.
    strata
        The stratum of each unit of ``data``, shape (U,); None without strata.
    weighed
        What measures the ratings of two raters under weights, if that is wanted.

    Returns
    -------
    list of Agreement
        By evaluator and aspect: all units, then each stratum by name. None where an evaluator scored no unit
        of an aspect.
    """
    clusters = data.clusters(data.cluster_name(bootstrap.cluster)).of_unit
    reasons = _reasons(data, scores, truth)
    resampler = bootstrap.resampler()
    how: dict[str, Any] = {"cuts": cuts, "resampler": resampler}
    parts: dict[str, Ints] = {"": np.arange(data.truth.shape[1])}
    if strata is not None:
        names = np.asarray(list(strata), dtype=object)
        parts |= {str(name): np.flatnonzero(names == name) for name in sorted(set(names))}
    found: list[Agreement] = []
    with progress("agreement", len(data.evaluators)) as advance:
        for e, evaluator in enumerate(data.evaluators):
            for a, aspect in enumerate(data.aspects):
                own = scale.of(aspect)
                entering = np.zeros(data.truth.shape[1], dtype=bool)
                entering[data.units(e, a)] = True
                for name, part in parts.items() if entering.any() else ():
                    units = part[entering[part]]
                    x, y = data.scores[e, a, units], data.truth[a, units]
                    of_all = found[-1] if name else None
                    labels = labels_of(x, y, own) if of_all is None else of_all.labels
                    _, of_unit = np.unique(clusters[units], return_inverse=True)
                    there = Clusters(of_unit, int(of_unit.max(initial=-1)) + 1)
                    found.append(
                        Agreement(
                            evaluator,
                            aspect,
                            name,
                            len(units),
                            there.n,
                            _counts(reasons[e, a, part]),
                            dict(_values(x, y, labels, **how, scale=own, clusters=there)),
                            labels,
                            _table(_at(y, labels), _at(x, labels), len(labels)) if labels else None,
                            own.labels,
                            _detected(x, y, cuts, resampler, scale=own, clusters=there),
                            weighed(np.stack([x, y]), own, there, resampler) if weighed and len(x) else {},
                        )
                    )
            advance()
    return found


def _reasons(data: Prepared, scores: pd.DataFrame, truth: pd.DataFrame) -> Ints:
    """Return the code of each status, shape (E, A, U); -1 where there is no rating of people."""
    scores = scores[scores["evaluator"].isin(data.evaluators)]
    truth = truth[truth["aspect"].isin(data.aspects)]
    codes = pd.Index(STATUSES).get_indexer(pd.Index(scores["status"]))
    found = align(scores.drop(columns="status").assign(score=codes.astype(np.float64)), truth, ["dataset"])
    there = np.where(np.isnan(found.scores), float(CODES[Status.MISSING]), found.scores)
    return np.where(np.isnan(found.truth), -1, there).astype(np.int64)


def _counts(reasons: Ints) -> dict[str, int]:
    """Count the missing scores by status."""
    counts = np.bincount(reasons[reasons >= 0], minlength=len(STATUSES))
    return {s.value: int(n) for s, n in zip(STATUSES, counts, strict=True) if n and s is not Status.OK}


def labels_of(x: Floats, y: Floats, scale: Scale) -> tuple[float, ...]:
    """Return the labels of a scale if it has few and all scores and ratings are among them; else ()."""
    n = scale.max - scale.min + 1
    if not scale.integer or (n > MOST_LABELS and not scale.labels) or not len(x):
        return ()
    both = np.concatenate([x, y])
    if both.min() < scale.min or both.max() > scale.max or (both % 1).any():
        return ()
    return tuple(float(v) for v in np.arange(scale.min, scale.max + 1))


def _at(values: Floats, labels: Sequence[float]) -> Ints:
    return np.rint(values - labels[0]).astype(np.int64)


def _table(rows: Ints, columns: Ints, k: int) -> Ints:
    return np.bincount(rows * k + columns, minlength=k * k).reshape(k, k)


def _values(
    x: Floats,
    y: Floats,
    labels: Sequence[float],
    *,
    scale: Scale,
    cuts: Sequence[float],
    clusters: Clusters,
    resampler: Resampler,
) -> Iterator[tuple[str, Estimate[float]]]:
    """Yield every measure that is defined for these scores."""
    if not len(x) or (scale.labels and not labels):
        return

    def estimates(agreement: Statistic) -> list[Estimate[float]]:
        return each(bootstrap(agreement, resampler.of(clusters.n), bounds=(-1.0, 1.0)))

    if labels:
        nominal = bool(scale.labels)
        both = LabelAgreement.of(_at(x, labels), _at(y, labels), len(labels), clusters, nominal=nominal)
        if nominal:
            yield from zip(("kappa", "alpha"), estimates(both), strict=True)
            return
        # A cut is named by the label before which it divides the scale.
        names = [*KAPPAS, "alpha", *map(cut_name, labels[1:]), *map(alpha_name, labels[1:])]
        yield from zip(names, estimates(both), strict=True)
    if x.min() >= scale.min and x.max() <= scale.max:
        # Cuts at labels are done; cuts between labels remain.
        for cut in cuts if not labels else (c for c in cuts if c not in labels):
            passed = LabelAgreement.of((x >= cut).astype(np.int64), (y >= cut).astype(np.int64), 2, clusters)
            yield cut_name(cut), estimates(passed)[0]
    everyone = Grouping(np.zeros(len(x), dtype=np.int64), 1)
    ranked = statistic(x, y, everyone, clusters, RANKS)
    yield from zip(RANKS, estimates(ranked), strict=True)


def _detected(
    x: Floats, y: Floats, cuts: Sequence[float], resampler: Resampler, *, scale: Scale, clusters: Clusters
) -> dict[float, dict[str, Estimate[float]]]:
    """Return what scores tell of who passes by the truth, at each cut."""
    found: dict[float, dict[str, Estimate[float]]] = {}
    drawn, share = resampler.of(clusters.n), (0.0, 1.0)
    on_scale = len(x) > 0 and x.min() >= scale.min and x.max() <= scale.max
    for cut in cuts if len(x) else ():
        of_cut = each(bootstrap(detection(x >= cut, y >= cut, clusters), drawn, bounds=share))
        known = dict(zip(DETECTIONS, of_cut, strict=True))
        found[cut] = known if on_scale else {"prevalence": known["prevalence"]}
        [found[cut]["auc"]] = each(bootstrap(RocArea.of(x, y >= cut, clusters), drawn, bounds=share))
    return found


PEOPLE = "(people)"
"""The row with the truth's own labels."""


def heads(rows: Sequence[Any]) -> tuple[Column, ...]:
    """Return the columns that name a row: the evaluator and, if there are several, the aspect."""
    evaluator = Column("evaluator", "Evaluator")
    return (evaluator, Column("aspect", "Aspect")) if len({one.aspect for one in rows}) > 1 else (evaluator,)


def falling(value: float) -> tuple[bool, float]:
    """Return a key that sorts from the highest to the lowest, NaN last."""
    return (True, 0.0) if math.isnan(value) else (False, -value)


def label_sheet(found: Sequence[Agreement], *, simulated: Simulation = REAL) -> Sheet | None:
    """Return the leaderboard of evaluators that gave labels of the scale, by kappa; None without one."""
    labelled = [one for one in found if one.labels]
    if not labelled:
        return None
    first = labelled[0]
    labels = first.labels
    level = " or ".join(sorted({"nominal" if one.words else "ordinal" for one in labelled}))
    rows = []
    for aspect in dict.fromkeys(one.aspect for one in labelled):
        judges = [one for one in labelled if one.aspect == aspect]
        rows.append(_label_row(PEOPLE, max(judges, key=lambda one: one.n_units)))
        best_first = sorted(judges, key=lambda one: falling(one.value("kappa").value))
        rows += [_label_row(one.evaluator, one) for one in best_first]
    ends = () if first.words else enumerate(labels[1:], start=1)
    cuts = [(cut_name(c), _cut_title(labels, i)) for i, c in ends]
    at_cuts = ", and α at every cut" if cuts else ""
    columns = (
        *heads(labelled),
        Column("kappa", f"κ, {len(labels)} labels", "decimal", "kappa_low", "kappa_high"),
        *(Column(name, f"κ {title}", "decimal") for name, title in cuts if len(labels) > 2),
        Column("alpha", f"α, {level}", "decimal", "alpha_low", "alpha_high"),
        *(Column(f"label {v}", f"Label {v}", "count") for v in first.names),
        Column("n_off_scale", "Off the scale", "count"),
        Column("n_without", "No label", "count"),
    )
    notes = (
        "Ordered by κ. Labels off the scale are counted but not used, like units without a label.",
        *(
            f"κ {title}: Cohen's κ of pass and fail, split there; 0 for a judge that never passes."
            for _, title in cuts[:1]
        ),
        f"α: Krippendorff's, {level}. CSV and JSON have every interval{at_cuts}.",
        f"{PEOPLE}: how often people gave each label, on the units of the judge with most of them.",
    )
    return Sheet("labels", "Leaderboard of labels", pd.DataFrame(rows), columns, notes, simulated)


def _label_row(name: str, one: Agreement) -> dict[str, Any]:
    row: dict[str, Any] = {"evaluator": name, "aspect": one.aspect, "n_units": one.n_units}
    people = name == PEOPLE
    for measure in (
        *(m for m in MEASURES if m in one.measured),
        *map(cut_name, () if one.words else one.labels[1:]),
        *map(alpha_name, () if one.words else one.labels[1:]),
    ):
        cells = one.value(measure).row(measure)
        row |= dict.fromkeys(cells, math.nan) if people else cells
    counts = [] if one.table is None else one.table.sum(axis=int(people)).tolist()
    row |= {f"label {v}": n for v, n in zip(one.names, counts, strict=True)}
    off = one.statuses.get(Status.OUT_OF_RANGE.value, 0)
    rest = sum(one.statuses.values()) - off
    return row | {"n_off_scale": 0 if people else off, "n_without": 0 if people else rest}


def _cut_title(labels: Sequence[float], at: int) -> str:
    """Return ``01|23``, or ``≥ 20`` where labels have several digits."""
    words = [f"{v:g}" for v in labels]
    if any(len(w) > 1 for w in words):
        return f"≥ {words[at]}"
    return f"{''.join(words[:at])}|{''.join(words[at:])}"


def detection_sheet(found: Sequence[Agreement], by: str | None = None) -> Sheet | None:
    """Return how well each evaluator finds what passes, by cut, the highest area first; None without cuts.

    ``by`` is what strata are called.
    """
    cuts = list(dict.fromkeys(cut for one in found for cut in one.detected))
    rows = [
        {
            "evaluator": one.evaluator,
            "aspect": one.aspect,
            "stratum": one.stratum,
            "cut": cut,
            "n_units": one.n_units,
            **{
                k: v
                for m in (*DETECTIONS, "auc")
                for k, v in one.detected[cut].get(m, NOTHING).row(m).items()
            },
        }
        for aspect in dict.fromkeys(one.aspect for one in found)
        for cut in cuts
        for one in sorted(found, key=lambda one: (one.stratum, *falling(_area(one, cut))))
        if one.aspect == aspect and cut in one.detected
    ]
    if not rows:
        return None
    shares = {
        "prevalence": "Pass by people",
        "passed": "Pass by its scores",
        "sensitivity": "Sensitivity",
        "specificity": "Specificity",
        "precision": "Precision",
        "f1": "F1",
        "balanced": "Balanced accuracy",
        "accuracy": "Accuracy",
    }
    columns = (
        *heads(found),
        *((Column("stratum", str(by)),) if any(one.stratum for one in found) else ()),
        *((Column("cut", "Cut", "number"),) if len(cuts) > 1 else ()),
        Column("n_units", "Units", "count"),
        Column("auc", "ROC AUC", "hundredths", "auc_low", "auc_high", keep=True),
        *(Column(name, title, "share", f"{name}_low", f"{name}_high") for name, title in shares.items()),
    )
    passing = f"{' or '.join(f'{cut:g}' for cut in cuts)} or more"
    notes = (
        f"Pass is {passing}, by people and by the scores; ROC AUC has all cuts of the scores.",
        "ROC AUC: how often a unit that passes has a higher score than one that does not; 0.5 is chance.",
        "Sensitivity (recall): the share of people's passes that pass by the score; precision: the reverse.",
        "Specificity: the share of people's fails that fail by the score.",
        "Balanced accuracy: the mean of sensitivity and specificity.",
        "Precision, F1 and accuracy depend on how many pass.",
    )
    return Sheet("detection", "Who finds what passes", pd.DataFrame(rows), columns, notes)


def _area(one: Agreement, cut: float) -> float:
    return one.detected.get(cut, {}).get("auc", NOTHING).value
