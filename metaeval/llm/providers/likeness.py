"""How like the lines of a history an item is, for the simulated model."""

from __future__ import annotations

import functools
import re
import statistics
from collections import Counter
from typing import TYPE_CHECKING

from metaeval.llm.prompts.fences import fenced_parts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metaeval.llm.calls.request import Request

_WORDS = re.compile(r"\w+")


def likeness(request: Request) -> float | None:
    """Return from 0 to 1 how like the history before it the item of the last message is.

    A text is as typical of a history as its words are frequent among the lines, on average. The likeness is
    the place of the item among the lines: 0.5 for one as typical as they are. None without a history.
    """
    *before, last = [content for _, content in request.messages]
    items = fenced_parts(last)
    known = _known(tuple(before))
    if known is None or not items:
        return None
    shares, place = known
    return place.cdf(_typical(frozenset(_WORDS.findall(items[-1][1].lower())), shares))


@functools.lru_cache(maxsize=4)
def _known(before: tuple[str, ...]) -> tuple[Mapping[str, float], statistics.NormalDist] | None:
    """Return the share of lines that have each word, and how typical the lines themselves are."""
    texts = [text for content in before for _, text in fenced_parts(content)]
    lines = [frozenset(_WORDS.findall(line.lower())) for text in texts for line in text.split("\n")]
    if not lines:
        return None
    shares = {word: n / len(lines) for word, n in Counter(w for line in lines for w in line).items()}
    typical = [_typical(line, shares) for line in lines]
    return shares, statistics.NormalDist(statistics.fmean(typical), statistics.pstdev(typical) or 0.01)


def _typical(words: frozenset[str], shares: Mapping[str, float]) -> float:
    return statistics.fmean(shares.get(word, 0.0) for word in words) if words else 0.0
