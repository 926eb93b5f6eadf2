"""The map of recorded verdicts: the meaning of columns, and of the words in them.

What was shown first and second, and who won, one verdict per row::

    columns: {judge: judge, repeat: repeat, group: question, first: first, second: second, reply: reply}
    choices: {first: A, second: B, tie: C}    # the words of the verdict

``winner`` in place of ``reply`` is the name of a side, or one of the words; ``scores: [a, b]`` are the
scores of the two sides: the greater wins, equal ones tie. Of two columns, the second has
the verdicts with the sides swapped. ``judge`` and ``group`` may be several columns, or none.
``order: time`` names a column by which the verdicts came one after the other, as Elo takes them.
``preference: {column: chance, first: 0, second: 1}`` is a number between two ends: the nearer one wins, and
``share`` is what ``first`` has of the verdict. ``where: {judge: [gpt-4, o3]}`` keeps rows with these values.
``reply: mt-bench`` in place of ``choices`` reads replies by a pattern that has verdicts;
``reply: {pattern: 'Winner: (?P<value>A|B)', take: last}``, beside ``choices``, by one of your own; one with
the groups ``first`` and ``second`` gives two numbers, of which the greater wins.

A pair whose sides have one name in all rows, and a column that says which was shown first::

    units: {item_id: [subset, pair_id]}       # our key ← a column, or several, joined by `/`; or {row: true}
    evaluator: [judge, prompt]                # as `columns: {judge: …}`; or {constant: gpt}
    pair: [output 1, output 2]                # names of the sides; or {first: model_a, second: model_b}
    order: {column: swapped, first: "False", second: "True"}       # whose text was shown first
    winner: {column: winner, first: "1", second: "2", tie: [tie, C], missing: [error]}
    aspect: {column: criterion}               # or a name; left out: one verdict over all aspects
    gold: {column: gold, file: pairs.jsonl, first: "1", second: "2"}   # without `file`: of the table itself
    lengths: [tokens 1, tokens 2]             # columns with the lengths of the two sides' texts
    keep: [subset]                            # further columns to keep, to count by

Both forms may be mixed. A column in a nested file is a path: ``judgments.0.decision``. Words are compared
without regard to case; an empty cell is a missing verdict, unless `""` is among the words of a side or a tie.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, field_validator, model_validator

from metaeval.base.errors import DataError, sound
from metaeval.base.records import FIRST, SECOND, TIE, Scale, Status
from metaeval.base.validation import Strict, read_model
from metaeval.data.tables.entries import Constant, FromColumn, Name, Names
from metaeval.data.verdict_columns import Texts, VerdictReader, word
from metaeval.llm.replies.fields import Choice, Given, Number
from metaeval.llm.replies.patterns import ReplyPattern
from metaeval.llm.replies.reader import Parsed, read_reply

KEYS = ("user_id", "item_id")
"""The columns that name what a pair was written for; a file may have no users."""
REPEAT = "repeat"
"""The column that numbers the times that a judge was asked the same."""
PLAYED = "played"
"""The column that numbers verdicts as they came one after the other."""
LENGTHS = ("length_first", "length_second")
"""The columns with the lengths of both texts."""
SHARE = "share"
"""The column with what ``first`` has of a verdict, 0 to 1, of verdicts that say how sure they are."""
LONG = (
    *(*KEYS, REPEAT, PLAYED, FIRST, SECOND, *LENGTHS, "aspect", "evaluator", "order"),
    *("winner", SHARE, "status", "call", "gold", "reason", "reply"),
)
"""The columns of verdicts; the last two of those read from replies: why there is none, and such a reply."""


Words = Annotated[
    list[str], BeforeValidator(lambda v: [str(w).strip() for w in (v if isinstance(v, list) else [v])])
]


class Sides(Strict):
    """The words that name a side."""

    first: Words
    second: Words

    @model_validator(mode="after")
    def _each_word_once(self) -> Self:
        given = [word(w) for words in self.by_side.values() for w in words]
        twice = sorted({w for w in given if given.count(w) > 1})
        if twice:
            raise ValueError(f"the word {twice[0]!r} has two meanings; each word may have one")
        return self

    @property
    def by_side(self) -> Mapping[str, list[str]]:
        """Side → the words that mean it."""
        return {FIRST: self.first, SECOND: self.second}

    @property
    def meanings(self) -> Mapping[str, str]:
        """Word → what it means."""
        return {word(w): side for side, words in self.by_side.items() for w in words}


class Order(Sides):
    """The column that says which side was shown first."""

    column: Name


class Choices(Sides):
    """The words that name a side, a tie, or nothing."""

    first: Words = Field(default_factory=lambda: [FIRST])
    second: Words = Field(default_factory=lambda: [SECOND])
    tie: Words = Field(default_factory=lambda: [TIE])
    missing: Words = Field(default_factory=list)

    @property
    def by_side(self) -> Mapping[str, list[str]]:
        """Side → the words that mean it; an empty side is a missing verdict."""
        said = {FIRST: self.first, SECOND: self.second, TIE: self.tie}
        empty = [] if any("" in words for words in (*said.values(), self.missing)) else [""]
        return {**said, "": [*self.missing, *empty]}


class Gold(Choices):
    """Where the right verdict stands, in the names of the pair; in a file of its own, by the same keys."""

    column: Name
    file: Name | None = None


class UnitColumns(Strict):
    """The columns that name what a pair was written for."""

    user_id: Names = Field(default_factory=list)
    item_id: Names | Constant


class PreferenceColumn(Strict):
    """A column of numbers between two ends, such as 1 to 2 or the chance of a side."""

    column: Name
    first: float
    second: float

    @model_validator(mode="after")
    def _two_ends(self) -> Self:
        if self.first == self.second:
            raise ValueError("first and second must be different numbers")
        return self

    def shares(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the first side has of each verdict, 0 to 1; NaN where there is none."""
        return (self.second - numbers) / (self.second - self.first)


