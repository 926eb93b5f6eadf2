"""How many units of a sample each stratum gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def proportional_shares(sizes: Sequence[int], n: int) -> list[int]:
    """Allocate ``n`` units to strata in proportion to their sizes, at least one to each.

    A stratum with a share below one gets one; the others share the rest by the largest-remainder method, in
    exact arithmetic (ties: the first stratum).

    Parameters
    ----------
    sizes
        Units of each stratum, 1 or more.
    n
        From the number of strata to the sum of ``sizes``.
    """
    given = [0] * len(sizes)
    open_ = list(range(len(sizes)))
    left, total = n, sum(sizes)
    # Rounding a small stratum up makes the shares of the others smaller, so the test is repeated.
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
    """Allocate ``n`` units to strata as equally as their sizes allow, a remainder to the first.

    ``sizes`` and ``n`` are as for `proportional_shares`.
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
