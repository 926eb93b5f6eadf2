"""Which replies of judges could not be read, on what that depends, and what it may change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.records import FIRST, SECOND, TIE, ScoreTable, Status
from metaeval.data.verdicts.verdict_table import OTHER
from metaeval.engine.sheet import Column, Sheet
from metaeval.evaluators.verdicts import pair_keys
from metaeval.judging.cost import UNREAD, rows_with_replies
from metaeval.llm.store.replies import Store
from metaeval.llm.store.rows import Database
from metaeval.runs.record import NOTED, LossBounds, LossTest, UnreadReplies
from metaeval.stats.resampling.significance import holm

if TYPE_CHECKING:
    from metaeval.engine.board import Board
    from metaeval.engine.order.ranking import Results
    from metaeval.kinds.kind import Scored, StudyKind

EXAMPLES = 3
_ROW = ("evaluator", "task", "aspect", "group", "axiom")
_ORDERS = {"unread": [FIRST, SECOND], "unread_unswapped": [FIRST], "unread_swapped": [SECOND]}
_LEVELS = 10  # values of the truth, above which it is parted into fifths


def unread_of(
    judge_tables: Mapping[str, ScoreTable], truth: pd.DataFrame, store: Database
) -> list[UnreadReplies]:
    """Return what could not be read, of each judge with a share that is worth a note.

    ``judge_tables`` has the scores of each judge, ``truth`` the key columns, ``aspect`` and ``rating``.
    """
    unread = []
    for name, table in judge_tables.items():
        replies = rows_with_replies(table.frame, table.verdicts)
        if not replies["status"].isin(UNREAD).mean() >= NOTED:  # NaN without any reply
            continue
        of_call = _by_call(replies, truth)
        status, lost = of_call["status"], of_call["status"].isin(UNREAD)
        first = status[lost].groupby(status).cumcount().sort_values(kind="stable")  # one of each status
        keys = [str(call).split()[0] for call in first.index[:EXAMPLES]]
        with Store(store, create=False) as opened:
            replies_of_key = opened.get_many(keys)
        examples = [
            replies_of_key[key].refusal or replies_of_key[key].text for key in keys if key in replies_of_key
        ]
        known = {by: of_call[by] for by in ("order", "aspect", "truth") if by in of_call}
        unread.append(unread_replies(name, lost, status, examples, known))
    return unread


def unread_replies(
    name: str,
    lost: pd.Series[bool],
    why: pd.Series[Any],
    examples: list[str],
    known: Mapping[str, pd.Series[Any]],
) -> UnreadReplies:
    """Return what was ``lost``, and a test whether that depends on what is ``known`` of each reply."""
    from scipy.stats import chi2_contingency, fisher_exact  # most runs have nothing to test

    tests = []
    for by, values in known.items():
        table = pd.crosstab(values, lost)
        if min(table.shape) > 1:
            test: Any = fisher_exact if table.shape == (2, 2) else chi2_contingency
            of_value = (table[True] / table.sum(axis=1)).items()
            shares = {str(value).removesuffix(".0"): float(share) for value, share in of_value}
            tests.append(LossTest(by, shares, float(test(table.to_numpy()).pvalue)))
    tests = [replace(t, p=float(p)) for t, p in zip(tests, holm([t.p for t in tests]), strict=True)]
    counts = {str(status) or "missing": int(n) for status, n in why[lost].value_counts().items()}
    return UnreadReplies(name, len(lost), int(lost.sum()), counts, examples, tests)


def _by_call(replies: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """Return the status of each call, and of what its loss may depend: ``order``, ``aspect``, ``truth``."""
    keys = [c for c in truth if c != "rating"]
    if FIRST in replies:  # of verdicts, whom the truth prefers
        *_, text, _ = keys
        first, second = (
            replies.merge(truth.rename(columns={text: side}), how="left")["rating"].to_numpy()
            for side in (FIRST, SECOND)
        )
        rating = np.sign(first - second)
    else:
        rating = replies.merge(truth, how="left", on=[c for c in keys if c in replies])["rating"].to_numpy()
    how = {"status": "first", "truth": "mean", "order": "first", "aspect": "first"}
    if replies[["call", "aspect"]].drop_duplicates()["call"].duplicated().any():
        del how["aspect"]  # a call is about several
    there = {name: of for name, of in how.items() if name == "truth" or name in replies}
    calls = replies.assign(truth=rating).groupby("call", sort=False).agg(there)
    if calls["truth"].nunique() > _LEVELS:
        calls["truth"] = pd.qcut(calls["truth"], 5, duplicates="drop")
    return calls


def first_bounds(verdicts: pd.DataFrame, unread: int) -> LossBounds:
    """Return bounds of the share for the first position of a judge's verdicts."""
    decided = verdicts[verdicts["winner"].isin([FIRST, SECOND])]
    n, first = len(decided), int((decided["winner"] == decided["order"]).sum())
    if_all: dict[str, float | None] = {SECOND: first / (n + unread), FIRST: (first + unread) / (n + unread)}
    return LossBounds("share for the first position", "share", first / n if n else None, if_all)


