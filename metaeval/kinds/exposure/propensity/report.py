"""What is to be known of a log before it is weighted: overlap, balance, means, and the exposure model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.progress import progress
from metaeval.base.simulation import Simulation
from metaeval.engine.intervals import Bootstrap
from metaeval.kinds.exposure.data.loading import load
from metaeval.kinds.exposure.files import BALANCE, MEANS, OVERLAP
from metaeval.kinds.exposure.propensity.means import means_frame
from metaeval.kinds.exposure.propensity.overlap import balance_frame, overlap_frame
from metaeval.kinds.exposure.propensity.propensities import propensities_of
from metaeval.kinds.exposure.propensity.sheets import (
    balance_sheet,
    means_sheet,
    model_frames,
    model_sheets,
    overlap_sheet,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import pandas as pd

    from metaeval.engine.sheet import Sheet
    from metaeval.kinds.exposure.data.log_set import LogSet
    from metaeval.kinds.exposure.propensity.options import PropensityOptions
    from metaeval.kinds.exposure.propensity.propensities import Propensities


def overlap_report(
    place: str | os.PathLike[str],
    options: PropensityOptions,
    *,
    resamples: int = 2_000,
    seed: int = 0,
) -> list[Sheet]:
    """Return overlap, balance and means of a log, and the exposure model, if propensities are fitted.

    Raises
    ------
    MetaevalError
        If the log cannot be read, or has no propensities and none can be fitted.
    """
    data, how = load(place), Bootstrap(resamples=resamples, seed=seed)
    _, frames = log_found(data, options, how)
    return log_sheets(frames, options, how, Simulation(data.simulated))


def log_found(
    data: LogSet, options: PropensityOptions, how: Bootstrap | None
) -> tuple[Propensities, dict[str, pd.DataFrame]]:
    """Return the propensities of a log, and its overlap, balance and means: name of the file → table.

    Parameters
    ----------
    how
        How users are resampled; None for no intervals.

    Raises
    ------
    MetaevalError
        If the log has no propensities and none can be fitted.
    """
    with progress("propensities"):
        given = propensities_of(data, options)
    with progress("overlap"):
        source = "fitted" if given.model else "logged"
        found = {OVERLAP: overlap_frame(given).assign(source=source), BALANCE: balance_frame(given)}
    with progress("means"):
        found[MEANS] = means_frame(data, given, options, how)
    return given, found | (model_frames(given.model) if given.model else {})


def log_sheets(
    frames: Mapping[str, pd.DataFrame],
    options: PropensityOptions,
    how: Bootstrap | None,
    simulated: Simulation,
) -> list[Sheet]:
    """Lay out the tables of `log_found`."""
    if MEANS not in frames:
        return []
    fitted = frames[OVERLAP]["source"][0] == "fitted"
    source = f"Propensities were {'fitted' if fitted else 'logged'}."
    return [
        means_sheet(
            frames[MEANS], simulated, intervals_sentence(fitted, how, options, frames[MEANS]["resampled"][0])
        ),
        overlap_sheet(frames[OVERLAP], simulated, (source,)),
        balance_sheet(frames[BALANCE], simulated),
        *model_sheets(frames, simulated),
    ]


def intervals_sentence(
    fitted: bool, how: Bootstrap | None, options: PropensityOptions, resampled: str = "users"
) -> str:
    """Say how intervals were made; "" if there are none."""
    if how is None:
        return ""
    of = f"{100 * how.confidence:g} % intervals"
    if not fitted:
        return f"{of} from {how.resamples:,} resamples of {resampled}."
    if options.refits < 2:
        return "No intervals: propensities were fitted once."
    return (
        f"{of} from {options.refits} resamples of users, propensities fitted again in each: the estimate ± "
        "the t quantile × the standard deviation of the resamples."
    )
