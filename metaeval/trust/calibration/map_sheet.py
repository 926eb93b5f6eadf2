"""Maps to people's scale as a sheet: errors with and without the map, and without a judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from metaeval.analysis.agreement.labels_sheet import heads
from metaeval.base.counts import plural_of
from metaeval.base.simulation import REAL
from metaeval.engine.sheet import Column, Sheet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from metaeval.base.simulation import Simulation
    from metaeval.trust.calibration.maps import MapFit


def map_sheet(
    fits: Sequence[MapFit], *, who: str = "user", seed: int = 0, simulated: Simulation = REAL
) -> Sheet | None:
    """Return the errors of maps on held-out clusters, whose noun is ``who``; None without a map."""
    if not fits:
        return None
    rows = []
    for fit in fits:
        row: dict[str, Any] = {"evaluator": fit.evaluator, "aspect": fit.aspect, "n_units": fit.n_units}
        for name, values in (("mae", fit.mae), ("rmse", fit.rmse), ("pearson", fit.pearson)):
            row |= {f"{name}_{way}": value for way, value in values.items()}
        for name in ("mended", "added", "added_to_own"):
            row |= getattr(fit, name).row(name)
        rows.append(row)
    frame = pd.DataFrame(rows)
    with_own, with_raw = "mae_own_map" in frame, "mae_raw" in frame
    every = [
        Column("n_units", "Units", "count"),
        Column("mae_raw", "MAE, raw", "number"),
        Column("mae_map", "MAE, mapped", "number"),
        Column("rmse_raw", "RMSE, raw", "number"),
        Column("rmse_map", "RMSE, mapped", "number"),
        Column("mended", "The map gains", "number", "mended_low", "mended_high"),
        Column("rmse_mean", "RMSE, no judge", "number"),
        Column("added", "The judge adds", "number", "added_low", "added_high"),
        Column("pearson_raw", "r, raw", "number"),
        Column("pearson_map", "r, mapped", "number"),
        Column("rmse_own_map", f"RMSE, {who}'s map", "number"),
        Column("rmse_own_mean", f"RMSE, no judge, {who}'s mean", "number"),
        Column("added_to_own", "The judge adds to this", "number", "added_to_own_low", "added_to_own_high"),
        Column("pearson_own_map", f"r, {who}'s map", "number"),
    ]
    columns = [c for c in every if c.name in frame and (with_own or "own" not in c.name)]
    return Sheet(
        "maps",
        f"Maps to people's scale, on {plural_of(who)} they did not see",
        frame,
        (*heads(fits), *columns),
        tuple(_map_notes(who, seed=seed, with_own=with_own, with_raw=with_raw)),
        simulated,
    )


def _map_notes(who: str, *, seed: int, with_own: bool, with_raw: bool) -> Iterator[str]:
    yield (
        "Errors in points: mean absolute (MAE) and root mean square (RMSE), which maps minimise. Mapped: by "
        f"isotonic regression, fitted to other {plural_of(who)} (ten folds of {plural_of(who)}, seed "
        f"{seed}). "
        "No judge: the mean rating of other "
        f"{plural_of(who)}. The map gains, and the judge adds, the reduction of the RMSE."
    )
    if with_raw:
        yield "Raw: the score used as a rating, if it is on the scale."
    if with_own:
        yield (
            f"The {who}'s map: the common one, and the {who}'s shift and slope from the {who}'s labels of "
            "other items, shrunk towards zero (best linear unbiased prediction; variances from other "
            f"{plural_of(who)}). The {who}'s mean: the shift alone, and no judge."
        )
