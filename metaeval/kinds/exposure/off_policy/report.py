"""A log and the names of policies → their values and overlap, for `metaeval off-policy` and for studies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.progress import progress
from metaeval.base.simulation import Simulation
from metaeval.kinds.exposure.data.loading import load
from metaeval.kinds.exposure.files import OFF_POLICY, POLICY_OVERLAP
from metaeval.kinds.exposure.off_policy.arrays import arrays_of
from metaeval.kinds.exposure.off_policy.evaluation import evaluate
from metaeval.kinds.exposure.off_policy.policies import policies_in, read_policy
from metaeval.kinds.exposure.off_policy.sheets import overlap_frame, overlap_sheet, values_frame, values_sheet
from metaeval.kinds.exposure.propensity.propensities import propensities_of
from metaeval.kinds.files.folder import folder_of

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from metaeval.engine.intervals import Bootstrap
    from metaeval.engine.sheet import Sheet
    from metaeval.kinds.exposure.data.log_set import LogSet
    from metaeval.kinds.exposure.off_policy.evaluation import Evaluation, OffPolicy
    from metaeval.kinds.exposure.propensity.options import PropensityOptions
    from metaeval.kinds.exposure.study import ExposureStudy


def off_policy_of(
    place: str | os.PathLike[str],
    policies: Sequence[str],
    wanted: OffPolicy,
    options: PropensityOptions,
    how: Bootstrap,
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
        If the log has no propensities and none can be fitted, or a policy cannot be read.
    """
    data = load(place)
    found, simulated = _evaluated(data, place, policies, wanted, options, how), Simulation(data.simulated)
    values = values_frame(found, force=force)
    return [
        values_sheet(values, how, options.refits, simulated=simulated, force=force),
        overlap_sheet(overlap_frame(found), simulated),
    ]


def policy_tables(data: LogSet, study: ExposureStudy) -> dict[str, pd.DataFrame]:
    """Evaluate the policies that a study names, or else those of its data set: name of the file → table.

    Raises
    ------
    MetaevalError
        As `off_policy_of`.
    """
    policies = study.policies
    if policies is None:
        policies = list(policies_in(folder_of(study.dataset)))
    if not policies:
        return {}
    found = _evaluated(data, study.dataset, policies, study.off_policy, study.propensity, study.bootstrap)
    return {OFF_POLICY: values_frame(found), POLICY_OVERLAP: overlap_frame(found)}


def policy_sheets(
    frames: Mapping[str, pd.DataFrame], study: ExposureStudy, simulated: Simulation
) -> list[Sheet]:
    """Lay out what `policy_tables` returns."""
    if OFF_POLICY not in frames:
        return []
    values = values_sheet(frames[OFF_POLICY], study.bootstrap, study.propensity.refits, simulated=simulated)
    return [values, overlap_sheet(frames[POLICY_OVERLAP], simulated, "policy_overlap")]


def _evaluated(  # noqa: PLR0917 - what the command and a study both say
    data: LogSet,
    place: str | os.PathLike[str],
    policies: Sequence[str],
    wanted: OffPolicy,
    options: PropensityOptions,
    how: Bootstrap | None,
) -> list[Evaluation]:
    with progress("propensities"):
        log = arrays_of(data, propensities_of(data, options))
    read = [read_policy(name, log, folder_of(place)) for name in policies]
    with progress("policies", len(read)) as advance:
        found = []
        for policy in read:
            found.append(evaluate(log, policy, wanted, how, refits=options.refits))
            advance()
    return found
