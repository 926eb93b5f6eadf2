"""A log on disk and the names of policies → the sheets of `metaeval off-policy`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.kinds.exposure.data.loading import load
from metaeval.kinds.exposure.data.log_set import OUTCOME
from metaeval.kinds.exposure.off_policy.arrays import arrays_of
from metaeval.kinds.exposure.off_policy.evaluation import RULE, OffPolicy, evaluate
from metaeval.kinds.exposure.off_policy.policies import UNIFORM, read_policy
from metaeval.kinds.exposure.off_policy.sheets import overlap_sheet, values_sheet
from metaeval.kinds.files.folder import folder_of

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from metaeval.engine.sheet import Sheet
    from metaeval.kinds.exposure.data.log_set import LogSet
    from metaeval.kinds.exposure.off_policy.evaluation import Evaluation


def off_policy_of(
    place: str | os.PathLike[str],
    policies: Sequence[str],
    wanted: OffPolicy,
    *,
    force: bool = False,
) -> list[Sheet]:
    """Estimate what policies would have earned, from the log of another one.

    Parameters
    ----------
    policies
        ``uniform``, files, or names of policies that came with the data set.
    force
        Show values that are refused, too.

    Raises
    ------
    MetaevalError
        If the log has no propensities, or a policy cannot be read.
    """
    data = load(place)
    log = arrays_of(data)
    found = [evaluate(log, read_policy(name, log, folder_of(place)), wanted) for name in policies]
    return [
        values_sheet(found, wanted, force=force, simulated=data.simulated, more=_sample(data, found)),
        overlap_sheet(found, RULE, simulated=data.simulated),
    ]


def _sample(data: LogSet, found: Sequence[Evaluation]) -> list[str]:
    """Say how near the values of the uniform policy come to the mean of a random sample, if there is one."""
    of = [one for one in found if one.policy == UNIFORM]
    if data.test is None or not of:
        return []
    truth, log = float(data.test[OUTCOME].mean()), float(data.log[OUTCOME].mean())
    values = {v.estimator: v.found.value for v in of[0].estimates if not v.refusals}
    closed = [
        f"{e.name} closes {1 - abs(value - truth) / abs(log - truth):.0%}"
        for e, value in values.items()
        if e.name != "naive" and e.weighting.change == "none" and log != truth
    ]
    text = f"A random sample of {len(data.test):,} outcomes has the mean {truth:.4g}, the log {log:.4g}"
    return [f"{text}: of the gap, {', '.join(closed)}."] if closed else [f"{text}."]
