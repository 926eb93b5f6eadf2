"""What is to be known of a log before it is weighted: overlap, balance, means, and the exposure model."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from metaeval.engine.sheet import Column, columns
from metaeval.kinds.exposure.off_policy.evaluation import evaluate
from metaeval.kinds.exposure.off_policy.policies import uniform
from metaeval.kinds.exposure.propensity.exposures import Features, indicators, popularity_bins
from metaeval.kinds.exposure.propensity.propensities import ExposureModel, Propensities
from metaeval.kinds.exposure.scored import ExposureScored
from metaeval.kinds.exposure.study import FEATURES, ExposureStudy, OffPolicy
from metaeval.kinds.table import KindTable
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.off_policy.overlap import WeightTotals, balance

ALL, POPULARITY, AGE = "all", "popularity", "age"
NAIVE, IPS, SNIPS, RANDOM = "naive", "ips", "snips", "random sample"
_QUANTILES = {f"q{round(100 * q):02}": q for q in (0.01, 0.05, 0.25, 0.5)}
_THRESHOLDS = {f"below_{t:g}": t for t in (0.001, 0.01, 0.1)}
_VALUES = 12  # of a text field whose values are covariates of their own


def intervals_sentence(study: ExposureStudy, *, fitted: bool, resampled: str = "users") -> str:
    """Say how intervals of what is weighted were made; "" if there are none."""
    options, refits = study.bootstrap, study.propensity.refits
    if options is None:
        return ""
    which = f"{100 * options.confidence:g} % intervals"
    if not fitted:
        return f"{which} from {options.resamples:,} resamples of {resampled}."
    if refits < 2:
        return "No intervals: propensities were fitted once."
    return (
        f"{which} from {refits} resamples of users, propensities fitted again in each: the estimate ± "
        "the t quantile × the standard deviation of the resamples."
    )


def overlap_frame(propensities: Propensities) -> pd.DataFrame:
    """Return a row for the whole log, one per bin of popularity (0: most popular) and of age (0: newest).

    ``mean_weight`` is what the weights of a bin add up to, divided by what they should: about 1 for right
    propensities, and not known of ages. ``unshown`` is the share of the items that the log never shows, which
    is the share of the mass of a policy that chooses all items alike.
    """
    log = propensities.log
    parts = []
    for by, bins in ((ALL, np.zeros(len(log.items), dtype=np.int64)), (POPULARITY, popularity_bins(log))):
        items = np.bincount(bins)
        frame = _described(
            propensities, by, bins[log.item], (items * propensities.expected).astype(np.float64)
        )
        frame.insert(3, "items", items)
        parts.append(frame.assign(unshown=np.bincount(bins, log.rows_of_item == 0) / items))
    ages = Features(log, FEATURES).ages
    if ages is not None and log.time is not None:
        parts.append(_described(propensities, AGE, ages.of(log.age(log.item, log.time)), np.zeros(ages.n)))
    return pd.concat(parts, ignore_index=True).assign(source=propensities.source)


def _described(propensities: Propensities, by: str, bin_of: Ints, expected: Floats) -> pd.DataFrame:
    """Describe propensities and weights of the rows of each bin; NaN for a bin without rows.

    ``expected`` is what the weights of each bin should add up to, 0 if that is not known.
    """
    p, weight, bins = propensities.probability, propensities.weight, range(len(expected))
    rows = pd.DataFrame({"p": p, "w": weight, "squares": weight**2}).groupby(bin_of)
    wide = rows["p"].quantile(np.array([0.0, *_QUANTILES.values()])).unstack()  # noqa: PD010 - of an index
    quantiles = wide.reindex(bins).to_numpy()
    below = [pd.Series(p < t).groupby(bin_of).mean().reindex(bins).to_numpy() for t in _THRESHOLDS.values()]
    sums = rows[["w", "squares"]].sum().assign(largest=rows["w"].max()).reindex(bins, fill_value=0.0)
    totals = [
        WeightTotals(float(e), *map(float, row)) for e, row in zip(expected, sums.to_numpy(), strict=True)
    ]
    return pd.DataFrame(
        {
            "by": by,
            "bin": "" if by == ALL else [str(b) for b in bins],
            "n": rows.size().reindex(bins, fill_value=0).to_numpy(),
            **dict(zip(("minimum", *_QUANTILES), quantiles.T, strict=True)),
            **dict(zip(_THRESHOLDS, below, strict=True)),
            "ess": [w.effective for w in totals],
            "mean_weight": [w.mean for w in totals],
            "largest_share": [w.largest_share for w in totals],
        }
    )


OVERLAP = KindTable(
    "overlap.csv",
    "Overlap: propensities and weights by bin",
    (
        *columns("text", by="By", bin="Bin"),
        Column("n", "Rows", "count"),
        Column("minimum", "Least p", "number"),
        *(Column(name, f"{100 * q:g} %", "number") for name, q in _QUANTILES.items()),
        *(Column(name, f"p < {t:g}", "share") for name, t in _THRESHOLDS.items()),
        Column("ess", "ESS", "count"),
        Column("mean_weight", "Mean weight", "hundredths"),
        *columns("share", largest_share="Largest", unshown="Never shown"),
        Column("source", ""),
    ),
    lambda scored: overlap_frame(scored.propensities),
    lambda _, frame: (
        (
            "Popularity bin 0 has the items with the most rows, age bin 0 the newest. Bins are cut at "
            "quantiles, of popularity over items, of age over rows; equal values are in one bin."
        ),
        (
            "Mean weight: the sum of the weights of a bin, divided by its expected value; 1 if the "
            "propensities are right. ESS: (Σw)² / Σw². Largest: the largest share of the weight in one row."
            " Never shown: the share of items without a row in the log; no weight makes up for them."
        ),
        f"Propensities were {frame['source'][0]}.",
    ),
    judged=False,
)


def balance_frame(propensities: Propensities) -> pd.DataFrame:
    """Return standardised mean differences of covariates of items and users, before and after weighting.

    Items are compared with all items alike. Users are compared with all users alike where propensities are of
    pairs, and against the rows that they have where propensities are of choices.
    """
    log = propensities.log
    of_items = {"popularity (log)": np.log1p(log.rows_of_item), **dict(_covariates(log.fields))}
    rows = [_compared("item", of_items, log.item, propensities, np.ones(len(log.items)))]
    if len(log.users):
        features = Features(log, FEATURES)
        of_users = {"frequency": features.frequency}
        if features.entropy is not None:
            of_users["genre entropy"] = features.entropy
        of_users |= dict(_covariates(log.profiles))
        target = propensities.by_user if propensities.exposure == "choice" else np.ones(len(log.users))
        rows.append(_compared("user", of_users, log.user, propensities, target))
    return pd.concat(rows, ignore_index=True)


def _compared(
    what: str, covariates: dict[str, Floats], unit: Ints, propensities: Propensities, target: Floats
) -> pd.DataFrame:
    rows = np.bincount(unit, minlength=len(target)).astype(np.float64)
    weight = np.bincount(unit, propensities.weight, len(target)).astype(np.float64)
    before, after = balance(np.column_stack(list(covariates.values())), rows, weight, target)
    return pd.DataFrame({"of": what, "covariate": list(covariates), "before": before, "after": after})


def _covariates(fields: pd.DataFrame) -> Iterator[tuple[str, Floats]]:
    """Yield fields that are numbers, and whether an item or user has a value of a field with few."""
    for name, field in fields.items():
        if pd.api.types.is_numeric_dtype(field):
            if field.notna().all():
                yield str(name), field.to_numpy(dtype=np.float64)
        elif (coded := indicators(field, _VALUES)) is not None:
            yield from ((f"{name}: {value}", has) for value, has in zip(coded[0], coded[1].T, strict=True))


BALANCE = KindTable(
    "balance.csv",
    "Balance before and after weighting",
    (
        *columns("text", of="Of", covariate="Covariate"),
        *columns("hundredths", before="Before", after="After"),
    ),
    lambda scored: balance_frame(scored.propensities),
    (
        (
            "Difference of the log's mean from that of all items, or users, in standard deviations of these. "
            "With right propensities, weighting brings it to 0; above 0.1 a covariate is usually called "
            "unbalanced."
        ),
    ),
    judged=False,
)


def is_fitted(scored: ExposureScored) -> bool:
    """Say whether propensities were fitted, also of a finished run."""
    return bool(scored.table(OVERLAP)["source"][0] != "logged")


def means_frame(scored: ExposureScored) -> pd.DataFrame:
    """Return each mean with its interval, and how much of the gap to the random sample weighting closes.

    ``ips`` and ``snips`` are the off-policy values of the policy that shows all items alike; a refused one is
    left out, and ``reason`` says why.
    """
    log, intervals = scored.log, scored.study.bootstrap
    options = OffPolicy(estimators=("naive", "ips", "snips"))
    evaluation = evaluate(log, uniform(log), options, intervals, refits=scored.study.propensity.refits)
    rows: dict[str, tuple[float | str, ...]] = {}
    for result in evaluation.estimates:
        reason, estimate = "; ".join(r.text for r in result.refusals), result.estimate
        shown = (np.nan,) * 3 if reason else (estimate.value, estimate.low, estimate.high)
        rows[result.estimator.name] = (*shown, reason)
    if scored.data.test is not None:
        rows[RANDOM] = (evaluation.random.value, evaluation.random.low, evaluation.random.high, "")
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=["value", "ci_low", "ci_high", "reason"])
    value = frame["value"]
    gap = value[NAIVE] - value[RANDOM] if RANDOM in value else np.nan
    closed = (value[NAIVE] - value) / (gap or np.nan)
    frame["closed"] = closed.where(frame.index.isin([IPS, SNIPS]))
    frame["resampled"] = "users" if len(log.users) else "rows"
    return frame.rename_axis("mean").reset_index()


def gap_sentence(frame: pd.DataFrame) -> str:
    """Say how much of the gap between the log and the random sample is closed; "" if that is not known."""
    means = frame.set_index("mean")
    if RANDOM not in means.index or means["closed"][[IPS, SNIPS]].isna().any():
        return ""
    ips, snips = shares = [float(means["closed"][name]) for name in (IPS, SNIPS)]
    wanted, weighted = means["value"][RANDOM], means.loc[[IPS, SNIPS]]
    if all(0 < share < 1 for share in shares):
        verdict = "propensities close part of the gap only"
    elif all(share <= 0 for share in shares):
        verdict = "propensities do not close the gap"
    elif ((weighted["ci_low"] <= wanted) & (wanted <= weighted["ci_high"])).all():
        verdict = "what is left is within the intervals"
    else:
        verdict = "propensities do not close the gap reliably"
    return (
        f"The mean outcome of the log is {means['value'][NAIVE]:.3f}, that of the random sample "
        f"{wanted:.3f}. IPS closes {100 * ips:.0f} % of this gap and SNIPS {100 * snips:.0f} %: {verdict}."
    )


def _means_notes(scored: ExposureScored, frame: pd.DataFrame) -> Iterator[str]:
    yield gap_sentence(frame)
    if why := "; ".join(dict.fromkeys(filter(None, frame["reason"]))):
        yield f"Withheld values are refused: {why}."
    yield (
        "Naive: the mean over the rows. IPS: Σwy / N, where N is the expected sum of the weights: users × "
        "items for propensities of pairs, rows for those of choices. SNIPS: Σwy / Σw. Both are the "
        "off-policy values of the policy that shows all items alike."
    )
    yield intervals_sentence(scored.study, fitted=is_fitted(scored), resampled=frame["resampled"][0])


MEANS = KindTable(
    "means.csv",
    "Mean outcome, as logged and weighted",
    (
        Column("mean", "Mean"),
        Column("value", "Value", "number", "ci_low", "ci_high"),
        Column("closed", "Share of the gap closed", "share", optional=True),
        *columns("text", reason="", resampled=""),
    ),
    means_frame,
    _means_notes,
    judged=False,
)


def model_frame(scored: ExposureScored) -> pd.DataFrame | None:
    """Return the coefficients of fitted propensities, and what they were fitted to."""
    model = scored.propensities.model
    if model is None:
        return None
    return model.coefficients().assign(fitted=model.fitted_to)


MODEL = KindTable(
    "propensity_model.csv",
    "The exposure model",
    (
        Column("feature", "Feature"),
        Column("coefficient", "Log odds", "number", "least", "largest"),
        Column("root_mean_square", "Root mean square", "number"),
        Column("fitted", ""),
    ),
    model_frame,
    lambda _, frame: (
        frame["fitted"][0],
        "Log odds per unit of the feature, mean over folds [least, largest].",
    ),
    sheet="coefficients",
    judged=False,
)


def calibration_frame(scored: ExposureScored) -> pd.DataFrame | None:
    """Return fitted propensities by bin, and the share that was exposed."""
    model = scored.propensities.model
    if not isinstance(model, ExposureModel):
        return None
    bins = model.calibration()
    return pd.DataFrame(
        {"predicted": bins.predicted, "exposed": bins.happened, "pairs": bins.weight, "auc": bins.auc}
    )


MODEL_CALIBRATION = KindTable(
    "propensity_calibration.csv",
    "Calibration of the exposure model",
    (*columns("number", predicted="Predicted", exposed="Exposed"), Column("pairs", "Pairs", "count")),
    calibration_frame,
    lambda _, frame: (
        f"The area under the ROC curve is {frame['auc'][0]:.4f}. Bins are cut at quantiles of shown pairs.",
    ),
    judged=False,
)

LOG_TABLES = (MEANS, OVERLAP, BALANCE, MODEL, MODEL_CALIBRATION)
"""What `metaeval data overlap` shows."""
