"""Families of evaluators, such as a judge with several prompts: their mean, how sure it is, what to buy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from metaeval.base.counts import plural_of
from metaeval.base.records import SAMPLES, ScoreTable
from metaeval.base.simulation import Simulation
from metaeval.engine.board import Board, Cell
from metaeval.engine.sheet import Column, Form, Sheet, columns, table, value_text
from metaeval.stats.regression.generalizability import (
    Components,
    ErrorParts,
    TotalInterval,
    components,
    crossed_variance,
    reply_variance,
    total_interval,
    variance_of_mean,
)
from metaeval.stats.resampling.cluster_sums import is_smooth
from metaeval.stats.resampling.rank_ranges import contributions
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS, freedom

if TYPE_CHECKING:
    from metaeval.engine.cells import Cells
    from metaeval.stats.resampling.cluster_sums import Statistic

_WORTH = 0.9
"""Of the standard error of now: what twice the number of something must bring it down to."""
ROUGH = "No interval: the order of few means does not change smoothly with the data."


@dataclass(frozen=True, slots=True)
class Family:
    """The mean of the members of a family in one cell."""

    name: str
    members: tuple[str, ...]
    n_clusters: int
    alone: TotalInterval
    """With the members as they are."""
    total: TotalInterval
    """With the members as a sample of those that might have been taken."""
    each: tuple[TotalInterval, ...]
    """The total interval of each member by itself."""
    split: Components
    parts: ErrorParts
    n_items: int
    """Items that, beside users, are a sample in the total; 0 if they are none."""
    n_replies: float
    """Replies that each score is the mean of: repeats, or both orders of verdicts; 1 if not known."""
    reply: float
    """Variance component of one of them; NaN if there is one, or they are not known."""

    @classmethod
    def of(
        cls,
        name: str,
        members: Sequence[str],
        by: Sequence[tuple[Sequence[Statistic], int]],
        confidence: float = 0.95,
        left_out: Sequence[Sequence[Statistic]] = (),
    ) -> Family:
        """Estimate a family from the contributions of clusters to its members.

        Where there are users and six items or more, the total error is that of both. There is no interval
        with fewer than six clusters, and where the members' statistic is not smooth.

        Parameters
        ----------
        by
            The members' statistics, and of how many clusters: `metaeval.engine.cells.Cells.statistics`.
        left_out
            The same by the first clusters without each of the replies that a score is the mean of.
        """
        by = by if min(size for _, size in by) >= FEWEST_CLUSTERS else by[:1]
        (own, n), *_ = by
        value = np.array([statistic.at(np.ones((n, 1)))[-1, 0] for statistic in own])
        every = [np.stack([contributions(s, size)[-1] for s in of]) for of, size in by]
        alone, *others = map(variance_of_mean, every)
        mean, few = float(value.mean()), min(size for _, size in by[:2])
        df, df_of_both = (float(freedom(size if all(map(is_smooth, own)) else 0)) for size in (n, few))
        both = crossed_variance(alone, *others) if others else alone
        of_each = [[variance_of_mean(one[None]) for one in of] for of in every]
        crossed = [crossed_variance(*v) if others else v[0] for v in zip(*of_each, strict=True)]
        split = components(value, every[0])
        share = n / every[0].shape[1] + 0 * df  # clusters that were put together, if they are many
        split = Components(split.cluster * share, split.member + 0 * df, split.both * share)
        left = [np.stack([contributions(s, n)[-1] for s in of]) for of in left_out]
        reply = reply_variance(every[0], np.stack(left)) * share if len(left) > 1 else np.nan
        items, units = others or (0.0, 0.0)
        shape = n, len(members), max(len(left), 1)
        return cls(
            name,
            tuple(members),
            n,
            total_interval(mean, alone, df, confidence=confidence),
            total_interval(mean, both, df_of_both, [value], confidence),
            tuple(
                total_interval(float(v), variance, df_of_both, [value], confidence, one=True)
                for v, variance in zip(value, crossed, strict=True)
            ),
            split,
            ErrorParts.of(split, shape, items=items, units=units, reply=float(np.nan_to_num(reply))),
            by[1][1] if others else 0,
            max(len(left), 1),
            float(reply),
        )

    def purchases(self, users: str) -> dict[str, dict[str, float]]:
        """Return what twice as many of something are → as `ErrorParts.error` takes it: a D-study."""
        return {
            users: {"users": 2},
            "members": {"members": 2},
            **({"items": {"items": 2}} if self.n_items else {}),
            **({"replies": {"replies": 2}} if self.n_replies > 1 else {}),
        }

    def errors(self, users: str) -> dict[str, float]:
        """Return the standard error with twice as many of each."""
        return {what: self.parts.error(**twice) for what, twice in self.purchases(users).items()}

    def advice(self, users: str, form: Form) -> str:
        """Say what larger studies bring (a D-study), for as many more judgements each."""
        now, errors = self.parts.error(), self.errors(users)
        best = min(errors, key=lambda what: errors[what])
        told = f"take more {best}" if errors[best] <= _WORTH * now else "none of these helps much"
        said = ", ".join(f"with twice the {what} {value_text(e, form)}" for what, e in errors.items())
        return f"{self.name}: the standard error is {value_text(now, form)}, {said}: {told}."


def families_in(
    families: Mapping[str, Sequence[str]],
    cells: Cells,
    cell: Cell,
    confidence: float = 0.95,
    less: Sequence[Cells] = (),
) -> list[Family]:
    """Estimate the families of a study in one cell; ``less`` has the cells of `without_each_reply`."""
    found = []
    for name, members in families.items():
        left = [of.statistics(cell, members)[0][0] for of in less]
        found.append(Family.of(name, members, cells.statistics(cell, members), confidence, left))
    return found


def without_each_reply(scores: ScoreTable) -> list[ScoreTable]:
    """Return the scores of judges of several ``samples`` without the first reply, the second, and so on.

    A score of one reply, and those of evaluators without samples, stay. Empty if there is none.
    """
    if SAMPLES not in scores.frame:
        return []
    each = scores.frame[SAMPLES].fillna("").astype(str).str.split()
    values = each.map(lambda texts: [*map(float, texts)])
    found = []
    for k in range(int(values.map(len).max())):
        less = [
            np.mean([*of[:k], *of[k + 1 :]]) if len(of) > max(k, 1) else score
            for of, score in zip(values, scores.frame["score"], strict=True)
        ]
        found.append(replace(scores, frame=scores.frame.assign(score=less)))
    return found


def with_totals(board: Board, found: Sequence[Family], cell: Cell) -> Board:
    """Return a board in which members of families have their total interval in one cell."""
    total = {m: t for family in found for m, t in zip(family.members, family.each, strict=True)}
    there = board.of(cell)["evaluator"].map(
        lambda name: not np.isnan(getattr(total.get(name), "low", np.nan))
    )
    at = there.index[there]
    frame = board.frame.copy()
    ends = [total[name] for name in frame.loc[at, "evaluator"]]
    frame.loc[at, "ci_low"], frame.loc[at, "ci_high"] = [t.low for t in ends], [t.high for t in ends]
    names = ", ".join(family.name for family in found)
    told = (
        f"Intervals of members of {names} are total: another member, such as a prompt, might have been taken."
    )
    rough = "" if len(at) else ROUGH.replace("interval", "total interval")
    said = filter(None, [board.intervals, rough or told])
    return replace(board, frame=frame, intervals=" ".join(said))


def family_sheets(
    found: Sequence[Family],
    of: str,
    form: Form,
    *,
    cluster: str,
    confidence: float = 0.95,
    simulated: Simulation,
) -> list[Sheet]:
    """Return the sheets ``families`` and ``family-components``; none without families.

    Parameters
    ----------
    of, form
        What the estimates are, and how they are printed.
    """
    if not found:
        return []
    users = plural_of(cluster)
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
            "n_members": len(f.members),
            f"n_{users}": f.n_clusters,
            **{f"sd_{part}": variance**0.5 for part, variance in f.split._asdict().items()},
            "sd_item": (f.parts.items * f.n_items) ** 0.5 if f.n_items else np.nan,
            "sd_reply": f.reply**0.5,
            "se": f.parts.error(),
            **{f"se_{'clusters' if what == users else what}": e for what, e in f.errors(users).items()},
        }
        for f in found
    ]
    simulated = simulated.among(member for f in found for member in f.members)
    sampled = f"{users} and items" if any(f.n_items for f in found) else users
    rough = any(np.isnan(f.total.df) and f.n_clusters >= FEWEST_CLUSTERS for f in found)
    whole = table(
        "families",
        "Families of evaluators",
        rows,
        (
            Column("family", "Family"),
            Column("n_members", "Members", "count"),
            Column("estimate", f"Mean, over {users}", form, "ci_low", "ci_high"),
            Column("total", "Total", form, "total_low", "total_high", keep=True),
            Column("df", "df", "number"),
        ),
        *(f.advice(users, form) for f in found if not np.isnan(f.total.df)),
        *([ROUGH] * rough),
        f"The mean of the members of each family: {of}. Brackets hold {100 * confidence:g} % intervals.",
        f"Total: members, such as prompts, count as a sample of those that might have been, as {sampled} do.",
        *(f"{f.name}: {'; '.join(f.members)}." for f in found),
    )
    sds = {"sd_cluster": f"One of the {users}", "sd_member": "A member", "sd_both": "Both together"}
    sds |= {"sd_item": "One of the items", "sd_reply": "One reply"}
    ses = {"se": "Error now", "se_clusters": f"Twice the {users}", "se_members": "Twice the members"}
    ses |= {"se_items": "Twice the items", "se_replies": "Twice the replies"}
    parts = table(
        "family-components",
        "What families vary by, and the error of larger studies",
        rows,
        (
            Column("family", "Family"),
            *(c._replace(optional=True) for c in columns(form, **sds)),
            *(c._replace(optional=True) for c in columns(form, **ses)),
        ),
        "Standard deviations of what one of each, and both together, add to an estimate.",
        "Error: the standard error of the mean that follows for this and for larger studies (a D-study).",
        *(["One reply: of the repeats or orders of which each score is the mean."] * _any_replies(found)),
    )
    return [replace(sheet, simulated=simulated) for sheet in (whole, parts) if sheet]


def _any_replies(found: Sequence[Family]) -> bool:
    return any(f.n_replies > 1 for f in found)


def purchases_sheet(found: Sequence[Family], of: str, form: Form, *, cluster: str) -> Sheet | None:
    """Return the sheet ``purchases``: the standard error of the mean of each family, after each purchase."""
    users = plural_of(cluster)
    rows = []
    for f in found:
        now = f.parts.error()
        for what, times in {"": {}, **f.purchases(users)}.items():
            error = f.parts.error(**times)
            rows.append(
                {
                    "family": f.name,
                    "purchase": f"twice the {what}" if what else "nothing",
                    users: f.n_clusters * times.get("users", 1),
                    "members": len(f.members) * times.get("members", 1),
                    "of_items": f.n_items * times.get("items", 1) or np.nan,
                    "replies": f.n_replies * times.get("replies", 1) if f.n_replies > 1 else np.nan,
                    "se": error,
                    "share": error / now,
                }
            )
    return table(
        "purchases",
        "What to buy next",
        rows,
        (
            Column("family", "Family"),
            Column("purchase", "Purchase"),
            Column(users, users.capitalize(), "count"),
            Column("members", "Members", "count"),
            Column("of_items", "Items", "count", optional=True),
            Column("replies", "Replies", "count", optional=True),
            Column("se", "Error", form, keep=True),
            Column("share", "Of the error now", "share"),
        ),
        *(f.advice(users, form) for f in found if not np.isnan(f.total.df)),
        f"Error: the standard error of the mean of a family ({of}) that follows from its variance components "
        "(a D-study). Each purchase doubles one number, and so the judgements.",
    )
