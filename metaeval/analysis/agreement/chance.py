"""Agreement beyond chance as a sheet: of the annotators of a run, or of each evaluator and the truth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from metaeval.analysis.agreement.labels import Agreement, falling, heads
from metaeval.analysis.agreement.people import annotator_ratings
from metaeval.base.counts import plural_of
from metaeval.base.errors import MetaevalError, nearest
from metaeval.base.keys import cluster_columns
from metaeval.base.records import Scale
from metaeval.engine.alignment.aligned import align
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.sheet import Column, Sheet
from metaeval.stats.agreement.chance import CHANCE, WEIGHTS, agreement_weights, chance_agreement
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.bootstrap import NOTHING, Estimate, Resampler, each
from metaeval.stats.resampling.bootstrap import bootstrap as bootstrapped
from metaeval.stats.weighted.sums import Clusters

_MOST_LABELS = 100


class Weighing(NamedTuple):
    """Weights of agreement: a name, or the table of a file."""

    named: str
    table: pd.DataFrame | None = None
    """Labels as text in rows and columns."""

    @classmethod
    def read(cls, text: str) -> Weighing:
        """Read a name of `WEIGHTS`, or a CSV file; `MetaevalError` if it is neither."""
        if text in WEIGHTS:
            return cls(text)
        if not Path(text).is_file():
            raise MetaevalError(
                f"--weights {text!r} is neither {', '.join(WEIGHTS)} nor a file{nearest(text, WEIGHTS)}"
            )
        table = pd.read_csv(text, dtype=str, index_col=0)
        return cls(Path(text).name, table.rename(index=str))

    def of(self, labels: Floats, scale: Scale) -> Floats:
        """Return the weights of the labels of a scale, shape (K, K)."""
        if self.table is None:
            if scale.labels and self.named != "identity":
                raise MetaevalError(
                    f"labels that are words have no order, so there are no {self.named} weights"
                )
            return _checked(self.named, labels)
        words = [*scale.labels] or [f"{v:g}" for v in labels]
        if sorted(self.table.index) != sorted(words) or sorted(self.table.columns) != sorted(words):
            raise MetaevalError(
                f"{self.named} must have a row and a column for each label: {', '.join(words)}; it has rows "
                f"{', '.join(map(str, self.table.index))}, columns {', '.join(map(str, self.table.columns))}"
            )
        own = self.table.loc[words, words].apply(pd.to_numeric, errors="coerce")
        return _checked(own.to_numpy(dtype=np.float64), labels)


def _checked(weights: str | Floats, labels: Floats) -> Floats:
    try:
        return agreement_weights(weights, labels)
    except ValueError as error:
        raise MetaevalError(f"--weights: {error}") from error


def beyond_chance(
    ratings: Floats, scale: Scale, clusters: Clusters, resampler: Resampler, *, weighing: Weighing
) -> dict[str, Estimate[float]]:
    """Return the measures `CHANCE` with intervals; none if the ratings, (raters, units), are no labels.

    The labels are those of the scale; of one without steps, or many, those that occur, up to 100.
    """
    given = ratings[~np.isnan(ratings)]
    steps = scale.max - scale.min < _MOST_LABELS and scale.integer and not (given % 1).any()
    labels = np.arange(scale.min, scale.max + 1) if steps else np.unique(given)
    on_scale = given.size and scale.min <= given.min() and given.max() <= scale.max
    if not on_scale or len(labels) > _MOST_LABELS:
        return {}
    statistic = chance_agreement(ratings, labels, weighing.of(labels, scale), clusters)
    found = bootstrapped(statistic, resampler.of(clusters.n), bounds=(-1.0, 1.0))
    return dict(zip(CHANCE, each(found), strict=True))


def annotators_beyond_chance(
    truth: pd.DataFrame,
    raters: pd.DataFrame | None,
    scale: Scale,
    weighing: Weighing,
    bootstrap: Bootstrap,
) -> Sheet | None:
    """Return the agreement of annotators on the truth's units, by aspect; None if no two rated.

    Truth and raters are those of `metaeval.analysis.agreement.people.people`.
    """
    asked = annotator_ratings(truth, raters)
    if asked is None or asked["rater"].nunique() < 2:
        return None
    found = align(asked.rename(columns={"rater": "evaluator", "rating": "score"}), truth, ["dataset"])
    known = cluster_columns(tuple(found.keys))
    name = bootstrap.cluster or next(iter(known))
    codes = found.keys[known[name]] if name in known else np.arange(found.truth.shape[1])
    rows = []
    for a, aspect in enumerate(found.aspects):
        used = (~np.isnan(found.scores[:, a])).sum(axis=0) > 1
        ratings, of_unit = found.scores[:, a, used], np.unique(codes[used], return_inverse=True)[1]
        clusters = Clusters(of_unit.astype(np.int64), int(of_unit.max(initial=-1)) + 1)
        measured = beyond_chance(
            ratings, scale.of(aspect), clusters, bootstrap.resampler(), weighing=weighing
        )
        rows.append(
            {"aspect": aspect, "n_raters": len(ratings), "n_units": ratings.shape[1], **_cells(measured)}
        )
    about = (Column("n_raters", "Annotators", "count"),)
    made = f"{bootstrap.resamples:,} bootstrap resamples of {plural_of(name)}, seed {bootstrap.seed}"
    note = f"Of units that two or more annotators rated. 95 % intervals: {made}."
    return _sheet(rows, weighing, (Column("aspect", "Aspect"), *about), note)


def evaluators_beyond_chance(found: Sequence[Agreement], weighing: Weighing, by: str | None) -> Sheet | None:
    """Return the agreement of each evaluator with the truth, as of two raters; None if none gave labels."""
    aspects = list(dict.fromkeys(one.aspect for one in found))
    rows = [
        {
            "evaluator": one.evaluator,
            "aspect": one.aspect,
            "stratum": one.stratum,
            "n_units": one.n_units,
            **_cells(one.chance),
        }
        for one in sorted(found, key=lambda one: (aspects.index(one.aspect), one.stratum, *_falling(one)))
        if one.chance
    ]
    if not rows:
        return None
    strata = (Column("stratum", str(by)),) if any(row["stratum"] for row in rows) else ()
    return _sheet(rows, weighing, (*heads(found), *strata), "Of evaluator and people, as of two raters.")


def _falling(one: Agreement) -> tuple[bool, float]:
    return falling(one.chance["gwet"].value if one.chance else math.nan)


def _cells(measured: Mapping[str, Estimate[float]]) -> dict[str, float]:
    return {k: v for name in CHANCE for k, v in measured.get(name, NOTHING).row(name).items()}


def _sheet(
    rows: Sequence[Mapping[str, Any]], weighing: Weighing, first: Sequence[Column], *notes: str
) -> Sheet:
    weighed = weighing.named != "identity"
    titles = {
        "agreement": "Agreement",
        "conger": "κ",
        "fleiss": "Fleiss' κ, Scott's π",
        "brennan_prediger": "Brennan–Prediger",
        "gwet": "Gwet's AC2" if weighed else "Gwet's AC1",
        "alpha": "α",
    }
    columns = (
        *first,
        Column("n_units", "Units", "count"),
        *(
            Column(name, title, "share" if name == "agreement" else "decimal", f"{name}_low", f"{name}_high")
            for name, title in titles.items()
        ),
    )
    what = WEIGHTS.get(weighing.named, "those of the file")
    said = (
        f"Weights of agreement, {weighing.named}: {what}.",
        "What chance is: κ: every two raters by their own labels (Cohen's of two, Conger's of more).",
        "Fleiss, Scott and α: the common labels; α is Krippendorff's, corrected for few units.",
        "Brennan–Prediger: all labels alike. Gwet: the less, the more one label is common.",
        *notes,
    )
    return Sheet("chance", "Agreement beyond chance", pd.DataFrame(rows), columns, said)
