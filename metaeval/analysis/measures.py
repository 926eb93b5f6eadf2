"""More measures of agreement with the truth than correlations: of pairs, of generators, of the ratings themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.analysis.generator_ranking import rank_generators
from metaeval.intervals import Bootstrap
from metaeval.progress import progress
from metaeval.sheet import Column, Sheet
from metaeval.stats.agreement import (
    centre,
    cohen_kappa,
    concordance,
    krippendorff_alpha,
    mean_absolute_error,
)
from metaeval.stats.levels import Grouping
from metaeval.stats.ranking import pairwise_accuracy, tie_calibrated_accuracy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metaeval.policy import Prepared
    from metaeval.stats.tables import Floats, Ints
    from metaeval.types import Scale

N_FOLDS = 10
"""Folds of users, each with a tie threshold from the others."""
N_RESAMPLES = 1000
"""Bootstrap resamples behind the p-values of soft pairwise accuracy."""

_MOST_RATINGS = 12  # means of up to so many whole ratings count as being on the scale
_ON_SCALE = ("kappa", "alpha", "concordance", "mae")


def measures(data: Prepared, *, scale: Scale, seed: int = 0, simulated: bool = False) -> Sheet:
    """Measure agreement in the order of pairs, in the order of generators, and in the ratings themselves.

    A row an evaluator with averages over aspects, which are NaN where the measure of any aspect is. The frame
    has every aspect too, in columns such as ``kappa: accuracy``.

    - ``pairs_user``, ``pairs_pair``: pairwise accuracy (`tie_calibrated_accuracy`) within users, and within
      units of a user and item. Without users, ``pairs_item``.
    - ``soft``: soft pairwise accuracy of generators (`soft_pairwise_accuracy`, from `rank_generators`).
    - ``kappa`` (quadratic weights) and ``alpha`` (Krippendorff's, ordinal) of evaluator and truth.
    - ``concordance`` (Lin's) and ``mae`` (mean absolute error, in points of the scale) after truth and scores
      were centred within users, or items without users.

    The last four compare values, not orders: they are NaN unless all scores and the truth are on the scale,
    or means of a few ratings on it; kappa takes the ratings themselves only.

    Parameters
    ----------
    data
        Any levels and coefficients; they are not read.
    scale
        Of the truth's ratings.
    seed
        Of the folds and the resamples.
    simulated
        Whether the data or an evaluator are.
    """
    who = "user" if "user_id" in data.keys else "item"
    clusters = data.clusters(who)
    groupings = {who: Grouping(clusters.of_unit, clusters.n)}
    if who == "user" and "item_id" in data.keys:
        codes = clusters.of_unit * len(data.labels["item_id"]) + data.keys["item_id"]
        pair = np.unique(codes, return_inverse=True)[1]
        groupings["pair"] = Grouping(pair, int(pair.max()) + 1)
    n_folds = min(N_FOLDS, clusters.n)
    fold = np.random.default_rng(seed).permutation(clusters.n) % max(1, n_folds)

    shape = (len(data.evaluators), len(data.aspects))
    names = [*(f"pairs_{level}" for level in groupings), "soft", *_ON_SCALE]
    found = {name: np.full(shape, np.nan) for name in names}
    with progress("measures", shape[0] * shape[1]) as advance:
        for e in range(shape[0]):
            for a in range(shape[1]):
                units = np.arange(data.truth.shape[1])[data.units(e, a)]
                x, y = data.scores[e, a, units], data.truth[a, units]
                for level, g in groupings.items():
                    if n_folds > 1:
                        found[f"pairs_{level}"][e, a] = tie_calibrated_accuracy(
                            x, y, g.group[units], g.n_groups, fold[clusters.of_unit[units]], n_folds=n_folds
                        ).accuracy
                kept = _scored(data, e, a, units, scale)
                group = clusters.of_unit[kept]
                for name, value in _values(
                    data.scores[e, a, kept], data.truth[a, kept], group, clusters.n, scale
                ).items():
                    found[name][e, a] = value
                advance()
    if len(data.labels.get("generator", ())) > 1:
        options = Bootstrap(resamples=N_RESAMPLES, seed=seed)
        for e, compared in enumerate(rank_generators(data, bootstrap=options).evaluators):
            found["soft"][e] = compared.agreement.soft_accuracy[-shape[1] :]
    else:
        del found["soft"]
    return Sheet(
        "measures",
        "Further measures of agreement with the truth",
        _frame(data, found),
        _columns(found, who),
        tuple(_notes(data, found, scale, groupings, n_folds, who, seed)),
        simulated,
    )


def on_scale(values: Floats, scale: Scale) -> bool:
    """Say whether all values are ratings on a scale, or means of up to 12 of them.

    Without this, scores of another unit that happen to lie between the ends of the scale would pass for ratings.
    """
    if values.size == 0 or values.min() < scale.min or values.max() > scale.max:
        return False
    if not scale.integer:
        return True
    distinct = np.unique(values)
    return any(np.allclose(distinct * k, np.rint(distinct * k), 0, 1e-9) for k in range(1, _MOST_RATINGS + 1))


def _scored(data: Prepared, e: int, a: int, units: Ints, scale: Scale) -> Ints:
    """Return the units without those whose score was filled with a number that is not on the scale."""
    fill = data.policy.score
    if isinstance(fill, str) or fill in scale or not data.n_missing[e, a]:
        return units
    filled = data.scores[e, a, units] == fill
    return units[~filled] if filled.sum() <= data.n_missing[e, a] else units


def _values(x: Floats, y: Floats, group: Ints, n_groups: int, scale: Scale) -> dict[str, float]:
    """Return the measures that compare ratings with ratings; none if these are none."""
    if not (on_scale(x, scale) and on_scale(y, scale)):
        return {}
    found = {"alpha": krippendorff_alpha(np.stack([x, y]), "ordinal")}
    if scale.integer and not ((x % 1).any() or (y % 1).any()):
        labels = np.arange(scale.min, scale.max + 1)
        found["kappa"] = cohen_kappa(x, y, "quadratic", labels=labels)
    u, v = (centre(values, group, n_groups) for values in (x, y))
    return {**found, "concordance": concordance(u, v), "mae": mean_absolute_error(u, v)}


def _frame(data: Prepared, found: Mapping[str, Floats]) -> pd.DataFrame:
    columns: dict[str, Any] = {"evaluator": data.evaluators}
    columns |= {name: values.mean(axis=1) for name, values in found.items()}
    for name, values in found.items():
        columns |= {f"{name}: {aspect}": values[:, a] for a, aspect in enumerate(data.aspects)}
    return pd.DataFrame(columns)


def _columns(found: Mapping[str, Floats], who: str) -> tuple[Column, ...]:
    known = (
        Column(f"pairs_{who}", f"Pairs within {who}s", "share"),
        Column("pairs_pair", "Pairs within user × item", "share"),
        Column("soft", "Pairs of generators, soft", "share"),
        Column("kappa", "Weighted κ", "hundred"),
        Column("alpha", "Krippendorff's α", "hundred"),
        Column("concordance", "Concordance", "hundred"),
        Column("mae", "Mean absolute error", "number"),
    )
    return (Column("evaluator", "Evaluator"), *(c for c in known if c.name in found))


def _notes(
    data: Prepared,
    found: Mapping[str, Floats],
    scale: Scale,
    groupings: Mapping[str, Grouping],
    n_folds: int,
    who: str,
    seed: int,
) -> list[str]:
    n = len(data.aspects)
    over = f"Means over {n} aspects; κ, α and concordance × 100." if n > 1 else "κ, α and concordance × 100."
    notes = [over]
    if who == "item":
        notes.append("The data name no users: items take their place.")
    if n_folds > 1:
        tied = [f"{100 * share:.1f} %" for share in _tied(data, groupings)]
        notes.append(
            f"Pairs: the share of pairs of units that evaluator and truth order, or tie, alike. The difference of "
            f"scores up to which an evaluator ties was chosen on other {who}s than it is used on ({n_folds} folds "
            f"of {who}s, seed {seed}). Calling every pair a tie would reach {' and '.join(tied)}."
        )
    else:
        notes.append(f"With one {who} alone no tie threshold can be chosen on others, so pairs have no value.")
    if "soft" in found:
        notes.append(
            "Pairs of generators: 1 less the mean difference of two one-sided p-values that one generator is "
            f"better than the other, by the truth and by the evaluator ({N_RESAMPLES:,} bootstrap resamples of "
            f"{who}s{', whose effects are removed' if who == 'user' else ''}; seed {seed})."
        )
    notes.append(
        f"κ (quadratic weights), α (ordinal), concordance (Lin's) and mean absolute error (in points of the "
        f"scale) compare ratings with ratings: they are given where all scores and the truth are {scale}, or "
        f"means of a few such; κ needs single ratings. The last two are taken after truth and scores were centred "
        f"within {who}s."
    )
    fill = data.policy.score
    if not isinstance(fill, str) and fill not in scale and data.n_missing.any():
        notes.append(f"Missing scores, which count as {fill:g} elsewhere, are left out of these four.")
    return notes


def _tied(data: Prepared, groupings: Mapping[str, Grouping]) -> list[float]:
    """Return the share of pairs within groups that the truth ties, at each level, averaged over aspects."""
    shares = np.full((len(groupings), len(data.aspects)), np.nan)
    for a in range(len(data.aspects)):
        units: Any = slice(None) if data.mask is None else data.mask[:, a].any(axis=0)
        y = data.truth[a, units]
        for i, g in enumerate(groupings.values()):
            shares[i, a] = pairwise_accuracy(np.zeros_like(y), y, g.group[units], g.n_groups).accuracy
    return [float(share) for share in shares.mean(axis=1)]
