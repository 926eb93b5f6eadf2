"""A log on disk and the names of policies → the sheets of `metaeval off-policy`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.kinds.exposure.data.loading import load
from metaeval.kinds.exposure.off_policy.arrays import arrays_of
from metaeval.kinds.exposure.off_policy.evaluation import RULE, OffPolicy, evaluate
from metaeval.kinds.exposure.off_policy.policies import read_policy
from metaeval.kinds.exposure.off_policy.sheets import overlap_sheet, values_sheet
from metaeval.kinds.files.folder import folder_of

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from metaeval.engine.sheet import Sheet


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
    log = arrays_of(data, wanted.propensity)
    found = [evaluate(log, read_policy(name, log, folder_of(place)), wanted) for name in policies]
    return [
        values_sheet(found, wanted, force=force, simulated=data.simulated),
        overlap_sheet(found, RULE, simulated=data.simulated),
    ]
