"""Verdicts against gold preferences: how often a judge is right, in each order and in both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, nearest
from metaeval.base.records import FIRST, SECOND, TIE
from metaeval.data.verdicts.verdict_columns import REPEAT
from metaeval.engine.sheet import Column, Sheet
from metaeval.evaluators.verdicts import NO_VERDICT, WINNERS, Orders, comparisons_of, pair_keys, points
from metaeval.stats.resampling.weights import one_thread
from metaeval.trust.verdicts.agreement import (
    FIRST_NOTE,
    FIRST_SHARE,
    MEASURES,
    agreement_of,
    first_shares,
    intervals_note,
)

_NAMED = (WINNERS.index(FIRST), WINNERS.index(SECOND))
ALL = "all"
"""The group of all pairs."""
_SAID: dict[Orders, str] = {
    "each": "both orders of a pair count, each by itself.",
    "net": "a pair counts once, for the side with more votes; ties and missing verdicts are none.",
    "tie": "a pair counts once, as a tie if its orders differ.",
    "both": "a pair counts once, and is wrong if its orders differ.",
}


@one_thread()
def accuracy_sheet(
    verdicts: pd.DataFrame,
    by: Sequence[str] = (),
    *,
    orders: Orders = "each",
    people: pd.DataFrame | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> Sheet:
    """Count right verdicts of each evaluator, over all pairs and within each group.

    The verdicts (`metaeval.evaluators.verdicts`) have ``gold``: ``first``, ``second``, ``tie``, or empty. The
    columns ``by`` name a group; ``orders`` is what both orders of a pair come to; ``people`` are people's
    verdicts with those of the others as ``gold`` (`against_others`). Users are resampled, or items.

    Returns
    -------
    Sheet
        One row per evaluator, aspect and group. A missing verdict counts as wrong, and in ``missing``.

    Raises
    ------
    DataError
        If there is no gold preference, a pair has two, or a column is unknown.
    """
    known, without = with_gold(verdicts, by)
    tables = [("gold", known, by)]
    if people is not None:
        each_of = with_gold(people)[0]
        tables.append(("the others", pd.concat([each_of, each_of.assign(evaluator="people")]), ()))
    rows: list[dict[str, Any]] = []
    for against, compared, within in tables:
        for aspect, of_aspect in compared.groupby("aspect", sort=False, observed=True):
            groups = [(ALL, of_aspect)]
            if within:
                named = of_aspect.groupby(list(within), sort=True, observed=True)
                groups += [(", ".join(map(str, name)), group) for name, group in named]
            for group, part in groups:
                of = {"aspect": aspect, "group": group, "against": against}
                rows += [{**of, **row} for row in _rows(part, orders, resamples, seed)]
    frame = pd.DataFrame(rows)
    frame = frame.sort_values("evaluator", key=lambda c: pd.factorize(c)[0], kind="stable", ignore_index=True)
    notes = [
        "A verdict is right if it is the gold preference.",
        "A missing verdict counts as wrong, and so does a tie where the gold preference is none.",
        "Swapped: the side that comes second by its name was shown first.",
        "κ: Cohen's, of the verdicts given. Precision, recall and F1: means over first, second and tie.",
        "Same winner: pairs on which both orders name the same text.",
        FIRST_NOTE,
        *([f"{counted(without, 'comparison')} without a gold preference left out."] if without else []),
        *(["Against the others: what most of the other people say."] if people is not None else []),
        f"Accuracy: {_SAID[orders]}",
        intervals_note(verdicts, resamples, seed),
    ]
    columns = (
        Column("evaluator", "Evaluator"),
        *([Column("aspect", "Aspect")] if (frame["aspect"] != "").any() else []),
        *([Column("group", ", ".join(by).capitalize())] if by else []),
        *([Column("against", "Against")] if people is not None else []),
        Column("pairs", "Pairs", "count"),
        Column("right_first", "Right, unswapped", "count"),
        Column("right_second", "Right, swapped", "count"),
        Column("right_both", "Right in both", "count"),
        Column("same_winner", "Same winner", "count"),
        Column("missing", "Missing verdicts", "count"),
        Column("accuracy", "Accuracy", "share", "accuracy_low", "accuracy_high"),
        Column("kappa", "κ", "decimal", "kappa_low", "kappa_high"),
        Column("precision", "Precision / recall / F1", "share", beside=("recall", "f1")),
        FIRST_SHARE,
    )
    title = "Verdicts against gold preferences"
    return Sheet("accuracy", title, frame, columns, tuple(notes), principal=True)


def preferred_by(gold: pd.DataFrame, verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return verdicts with what others prefer as ``gold``: what most say, or a tie.

    The gold preference is the side that more than half of the others' verdicts name, ties included. Where no
    side has more than half, it is a tie; where ``gold`` says nothing, there is none. `DataError` is raised if
    either is not valid (`metaeval.evaluators.verdicts`), or they do not name pairs by the same columns.
    """
    keys = [[key for key in pair_keys(frame) if key != REPEAT] for frame in (gold, verdicts)]
    by = [*keys[1], FIRST, SECOND, "aspect"]
    said = comparisons_of(gold)
    if keys[0] != keys[1]:
        named = [", ".join(of) for of in keys]
        raise DataError(f"the gold preferences name pairs by {named[0]}, and the verdicts by {named[1]}")
    votes = said.assign(points=points(said["outcome"])).dropna(subset=["points"])
    votes[by] = votes[by].astype(str)
    votes = votes.assign(one=votes["points"] == 1, two=votes["points"] == 0)
    total = votes.groupby(by, as_index=False)[["one", "two"]].mean()
    total["gold"] = np.select([total["one"] > 0.5, total["two"] > 0.5], [FIRST, SECOND], TIE)
    plain = verdicts.drop(columns="gold", errors="ignore").astype(dict.fromkeys(by, str))
    return plain.merge(total[[*by, "gold"]], on=by, how="left").fillna({"gold": ""})


