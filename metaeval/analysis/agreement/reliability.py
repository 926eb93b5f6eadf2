"""Reliability of annotators, and of judges over replicates."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from metaeval.analysis.agreement.people import annotator_ratings
from metaeval.base.counts import plural_of
from metaeval.base.keys import DATASET, PAIR, noun
from metaeval.base.records import AVERAGE, ScoreTable
from metaeval.base.simulation import REAL, Simulation
from metaeval.engine.alignment.aligned import align
from metaeval.engine.alignment.prepared import Prepared
from metaeval.engine.sheet import Column, Sheet, by_aspect
from metaeval.stats.agreement.raters import disattenuate, intraclass, krippendorff_alpha
from metaeval.stats.coefficients.grouped import pearson
from metaeval.stats.coefficients.levels import Grouping, estimate
from metaeval.stats.coefficients.tables import Floats, Ints, squarable
from metaeval.stats.regression.variance import MEAN, RESIDUAL, Design


def attenuation(
    data: Prepared,
    of_evaluators: Mapping[str, Floats],
    of_truth: Floats | None,
    *,
    parts: Collection[str] = (),
    truth_name: str = "User()",
    simulated: Simulation = REAL,
) -> Sheet:
    """Divide correlations by the root of the known reliabilities (Spearman 1904), by aspect.

    There is a row per evaluator: ``correlation`` (Pearson's r at dataset level, whatever the levels of the
    data), ``reliability``, ``truth_reliability``, ``corrected``, averaged over aspects; the frame has every
    aspect too (``corrected: accuracy``), and these are printed where an aspect without a corrected value
    leaves no average. Reliabilities have shape (A,); an evaluator without one is not corrected for its own,
    and left out if that of the truth is unknown too. ``parts`` share ratings, and so errors, with the truth:
    they are not corrected.
    """
    unknown = np.full(len(data.aspects), np.nan)
    rows = []
    for e, name in enumerate(data.evaluators):
        own = of_evaluators.get(name)
        if own is None and of_truth is None:
            continue
        r = _pearson(data, e)
        corrected = disattenuate(r, 1.0 if own is None else own, 1.0 if of_truth is None else of_truth)
        columns = {
            "correlation": r,
            "reliability": unknown if own is None else own,
            "truth_reliability": unknown if of_truth is None else of_truth,
            "corrected": unknown if name in parts else corrected,
        }
        rows.append({"evaluator": name, **by_aspect(columns, data.aspects)})
    frame = pd.DataFrame(rows)
    shown = (
        Column("evaluator", "Evaluator"),
        Column("correlation", "Pearson's r", "hundred"),
        Column("reliability", "Reliability of the evaluator", "hundred"),
        Column("truth_reliability", "Reliability of the truth", "hundred"),
        Column("corrected", "Corrected r", "hundred"),
        *(Column(f"corrected: {a}", f"Corrected, {a}", "hundred") for a in _corrected_aspects(data, frame)),
    )
    notes = tuple(_notes(data, frame, truth_known=of_truth is not None, parts=parts, truth_name=truth_name))
    return Sheet("attenuation", "Correlations corrected for attenuation", frame, shown, notes, simulated)


def _corrected_aspects(data: Prepared, frame: pd.DataFrame) -> list[str]:
    """Return the aspects to print: the corrected ones, if an evaluator is corrected in only some."""
    defined = frame[[f"corrected: {a}" for a in data.aspects]].notna().to_numpy()
    lacking = (defined.any(axis=1) & ~defined.all(axis=1)).any()
    return [a for i, a in enumerate(data.aspects) if lacking and defined[:, i].any()]


def _pearson(data: Prepared, e: int) -> Floats:
    """Return an evaluator's Pearson's r with the truth at dataset level, shape (A,)."""
    everything = Grouping(np.zeros(data.truth.shape[1], dtype=np.int64), 1)
    mask = None if data.mask is None else data.mask[e]
    found = estimate(data.scores[e], data.truth, {"dataset": everything}, ["pearson"], mask=mask)
    return found["dataset", "pearson"].estimate


def _notes(
    data: Prepared, frame: pd.DataFrame, *, truth_known: bool, parts: Collection[str], truth_name: str
) -> Iterator[str]:
    n = len(data.aspects)
    over = f", aspect by aspect and then averaged over {n}" if n > 1 else ""
    yield (
        "Pearson's r at dataset level, plain and corrected to r / √(reliability of the evaluator · "
        f"reliability of the truth){over}; × 100. Reliabilities are estimates, too; corrected values have no "
        "intervals."
    )
    own = frame["reliability"].notna().any()
    if not truth_known:
        why = " (each user rated once)" if truth_name == "User()" else ""
        yield (
            f"The reliability of the truth {truth_name} is unknown{why}, so nothing is corrected for it; "
            "evaluators without a known reliability are not listed."
        )
    else:
        yield "The reliability of the truth is that of its annotators, ICC(3, ·)."
        if frame["reliability"].isna().any():
            yield "A dash means that the evaluator's reliability is unknown; nothing is corrected for it."
    if own:
        yield (
            "The reliability of a judge is Pearson's r between its replicates; that of an annotator is "
            "ICC(3, 1) of all annotators, and that of a mean of k of them follows from it (Spearman-Brown), "
            "assuming equal annotators."
        )
    if set(parts) & set(frame["evaluator"]):
        yield "An evaluator that shares annotators with the truth shares their errors, and is not corrected."
    low = [
        a
        for a in data.aspects
        if (frame[[f"reliability: {a}", f"truth_reliability: {a}"]] <= 0).any(axis=None)
    ]
    if low:
        yield (
            f"Where a reliability is not above zero ({', '.join(low)}), nothing can be corrected, and there "
            "is no average."
        )
    if (frame.filter(regex="^corrected: ").abs() > 1).any(axis=None):
        yield "A corrected value above 100 means that a reliability was estimated too low."


@dataclass(frozen=True, slots=True)
class MadeOf:
    """Which annotators' ratings are in an evaluator, or in the truth."""

    annotators: frozenset[str] = frozenset()
    mean: bool = False
    """Whether it is the mean of their ratings and of nothing else (of one annotator: the ratings)."""


