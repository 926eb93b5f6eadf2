"""Biases of pairwise judges: whether they prefer what is shown first, the longer text, or their own family.

Every pair is asked in both orders. A flip is a pair on which the two orders differ
(`metaeval.evaluators.verdicts.outcomes`). For length and family, the response is the first text's share of a
win, the mean over both orders (which removes the effect of position), minus one half. It is regressed through
the origin on differences between the two texts: in the binary logarithm of the length, in the truth, and in
whether the generator is of the judge's family.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from metaeval.base.keys import key_columns
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.stats.resampling.cluster_sums import mean_of
from metaeval.trust.bias.bias import (
    ASPECT,
    JUDGE,
    PAIRS,
    SHOWN,
    Bias,
    BiasData,
    BiasQuestion,
    Measured,
    TestedNumber,
    VerdictPairs,
    measured,
    number,
    part,
    totals,
)
from metaeval.trust.bias.given_truth import Within, coefficient
from metaeval.trust.bias.self_preference import WINS_BY_FAMILY, own_generators
from metaeval.trust.bias.verbosity import WINS_BY_LENGTH

QUESTION = BiasQuestion(
    "position", "verdicts won by the text shown first", "prefers the first", "prefers the second", 0.5
)


class PairwiseEffects(NamedTuple):
    """Effects other than that of the truth, as shares of a win from 0 to 1; both are tested."""

    length: Measured | None = None
    """For a text twice as long as the other; None if lengths are not known."""
    family: Measured | None = None
    """For a text of the judge's own family against another's; None if there is no such pair."""


_NO_EFFECTS = PairwiseEffects()


@dataclass(frozen=True, slots=True, eq=False)
class Position:
    """The effect of the order of a pair on verdicts."""

    judge: str
    aspect: str
    flips: Measured
    """The share of pairs on which the two orders differ."""
    first: Measured
    """The share of decided verdicts that the text shown first won; tested against one half."""
    ties: Measured
    """The share of verdicts that are ties."""
    n_pairs: int
    n_left_out: int
    effects: PairwiseEffects = _NO_EFFECTS


def position(pairs: VerdictPairs, *, resamples: int = 10_000, seed: int = 0) -> Position | None:
    """Measure flips and the preference for the first place; None if no pair was answered in both orders.

    Only pairs with both answers count, so that a better text is shown first as often as second.
    """
    if pairs.frame.empty:
        return None
    clusters = pairs.clusters()
    resampler = Resampler(clusters.n, resamples, seed)
    one, other = pairs.frame[SHOWN].to_numpy(dtype=np.float64).T
    # In the second order the pair's second text is shown first.
    counted = [(one == 1) * 1 + (other == 0), (one == 0) * 1 + (other == 1), np.ones(len(one)), one != other]
    first, second, n, flipped = totals(counted, clusters)
    decided = first + second
    return Position(
        pairs.judge,
        pairs.aspect,
        measured(mean_of(flipped, n), resampler, bounds=(0.0, 1.0)),
        measured(mean_of(first, decided), resampler, first - second, bounds=(0.0, 1.0)),
        measured(mean_of(2 * n - decided, 2 * n), resampler, bounds=(0.0, 1.0)),
        len(one),
        pairs.n_left_out,
    )


def pairwise_effects(
    pairs: VerdictPairs,
    truth: pd.DataFrame,
    length: pd.DataFrame | None,
    own: Collection[str],
    *,
    resamples: int = 10_000,
    seed: int = 0,
) -> PairwiseEffects:
    """Measure the effects of length and family on a judge's verdicts, given the truth.

    The truth has key columns, ``aspect`` and ``rating``; for verdicts of no aspect, or of one that was not
    rated, its mean over aspects counts. ``length`` has key columns and ``length``, None if lengths are not
    known; ``own`` are the generators of the judge's family.
    """
    frame = pairs.frame
    keys = list(key_columns(truth))
    of_aspect = truth[truth["aspect"] == pairs.aspect]
    rated = (of_aspect if len(of_aspect) else truth).groupby(keys, observed=True)["rating"].mean()
    better = _difference(frame, rated.reset_index(), "rating", keys)
    clusters = pairs.clusters()
    resampler = Resampler(clusters.n, resamples, seed)
    won = ((frame["shown_first"] + frame["shown_second"]) / 2 - 0.5).to_numpy(dtype=np.float64)

    def fitted(column: Floats) -> Measured | None:
        use = ~np.isnan(column + better)
        if not (column[use] != 0).any():
            return None
        columns = np.stack([column, better])[:, use]
        fit = Within.of(won[use], columns, clusters.of_unit[use], clusters.n)
        return coefficient([fit], resampler)

    longer = None
    if length is not None:
        logarithm = length[keys].assign(twice=np.log2(length["length"].where(length["length"] > 0)))
        longer = fitted(_difference(frame, logarithm.drop_duplicates(keys), "twice", keys))
    is_own = [frame[side].isin(list(own)).to_numpy(dtype=np.float64) for side in ("first", "second")]
    return PairwiseEffects(longer, fitted(is_own[0] - is_own[1]) if own else None)


def _difference(frame: pd.DataFrame, of_unit: pd.DataFrame, name: str, keys: list[str]) -> Floats:
    """Return the value of each pair's first text minus that of its second; NaN where one is missing."""
    shared = [k for k in keys if k in frame.columns]
    (compared,) = (k for k in keys if k not in shared)
    values = of_unit.astype(dict.fromkeys(keys, str))
    sides = []
    for side in ("first", "second"):
        wanted = frame[[*shared, side]].rename(columns={side: compared}).astype(str)
        sides.append(wanted.merge(values, on=keys, how="left")[name].to_numpy(dtype=np.float64))
    difference: Floats = sides[0] - sides[1]
    return difference


def _measure(data: BiasData) -> Iterator[Position]:
    for pairs in data.pairs:
        result = position(pairs, **data.draws)
        if result is not None:
            own = own_generators(data.generators, data.families.get(pairs.judge), data.families)
            effects = pairwise_effects(pairs, data.truth, data.length, own, **data.draws)
            yield replace(result, effects=effects)


def _tested(results: Sequence[Position]) -> Iterator[TestedNumber]:
    for result in results:
        yield TestedNumber(result.judge, result.aspect, QUESTION, result.first)
    for result in results:
        for question, effect in zip((WINS_BY_LENGTH, WINS_BY_FAMILY), result.effects, strict=True):
            if effect is not None:
                yield TestedNumber(result.judge, result.aspect, question, effect)


POSITION = Bias(
    "position",
    "Position: the effect of the order of a pair",
    _measure,
    _tested,
    (
        JUDGE,
        ASPECT,
        PAIRS,
        number("flips", "Flips", "share"),
        number("first", "Shown first wins", "share"),
        number("ties", "Ties", "share"),
        number("length", "Twice the length", source="effects.length"),
        number("family", "Own family", source="effects.family"),
        part("n_left_out", "Left out", "count"),
    ),
    lambda _found, _results: (
        (
            "A flip is a pair on which the two orders differ. Shown first wins: of decided verdicts, by the "
            "text shown first; 50 % without a bias. Ties: of all verdicts."
        ),
        "Only pairs with an answer in both orders count.",
        (
            "Twice the length, own family: what it adds to a text's share of a win (0 to 1), the mean over "
            "both orders, given the difference of the truth (regression through the origin of differences)."
        ),
    ),
    lambda result: ((result.judge, "position", result.first), (result.judge, "flips", result.flips)),
)
