"""Whether people agree, and what each rater adds to it: what any judge is to be measured by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.engine.sheet import Column, Sheet
from metaeval.stats.agreement.alpha import alpha_sums
from metaeval.stats.coefficients.grouped import pearson
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.bootstrap import Resampler, bootstrap, each
from metaeval.stats.resampling.cluster_sums import mean_of_defined
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS, TOO_FEW

if TYPE_CHECKING:
    from metaeval.base.simulation import Simulation
    from metaeval.trust.replacing.people import Panel

_TENTATIVE, _RELIABLE = 0.667, 0.8
"""The alphas from which on conclusions are tentative, and reliable (Krippendorff 2004)."""
_RESAMPLES = 2_000


class _Gain:
    """Alpha without a rater, less alpha of all."""

    def __init__(self, ratings: Floats, panel: Panel, left_out: int) -> None:
        labels = len(panel.scale.labels)
        rest = np.delete(ratings, left_out, axis=0)
        self.all = alpha_sums(ratings, panel.cluster, panel.n_clusters, labels)
        self.rest = alpha_sums(rest, panel.cluster, panel.n_clusters, labels)

    def at(self, weights: Floats) -> Floats:
        """Return the difference under columns of weights, shape (1, columns)."""
        return self.rest.at(weights) - self.all.at(weights)


def raters_sheets(panels: Iterable[Panel], resampler: Resampler, simulated: Simulation) -> list[Sheet]:
    """Say for each aspect whether people agree, and what each rater adds.

    Parameters
    ----------
    panels
        Of several evaluators; the people of one aspect are looked at once, in the panel that has most.
    """
    most: dict[str, Panel] = {}
    for panel in panels:
        if panel.aspect not in most or len(panel.people) > len(most[panel.aspect].people):
            most[panel.aspect] = panel
    fewer = resampler.at_most(_RESAMPLES)
    agree = [_agreement(panel, fewer) for panel in most.values()]
    rows = [row for panel in most.values() if len(panel.people) > 2 for row in _rows(panel, fewer)]
    found = [
        Sheet(
            "people-agree", "Do people agree?", pd.DataFrame(agree), _shown(agree, _AGREE), _ALPHA, simulated
        ),
        Sheet("raters", "What each rater adds", pd.DataFrame(rows), _shown(rows, _RATERS), _NOTES, simulated),
    ]
    return [sheet for sheet in found if len(sheet.frame)]


_AGREE = (
    Column("aspect", "Aspect"),
    Column("verdict", "Verdict", keep=True),
    Column("alpha", "α", "hundredths", "alpha_low", "alpha_high"),
    Column("people", "People", "count"),
    Column("n_units", "Units", "count"),
)
_RATERS = (
    Column("aspect", "Aspect"),
    Column("rater", "Rater"),
    Column("with_others", "With the others", "hundredths"),
    Column("gain", "α gains without", "decimal", "gain_low", "gain_high"),
    Column("n_units", "Units", "count"),
)
_ALPHA = (
    "α: Krippendorff's, of intervals, or nominal for words; `metaeval details` has the ordinal one, × 100.",
    f"By its lower end, people agree well from {_RELIABLE:g} on, enough to conclude from {_TENTATIVE:g} on.",
)
_NOTES = (
    "With the others: Pearson's r with their mean; for words, the share of their labels that are equal.",
    "A rater without whom α gains, with an interval above 0, lowers the truth.",
)


def _shown(rows: Sequence[dict[str, Any]], columns: Sequence[Column]) -> tuple[Column, ...]:
    one = len({row["aspect"] for row in rows}) == 1
    return tuple(c for c in columns if not (one and c.name == "aspect"))


def _agreement(panel: Panel, resampler: Resampler) -> dict[str, Any]:
    statistic = alpha_sums(panel.ratings, panel.cluster, panel.n_clusters, len(panel.scale.labels))
    [found] = each(bootstrap(statistic, resampler.of(panel.n_clusters), bounds=(-1.0, 1.0)))
    several = (~np.isnan(panel.ratings)).sum(axis=0) > 1
    if not np.isfinite(found.value):
        said = "cannot be compared: their ratings do not differ"
    elif not np.isfinite(found.low):
        said = f"{TOO_FEW}: they rated units of fewer than {FEWEST_CLUSTERS} clusters"
    elif found.low >= _RELIABLE:
        said = "agree well enough to measure a judge by"
    elif found.low >= _TENTATIVE:
        said = "agree enough for tentative conclusions"
    elif found.value >= _TENTATIVE:
        said = f"may agree enough, but there are too few labels to tell: α may be {found.low:.2f}"
    elif found.low > 0:
        said = "agree little, and more than by chance: a unit needs many labels"
    else:
        said = "are not shown to agree on single units: only means of many can measure a judge"
    counts = {"people": len(panel.people), "n_units": int(several.sum())}
    return {"aspect": panel.aspect, "verdict": said, **found.row("alpha"), **counts}


def _rows(panel: Panel, resampler: Resampler) -> list[dict[str, Any]]:
    rows = []
    for j, rater in enumerate(panel.people):
        own, others = panel.ratings[j], np.delete(panel.ratings, j, axis=0)
        middle = mean_of_defined(others)
        both = ~np.isnan(own + middle)
        if panel.scale.labels:
            equal = np.where(np.isnan(others), np.nan, others == own)
            shared = float(mean_of_defined(mean_of_defined(equal)[both])) if both.any() else np.nan
        else:
            shared = float(pearson(own[both], middle[both])) if both.sum() > 1 else np.nan
        [gain] = each(bootstrap(_Gain(panel.ratings, panel, j), resampler.of(panel.n_clusters)))
        row = {"aspect": panel.aspect, "rater": rater, "with_others": shared, **gain.row("gain")}
        rows.append({**row, "n_units": int((~np.isnan(own)).sum())})
    return rows