@dataclass(frozen=True, slots=True, eq=False)
class Annotators:
    """Agreement of the annotators of a data set, by aspect; arrays have shape (A,)."""

    names: tuple[str, ...]
    aspects: tuple[str, ...]
    columns: Mapping[str, Floats]
    """``n_units``, the intraclass correlations ``icc1`` to ``icc3k``, and ``alpha``."""

    def of_mean(self, k: int) -> Floats:
        """Return the reliability of the mean of k annotators (Spearman–Brown), shape (A,)."""
        single = self.columns["icc3"]
        return np.where(single > 0, k * single / (1 + (k - 1) * single), single)


def without_lone_average(correlations: pd.DataFrame) -> pd.DataFrame:
    """Drop the average over aspects where there is a single aspect."""
    several = correlations["aspect"].nunique() > 2
    return correlations if several else correlations[correlations["aspect"] != AVERAGE]


def reliability(
    data: Prepared,
    scores: ScoreTable,
    truth: pd.DataFrame,
    raters: pd.DataFrame | None,
    *,
    made_of: Mapping[str, MadeOf] | None = None,
    truth_made_of: MadeOf | None = None,
    truth_name: str = "User()",
) -> list[Sheet]:
    """Measure reliabilities where the data allow it, and correct correlations for attenuation.

    Parameters
    ----------
    data, scores
        Aligned under the run's policy, and with signatures: evaluators whose signatures differ in
        ``replicate`` alone are repetitions.
    truth, raters
        As for `metaeval.analysis.agreement.people.people`.
    made_of, truth_made_of
        The annotators in an evaluator, by name, and in the truth; none of what is not named.

    Returns
    -------
    list of Sheet
        Those for which there are data, of ``annotators`` (intraclass correlations, with two or more
        annotators), ``retest`` (with repetitions) and ``attenuation`` (correlations corrected for what
        reliabilities are known).
    """
    people, repeated = annotators_of(truth, raters), _retests(scores, truth)
    sheets = []
    if people is not None:
        sheets.append(_annotators_sheet(people, simulated=scores.simulation.among(())))
    if repeated:
        shown = scores.simulation.among(name for names in repeated for name in names)
        sheets.append(_retest_sheet(repeated, data.aspects, simulated=shown))
    known = {name: columns["correlation"] for names, columns in repeated.items() for name in names}
    for name, made in (made_of or {}).items():
        if people is not None and made.mean and made.annotators <= set(people.names):
            known[name] = people.of_mean(len(made.annotators))
    whole = truth_made_of or MadeOf()
    of_truth = None
    if people is not None and whole.mean and whole.annotators <= set(people.names):
        of_truth = people.of_mean(len(whole.annotators))
    if of_truth is not None or known:
        parts = frozenset(n for n, made in (made_of or {}).items() if made.annotators & whole.annotators)
        sheets.append(
            attenuation(
                data,
                known,
                of_truth,
                parts=parts,
                truth_name=truth_name,
                simulated=scores.simulation,
            )
        )
    return sheets


