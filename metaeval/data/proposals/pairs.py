"""Tables of pairs: two sides in a row, and whoever said which of them is better."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from metaeval.base.errors import DataError, Problem
from metaeval.data.origin import named_for_people

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metaeval.data.proposals.proposal import Proposal

_PART = re.compile(r"[a-z]+|[0-9]+")
_MOST = 8  # words of a column of verdicts: two sides, and kinds of ties


def refuse_pairs(made: Proposal) -> None:
    """Raise `DataError`, with the map to write, for a table whose rows say which of two sides is better.

    That is where the names of two unknown columns differ in one part, and a column holds the two names, or
    the two parts: ``winner`` with ``model_a``, ``model_b`` and ``tie``; ``human`` with ``A`` and ``B``.
    """
    few = {c: words for c, texts in made.texts.items() if 1 < len(words := [*dict.fromkeys(texts)]) <= _MOST}
    for sides in itertools.combinations(made.unknown, 2):
        for said in filter(None, (sides, _parts(sides))):
            verdicts = {c: w for c, w in few.items() if c not in sides and _named(said, w)}
            if verdicts:
                raise DataError(_as_pairs(made, sides, said, verdicts))


def _parts(sides: tuple[str, str]) -> tuple[str, str] | None:
    """Return the part in which two names differ: ``a``, ``b`` of ``model_a``, ``model_b``; else None."""
    one, other = (_PART.findall(side.lower()) for side in sides)
    differ = [(a, b) for a, b in zip(one, other, strict=False) if a != b]
    return differ[0] if len(one) == len(other) and len(differ) == 1 else None


def _named(said: tuple[str, str], words: Sequence[str]) -> bool:
    return {side.lower() for side in said} <= {word.lower() for word in words}


def _as_pairs(
    made: Proposal, sides: tuple[str, str], said: tuple[str, str], verdicts: dict[str, list[str]]
) -> list[Problem]:
    """Return what to write for a table of pairs: a map, and the command that reads it."""
    people = [c for c in verdicts if named_for_people(c)]
    judges = [c for c in verdicts if c not in people] or people[:1]
    repeat = len({*made.texts[sides[0]]}) < len(made.texts[sides[0]])
    named = f"{{first: {sides[0]}, second: {sides[1]}}}" if repeat else f"[{sides[0]}, {sides[1]}]"
    item = made.roles.get("item_id", made.roles.get("item_title", ""))
    lines = [f"units: {{item_id: {f'[{item}]' if item else '{row: true}'}}}", f"pair: {named}"]
    lines.append(f"winner: {_words(judges[0], said, verdicts[judges[0]])}")
    lines += [f"evaluator: {{constant: {judges[0]}}}"] if len(verdicts) > 1 or people else []
    if people and people[0] not in judges:
        lines.append(f"gold: {_words(people[0], said, verdicts[people[0]])}")
    name, those = made.table.name, " and ".join(map(repr, verdicts))
    message = (
        f"is a table of pairs ({those}: {sides[0]!r} or {sides[1]!r}), and init is for rated texts; "
        f"write {{{', '.join(lines)}}} as pairs.yaml, and run: "
        f"metaeval verdicts import {name} --map pairs.yaml --out verdicts.csv"
    )
    if len(judges) > 1:
        message += f"; {' and '.join(map(repr, judges[1:]))} likewise, each as an evaluator with its own file"
        gold = _words(judges[0], said, verdicts[judges[0]])
        message += "" if people else f"; what people said is gold in each map, such as gold: {gold}"
    return [Problem(name, None, None, message)]


def _words(column: str, said: tuple[str, str], words: Sequence[str]) -> str:
    """Return the entry of a column of verdicts: the words of each side, and what is left as ties."""
    first, second = ([w for w in words if w.lower() == side.lower()] for side in said)
    ties = [w for w in words if w not in (*first, *second)]
    tie = f", tie: [{', '.join(map(repr, ties))}]" if ties else ""
    return f"{{column: {column}, first: {first[0]!r}, second: {second[0]!r}{tie}}}"
