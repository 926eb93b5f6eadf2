"""Parts of a log and of its pairs that a map is held out from: bins, segments of users, a later time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.records import FIRST, SECOND
from metaeval.kinds.exposure.data.log_set import TIME, USER
from metaeval.kinds.exposure.propensity.features import popularity_bins
from metaeval.kinds.exposure.recommenders.sums import LogPart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from metaeval.kinds.exposure.data.log_set import LogSet
    from metaeval.kinds.exposure.propensity.exposures import Exposures

POPULARITY, LATER = "popularity", "time"
_MOST = 20  # groups of one field


class LogGroup(NamedTuple):
    """One part."""

    by: str
    name: str
    within: LogPart
    units: NDArray[np.bool_]
    """Which units of the data set are of it."""


def check(data: LogSet, by: str) -> None:
    """Raise `MetaevalError` unless the data set has what groups are made by."""
    fields = [] if data.profiles is None else [str(c) for c in data.profiles if c != USER]
    allowed = [
        *([POPULARITY] if POPULARITY in data.table else []),
        *([LATER] if TIME in data.log and data.log[TIME].notna().all() else []),
        *fields,
    ]
    one_of(by, allowed, "the data have no groups by", "they have groups by")


def groups_of(data: LogSet, of: Exposures, by: str) -> Iterator[LogGroup]:
    """Yield the parts of a log: every bin, every value of a field of profiles, or the later half of the rows.

    Raises
    ------
    MetaevalError
        If a field has more than twenty values.
    """
    units = data.table
    if by == POPULARITY:
        bins = popularity_bins(of)
        for name in sorted(units[POPULARITY].unique(), key=int):
            own = (units[POPULARITY] == name).to_numpy()
            yield LogGroup(by, str(name), LogPart(items=bins == int(name)), own)
        return
    if by == LATER:
        if of.time is None:
            raise MetaevalError("the log has no times")
        late = of.time > np.median(of.time)
        first = pd.Series(of.time).groupby([of.users[of.user], of.items[of.item]]).min()
        seen = [
            first.reindex(pd.MultiIndex.from_frame(units[[USER, side]].astype("str"))).to_numpy()
            for side in (FIRST, SECOND)
        ]
        yield LogGroup(by, "later half", LogPart(rows=late), np.maximum(*seen) > np.median(of.time))
        return
    if data.profiles is None:
        raise MetaevalError(f"there are no groups by {by}: the data set has no profiles")
    field = data.profiles.set_index(USER)[by].astype("str")
    names = sorted(field.unique())
    if len(names) > _MOST:
        raise MetaevalError(
            f"groups by {by} would be {len(names)}, of {_MOST} at most; name a field with fewer values"
        )
    of_user, of_unit = field.reindex(of.users), field.reindex(units[USER])
    for name in names:
        yield LogGroup(by, name, LogPart(users=(of_user == name).to_numpy()), (of_unit == name).to_numpy())