def annotators_of(truth: pd.DataFrame, raters: pd.DataFrame | None) -> Annotators | None:
    """Measure the agreement of annotators on the truth's units; None with fewer than two."""
    asked = annotator_ratings(truth, raters)
    if asked is None or asked["rater"].nunique() < 2:
        return None
    found = align(asked.rename(columns={"rater": "evaluator", "rating": "score"}), truth, ["dataset"])
    of_aspects = np.swapaxes(found.scores, 0, 1)
    columns = _intraclass(of_aspects)
    shown = {n: columns[n] for n in ("n_units", "icc1", "icc2", "icc3", "icc1k", "icc2k", "icc3k")}
    alpha = np.array([krippendorff_alpha(table, "ordinal") for table in of_aspects])
    return Annotators(tuple(sorted(found.evaluators)), tuple(found.aspects), {**shown, "alpha": alpha})


def _retests(scores: ScoreTable, truth: pd.DataFrame) -> dict[tuple[str, ...], dict[str, Floats]]:
    """Correlate evaluators that differ only in the replicate: their names → columns of shape (A,)."""
    groups: dict[str, list[str]] = {}
    for name in scores.evaluators:
        signature = dict(scores.signatures.get(name, {}))
        signature.pop("spec", None)  # it names the replicate too
        if "replicate" in signature:
            del signature["replicate"]
            groups.setdefault(json.dumps(signature, sort_keys=True, default=str), []).append(name)
    repeated = [names for names in groups.values() if len(names) > 1]
    if not repeated:
        return {}
    frame = scores.frame
    wanted = frame[frame["evaluator"].isin([n for names in repeated for n in names])]
    found = align(wanted, truth, ["dataset"])
    of_retests = {}
    for names in repeated:
        of_aspects = np.swapaxes(found.scores[[found.evaluators.index(n) for n in names]], 0, 1)
        correlation = np.array([_mean_pearson(table) for table in of_aspects])
        of_retests[tuple(names)] = {"correlation": correlation, **_intraclass(of_aspects)}
    return of_retests


def _intraclass(of_aspects: Floats) -> dict[str, Floats]:
    """Return the fields of `Intraclass`, shape (A,) each, for scores of shape (A, raters, U)."""
    found = pd.DataFrame([asdict(intraclass(table.T)) for table in of_aspects])
    return {str(name): values.to_numpy(dtype=np.float64) for name, values in found.items()}


def _mean_pearson(table: Floats) -> float:
    """Return the mean of Pearson's r over pairs of rows, each on the units that both have."""
    found = []
    for x, y in combinations(table, 2):
        both = ~np.isnan(x + y)
        found.append(pearson(x[both], y[both]))
    return float(np.mean(found))


