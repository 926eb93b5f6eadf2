"""Recorded verdicts in the order of showing: first, second, and winner.

A map says which column is what::

    columns: {judge: judge, repeat: repeat, group: question, first: first, second: second, reply: reply}
    choices: {first: A, second: B, tie: C}

``winner`` in the place of ``reply`` is the winner itself: the name of one of the two, or a word of
``choices``; without ``choices`` these are ``first``, ``second`` and ``tie``. An empty winner is a missing
verdict, and so is a reply that gives no clear choice. ``judge`` and ``group`` may be several columns. Without
``judge`` there is one judge; without ``group``, all pairs are of one group.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from metaeval.base.errors import sound
from metaeval.base.records import FIRST, SECOND, TIE
from metaeval.base.validation import Strict, read_model
from metaeval.llm.replies.fields import Choice
from metaeval.llm.replies.reader import read_reply
from metaeval.sources.tables.entries import Name, Names
from metaeval.sources.verdict_map import word
from metaeval.sources.verdicts import VerdictReader

if TYPE_CHECKING:
    import os
    from typing import Self

JUDGE, ALL = "judge", "all"
"""The judge of a table that names none; the task of verdicts that have none."""
_SIDES = (FIRST, SECOND, TIE)
_ALIASES = ("answer", "verdict", "winner", "preference", "output")


class OrderColumns(Strict):
    """Which column is what."""

    first: Name
    second: Name
    winner: Name | None = None
    reply: Name | None = None
    judge: Names | None = None
    repeat: Name | None = None
    group: Names | None = None
    task: Name | None = None


class Choices(Strict):
    """The words that mean each side."""

    first: Names = Field(default_factory=lambda: [FIRST])
    second: Names = Field(default_factory=lambda: [SECOND])
    tie: Names = Field(default_factory=lambda: [TIE])


class OrderMap(Strict):
    """The content of a map."""

    columns: OrderColumns
    choices: Choices | None = None

    @model_validator(mode="after")
    def _one_winner(self) -> Self:
        if (self.columns.winner is None) == (self.columns.reply is None):
            raise ValueError("columns must name either 'winner' or 'reply', the column of the verdict")
        if self.columns.reply is not None and self.choices is None:
            raise ValueError("choices must say the words of a reply, such as {first: A, second: B, tie: C}")
        return self

    @property
    def sides(self) -> dict[str, list[str]]:
        """Side → its words; in replies case matters, for A is a choice and a is none."""
        said = self.choices or Choices()
        return dict(zip(_SIDES, (said.first, said.second, said.tie), strict=True))


def read_orders(path: str | os.PathLike[str], map_path: str | os.PathLike[str]) -> pd.DataFrame:
    """Return recorded verdicts as `metaeval.analysis.verdicts.coherence.coherence` takes them.

    Raises
    ------
    DataError
        With the row and column of everything that is wrong.
    """
    how = sound(read_model(Path(map_path), OrderMap))
    reader, given = VerdictReader(Path(path)), how.columns
    first, second = (reader.joined([name], "") for name in (given.first, given.second))
    group = reader.joined(given.group, " ") if given.group else ""
    frame = pd.DataFrame(
        {
            "evaluator": reader.joined(given.judge, " ") if given.judge else JUDGE,
            "task": reader.text(given.task) if given.task else ALL,
            "cluster": group,
            "group": group,
            "repeat": reader.text(given.repeat) if given.repeat else "",
            FIRST: first,
            SECOND: second,
        }
    )
    if given.reply:
        field = Choice("choice", {side: words for side, words in how.sides.items() if words}, _ALIASES)
        frame["winner"] = [_chosen(text, field) for text in reader.text(given.reply)]
        return sound((frame, reader.problems))
    assert given.winner is not None  # noqa: S101 - the map was checked
    told = reader.text(given.winner)
    meanings = {word(w): side for side, words in how.sides.items() for w in words}
    meant = np.array([meanings.get(word(text), "") for text in told], dtype=object)
    # A name counts before a word.
    winner = np.where(told == first, FIRST, np.where(told == second, SECOND, meant))
    known = f"it may be that of {given.first!r} or {given.second!r}, {', '.join(meanings)}, or empty"
    reader.report((winner == "") & (told != ""), given.winner, lambda i: f"is {told[i]!r}; {known}")
    return sound((frame.assign(winner=winner), reader.problems))


def _chosen(reply: str, field: Choice) -> str:
    """Return the side that a reply chooses; empty if it is not clear."""
    chosen = read_reply(reply, [field]).values  # noqa: PD011 - no frame
    return "" if chosen is None else str(chosen[field.name])
