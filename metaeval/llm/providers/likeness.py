"""How like the lines of a history an item, or a list of items, is, for the simulated model."""

from __future__ import annotations

import functools
import math
import re
import statistics
from collections import Counter
from typing import TYPE_CHECKING

from metaeval.llm.prompts.fences import fenced_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from metaeval.llm.calls.request import Request

_WORDS = re.compile(r"\w+")
_NUMBERED = re.compile(r"[0-9]+\. ")
_RATED = re.compile(r"; rated (-?[0-9.]+)$")


def likeness(request: Request) -> float | None:
    """Return from 0 to 1 how like the history before it the item of the last message is.

    A text is as typical of a history as its words are frequent among the lines, on average. The likeness is
    the place of the item among the lines: 0.5 for one as typical as they are. None without a history.
    """
    *before, last = [content for _, content in request.messages]
    items = fenced_parts(last)
    known = _known(tuple(before), by_rating=False)
    if known is None or not items:
        return None
    shares, place = known
    return place.cdf(_typical(_words(items[-1][1]), shares))


def likenesses(request: Request) -> list[float] | None:
    """Return from 0 to 1 how like what the user liked each list of the last message is, its lines on average.

    Numbered lines count less the later they come, as in nDCG; others count alike.

    A line of the history is liked if its rating, at its end, is at least the mean. Words count by how much
    more frequent they are among those lines than among the others. Without ratings all lines are liked. None
    without a history.
    """
    *before, last = [content for _, content in request.messages]
    known = _known(tuple(before), by_rating=True)
    if known is None:
        return None
    weights, place = known

    def mean(lines: Sequence[str]) -> float:
        counts = [1 / math.log2(i + 1) if _NUMBERED.match(line) else 1.0 for i, line in enumerate(lines, 1)]
        return statistics.fmean((place.cdf(_typical(_words(line), weights)) for line in lines), counts)

    return [mean(text.split("\n")) for _, text in fenced_parts(last)]


@functools.lru_cache(maxsize=4)
def _known(
    before: tuple[str, ...], *, by_rating: bool
) -> tuple[Mapping[str, float], statistics.NormalDist] | None:
    """Return the weight of each word, and how typical the lines themselves are."""
    texts = [text for content in before for _, text in fenced_parts(content)]
    rows = [line for text in texts for line in text.split("\n")]
    if not rows:
        return None
    weights: Mapping[str, float]
    if by_rating:
        said = [_RATED.search(row) for row in rows]
        ratings = [float(found[1]) for found in said if found]
        least = statistics.fmean(ratings) if ratings else 0.0
        lines = [_words(_RATED.sub("", row)) for row in rows]
        liked = [not found or float(found[1]) >= least for found in said]
        more, less = (
            _shares(line for line, likes in zip(lines, liked, strict=True) if likes is side)
            for side in (True, False)
        )
        weights = {word: more.get(word, 0.0) - less.get(word, 0.0) for word in {*more, *less}}
    else:
        lines = [_words(row) for row in rows]
        weights = _shares(lines)
    typical = [_typical(line, weights) for line in lines]
    return weights, statistics.NormalDist(statistics.fmean(typical), statistics.pstdev(typical) or 0.01)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORDS.findall(text.lower()))


def _shares(lines: Iterable[frozenset[str]]) -> Mapping[str, float]:
    """Return the share of lines that have each word."""
    listed = list(lines)
    return {word: n / len(listed) for word, n in Counter(w for line in listed for w in line).items()}


def _typical(words: frozenset[str], shares: Mapping[str, float]) -> float:
    return statistics.fmean(shares.get(word, 0.0) for word in words) if words else 0.0