def annotators_sheet(truth: pd.DataFrame, raters: pd.DataFrame | None, simulated: Simulation) -> Sheet | None:
    """Return the reliability of annotators on the truth's units; None with fewer than two."""
    people = annotators_of(truth, raters)
    return None if people is None else _annotators_sheet(people, simulated=simulated)


def _annotators_sheet(people: Annotators, *, simulated: Simulation) -> Sheet:
    k = len(people.names)
    rows: dict[str, Any] = {"aspect": [*people.aspects, AVERAGE], "n_raters": k}
    for name, values in people.columns.items():
        rows[name] = [*values, values.min() if name == "n_units" else values.mean()]
    columns = (
        Column("aspect", "Aspect"),
        Column("n_units", "Units", "count"),
        *(Column(f"icc{n}", f"ICC({n}, 1)", "hundred") for n in (2, 3)),
        *(Column(f"icc{n}k", f"ICC({n}, {k})", "hundred") for n in (2, 3)),
        Column("alpha", "α, ordinal", "hundred"),
    )
    about = (
        "ICC(2, ·) is absolute agreement; ICC(3, ·) is consistency, which ignores constant differences "
        "between annotators (Shrout & Fleiss 1979). ICC(·, 1) is of one annotator, ICC(·, "
        f"{k}) of the mean of {k}. α is Krippendorff's, ordinal, over every unit that two or more rated."
    )
    notes = [f"{k} annotators, on the units that all of them rated; × 100.", about]
    if not people.columns["n_units"].all():
        notes.append(
            "Where no two units were rated by all annotators, intraclass correlations are not defined."
        )
    frame = without_lone_average(pd.DataFrame(rows))
    return Sheet("annotators", "Reliability of the annotators", frame, columns, tuple(notes), simulated)


def _retest_sheet(
    repeated: Mapping[tuple[str, ...], Mapping[str, Floats]], aspects: list[str], *, simulated: Simulation
) -> Sheet:
    rows = [
        {
            "evaluator": names[0],
            "n_replicates": len(names),
            "n_units": found["n_units"].min(),
            **by_aspect({name: found[name] for name in ("correlation", "icc2", "icc3")}, aspects),
            "replicates": "; ".join(names),
        }
        for names, found in repeated.items()
    ]
    columns = (
        Column("evaluator", "Evaluator"),
        Column("n_replicates", "Replicates", "count"),
        Column("n_units", "Units", "count"),
        Column("correlation", "Pearson's r", "hundred"),
        Column("icc2", "ICC(2, 1)", "hundred"),
    )
    over = f", averaged over {len(aspects)} aspects" if len(aspects) > 1 else ""
    note = (
        "Test-retest reliability of evaluators that differ only in the replicate, under the name of the "
        "first. "
        f"× 100{over}. Pearson's r is the mean over pairs of replicates. Units: those scored by all "
        "replicates, in the aspect with the fewest."
    )
    return Sheet(
        "retest", "Reliability of judges over replicates", pd.DataFrame(rows), columns, (note,), simulated
    )


TRUTH = "truth"
"""The first row."""


