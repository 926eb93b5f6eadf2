"""Reliability of annotators, and of judges over replicates."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.analysis.agreement.attenuation import attenuation
from metaeval.analysis.agreement.people import annotator_ratings
from metaeval.base.records import AVERAGE
from metaeval.engine.alignment import align
from metaeval.engine.sheet import Column, Sheet
from metaeval.stats.agreement.raters import intraclass, krippendorff_alpha
from metaeval.stats.coefficients.grouped import pearson

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metaeval.base.records import ScoreTable
    from metaeval.base.simulation import Simulation
    from metaeval.engine.policy import Prepared
    from metaeval.stats.coefficients.tables import Floats


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
    single: Floats
    """ICC(3, 1): reliability of one annotator's ratings, up to a constant."""
    columns: Mapping[str, Floats]
    """Name of each further column → its values."""

    def of_mean(self, k: int) -> Floats:
        """Return the reliability of the mean of k annotators (Spearman–Brown), shape (A,)."""
        return np.where(self.single > 0, k * self.single / (1 + (k - 1) * self.single), self.single)


@dataclass(frozen=True, slots=True, eq=False)
class Retest:
    """Evaluators that differ only in the replicate; arrays have shape (A,)."""

    evaluators: tuple[str, ...]
    correlation: Floats
    """Pearson's r between two repetitions, the mean over pairs of them."""
    icc2: Floats
    icc3: Floats
    n_units: Floats
    """Units that all of them scored."""


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
    data
        Aligned scores and truth under the run's policy, of any levels.
    scores
        With signatures: evaluators whose signatures differ in ``replicate`` alone are repetitions.
    truth, raters
        As for `metaeval.analysis.agreement.people.people`.
    made_of
        Name of an evaluator → the annotators in it; none for an evaluator that is not named.
    truth_made_of
        The same for the truth; none if it is the users' own.
    truth_name
        Name of the truth in notes.

    Returns
    -------
    list of Sheet
        Those for which there are data, of ``annotators`` (intraclass correlations, with two or more
        annotators), ``retest`` (with repetitions) and ``attenuation`` (correlations corrected for what
        reliabilities are known).
    """
    people, repeated = annotators_of(truth, raters), retests(scores, truth)
    sheets = []
    if people is not None:
        sheets.append(_annotators_sheet(people, simulated=scores.simulation.among(())))
    if repeated:
        shown = scores.simulation.among(name for r in repeated for name in r.evaluators)
        sheets.append(_retest_sheet(repeated, data.aspects, simulated=shown))
    known: dict[str, Floats] = {name: r.correlation for r in repeated for name in r.evaluators}
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
    by_aspect = [intraclass(found.scores[:, a].T) for a in range(len(found.aspects))]
    columns = {
        name: np.array([getattr(icc, name) for icc in by_aspect], dtype=np.float64)
        for name in ("n_units", "icc1", "icc2", "icc3", "icc1k", "icc2k", "icc3k")
    }
    alpha = [krippendorff_alpha(found.scores[:, a], "ordinal") for a in range(len(found.aspects))]
    names, aspects = tuple(sorted(found.evaluators)), tuple(found.aspects)
    return Annotators(names, aspects, columns["icc3"], {**columns, "alpha": np.array(alpha)})


def retests(scores: ScoreTable, truth: pd.DataFrame) -> list[Retest]:
    """Find evaluators that differ only in the replicate, and correlate their scores."""
    groups: dict[str, list[str]] = {}
    for name in scores.evaluators:
        signature = dict(scores.signatures.get(name, {}))
        signature.pop("spec", None)  # it names the replicate too
        if "replicate" in signature:
            del signature["replicate"]
            groups.setdefault(json.dumps(signature, sort_keys=True, default=str), []).append(name)
    repeated = [names for names in groups.values() if len(names) > 1]
    if not repeated:
        return []
    frame = scores.frame
    wanted = frame[frame["evaluator"].isin([n for names in repeated for n in names])]
    found = align(wanted, truth, ["dataset"])
    of_retests = []
    for names in repeated:
        cube = found.scores[[found.evaluators.index(n) for n in names]]
        icc = [intraclass(cube[:, a].T) for a in range(cube.shape[1])]
        of_retests.append(
            Retest(
                tuple(names),
                np.array([_mean_pearson(cube[:, a]) for a in range(cube.shape[1])]),
                np.array([i.icc2 for i in icc]),
                np.array([i.icc3 for i in icc]),
                np.array([i.n_units for i in icc], dtype=np.float64),
            )
        )
    return of_retests


def _mean_pearson(table: Floats) -> float:
    """Return the mean of Pearson's r over pairs of rows, each on the units that both have."""
    found = []
    for x, y in combinations(table, 2):
        both = ~np.isnan(x + y)
        found.append(pearson(x[both], y[both]))
    return float(np.mean(found))


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
        Column("alpha", "Krippendorff's α", "hundred"),
    )
    about = (
        "ICC(2, ·) is agreement in the ratings themselves; ICC(3, ·) is consistency, where an annotator "
        "may be higher or lower throughout (Shrout & Fleiss 1979). ICC(·, 1) is of one annotator, ICC(·, "
        f"{k}) of the mean of {k}. α is ordinal, and counts every unit that two or more rated."
    )
    notes = [f"{k} annotators, on the units that all of them rated; × 100.", about]
    if not people.columns["n_units"].all():
        notes.append(
            "Where no two units were rated by all annotators, intraclass correlations are not defined."
        )
    return Sheet(
        "annotators", "Reliability of the annotators", pd.DataFrame(rows), columns, tuple(notes), simulated
    )


def _retest_sheet(repeated: list[Retest], aspects: list[str], *, simulated: Simulation) -> Sheet:
    rows = []
    for r in repeated:
        row: dict[str, Any] = {"evaluator": r.evaluators[0], "n_replicates": len(r.evaluators)}
        row["n_units"] = r.n_units.min()
        arrays = {"correlation": r.correlation, "icc2": r.icc2, "icc3": r.icc3}
        row |= {name: values.mean() for name, values in arrays.items()}
        for name, values in arrays.items():
            row |= {f"{name}: {a}": v for a, v in zip(aspects, values, strict=True)}
        rows.append({**row, "replicates": "; ".join(r.evaluators)})
    columns = (
        Column("evaluator", "Evaluator"),
        Column("n_replicates", "Replicates", "count"),
        Column("n_units", "Units", "count"),
        Column("correlation", "Pearson's r", "hundred"),
        Column("icc2", "ICC(2, 1)", "hundred"),
    )
    over = f", averaged over {len(aspects)} aspects" if len(aspects) > 1 else ""
    note = (
        "Test-retest: of evaluators that differ in nothing but the replicate, under the name of the first. "
        f"× 100{over}. Pearson's r is the mean over pairs of replicates. Units: those that all replicates "
        "scored, in the aspect with the fewest."
    )
    return Sheet(
        "retest", "Reliability of judges over replicates", pd.DataFrame(rows), columns, (note,), simulated
    )
