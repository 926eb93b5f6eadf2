"""Families of evaluators, such as a judge with several prompts: their mean, and how sure it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from metaeval.base.counts import plural_of
from metaeval.engine.board import Board, Cell
from metaeval.engine.cells import Cells
from metaeval.engine.sheet import Column, Form, Sheet, columns, value_text
from metaeval.stats.regression.generalizability import (
    Components,
    TotalInterval,
    components,
    crossed_variance,
    total_interval,
    variance_of_mean,
)
from metaeval.stats.resampling.cluster_sums import is_smooth
from metaeval.stats.resampling.rank_ranges import contributions
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS, freedom

_WORTH = 0.9
"""Of the standard error of now: what twice the number of something must bring it down to."""


@dataclass(frozen=True, slots=True)
class Family:
    """The mean of the members of a family in one cell."""

    name: str
    n_members: int
    n_clusters: int
    alone: TotalInterval
    """With the members as they are."""
    total: TotalInterval
    """With the members as a sample of those that might have been taken."""
    split: Components
    items: bool
    """Whether items, beside users, are a sample in the total."""

    @classmethod
    def of(cls, name: str, members: Sequence[str], cells: Cells, cell: Cell, confidence: float) -> Family:
        """Estimate a family from the contributions of clusters to its members.

        Where there are users and six items or more, the total error is that of both. There is no interval
        with fewer than six clusters, and where the members' statistic is not smooth.
        """
        by = cells.statistics(cell, members)
        by = by if min(size for _, size in by) >= FEWEST_CLUSTERS else by[:1]
        (own, n), *_ = by
        value = np.array([statistic.at(np.ones((n, 1)))[-1, 0] for statistic in own])
        every = [np.stack([contributions(s, size) for s in of]) for of, size in by]
        alone, *others = map(variance_of_mean, every)
        smooth = 0.0 if all(map(is_smooth, own)) else float("nan")
        mean, few = float(value.mean()), float(freedom(min(size for _, size in by[:2]))) + smooth
        both = crossed_variance(alone, *others) if others else alone
        return cls(
            name,
            len(members),
            n,
            total_interval(mean, alone, float(freedom(n)) + smooth, confidence=confidence),
            total_interval(mean, both, few, [value], confidence),
            components(value, every[0]),
            len(by) > 1,
        )

    def errors(self) -> tuple[float, float, float]:
        """Return the standard error of this design, of twice the clusters, and of twice the members."""
        n, p, error = self.n_clusters, self.n_members, self.split.error
        return error(n, p), error(2 * n, p), error(n, 2 * p)

    def advice(self, users: str, form: Form) -> str:
        """Say what larger studies bring (a D-study), for as many more judgements each."""
        now, more_users, more_members = self.errors()
        better = users if more_users < more_members else "members"
        told = (
            f"take more {better}" if min(more_users, more_members) <= _WORTH * now else "neither helps much"
        )
        said = [value_text(error, form) for error in (now, more_users, more_members)]
        return (
            f"{self.name}: the standard error is {said[0]}, with twice the {users} {said[1]}, with twice the "
            f"members {said[2]}: {told}."
        )


def family_sheets(
    families: Mapping[str, Sequence[str]],
    cells: Cells,
    board: Board,
    cell: Cell,
    *,
    cluster: str,
    confidence: float = 0.95,
) -> list[Sheet]:
    """Return the sheets ``families`` and ``family-components`` of one cell; none without families."""
    found = [Family.of(name, members, cells, cell, confidence) for name, members in families.items()]
    if not found:
        return []
    users, of = plural_of(cluster), ", ".join(cell.values())
    rows = [
        {
            "family": f.name,
            "estimate": f.alone.value,
            "ci_low": f.alone.low,
            "ci_high": f.alone.high,
            "total": f.total.value,
            "total_low": f.total.low,
            "total_high": f.total.high,
            "df": f.total.df,
            "n_members": f.n_members,
            f"n_{users}": f.n_clusters,
            **{f"sd_{part}": variance**0.5 for part, variance in f.split._asdict().items()},
            **dict(zip(("se", "se_clusters", "se_members"), f.errors(), strict=True)),
        }
        for f in found
    ]
    frame = pd.DataFrame(rows)
    simulated = board.simulated.among(name for members in families.values() for name in members)
    shown = (
        Column("family", "Family"),
        Column("n_members", "Members", "count"),
        Column("estimate", f"Mean, over {users}", board.form, "ci_low", "ci_high"),
        Column("total", "Total", board.form, "total_low", "total_high", keep=True),
        Column("df", "df", "number"),
    )
    sampled = f"{users} and items" if any(f.items for f in found) else users
    notes = (
        *(f.advice(users, board.form) for f in found),
        f"The mean of the members of each family: {of}. Brackets hold {100 * confidence:g} % intervals.",
        f"Total: members, such as prompts, count as a sample of those that might have been, as {sampled} do.",
        *(f"{name}: {'; '.join(members)}." for name, members in families.items()),
    )
    parts = (
        Column("family", "Family"),
        *columns(board.form, sd_cluster=f"One of the {users}", sd_member="A member", sd_both="Both together"),
        *columns(
            board.form, se="Error now", se_clusters=f"Twice the {users}", se_members="Twice the members"
        ),
    )
    told = (
        "Standard deviations of what one of each, and both together, add to an estimate.",
        "Error: the standard error of the mean that follows for this and for larger studies (a D-study).",
    )
    return [
        Sheet("families", "Families of evaluators", frame, shown, notes, simulated),
        Sheet(
            "family-components",
            "What families vary by, and the error of larger studies",
            frame,
            parts,
            told,
            simulated,
        ),
    ]