def against_others(people: pd.DataFrame, verdicts: pd.DataFrame) -> pd.DataFrame | None:
    """Return each person's verdicts on the pairs of ``verdicts``, ``gold`` by the others (`preferred_by`).

    None if no two people said something of one of these pairs.
    """
    own = [people["evaluator"] == name for name in people["evaluator"].unique()]
    found = pd.concat([preferred_by(people[~mine], people[mine]) for mine in own])
    pair = [*pair_keys(found), FIRST, SECOND, "aspect"]
    found = found.merge(verdicts[pair].astype(str).drop_duplicates(), on=pair)
    return found if (found["gold"] != "").any() else None


def with_gold(verdicts: pd.DataFrame, by: Sequence[str] = ()) -> tuple[pd.DataFrame, int]:
    """Return the comparisons with a gold preference, its code as ``gold``, and how many have none."""
    compared = against_gold(verdicts, by)
    known = compared[compared["gold"] != NO_VERDICT]
    if known.empty:
        raise DataError("no pair has a gold preference, so no verdict is right or wrong")
    return known, len(compared) - len(known)


def against_gold(verdicts: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Return all comparisons, the code of the gold preference as ``gold``, with the columns ``by``."""
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
    codes = compared["gold"].map({w: i for i, w in enumerate(WINNERS[:-1])}).fillna(NO_VERDICT)
    return compared.assign(gold=codes.astype(np.int64))


def _rows(comparisons: pd.DataFrame, orders: Orders, resamples: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield one row per evaluator, all with the same resamples."""
    evaluators = comparisons["evaluator"].astype(str).to_numpy()
    names = list(dict.fromkeys(evaluators))
    here = np.stack([evaluators == name for name in names], axis=1)
    columns = ("gold", "shown_first", "shown_second", "due")
    gold, one, two, due = (comparisons[c].to_numpy() for c in columns)
    twice = due == 2
    counted = {  # hits, and of what
        "right_first": (one == gold, twice | (one != NO_VERDICT)),
        "right_second": (two == gold, twice | (two != NO_VERDICT)),
        "right_both": ((one == gold) & (two == gold), twice),
        "same_winner": ((one == two) & np.isin(one, _NAMED), twice),
    }
    missing = due - (one != NO_VERDICT) - (two != NO_VERDICT)
    measured = agreement_of(comparisons, orders, resamples=resamples, seed=seed)
    for_first = first_shares(comparisons, here, resamples=resamples, seed=seed)
    for mine, name, found, first_share in zip(here.T, names, measured, for_first, strict=True):
        row: dict[str, Any] = {"evaluator": name, "pairs": int(mine.sum())}
        for count, (hits, of) in counted.items():
            row[count] = int(hits[mine & of].sum()) if (mine & of).any() else np.nan
        row["missing"] = int(missing[mine].sum())
        for measure, estimate in zip((*MEASURES, "first_share"), (*found, first_share), strict=True):
            row |= estimate.row(measure)
        yield row
