"""The overlap of a log with all items alike: propensities and weights by bin, and balance of covariates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.kinds.exposure.propensity.features import Features, indicators, popularity_bins
from metaeval.kinds.exposure.propensity.options import FEATURES
from metaeval.stats.off_policy.overlap import QUANTILES, THRESHOLDS, balance, overlap_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metaeval.kinds.exposure.propensity.propensities import Propensities
    from metaeval.stats.coefficients.tables import Floats, Ints

ALL, POPULARITY, AGE = "all", "popularity", "age"
_VALUES = 12  # of a text field whose values are covariates of their own


def overlap_frame(given: Propensities) -> pd.DataFrame:
    """Return a row for the whole log, one per bin of popularity (0: most popular) and of age (0: newest).

    ``mean_weight`` is what the weights of a bin add up to, divided by what they should: about 1 for right
    propensities, and not known of ages. ``unshown`` is the share of the items that the log never shows, which
    is the share of the mass of a policy that chooses all items alike.
    """
    of = given.of
    every = np.zeros(len(of.items), dtype=np.int64)
    popular = popularity_bins(of)
    parts = [_of_items(given, ALL, every), _of_items(given, POPULARITY, popular)]
    ages = Features(of, FEATURES).ages
    if ages is not None and of.time is not None:
        bin_of = ages.of(of.age(of.item, of.time))
        parts.append(_frame(given, AGE, bin_of, np.zeros(ages.n)))
    return pd.concat(parts, ignore_index=True)


def _of_items(given: Propensities, by: str, bin_of_item: Ints) -> pd.DataFrame:
    of = given.of
    items = np.bincount(bin_of_item)
    frame = _frame(given, by, bin_of_item[of.item], (items * given.expected).astype(np.float64))
    frame.insert(3, "items", items)
    frame["unshown"] = np.bincount(bin_of_item, of.rows_of_item == 0) / items
    return frame


def _frame(given: Propensities, by: str, bin_of: Ints, expected: Floats) -> pd.DataFrame:
    found = overlap_of(given.probability, given.weight, bin_of, expected)
    columns = {
        "by": by,
        "bin": [str(b) for b in range(len(expected))],
        "n": found.n,
        "minimum": found.minimum,
    }
    columns |= {f"q{round(100 * q):02}": found.quantiles[:, i] for i, q in enumerate(QUANTILES)}
    columns |= {f"below_{t:g}": found.below[:, i] for i, t in enumerate(THRESHOLDS)}
    columns["ess"] = [w.effective for w in found.weights]
    columns["mean_weight"] = [w.mean for w in found.weights]
    columns["largest_share"] = [w.largest_share for w in found.weights]
    frame = pd.DataFrame(columns)
    return frame.assign(bin="") if by == ALL else frame


def balance_frame(given: Propensities) -> pd.DataFrame:
    """Return standardised mean differences of covariates of items and users, before and after weighting.

    Items are compared with all items alike. Users are compared with all users alike where propensities are of
    pairs, and against the rows that they have where propensities are of choices.
    """
    of = given.of
    of_items = {"popularity (log)": np.log1p(of.rows_of_item), **dict(_of_fields(of.fields))}
    rows = [_compared("item", of_items, of.item, given, np.ones(len(of.items)))]
    if len(of.users):
        features = Features(of, FEATURES)
        own = {"frequency": features.frequency}
        if features.entropy is not None:
            own["genre entropy"] = features.entropy
        own |= dict(_of_fields(of.profiles))
        target = given.by_user if given.exposure == "choice" else np.ones(len(of.users))
        rows.append(_compared("user", own, of.user, given, target))
    return pd.concat(rows, ignore_index=True)


def _compared(
    what: str, covariates: dict[str, Floats], unit: Ints, given: Propensities, target: Floats
) -> pd.DataFrame:
    rows = np.bincount(unit, minlength=len(target)).astype(np.float64)
    weight = np.bincount(unit, given.weight, len(target)).astype(np.float64)
    found = balance(np.column_stack(list(covariates.values())), rows, weight, target)
    return pd.DataFrame(
        {"of": what, "covariate": list(covariates), "before": found.before, "after": found.after}
    )


def _of_fields(known: pd.DataFrame) -> Iterator[tuple[str, Floats]]:
    """Yield fields that are numbers, and whether an item or user has a value of a field with few."""
    for name, field in known.items():
        if pd.api.types.is_numeric_dtype(field):
            if field.notna().all():
                yield str(name), field.to_numpy(dtype=np.float64)
        elif (found := indicators(field, _VALUES)) is not None:
            for at, value in enumerate(found[0]):
                yield f"{name}: {value}", found[1][:, at]
