"""Which explanations of the same item for the same user are compared."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from metaeval.base.errors import DataError
from metaeval.evaluators.grid import rows_of
from metaeval.kinds.explanations.text.texts import explanations_of
from metaeval.stats.resampling.draws import permutation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet

ALL, SAMPLED, SWISS = SELECTIONS = ("all", "sampled", "swiss")


class Match(NamedTuple):
    """Two units to compare, by their positions in the data; ``first``'s generator comes first as text."""

    group: int
    """Place of the user and item among `groups_of`."""
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class PairGroup:
    """The units that explain one item to one user, in the order of their generators' names."""

    key: tuple[str, ...]
    """User and item, or the item alone in a study without users."""
    units: tuple[int, ...]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """All pairs of its units."""
        return list(itertools.combinations(self.units, 2))


def groups_of(data: ExplanationSet, units: Iterable[int]) -> list[PairGroup]:
    """Return the groups of the units at some positions that can be compared, in the order of the data."""
    width = len(data.keys) - 1  # the generator comes last
    rows = list(rows_of(data.explanations, data.keys))
    found: dict[tuple[str, ...], list[int]] = {}
    for unit in units:
        found.setdefault(rows[unit][:width], []).append(unit)
    return [
        PairGroup(key, tuple(sorted(of, key=lambda unit: rows[unit][width]))) for key, of in found.items()
    ]


def compared_groups(data: ExplanationSet, who: object, instead: str) -> list[PairGroup]:
    """Return the groups of at least two texts.

    Parameters
    ----------
    who
        Compares them.
    instead
        What to do where there are none.

    Raises
    ------
    DataError
        If there are none.
    """
    if "generator" not in data.keys:
        raise DataError(f"data set {data.name!r} has no generators, so there are no pairs to compare")
    units = [unit for unit, text in enumerate(explanations_of(data, who)) if text is not None]
    groups = [group for group in groups_of(data, units) if len(group.units) > 1]
    if not groups:
        raise DataError(
            f"data set {data.name!r} has no two explanations of the same item for the same user, so "
            f"there is nothing to compare; {instead}"
        )
    return groups


def all_matches(groups: Sequence[PairGroup]) -> list[Match]:
    """Return every pair of every group."""
    return [Match(at, *pair) for at, group in enumerate(groups) for pair in group.pairs]


def sampled_matches(groups: Sequence[PairGroup], n: int, seed: int) -> list[Match]:
    """Return ``n`` pairs of each group, or all if it has fewer.

    A group's draw depends on the seed and its user and item alone.
    """
    found = []
    for at, group in enumerate(groups):
        drawn = permutation(len(group.pairs), seed, *group.key)[:n]
        found += [Match(at, *group.pairs[i]) for i in sorted(drawn)]
    return found


def swiss_matches(
    groups: Sequence[PairGroup], points: Mapping[int, float], played: set[tuple[int, int]], seed: int
) -> list[Match]:
    """Return the next Swiss round in every group: generators with similar records meet.

    Within a group, units are sorted by points; from the top, each meets the next below that it has not met.
    An odd one out gets a bye.

    Parameters
    ----------
    groups
        What is compared.
    points
        Unit → mean points per comparison so far; 0.5 for a unit without one.
    played
        Pairs of units that have met, in the order of their generators' names.
    seed
        Of the order among equals, which is drawn for each group.
    """
    found = []
    for at, group in enumerate(groups):
        place = {unit: i for i, unit in enumerate(group.units)}
        drawn = [group.units[i] for i in permutation(len(group.units), seed, *group.key)]
        waiting = sorted(drawn, key=lambda unit: -points.get(unit, 0.5))  # stable: equals stay as drawn
        while waiting:
            one = waiting.pop(0)
            for other in waiting:
                first, second = sorted((one, other), key=place.__getitem__)
                if (first, second) not in played:
                    waiting.remove(other)
                    found.append(Match(at, first, second))
                    break
    return found
