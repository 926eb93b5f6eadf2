"""What is to be known of a log before it is weighted: overlap, balance, means, and the exposure model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.progress import progress
from metaeval.base.simulation import Simulation
from metaeval.engine.intervals import Bootstrap
from metaeval.kinds.exposure.data.loading import load
from metaeval.kinds.exposure.propensity.means import means_frame
from metaeval.kinds.exposure.propensity.overlap import balance_frame, overlap_frame
from metaeval.kinds.exposure.propensity.propensities import propensities_of
from metaeval.kinds.exposure.propensity.sheets import balance_sheet, means_sheet, model_sheets, overlap_sheet

if TYPE_CHECKING:
    import os

    from metaeval.engine.sheet import Sheet
    from metaeval.kinds.exposure.propensity.options import PropensityOptions


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
    data = load(place)
    simulated = Simulation(data.simulated)
    with progress("propensities"):
        given = propensities_of(data, options)
    with progress("overlap"):
        source = "Propensities were logged." if given.model is None else "Propensities were fitted."
        overlap = overlap_sheet(overlap_frame(given), simulated, (source,))
        balanced = balance_sheet(balance_frame(given), simulated)
    with progress("means"):
        how = Bootstrap(resamples=resamples, seed=seed)
        means = means_sheet(
            means_frame(data, given, options, how), simulated, _intervals(given.model is None, how, options)
        )
    return [means, overlap, balanced, *(model_sheets(given.model, simulated) if given.model else ())]


def _intervals(logged: bool, how: Bootstrap, options: PropensityOptions) -> str:
    of = f"{100 * how.confidence:g} % intervals"
    if logged:
        return f"{of} from {how.resamples:,} resamples of users."
    if options.refits < 2:
        return "No intervals: propensities were fitted once."
    return (
        f"{of} from {options.refits} resamples of users, propensities fitted anew in each: the estimate ± "
        "the t quantile × the standard deviation of the resamples."
    )