def bounded(replies: UnreadReplies, kind: StudyKind, scored: Scored[Any], results: Results) -> UnreadReplies:
    """Return the same with bounds of the estimate that orders the leaderboard.

    Of a judge of pairs, whose scores are made of its verdicts, they are of its share for the first position.
    """
    scores, name = scored.scores, replies.evaluator
    if name not in scores.evaluators:  # a part of an ensemble or of the truth
        return replies
    if scores.verdicts is not None and (scores.verdicts["evaluator"] == name).any():
        own = scores.verdicts[scores.verdicts["evaluator"] == name]
        return replace(replies, bounds=first_bounds(own, int(own["status"].isin(UNREAD).sum())))
    frame, cell = scores.frame, results.board.cell(results.order)
    mine = (frame["evaluator"] == name) & frame["status"].isin(UNREAD)

    def estimate(board: Board) -> float | None:
        value = board.of(cell).set_index("evaluator")["estimate"].get(name, np.nan)
        return None if np.isnan(value) else float(value)

    def filled(end: str) -> float | None:
        values = frame["aspect"].map(lambda aspect: getattr(scored.scale.of(aspect), end))
        score, status = frame["score"].mask(mine, values), frame["status"].mask(mine, Status.OK.value)
        table = replace(scores, frame=frame.assign(score=score, status=status))
        return estimate(kind.cells(replace(scored, scores=table)).board(cell, intervals=False))

    lowest, highest = ("the lowest", "the highest") if kind.rated else (SECOND, FIRST)
    if_all = {lowest: filled("min"), highest: filled("max")}
    what = f"estimate ({results.board.words(cell)})"
    return replace(replies, bounds=LossBounds(what, results.board.form, estimate(results.board), if_all))


def is_unread(verdicts: pd.DataFrame) -> pd.Series[bool]:
    """Say of each verdict whether there is none, and not because a call failed."""
    status = verdicts.get("status", pd.Series(Status.MISSING, verdicts.index))
    return ~verdicts["winner"].isin([FIRST, SECOND, TIE]) & status.isin([*UNREAD, Status.MISSING])


def with_unread(
    sheet: Sheet, verdicts: pd.DataFrame, measured: Callable[[pd.DataFrame], pd.DataFrame], value: str
) -> Sheet:
    """Return a table of judges with the shares unread, bounds of the column ``value``, and a note.

    ``measured`` makes rows of the sheet of verdicts of which all unread ones name what was shown first, or
    second.
    """
    verdicts = verdicts.astype(dict.fromkeys(("evaluator", "order", "winner"), object))
    lost, order, frame = is_unread(verdicts), verdicts["order"], sheet.frame
    for name, orders in _ORDERS.items():
        shares = lost[order.isin(orders)].groupby(verdicts["evaluator"]).mean()
        frame = frame.assign(**{name: frame["evaluator"].map(shares)})
    by = [name for name in _ROW if name in frame]
    for side, won in ((FIRST, order), (SECOND, order.map(OTHER))):
        filled = verdicts.assign(winner=verdicts["winner"].where(~lost, won))
        bound = (measured(filled) if lost.any() else sheet.frame)[[*by, value]]
        frame = frame.merge(bound.rename(columns={value: f"if_{side}"}), on=by, how="left")
    further = [
        Column("unread", "Unread / unswapped / swapped", "share", beside=(*_ORDERS,)[1:]),
        Column("if_first", "If the unread were first / second", "share", beside=("if_second",)),
    ]
    shown = further if lost.any() else further[:1] if "reason" in verdicts else []
    notes = (*sheet.notes, *unread_notes(verdicts))
    return replace(sheet, frame=frame, columns=(*sheet.columns, *shown), notes=notes)


def unread_notes(verdicts: pd.DataFrame) -> list[str]:
    """Return a sentence on each judge of whose verdicts 2 % or more were not read."""
    sentences = []
    for judge, part in verdicts.groupby("evaluator", sort=False, observed=True):
        lost, order = is_unread(part), part["order"]
        if lost.mean() < NOTED:
            continue
        keys = [*pair_keys(part), FIRST, SECOND, "aspect", "order"]
        other_order = pd.MultiIndex.from_frame(part[keys].assign(order=order.map(OTHER)))
        other = part.drop_duplicates(keys).set_index(keys)["winner"].reindex(other_order).set_axis(part.index)
        side = other.eq(order).map({True: FIRST, False: SECOND}).where(other.isin([*OTHER]))
        known = {"order": order, "side that the other order names": side}
        why = part.get("reason", part.get("status", part["winner"]))
        note = unread_replies(
            str(judge), lost, why, _first_of(part.get("reply", part["winner"])[lost]), known
        )
        sentences.append(replace(note, bounds=first_bounds(part, int(lost.sum()))).sentence)
    return sentences


def unread_scores(name: str, scored: pd.DataFrame, column: str, scale: tuple[float, float]) -> str | None:
    """Return a sentence on replies that gave no score, from `read_replies`; None for fewer than 2 %."""
    scored = scored[scored["status"] != Status.MISSING]
    status, lost = scored["status"], scored["status"] != Status.OK
    if not lost.mean() >= NOTED:  # NaN without any reply
        return None
    examples = _first_of(scored[column][lost])
    note = unread_replies(name, lost, status, examples, {"aspect": scored["aspect"]})
    mean, *ends = (float(scored["score"].fillna(end).mean()) for end in (np.nan, *scale))
    if_all: dict[str, float | None] = dict(zip(("the lowest", "the highest"), ends, strict=True))
    return replace(note, bounds=LossBounds("mean score", "number", mean, if_all)).sentence


def _first_of(replies: pd.Series[str]) -> list[str]:
    return [str(reply) for reply in replies.unique() if reply][:EXAMPLES]
