"""Verdicts against gold preferences: how often a judge is right, in each order and in both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, nearest
from metaeval.base.records import FIRST, SECOND, TIE
from metaeval.base.simulation import REAL
from metaeval.engine.sheet import Column, Sheet
from metaeval.evaluators.verdicts import NO_VERDICT, WINNERS, comparisons_of, pair_keys, points
from metaeval.trust.verdicts.rates import FIRST_NOTE, FIRST_SHARE, intervals_note, with_first_shares

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from metaeval.base.simulation import Simulation

_NAMED = (WINNERS.index(FIRST), WINNERS.index(SECOND))
ALL = "all"
"""The group of all pairs."""


def accuracy_sheet(
    verdicts: pd.DataFrame,
    by: Sequence[str] = (),
    *,
    resamples: int = 10_000,
    seed: int = 0,
    simulated: Simulation = REAL,
) -> Sheet:
    """Count right verdicts of each evaluator, over all pairs and within each group.

    Parameters
    ----------
    verdicts
        See `metaeval.evaluators.verdicts`; with ``gold``: ``first``, ``second``, ``tie``, or empty.
    by
        Columns that name a group.
    resamples, seed
        Of users, or of items in verdicts without users.
    simulated
        Whether the data are, and which evaluators.

    Returns
    -------
    Sheet
        One row per evaluator, aspect and group. A missing verdict counts as wrong, and in ``missing``.

    Raises
    ------
    DataError
        If there is no gold preference, a pair has two, or a column is unknown.
    """
    import pandas as pd

    compared = _with_gold(verdicts, by)
    known = compared[compared["gold"] != NO_VERDICT]
    if known.empty:
        raise DataError("no pair has a gold preference, so no verdict is right or wrong")
    rows: list[dict[str, Any]] = []
    for aspect, of_aspect in known.groupby("aspect", sort=False, observed=True):
        groups = [(ALL, of_aspect)]
        if by:
            named = of_aspect.groupby(list(by), sort=True, observed=True)
            groups += [(", ".join(map(str, name)), group) for name, group in named]
        for group, part in groups:
            rows += [{"aspect": aspect, "group": group, **row} for row in _rows(part, resamples, seed)]
    frame = pd.DataFrame(rows)
    place = {name: i for i, name in enumerate(dict.fromkeys(frame["evaluator"]))}
    frame = frame.sort_values("evaluator", key=lambda c: c.map(place), kind="stable", ignore_index=True)
    shown = simulated.among(map(str, frame["evaluator"].unique()))
    frame["evaluator"] = frame["evaluator"].astype(str).map(simulated.label)
    how = intervals_note(verdicts, resamples, seed)
    return _sheet(frame, by, len(compared) - len(known), how, shown)


def preferred_by(gold: pd.DataFrame, verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return verdicts with what others prefer as ``gold``: what most say, or a tie.

    The gold preference is the side that more than half of the others' verdicts name, ties included. Where no
    side has more than half, it is a tie.

    Parameters
    ----------
    gold, verdicts
        See `metaeval.evaluators.verdicts`. A pair on which ``gold`` says nothing has no gold preference.

    Raises
    ------
    DataError
        If either is not valid, or they do not name pairs by the same columns.
    """
    by = [*pair_keys(verdicts), FIRST, SECOND, "aspect"]
    said = comparisons_of(gold)
    if pair_keys(gold) != pair_keys(verdicts):
        named = [", ".join(pair_keys(frame)) for frame in (gold, verdicts)]
        raise DataError(f"the gold preferences name pairs by {named[0]}, and the verdicts by {named[1]}")
    votes = said.assign(points=points(said["outcome"])).dropna(subset=["points"])
    votes[by] = votes[by].astype(str)
    votes = votes.assign(one=votes["points"] == 1, two=votes["points"] == 0)
    total = votes.groupby(by, as_index=False)[["one", "two"]].mean()
    total["gold"] = np.select([total["one"] > 0.5, total["two"] > 0.5], [FIRST, SECOND], TIE)
    plain = verdicts.drop(columns="gold", errors="ignore").astype(dict.fromkeys(by, str))
    return plain.merge(total[[*by, "gold"]], on=by, how="left").fillna({"gold": ""})


