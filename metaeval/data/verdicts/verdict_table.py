"""The table of verdicts: made of another table by its map, and read again."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metaeval.base.errors import DataError, sound
from metaeval.base.records import FIRST, SECOND, TIE, Scale, Status
from metaeval.base.validation import read_model
from metaeval.data.tables.entries import Constant
from metaeval.data.verdicts.verdict_columns import (
    KEYS,
    LENGTHS,
    LONG,
    PLAYED,
    REPEAT,
    SHARE,
    Texts,
    VerdictReader,
    word,
)
from metaeval.data.verdicts.verdict_map import Gold, VerdictMap
from metaeval.llm.replies.fields import Number
from metaeval.llm.replies.reader import Parsed, read_reply

WinnerOf: TypeAlias = Literal["shown", "unswapped"]

JUDGE = "judge"
"""The judge of a table that names none."""
OTHER = {FIRST: SECOND, SECOND: FIRST}
_ANY = Scale(-math.inf, math.inf, integer=False)
_NAMES = ("item_id", FIRST, SECOND, "evaluator", "order")
_ALLOWED = {"order": (FIRST, SECOND), "winner": (FIRST, SECOND, TIE, ""), "gold": (FIRST, SECOND, TIE, "")}


def import_verdicts(
    path: str | os.PathLike[str],
    map_path: str | os.PathLike[str],
    *,
    winner_of: WinnerOf | None = None,
    again: bool = False,
) -> pd.DataFrame:
    """Return the verdicts that a table records: a row per verdict, or per pair, a column for each order.

    The map (`VerdictMap`) says which column is what, and ``winner_of`` what ``first`` among the words of a
    verdict means: the text that was ``shown`` first, as in all replies, or (``unswapped``) the pair's first
    side. Names of sides and replies need neither. ``again`` says whether a pair may be asked about again in
    the same order, and have identical sides.

    The columns are those of `metaeval.evaluators.verdicts`, with ``repeat`` and ``gold`` (empty: there is
    none) if they are mapped, and the columns that are kept. Of replies also ``reason``, why there is no
    verdict, and ``reply``, such a reply.
    """
    source, how = Path(path), sound(read_model(Path(map_path), VerdictMap))
    reader, of = VerdictReader(source, how.where, Path(map_path).name, how.parts), how.columns
    keys = {k: v for k, v in how.units if v} if how.units else {"item_id": of.group}
    columns: dict[str, Any] = {k: reader.named(v) for k, v in keys.items()}
    columns |= {REPEAT: reader.text(of.repeat)} if of.repeat else {}
    named = how.pair or (reader.joined([str(name)], "") for name in (of.first, of.second))
    columns |= dict(zip((FIRST, SECOND), named, strict=True))
    columns |= {of: reader.text(name) for of, name in zip(LENGTHS, how.lengths, strict=False)}
    columns["aspect"] = how.aspect if isinstance(how.aspect, str) else reader.text(how.aspect.column)
    columns |= {"aspect": reader.text(of.task)} if of.task else {}
    columns["evaluator"] = reader.named(of.judge, " ", JUDGE)
    columns |= {PLAYED: reader.places(of.order)} if of.order else {}
    frame = sides = pd.DataFrame(columns, index=range(len(reader.table.frame)))
    if not again:
        same = frame[FIRST] == frame[SECOND]
        reader.report(same, None, lambda i: f"names {frame[FIRST].iloc[i]!r} on both sides of the pair")
    order = reader.won(how.order.column, how.order.meanings)[0] if how.order else np.full(len(frame), FIRST)
    orders = [order, np.full(len(frame), SECOND)]
    given = [how.preference.column] if how.preference else of.winner or of.reply or of.scores[:1]
    of_orders = zip(given, orders, strict=False)
    parts = [_with_verdicts(frame, reader, how, *one) for one in of_orders]
    frame = pd.concat(parts, ignore_index=True)
    if not of.reply and winner_of is None and (frame["by_word"] & (frame["order"] == SECOND)).any():
        raise DataError(
            f"{source.name}: does the winner name what was shown, or the pair's sides with the order undone? "
            "say --winner-of shown, or --winner-of unswapped"
        )
    turned = frame.pop("by_word") & (frame["order"] == SECOND) & (winner_of != "unswapped")
    frame["winner"] = np.where(turned, _turned(frame["winner"]), frame["winner"])
    if how.gold is not None:
        gold = _gold(how.gold, keys, reader, source.parent, None if how.pair else sides)
        frame["gold"] = np.tile(gold, len(parts))
    frame = frame.assign(**{name: np.tile(reader.text(name), len(parts)) for name in how.keep})
    frame = _in_order_of_names(frame)
    if not again:
        by = [*(k for k in (*KEYS, REPEAT) if k in frame), FIRST, SECOND, "aspect", "evaluator", "order"]
        message = "is a second verdict on the same pair in the same order; there must be one"
        reader.report(frame.duplicated(by), None, lambda _: message)
    return sound((frame, reader.problems))


def _with_verdicts(
    frame: pd.DataFrame, reader: VerdictReader, how: VerdictMap, column: str, order: Texts
) -> pd.DataFrame:
    """Return rows of pairs with the verdicts of a column; ``by_word`` where a word, not a name, gives it."""
    told: dict[str, Any] = {}
    if how.columns.reply:
        pattern, field = how.reply, how.field
        if pattern and "choices" in how.model_fields_set:
            pattern = pattern.model_copy(update={"values": {}})
        said, none = reader.text(column), Parsed(None, Status.MISSING, "there is no reply")
        fields: list[Any] = [Number(side, _ANY) for side in OTHER] if how.of_numbers else [field]
        read = [read_reply(text, fields, pattern=pattern) if text else none for text in said]
        winner = np.array([_won(one.values) for one in read], dtype=object)
        told = {"reason": [one.reason for one in read], "reply": np.where(winner == "", said, "")}
        status = np.array([str(one.status) for one in read], dtype=object)
        by_word = np.full(len(said), True)
    elif how.columns.scores or how.preference:
        if how.preference:
            numbers = reader.numbers(column)
            told[SHARE] = share = how.preference.shares(numbers)
            winner, ends = _named(share), sorted([how.preference.first, how.preference.second])
            beyond = (winner == "") & ~np.isnan(share)
            says = "is {:g}; a preference goes from {:g} to {:g}".format
            reader.report(beyond, column, lambda i: says(numbers[i], *ends))
        else:
            one, other = (reader.numbers(name) for name in how.columns.scores)
            winner = np.select([one > other, one < other, one == other], [FIRST, SECOND, TIE], "").astype(
                object
            )
        by_word = np.full(len(winner), False)
        status = np.where(winner == "", str(Status.MISSING), str(Status.OK))
    else:
        names = {word(name) for name in how.pair} & {*how.choices.meanings}
        winner, by_word = reader.won(column, how.choices.meanings, None if names else frame)
        status = np.where(winner == "", str(Status.MISSING), str(Status.OK))
    verdict: dict[str, Any] = {"order": order, "winner": winner, "status": status, "call": ""}
    return frame.assign(**verdict | told, by_word=by_word)


def _named(share: NDArray[np.float64]) -> Texts:
    """Return the side with the greater share; the middle is a tie, NaN or a number beyond the ends none."""
    within = (share >= 0) & (share <= 1)
    sides = [within & (share > 0.5), within & (share < 0.5), share == 0.5]
    return np.select(sides, [FIRST, SECOND, TIE], "").astype(object)


def _won(values: Mapping[str, Any] | None) -> str:
    """Return what the values of a reply say: a choice, or the side with the greater number."""
    if not values:
        return ""
    if "choice" in values:
        return str(values["choice"])
    return TIE if values[FIRST] == values[SECOND] else max(OTHER, key=lambda side: float(values[side]))


def read_verdicts(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read verdicts that `import_verdicts` made, from a file with its columns."""
    reader = VerdictReader(Path(path))
    for name in (*_NAMES, "winner"):
        reader.need(name, "; make a file of verdicts with `metaeval verdicts import`")
    frame = pd.DataFrame({name: reader.text(name) for name in reader.given})
    for name in _NAMES:
        reader.report(frame[name] == "", name, lambda _: "is empty")
    for name, allowed in _ALLOWED.items():
        if name in frame:
            words = ", ".join(w or "empty" for w in allowed)
            said = [f"is {value!r}; it may be {words}" for value in frame[name]]
            reader.report(~frame[name].isin(allowed), name, said.__getitem__)
    if SHARE in frame:
        frame[SHARE] = share = reader.numbers(SHARE)
        message = "does not go with the winner; it is what `first` has of the verdict, 0 to 1"
        reader.report(_named(share) != frame["winner"], SHARE, lambda _: message)
    ordered = [k for k in (*KEYS, REPEAT, FIRST, SECOND) if k in reader.given]
    frame = sound((frame, reader.problems))[[*ordered, *(c for c in reader.given if c not in ordered)]]
    return frame if "aspect" in frame else frame.assign(aspect="")


