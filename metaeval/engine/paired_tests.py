"""Paired tests of every two evaluators: how many permutations, and p-values corrected for their number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import pandas as pd

from metaeval.base import notebook as html
from metaeval.base.counts import counted
from metaeval.base.validation import ByKey, Count, Options, Seed, Share
from metaeval.stats.resampling.multiplicity import benjamini_hochberg, holm
from metaeval.stats.resampling.weights import Swaps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from metaeval.engine.board import Cell
    from metaeval.stats.coefficients.tables import Floats
    from metaeval.stats.resampling.t_tests import Paired

_MOST = 200_000  # permutations at most, however many pairs there are


class Tests(Options):
    """How evaluators are tested against each other: swapped scores, corrected p-values."""

    permutations: Count = 10_000
    swap: ByKey = None
    correction: Literal["holm", "bh", "none"] = "holm"
    alpha: Share = 0.05
    seed: Seed = 0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparisons:
    """Paired tests of E evaluators against each other, for one cell of a board.

    Matrices have shape (E, E): a row's evaluator against a column's, NaN where there is nothing to test.
    """

    by: Cell
    evaluators: tuple[str, ...]
    difference: Floats
    p: Floats
    """Two-sided p-values of single tests."""
    p_greater: Floats
    """One-sided: that the row's evaluator is the better."""
    p_corrected: Floats
    """Two-sided, corrected over all pairs."""
    p_williams: Floats
    """Williams' test, two-sided, which takes units as independent; NaN where it does not apply."""
    policy: Mapping[str, Any]
    """What was swapped, how often, and the correction; ``higher_is_better``, if it is not."""

    NUMBERS: ClassVar = ("difference", "p", "p_greater", "p_holm", "p_bh", "p_williams")
    """The columns of `frame` that hold numbers."""

    @property
    def frame(self) -> pd.DataFrame:
        """A row per pair, the better evaluator first; p-values single and corrected by both methods."""
        first, second = np.triu_indices(len(self.evaluators), 1)
        better = 1 if self.policy.get("higher_is_better", True) else -1
        swap = better * self.difference[first, second] < 0
        first, second = np.where(swap, second, first), np.where(swap, first, second)
        p = self.p[first, second]
        names = np.array(self.evaluators, dtype=object)
        return pd.DataFrame(
            {
                "first": names[first],
                "second": names[second],
                **self.by,
                "difference": self.difference[first, second],
                "p": p,
                "p_greater": self.p_greater[first, second],
                "p_holm": holm(p),
                "p_bh": benjamini_hochberg(p),
                "p_williams": self.p_williams[first, second],
            }
        )

    def __repr__(self) -> str:
        pairs = counted(len(self.evaluators) * (len(self.evaluators) - 1) // 2, "pair")
        return f"<Comparisons by {', '.join(self.by.values())}: {pairs} of evaluators>"

    def _repr_html_(self) -> str:
        """Show a notebook the first pairs."""
        facts = {
            "by": ", ".join(self.by.values()),
            "evaluators": len(self.evaluators),
            "correction": self.policy["correction"],
        }
        return html.heading("Paired tests", facts) + html.table(self.frame)

    @classmethod
    def of_frame(cls, frame: pd.DataFrame, policy: Mapping[str, Any]) -> Comparisons:
        """Make what gave a `frame` of it again; ``policy`` is what was done to get it."""
        names = tuple(policy["evaluators"])
        at = {name: i for i, name in enumerate(names)}
        first, second = (frame[c].map(at).to_numpy(dtype=np.int64) for c in ("first", "second"))

        def matrix(column: str, mirrored: Callable[[Floats], Floats] = lambda values: values) -> Floats:
            found = np.full((len(names), len(names)), np.nan)
            values = frame[column].to_numpy(dtype=np.float64)
            found[first, second], found[second, first] = values, mirrored(values)
            return found

        corrected = {"holm": "p_holm", "bh": "p_bh", "none": "p"}[policy["correction"]]
        return cls(
            policy["by"],
            names,
            matrix("difference", np.negative),
            matrix("p"),
            matrix("p_greater", lambda p: np.full_like(p, np.nan)),  # of the worse it was not kept
            matrix(corrected),
            matrix("p_williams"),
            policy,
        )


def comparisons(
    by: Cell,
    evaluators: Sequence[str],
    test: Callable[[Swaps], tuple[Paired, Floats]],
    tests: Tests,
    *,
    swap: str,
    n_clusters: int,
    corrected_with: int = 0,
    swapped: str = "",
) -> Comparisons:
    """Choose the permutations of paired tests, test, and correct for the number of tests.

    Parameters
    ----------
    test
        Swaps → the tests, and p-values of Williams' test.
    swap, n_clusters
        What is swapped, and how many of them there are.
    swapped
        What changes places within them; standardized scores, if left out.
    """
    n = len(evaluators)
    pairs = n * (n - 1) // 2
    # With Holm's correction no pair of many is significant if p cannot be small enough. Few clusters can be
    # swapped in so few ways that more permutations do not help.
    least = 2.0 ** (1 - n_clusters)
    together = max(pairs, corrected_with)
    useful = tests.correction == "holm" and together * least <= tests.alpha
    needed = math.ceil(2 * together / tests.alpha) if useful else 0
    swaps = Swaps(n_clusters, max(tests.permutations, min(_MOST, needed)), tests.seed)
    found, p_williams = test(swaps)
    made: dict[str, Any] = {"permutations": swaps.n, "least_p": max(1 / (swaps.n + 1), least)}
    if found.made_by != "permutations":
        made = {"made_by": found.made_by, "least_p": found.least_p}
    return Comparisons(
        by,
        tuple(evaluators),
        found.difference,
        found.p,
        found.p_greater,
        _corrected(found.p, tests.correction),
        p_williams,
        {
            "swap": swap,
            **({"swapped": swapped} if swapped else {}),
            **made,
            "correction": tests.correction,
            "alpha": tests.alpha,
            "pairs": pairs,
            "n_clusters": n_clusters,
            "seed": tests.seed,
            "by": dict(by),
            "evaluators": list(evaluators),
        },
    )


def _corrected(p: Floats, correction: str) -> Floats:
    """Correct the p-values of pairs, each of which stands in a symmetric matrix twice."""
    if correction == "none":
        return p
    upper = np.triu_indices(len(p), 1)
    found = np.full_like(p, np.nan)
    found[upper] = (holm if correction == "holm" else benjamini_hochberg)(p[upper])
    found.T[upper] = found[upper]
    return found