def _with_gold(verdicts: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return the comparisons with the codes of their gold preferences, and their groups."""
    if "gold" not in verdicts:
        raise DataError(
            "the verdicts have no column 'gold'; give others' verdicts with --gold, or say in the map where "
            "the right ones stand, and import again"
        )
    for column in by:
        if column not in verdicts:
            raise DataError(
                f"the verdicts have no column {column!r} to count by; keep it with `keep` of the map, and "
                f"import again{nearest(column, map(str, verdicts.columns))}"
            )
    compared = comparisons_of(verdicts)
    names = [*pair_keys(verdicts), "first", "second", "aspect", "evaluator"]
    extra = verdicts[[*names, "gold", *by]].drop_duplicates()
    again = extra.duplicated(names).to_numpy()
    if again.any():
        first = extra.iloc[int(again.argmax())]
        raise DataError(
            f"the two orders of a pair differ in {', '.join(['gold', *by])}: "
            + ", ".join(f"{n} {first[n]!r}" for n in names)
        )
    compared = compared.merge(extra, on=names, how="left", validate="one_to_one")
    compared["gold"] = compared["gold"].map({w: i for i, w in enumerate(WINNERS[:-1])}).fillna(NO_VERDICT)
    return compared


def _rows(comparisons: pd.DataFrame, resamples: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield one row per evaluator, all with the same resamples."""
    evaluators = comparisons["evaluator"].astype(str).to_numpy()
    names = list(dict.fromkeys(evaluators))
    here = np.stack([evaluators == name for name in names], axis=1)
    gold = comparisons["gold"].to_numpy()
    one, two = (comparisons[c].to_numpy() for c in ("shown_first", "shown_second"))
    right = np.stack([one == gold, two == gold])
    hits = here * right.sum(axis=0)[:, None]
    due = comparisons["due"].to_numpy()
    shares = with_first_shares(comparisons, here, hits, here * due[:, None], resamples=resamples, seed=seed)
    missing = due - (np.stack([one, two]) != NO_VERDICT).sum(axis=0)
    same = (one == two) & np.isin(one, _NAMED)
    for mine, name, (accuracy, first_share) in zip(here.T, names, shares, strict=True):
        yield {
            "evaluator": name,
            "pairs": int(mine.sum()),
            "right_first": int(right[0, mine].sum()),
            "right_second": int(right[1, mine].sum()),
            "right_both": int((right[0] & right[1])[mine].sum()),
            "same_winner": int(same[mine].sum()),
            "missing": int(missing[mine].sum()),
            **accuracy.row("accuracy"),
            **first_share.row("first_share"),
        }


def _sheet(frame: pd.DataFrame, by: Sequence[str], without: int, how: str, simulated: Simulation) -> Sheet:
    aspects = [Column("aspect", "Aspect")] if (frame["aspect"] != "").any() else []
    groups = [Column("group", ", ".join(by).capitalize())] if by else []
    notes = [
        "A verdict is right if it is the gold preference.",
        "A missing verdict counts as wrong, and so does a tie where the gold preference is none.",
        "Swapped: the side that comes second by its name was shown first.",
        "Accuracy: right verdicts over all pairs in both orders.",
        "Same winner: pairs on which both orders name the same text.",
        FIRST_NOTE,
        *([f"{counted(without, 'comparison')} without a gold preference left out."] if without else []),
        how,
    ]
    columns = (
        Column("evaluator", "Evaluator"),
        *aspects,
        *groups,
        Column("pairs", "Pairs", "count"),
        Column("right_first", "Right, unswapped", "count"),
        Column("right_second", "Right, swapped", "count"),
        Column("right_both", "Right in both", "count"),
        Column("same_winner", "Same winner", "count"),
        Column("missing", "Missing verdicts", "count"),
        Column("accuracy", "Accuracy", "share", "accuracy_low", "accuracy_high"),
        FIRST_SHARE,
    )
    return Sheet("accuracy", "Verdicts against gold preferences", frame, columns, tuple(notes), simulated)