def variance(data: Prepared, *, simulated: Simulation = REAL) -> Sheet:
    """Split the variance of the truth and of each evaluator's scores among users, items and generators.

    There is a row for the truth and for each evaluator. Columns are shares of the variance
    (`metaeval.stats.regression.variance`, Henderson's method I, negative components as zero), averaged over
    aspects; the frame has every aspect too, in columns such as ``user: accuracy``. Factors that the data do
    not have are left out. The share is NaN where the data do not tell a component apart, or where values are
    constant.
    """
    factors: dict[str, Ints] = {noun(k): codes.astype(np.int64) for k, codes in data.keys.items()}
    called = {name: f"{plural_of(name)}" for name in factors}
    if PAIR in data.levels:
        (one, of_one), (other, of_other) = list(factors.items())[:2]
        pair = f"{one} × {other}"
        factors[pair] = of_one * len(data.labels[data.levels[PAIR].columns[1]]) + of_other
        called[pair] = f"pairs of {one} and {other}"
    names = [*factors, RESIDUAL]
    shares = np.full((1 + len(data.evaluators), len(data.aspects), len(names)), np.nan)
    designs: dict[bytes, Design] = {}
    for a in range(len(data.aspects)):
        values = np.stack([squarable(v) for v in (data.truth[a], *data.scores[:, a])])  # shares have no unit
        for rows, units in _alike(data, a):
            key = units.tobytes()
            if key not in designs:
                designs[key] = Design.of({name: codes[units] for name, codes in factors.items()})
            found = designs[key].decompose(values[rows][:, units]).shares
            for i, name in enumerate(names):
                shares[rows, a, i] = found[name]
    columns = by_aspect({name: shares[:, :, i] for i, name in enumerate(names)}, data.aspects)
    # A factor that shows nowhere has no column; the notes say why.
    shown = [name for i, name in enumerate(names) if not np.isnan(shares[:, :, i]).all()]
    return Sheet(
        "variance",
        "Variance components",
        pd.DataFrame({"evaluator": [TRUTH, *data.evaluators], **columns}),
        (
            Column("evaluator", "Evaluator"),
            *(Column(n, "Rest" if n == RESIDUAL else called[n].capitalize(), "share") for n in shown),
        ),
        tuple(_variance_notes(data, called, list(designs.values()))),
        simulated,
    )


def _alike(data: Prepared, aspect: int) -> Iterator[tuple[list[int], Ints]]:
    """Group rows (0 is the truth, then the evaluators) by their units; yield rows and units."""
    entering = data.entering[:, aspect]
    masks = [entering.any(axis=0), *entering]
    by_mask: dict[bytes, list[int]] = {}
    for row, mask in enumerate(masks):
        if mask.any():
            by_mask.setdefault(mask.tobytes(), []).append(row)
    for same in by_mask.values():
        yield same, np.flatnonzero(masks[same[0]])


def _variance_notes(data: Prepared, called: Mapping[str, str], designs: Sequence[Design]) -> list[str]:
    n, names = len(data.aspects), [*called, RESIDUAL]
    notes = [
        "Shares of the variance" + (f", means over {n} aspects" if n > 1 else "") + "; components that are "
        "estimated below zero (Henderson's method I) count as zero. Rest: all other differences, and noise."
    ]
    merged = {pair for design in designs for pair in design.merged.items()}
    for name, into in sorted(merged, key=lambda pair: names.index(pair[0])):
        if into == MEAN:
            notes.append(f"There is one of the {called[name]} only, so they have no variance component.")
        else:
            where = "the rest" if into == RESIDUAL else called[into]
            notes.append(
                f"The variance between {called[name]} cannot be separated from {where}, and is counted there."
            )
    lost = {name for design in designs for name in design.undetermined}
    if lost:
        listed = ", ".join("the rest" if n == RESIDUAL else called[n] for n in names if n in lost)
        notes.append(f"The data cannot separate these, so there are no shares: {listed}.")
    seen = [f"the {level} level sees {_seen(data, level)}" for level in data.policy.levels]
    notes.append(
        f"Levels see different parts: {'; '.join(seen)}. Variance that a level sees lowers its "
        "coefficients, unless evaluator and truth share it."
    )
    return notes


def _seen(data: Prepared, level: str) -> str:
    """Return what of the variance a level correlates."""
    if level == DATASET:
        return "all variance"
    if level in data.between:
        return f"mostly the variance between {plural_of(level)}, because it correlates their means"
    if level != PAIR:
        return f"all but the variance between {plural_of(level)}"
    one, other, *others = (noun(k) for k in data.keys)
    left = "".join(f"{plural_of(name)} and " for name in others)
    return f"only the variance within one {one} and {other} ({left}rest)"
