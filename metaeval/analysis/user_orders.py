"""Whose leaderboard it is: how far users have one order of the generators, as sheets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import pandas as pd

from metaeval.base.counts import plural_of
from metaeval.base.keys import noun
from metaeval.base.simulation import REAL, Simulation
from metaeval.engine.alignment.prepared import Prepared
from metaeval.engine.sheet import Column, Sheet, columns, value_text
from metaeval.stats.regression.generalizability import (
    NoOrder,
    OwnEffects,
    SharedOrder,
    difference_p,
    shared_order,
)
from metaeval.stats.resampling.significance import holm

_MOST_HAVE = 0.9
"""Share of the users that must have rated a generator."""
_ALPHA = 0.05


@dataclass(frozen=True, eq=False)
class UserOrders:
    """How a user's own order of the generators goes with the common one, by aspect."""

    found: Mapping[str, SharedOrder]
    left_out: tuple[str, ...]
    """Generators that too few users have."""
    user: str
    """What a user and a generator are called."""
    system: str

    @classmethod
    def of(cls, data: Prepared, aspects: Sequence[str] | None = None) -> UserOrders | None:
        """Estimate them from the units that enter for any evaluator.

        None of data without users, or without two generators that nine users in ten have.
        """
        if data.system is None or not data.has_users:
            return None
        chosen = data.places(aspects)
        entering = np.logical_or.reduce(data.entering, axis=0)[chosen]
        first, *others = data.keys
        user, generator = (data.keys[key].astype(np.int64) for key in (first, data.system))
        n_users, n = len(data.labels[first]), len(data.systems)
        rated = entering.any(axis=0)
        seen = np.zeros((n_users, n), dtype=bool)
        seen[user[rated], generator[rated]] = True
        kept = seen.sum(axis=0) >= max(_MOST_HAVE * seen.any(axis=1).sum(), 1)
        if kept.sum() < 2:
            return None
        items = [data.keys[key] for key in others if key != data.system] or [np.zeros_like(user)]
        item = np.unique(np.stack(items), axis=1, return_inverse=True)[1].astype(np.int64)
        place, size = np.cumsum(kept) - 1, (n_users, int(kept.sum()))
        found = {}
        for a, units in zip(chosen, entering & kept[generator], strict=True):
            codes = place[generator[units]], item[units], user[units]
            found[data.aspects[a]] = shared_order(OwnEffects.of(data.truth[a, units], *codes, size))
        left_out = (name for name, there in zip(data.systems, kept, strict=True) if not there)
        return cls(found, tuple(left_out), data.cluster_name(), noun(data.system))

    @cached_property
    def tests(self) -> pd.DataFrame:
        """Of every two aspects with an estimate, the more personal one first."""
        known = sorted((order.rho, aspect) for aspect, order in self.found.items() if not order.reason)
        rows = [
            (a, b, high - low, difference_p(self.found[a], self.found[b]))
            for (low, a), (high, b) in combinations(known, 2)
        ]
        frame = pd.DataFrame(rows, columns=["lower", "higher", "difference", "p"])
        return frame.assign(p_holm=holm(frame["p"]))

    @property
    def answer(self) -> list[str]:
        """What ρ is of each aspect, and which aspects are more personal than others."""
        said = []
        for aspect, order in self.found.items():
            rho, low, high = (value_text(v, "hundredths") for v in (order.rho, order.low, order.high))
            said += [] if order.reason else [f"{rho} [{low}, {high}] for {aspect}"]
        if not said:
            return []
        systems = plural_of(self.system)
        told = [
            f"A {self.user}'s own order of the {systems} correlates with the common one: {', '.join(said)}."
        ]
        for lower, rows in self.tests[self.tests["p_holm"] < _ALPHA].groupby("lower", sort=False):
            than = [f"{b} (p {_p(p)})" for b, p in zip(rows["higher"], rows["p_holm"], strict=True)]
            told.append(f"The order by {lower} is more personal than that by {' and '.join(than)}.")
        return told

    def sheets(self, simulated: Simulation = REAL) -> list[Sheet]:
        """Return the sheets ``orders`` and, of several aspects with an estimate, ``order-tests``."""
        user, users, systems = self.user, plural_of(self.user), plural_of(self.system)
        rows = [
            {
                "aspect": aspect,
                "rho": order.rho,
                "ci_low": order.low,
                "ci_high": order.high,
                "own": order.own,
                f"n_{users}": order.n_users,
                "no_order": order.reason or "",
            }
            for aspect, order in self.found.items()
        ]
        shown = (
            Column("aspect", "Aspect"),
            Column("rho", "ρ", "hundredths", "ci_low", "ci_high"),
            Column("own", "Own, not noise", "share"),
            Column(f"n_{users}", users.capitalize(), "count"),
        )
        notes = [
            *self.answer,
            (
                f"ρ = √(γ² / (γ² + δ²)), with the variance γ² of the {systems}' means and δ² of what is each "
                f"{user}'s own. What a {user} brings to an item is removed, and noise too."
            ),
            f"Own, not noise: the share of what {users} differ in that is δ².",
            f"Brackets hold 95 % intervals (the jackknife over {users}, on Fisher's z).",
        ]
        for reason in NoOrder:
            names = [aspect for aspect, order in self.found.items() if order.reason == reason]
            notes += [f"No ρ where {reason.words}: {', '.join(names)}."] if names else []
        if self.left_out:
            left_out = ", ".join(self.left_out)
            notes.append(f"Left out, as more than one {user} in ten did not rate them: {left_out}.")
        title = f"Whether {users} have one order of the {systems}"
        orders = Sheet("orders", title, pd.DataFrame(rows), shown, tuple(notes), simulated)
        if self.tests.empty:
            return [orders]
        columns_of_tests = (
            Column("lower", "More personal"),
            Column("higher", "Less"),
            *columns("hundredths", difference="Difference of ρ"),
            *columns("p", p="p", p_holm="p, Holm"),
        )
        told = (
            f"Two-sided t tests of the difference of Fisher's z, by the jackknife over the same {users}.",
        )
        title = f"Whether the order of the {systems} is more personal by one aspect than by another"
        return [orders, Sheet("order-tests", title, self.tests, columns_of_tests, told, simulated)]


def _p(p: float) -> str:
    text = value_text(p, "p")
    return text if text.startswith("<") else f"= {text}"


def order_sheets(
    data: Prepared, aspects: Sequence[str] | None = None, *, simulated: Simulation = REAL
) -> list[Sheet]:
    """Return the sheets of `UserOrders`; none, if there are none."""
    found = UserOrders.of(data, aspects)
    return found.sheets(simulated) if found else []
