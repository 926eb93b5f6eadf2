"""A template in pieces, each of which is filled once for the same values.

Prompts of one judge differ in little: the unit, and perhaps the user. What a piece prints is kept with the
values of the placeholders that it uses, so most of a new prompt is there already.
"""

from __future__ import annotations

import pickle
import time
from collections import defaultdict
from typing import TYPE_CHECKING, TypeAlias

from jinja2 import Template, meta, nodes

from metaeval.llm.prompts.limits import BUDGET, SECONDS, TOO_LONG, LeftOut, TooMuchError, fill
from metaeval.llm.prompts.same import Same

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jinja2 import Environment

Known: TypeAlias = "Mapping[str, str | bytes | None]"
"""Name → what is equal for values that print alike; None if that cannot be said."""
Filled: TypeAlias = tuple[str, int]
"""A text, and how many characters were handled to make it."""

_KEPT = 2**20  # characters of a piece's texts, and of the values that they were made of
_NAMING = (nodes.Assign, nodes.AssignBlock, nodes.Macro, nodes.CallBlock)


class Pieces:
    """The pieces of a template.

    Parameters
    ----------
    environment, body
        What the template is written in, and its text.
    """

    def __init__(self, environment: Environment, body: str) -> None:
        self._pieces = [_Piece(environment, part) for part in _parts(environment.parse(body).body)]
        self._uses: defaultdict[str, set[int]] = defaultdict(set)
        for at, piece in enumerate(self._pieces):
            for name in piece.names:
                self._uses[name].add(at)
        self._last: tuple[Known, list[Filled], int] = {}, [], 0

    def fill(self, values: Mapping[str, object]) -> str:
        """Return the text for some values; raise `TooMuchError`, or what an expression raises."""
        known = {name: _known(value) for name, value in values.items()}
        before, last, spent = self._last
        changed = [self._uses[n] for n, value in known.items() if value is None or before.get(n) != value]
        stale = set().union(*changed) if last else range(len(self._pieces))
        filled = last.copy() or [("", 0)] * len(self._pieces)
        left = BUDGET - spent + sum(filled[at][1] for at in stale)
        until = time.monotonic() + SECONDS
        bare = {name: value.value if type(value) is Same else value for name, value in values.items()}
        for at in sorted(stale):
            filled[at] = self._pieces[at].fill(bare, known, left, until)
            left -= filled[at][1]
            if left < 0:
                raise TooMuchError(TOO_LONG)
        self._last = known, filled, BUDGET - left  # in one step: judges may ask in several threads
        return "".join([text for text, _ in filled])


class _Piece:
    """A part of a template; other parts take nothing from it, and it takes nothing from them."""

    def __init__(self, environment: Environment, body: Sequence[nodes.Node]) -> None:
        tree = nodes.Template(list(body), lineno=1)
        tree.set_environment(environment)
        self.names = tuple(sorted(meta.find_undeclared_variables(tree)))
        self._template = Template.from_code(
            environment, environment.compile(tree), environment.make_globals(None)
        )
        self._kept: dict[tuple[str | bytes | None, ...], Filled] = {}
        self._room = _KEPT

    def fill(self, values: Mapping[str, object], known: Known, left: int, until: float) -> Filled:
        """Return the text for some values, and what it takes from the budget."""
        key = tuple(map(known.get, self.names))
        if key in self._kept:
            return self._kept[key]
        filled = fill(self._template, values, left, until)
        if None not in key:
            self._room -= filled[1] + sum(len(part or "") for part in key)
            if self._room < 0:
                self._kept.clear()
                self._room = _KEPT
            self._kept[key] = filled
        return filled


def _known(value: object) -> str | bytes | None:
    if type(value) is str:
        return value
    if type(value) is Same:
        return value.known
    if isinstance(value, LeftOut):
        return b""
    try:
        return pickle.dumps(value)
    except Exception:  # noqa: BLE001 - whatever a value of the caller raises
        return None


def _parts(body: list[nodes.Node]) -> Iterator[list[nodes.Node]]:
    """Yield the nodes of each piece; a ``set`` stands in each piece that uses what it sets."""
    named = {_set_by(node) for node in body} - {None}
    naming = sum(isinstance(node, _NAMING) for node in body)
    if naming + sum(1 for node in body for _ in node.find_all(_NAMING)) > len(named):
        yield body  # a name that is given twice, in a block, or to a macro
        return
    sets: list[nodes.Node] = []
    piece: list[nodes.Node] = []
    of: set[str] = set()
    for node in body:
        names = _names_in(node)
        needed: list[nodes.Node] = []
        for earlier in reversed(sets):
            if _set_by(earlier) in names:
                needed.insert(0, earlier)
                names |= _names_in(earlier)
        if isinstance(node, nodes.Assign):
            sets.append(node)
        if of and names - of:
            yield piece
            piece, of = [], set()
        piece += [*(one for one in needed if one not in piece), node]
        of |= names
    yield piece


def _set_by(node: nodes.Node) -> str | None:
    """Return the name that a ``set`` gives to one value."""
    if isinstance(node, nodes.Assign) and isinstance(node.target, nodes.Name):
        return node.target.name
    return None


def _names_in(node: nodes.Node) -> set[str]:
    return {name.name for name in node.find_all(nodes.Name) if name.ctx == "load"}
