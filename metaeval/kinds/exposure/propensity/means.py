"""The mean outcome of a log, weighted by propensities, beside that of items drawn at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.kinds.exposure.data.log_set import OUTCOME, USER
from metaeval.kinds.exposure.off_policy.arrays import arrays_of
from metaeval.kinds.exposure.off_policy.evaluation import OffPolicy, evaluate
from metaeval.kinds.exposure.off_policy.policies import uniform
from metaeval.stats.resampling.bootstrap import bootstrap
from metaeval.stats.resampling.cluster_sums import mean_of

if TYPE_CHECKING:
    from metaeval.engine.intervals import Bootstrap
    from metaeval.kinds.exposure.data.log_set import LogSet
    from metaeval.kinds.exposure.propensity.options import PropensityOptions
    from metaeval.kinds.exposure.propensity.propensities import Propensities

NAIVE, IPS, SNIPS, RANDOM = "naive", "ips", "snips", "random sample"
_WANTED = OffPolicy(estimators=("naive", "ips", "snips"))


def means_frame(
    data: LogSet, given: Propensities, options: PropensityOptions, how: Bootstrap | None
) -> pd.DataFrame:
    """Return each mean with its interval, and how much of the gap to the random sample weighting closes.

    ``ips`` and ``snips`` are the off-policy values of the policy that shows all items alike; a refused one is
    left out, and ``reason`` says why.

    Parameters
    ----------
    how
        How users, or rows where there are none, are resampled; None for no intervals.
    """
    log = arrays_of(data, given)
    found = evaluate(log, uniform(log), _WANTED, how, refits=options.refits)
    rows: dict[str, tuple[float | str, ...]] = {}
    for one in found.estimates:
        reason, of = "; ".join(r.text for r in one.refusals), one.found
        shown = (np.nan, np.nan, np.nan) if reason else (of.value, of.low, of.high)
        rows[one.estimator.name] = (*shown, reason)
    if data.test is not None:
        rows[RANDOM] = (*_random(data.test, how), "")
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=["value", "ci_low", "ci_high", "reason"])
    value = frame["value"]
    gap = value[NAIVE] - value[RANDOM] if RANDOM in value else np.nan
    closed = (value[NAIVE] - value) / (gap or np.nan)
    frame["closed"] = closed.where(frame.index.isin([IPS, SNIPS]))
    frame["resampled"] = "users" if len(given.of.users) else "rows"
    return frame.rename_axis("mean").reset_index()


def _random(test: pd.DataFrame, how: Bootstrap | None) -> tuple[float, float, float]:
    if how is None:
        return float(test[OUTCOME].mean()), np.nan, np.nan
    by_user = test.groupby(USER, sort=True)[OUTCOME].agg(["sum", "count"]).to_numpy(dtype=np.float64)
    found = bootstrap(mean_of(*by_user.T[:, None]), how.resampler(len(by_user)))
    return float(found.value[0]), float(found.low[0]), float(found.high[0])


def gap_sentence(frame: pd.DataFrame) -> str:
    """Say how much of the gap between the log and the random sample is closed; "" if that is not known."""
    of = frame.set_index("mean")
    if RANDOM not in of.index or of["closed"][[IPS, SNIPS]].isna().any():
        return ""
    shares = {name: float(of["closed"][name]) for name in (IPS, SNIPS)}
    told = " and ".join(f"{name.upper()} {100 * share:.0f} %" for name, share in shares.items())
    wanted, weighted = of["value"][RANDOM], of.loc[[*shares]]
    if all(0 < share < 1 for share in shares.values()):
        verdict = "propensities close part of the gap only"
    elif all(share <= 0 for share in shares.values()):
        verdict = "propensities do not close the gap"
    elif ((weighted["ci_low"] <= wanted) & (wanted <= weighted["ci_high"])).all():
        verdict = "what is left is within the intervals"
    else:
        verdict = "propensities do not close the gap reliably"
    return (
        f"The mean outcome of the log is {of['value'][NAIVE]:.3f}, that of the random sample "
        f"{of['value'][RANDOM]:.3f}. Of this gap {told} is closed: {verdict}."
    )
