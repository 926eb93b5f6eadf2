"""How many units of a sample each stratum gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def proportional_shares(sizes: Sequence[int], n: int) -> list[int]:
    """Divide ``n`` among strata by their sizes, each getting one at least.

    A stratum whose share is below one gets one; the rest is divided among the others by the method of the
    largest remainder (Hamilton's), in exact arithmetic. Of equal remainders the first stratum's goes first.

    Parameters
    ----------
    sizes
        Units of each stratum, each 1 or more.
    n
        Units to give away: from the number of strata to the sum of ``sizes``.
    """
    given = [0] * len(sizes)
    open_ = list(range(len(sizes)))
    left, total = n, sum(sizes)
    # To give a small stratum its one makes the share of the others smaller, so it is looked at again.
    while small := [i for i in open_ if left * sizes[i] < total]:
        for i in small:
            given[i] = 1
        left -= len(small)
        total -= sum(sizes[i] for i in small)
        open_ = [i for i in open_ if not given[i]]
    for i in open_:
        given[i] = left * sizes[i] // total
    spare = left - sum(given[i] for i in open_)
    by_remainder = sorted(open_, key=lambda i: -(left * sizes[i] % total))
    for i in by_remainder[:spare]:
        given[i] += 1
    return given


def equal_shares(sizes: Sequence[int], n: int) -> list[int]:
    """Divide ``n`` among strata as equally as their sizes allow; what does not divide goes to the first.

    Parameters
    ----------
    sizes, n
        As of `proportional_shares`.
    """
    given = [0] * len(sizes)
    left = n
    while left:
        open_ = [i for i, size in enumerate(sizes) if given[i] < size]
        each = max(left // len(open_), 1)
        for i in open_:
            more = min(each, sizes[i] - given[i], left)
            given[i] += more
            left -= more
    return given