def kept_columns(verdicts: pd.DataFrame) -> list[str]:
    """Return the columns that an import kept beside those of verdicts."""
    return [str(c) for c in verdicts.columns if c not in LONG]


def _gold(
    gold: Gold,
    keys: Mapping[str, Sequence[str] | Constant],
    reader: VerdictReader,
    folder: Path,
    sides: pd.DataFrame | None,
) -> Texts:
    """Return the gold verdict of each row; empty where there is none."""
    if gold.file is None:
        return reader.won(gold.column, gold.meanings, sides)[0]
    other = VerdictReader(folder / gold.file)
    columns = [
        *dict.fromkeys(c for of_key in keys.values() if not isinstance(of_key, Constant) for c in of_key)
    ]
    rights = other.won(gold.column, gold.meanings)[0]
    pairs = list(zip(*map(other.text, columns), strict=True))
    found: dict[tuple[str, ...], str] = {}
    differs = [found.setdefault(key, right) != right for key, right in zip(pairs, rights, strict=True)]
    message = "differs from what an earlier row says of the same pair"
    other.report(differs, gold.column, lambda _: message)
    if other.problems:
        raise DataError(other.problems)
    return np.array(
        [found.get(key, "") for key in zip(*map(reader.text, columns), strict=True)], dtype=object
    )


def _in_order_of_names(frame: pd.DataFrame) -> pd.DataFrame:
    """Swap the sides of pairs that are not in alphabetical order, and their verdicts accordingly."""
    turned = (frame[FIRST] > frame[SECOND]).to_numpy()
    if turned.any():
        frame = frame.copy()
        for sides in ([FIRST, SECOND], [*LENGTHS]):
            if sides[0] in frame:
                frame.loc[turned, sides] = frame.loc[turned, sides[::-1]].to_numpy()
        for column in _ALLOWED.keys() & frame.columns:
            frame.loc[turned, column] = _turned(frame.loc[turned, column])
        if SHARE in frame:
            frame.loc[turned, SHARE] = 1 - frame.loc[turned, SHARE]
    return frame


def _turned(sides: Iterable[str]) -> list[str]:
    return [OTHER.get(side, side) for side in sides]
