"""Many phrases at once in a text, in any case: only those are looked for of which the text has a word.

Python's ``re`` tries every phrase of an alternation at every place. Here each phrase is known by a part of a
word without which it cannot match, and most replies hold such a part of few phrases.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import defaultdict
from re import _casefix, _constants, _parser  # type: ignore[attr-defined]  # what a pattern needs is seen in its tree
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

Need: TypeAlias = frozenset[str]
"""Parts of words, of which a text must hold one."""

_NOTHING: Need = frozenset()
_ALWAYS: frozenset[Need] = frozenset([_NOTHING])

_WORD = re.compile(r"\w+")
_SAME = {code: min(code, *others) for code, others in _casefix._EXTRA_CASES.items()}
_WORDS = 20_000  # whose phrases are kept
_MARK = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()|]", re.DOTALL
)  # an escape, a class, or a mark of a group
_LETTER = re.compile(r"(?<!\\)(?<!\(\?)[^\W\d_]")  # no class such as ``\W``, and not that of ``(?P<name>…)``
_GROUP = re.compile(r"\\b\(\?:(?P<inner>.*)\)\\b", re.DOTALL)


def any_of(lines: str) -> str:
    """Return the pattern that any of the lines matches."""
    return "|".join(line.strip() for line in lines.strip().split("\n"))


class Phrases:
    """A pattern of many alternatives, used as one that is compiled with ``re.IGNORECASE``."""

    def __init__(self, pattern: str, flags: re.RegexFlag = re.NOFLAG) -> None:
        self.whole = re.compile(pattern, flags | re.IGNORECASE)
        # By the first letter of the part, for most words have few of them.
        self._of_part: defaultdict[str, defaultdict[str, set[Need]]] = defaultdict(lambda: defaultdict(set))
        self._by_need: defaultdict[Need, list[tuple[frozenset[Need], re.Pattern[str]]]] = defaultdict(list)
        # In lower case, for `re` is several times as fast where it need not look at the case.
        plain = _LETTER.sub(lambda letter: in_lower_case(letter[0]), pattern)
        for one in _alternatives(plain):
            needs = _needs(_parser.parse(one, flags)) or frozenset([_NOTHING])
            self._by_need[max(needs, key=_rarity)].append((needs, re.compile(one, flags)))
            for need in needs:
                for part in need:
                    self._of_part[part[0]][part].add(need)
        self._first = frozenset(self._by_need)
        self._met_in = functools.lru_cache(_WORDS)(self._look_up)

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first match in a text, or None."""
        plain = words_of(text)[0]
        return self.whole.search(text) if any(one.search(plain) for one in self._due(text)) else None

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Return all matches in a text."""
        return self.whole.finditer(text) if any(self._due(text)) else iter(())

    def sub(self, to: str, text: str) -> str:
        """Return the text with each match replaced."""
        return self.whole.sub(to, text) if any(self._due(text)) else text

    def _due(self, text: str) -> Iterator[re.Pattern[str]]:
        """Yield those of the alternatives, in lower case, that may match in a text."""
        met = _ALWAYS.union(*map(self._met_in, words_of(text)[1]))
        for need in self._first & met:
            for needs, one in self._by_need[need]:
                if needs <= met:
                    yield one

    def _look_up(self, word: str) -> frozenset[Need]:
        """Return the needs that a word meets."""
        parts = itertools.chain(*(of.items() for letter, of in self._of_part.items() if letter in word))
        return frozenset().union(*(needs for part, needs in parts if part in word))


@functools.lru_cache(64)  # a sentence is searched for several kinds of phrases
def words_of(text: str) -> tuple[str, frozenset[str]]:
    """Return a text in lower case, and its words."""
    plain = in_lower_case(text)
    return plain, frozenset(_WORD.findall(plain))


def in_lower_case(text: str) -> str:
    """Return a text with one form for all letters that ``re.IGNORECASE`` treats as equal."""
    return text.lower() if text.isascii() else text.replace("İ", "i").lower().translate(_SAME)


def _alternatives(pattern: str) -> Iterator[str]:
    r"""Yield patterns of which one matches where the pattern does; ``\b(?:a|b)\b`` gives two."""
    for one in _split(pattern):
        group = _GROUP.fullmatch(one)
        inner = list(_split(group["inner"])) if group else []
        yield from (rf"\b(?:{each})\b" for each in inner) if inner else (one,)


def _split(pattern: str) -> Iterator[str]:
    """Split a pattern at each ``|`` that stands in no group; nothing if a group ends that never began."""
    depth, ends = 0, [-1]
    for mark in _MARK.finditer(pattern):
        depth += {"(": 1, ")": -1}.get(mark[0], 0)
        if depth < 0:
            return
        if mark[0] == "|" and not depth:
            ends.append(mark.start())
    for start, end in itertools.pairwise([*ends, len(pattern)]):
        yield pattern[start + 1 : end]


def _needs(parsed: Any) -> frozenset[Need]:  # noqa: ANN401 - a tree of ``re``
    """Return what a text needs for the tree to match in it."""
    needs: set[Need] = set()
    run = ""
    for kind, given in (*parsed, (None, None)):
        if kind is _constants.LITERAL and _WORD.fullmatch(chr(given)):
            run += chr(given)
            continue
        if run:
            needs.add(frozenset([run]))
            run = ""
        if kind is _constants.SUBPATTERN:
            needs |= _needs(given[3])
        elif kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT) and given[0]:
            needs |= _needs(given[2])
        elif kind is _constants.BRANCH:
            each = [max(_needs(branch), key=_rarity, default=_NOTHING) for branch in given[1]]
            if all(each):
                needs.add(frozenset().union(*each))
    return frozenset(needs)


def _rarity(need: Need) -> tuple[int, int]:
    """Order needs by how seldom a text meets them: long parts, then few parts."""
    return min(map(len, need), default=0), -len(need)