def _named(share: NDArray[np.float64]) -> Texts:
    """Return the side with the greater share; the middle is a tie, NaN or a number beyond the ends none."""
    within = (share >= 0) & (share <= 1)
    sides = [within & (share > 0.5), within & (share < 0.5), share == 0.5]
    return np.select(sides, [FIRST, SECOND, TIE], "").astype(object)


class VerdictColumns(Strict):
    """Which column is what; of two columns of verdicts, the second holds those with the sides swapped."""

    first: Name | None = None
    second: Name | None = None
    winner: Names = Field(default_factory=list, max_length=2)
    scores: list[Name] = Field(default_factory=list, min_length=2, max_length=2)
    reply: Names = Field(default_factory=list, max_length=2)
    judge: Names | Constant = Field(default_factory=list)
    repeat: Name | None = None
    order: Name | None = None
    group: Names = Field(default_factory=list)
    task: Name | None = None


class VerdictMap(Strict):
    """The content of a map of verdicts."""

    columns: VerdictColumns = Field(default_factory=VerdictColumns)
    choices: Choices = Field(default_factory=Choices)
    preference: PreferenceColumn | None = None
    where: dict[Name, Words] = Field(default_factory=dict)
    reply: ReplyPattern | None = None
    units: UnitColumns | None = None
    pair: list[Name] = Field(default_factory=list)
    order: Order | None = None
    aspect: str | FromColumn = ""
    gold: Gold | None = None
    lengths: list[Name] = Field(default_factory=list, min_length=2, max_length=2)
    keep: list[Name] = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _in_columns(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Put ``evaluator``, ``winner`` and the columns of ``pair`` among the columns."""
        columns = given.get("columns", {})
        if not isinstance(columns, dict):
            return given
        rest = {**given, "columns": {**columns}}
        if "evaluator" in rest:
            rest["columns"]["judge"] = rest.pop("evaluator")
        if isinstance(rest.get("order"), str):
            rest["columns"]["order"] = rest.pop("order")
        if isinstance(rest.get("pair"), dict):
            rest["columns"] |= rest.pop("pair")
        if isinstance(rest.get("winner"), dict):
            rest["choices"] = {**rest.pop("winner")}
            rest["columns"]["winner"] = rest["choices"].pop("column", None)
        return rest

    @field_validator("pair")
    @classmethod
    def _two_sides(cls, pair: list[str]) -> list[str]:
        if len(set(pair)) != 2 or len(pair) != 2:
            raise ValueError("must hold two different names, or the two columns `first` and `second`")
        return pair

    @field_validator("keep")
    @classmethod
    def _own_names(cls, keep: list[str]) -> list[str]:
        taken = next((name for name in keep if name in LONG), None)
        if taken is not None:
            raise ValueError(f"cannot keep a column called {taken!r}, a reserved name; rename it")
        return keep

    @model_validator(mode="after")
    def _each_said_once(self) -> Self:
        of = self.columns
        if not self.pair and (of.first is None or of.second is None):
            raise ValueError("columns must name 'first' and 'second', the columns of the two sides")
        if [bool(of.winner), bool(of.reply), bool(of.scores), bool(self.preference)].count(True) != 1:
            raise ValueError(
                "columns must name either 'winner' or 'reply', the column of the verdict, or 'scores', those "
                "of the scores of the two sides; or the map a 'preference', a number between two ends"
            )
        if self.order and len(of.winner or of.reply) == 2:
            raise ValueError("`order` does not go with two columns of verdicts, which hold both orders")
        if of.reply:
            if "choices" not in self.model_fields_set and not self.of_numbers:
                meant = set(self.reply.values.values()) if self.reply else set()  # noqa: PD011 - of a mapping
                if not {FIRST, SECOND} <= meant <= {FIRST, SECOND, TIE}:
                    raise ValueError(
                        "choices must say the words of a reply, such as {first: A, second: B, tie: C}"
                    )
            _ = self.field  # a word that two sides have is refused
        elif self.reply:
            raise ValueError("`reply` says how replies are read; name their column in `columns`")
        return self

    @property
    def of_numbers(self) -> bool:
        """Whether a reply gives a number for each side: groups ``first`` and ``second`` of its pattern."""
        return self.reply is not None and {FIRST, SECOND} <= {*self.reply.named}

    @property
    def field(self) -> Choice:
        """What a reply is to give."""
        said = {side: words for side, words in self.choices.by_side.items() if side and words}
        plain: dict[Given, list[str]] = {
            side: [w.strip("[]*") for w in words] for side, words in said.items()
        }
        return Choice("choice", plain, ("answer", "verdict", "winner", "preference", "output"))


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

    The map says which column is what (`metaeval.data.verdicts`), and ``winner_of`` what ``first`` among
    the words of a verdict means: the text that was ``shown`` first, as in all replies, or (``unswapped``) the
    pair's first side. Names of sides and replies need neither. ``again`` says whether a pair may be asked
    about again in the same order, and have identical sides.

    The columns are those of `metaeval.evaluators.verdicts`, with ``repeat`` and ``gold`` (empty: there is
    none) if they are mapped, and the columns that are kept. Of replies also ``reason``, why there is no
    verdict, and ``reply``, such a reply.
    """
    source, how = Path(path), sound(read_model(Path(map_path), VerdictMap))
    reader, of = VerdictReader(source, how.where, Path(map_path).name), how.columns
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
