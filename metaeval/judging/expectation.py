"""The expectation of a rating over the probabilities of the tokens that carry it.

Liu et al. (2023), "G-Eval: NLG Evaluation using GPT-4 with Better Human Alignment", equation 1; the
probabilities are normalized over the values of the scale.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import exp
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from metaeval.base.records import Scale
    from metaeval.llm.providers.answers import Place

LEAST_ON_SCALE = 0.5
"""Probability that the values of the scale must have together."""
LEAST_KNOWN = 0.9
"""Their share in all that is not known to be something else, such as alternatives that are not listed."""
_LAST = 20  # of the places of the same number, for a reply ends in its value, and its thought may be long
_MOST = 1.01  # sum of probabilities, which come rounded

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_ALONE = re.compile(rf"(?<![0-9.])(?:{_NUMBER.pattern})(?![0-9])")
_MARKS = re.compile(r"[^\w.]*")


class Expectation(NamedTuple):
    """A mean over the probabilities of the values of a scale."""

    value: float
    confidence: float
    """Probability of the values within half a point of it: of the one that it is rounded to."""
    shares: Mapping[float, float]
    """Value → its probability among those of the scale."""


def expectation(
    text: str,
    value: float,
    scale: Scale,
    places: Sequence[Place] | None,
    read: Callable[[str], object],
) -> Expectation | str:
    """Return the expectation of the value that was read from a reply, or why there is none.

    Parameters
    ----------
    text, value, scale
        The reply, what was read from it, and the scale.
    places
        Its `metaeval.llm.providers.answers.places_in`.
    read
        Reads a reply as this one was read. The number that carries the value is the one that can be
        exchanged for another, which is then what is read.
    """
    if places is None:
        return "the server sends no probabilities of the reply's tokens"
    if scale.min < 0:
        return "the scale has values below 0, whose sign is a token of its own"
    carriers = _carriers(text, value, scale, read)
    if len(carriers) != 1:
        return f"{len(carriers) or 'no'} numbers of the reply can be taken for the value, and not one"
    walk = _Walk(scale, decimals=not scale.integer and "." in text[slice(*carriers[0])])
    walk.gather(places, *carriers[0])
    known, other = sum(walk.weights.values()), walk.other
    if known < LEAST_ON_SCALE:
        return f"the values of the scale have {known:.0%} of the probability, less than {LEAST_ON_SCALE:.0%}"
    if known < LEAST_KNOWN * (1 - other) or known + other > _MOST:
        return f"the server lists {known + other:.0%} of the probability at the value's place"
    mean = sum(number * weight for number, weight in walk.weights.items()) / known
    near = sum(weight for number, weight in walk.weights.items() if mean - 0.5 < number <= mean + 0.5)
    shares = {number: weight / known for number, weight in walk.weights.items()}
    return Expectation(mean, min(1.0, near / known), shares)


def _carriers(text: str, value: float, scale: Scale, read: Callable[[str], object]) -> list[tuple[int, int]]:
    """Return the places at which another number is another reading; two that must agree are none."""
    spans = [m.span() for m in _ALONE.finditer(text) if float(m.group()) == value][-_LAST:]
    others = [v for v in (scale.min, scale.max) if v != value]
    return [
        (start, end)
        for start, end in spans
        if any(read(f"{text[:start]}{other:g}{text[end:]}") == other for other in others)
    ]


class _Walk:
    """The probability of each value of the scale, gathered along the tokens of a number.

    Each token is followed as it was written. An alternative counts if it is a whole number, not the beginning
    of one that is not told.
    """

    def __init__(self, scale: Scale, *, decimals: bool) -> None:
        self._scale, self._decimals = scale, decimals
        self.weights: dict[float, float] = defaultdict(float)
        self.other = 0.0
        """Probability of what is known to be no value of the scale."""
        self._path = 1.0  # probability of what was written so far
        self._written = ""

    def gather(self, places: Iterable[Place], start: int, end: int) -> None:
        """Gather from the tokens between two places of the text, and from the one after these."""
        for place in places:
            stop = place.at + len(place.token)
            if stop <= start:
                continue
            before, self._numbers = self._written, self._begun(place)
            if place.at > (end if before else start) or place.token not in self._numbers:
                self.weights.clear()  # a token is missing, or has more than the number, such as v4
                return
            if place.at == end:
                self._after(place)
                break
            self._at(place, ends=stop > end)
            if stop > end:
                return
        if self._written:
            self._count(self._written, self._path)

    def _begun(self, place: Place) -> dict[str, tuple[str, bool]]:
        """Return the number that each token makes of what was written, and whether it goes beyond it."""
        found = {}
        for name in place.top:
            said = self._written + (name if self._written else _MARKS.sub("", name, count=1))
            if match := _NUMBER.match(said):
                found[name] = match.group(), match.end() < len(said)
        return found

    def _at(self, place: Place, *, ends: bool) -> None:
        """Count the alternatives to a token of the number, and the token itself if the number ends in it."""
        for name, logprob in place.top.items():
            weight = self._path * exp(logprob)
            if name not in self._numbers:
                self.other += weight
            elif ends or name != place.token:
                number, goes_beyond = self._numbers[name]
                if goes_beyond or not self._is_open(number):
                    self._count(number, weight)
        if self._written:
            self._count(self._written, self._path * place.other)
        else:
            self.other += place.other
        self._path *= exp(place.top[place.token])
        self._written += place.token if self._written else _MARKS.sub("", place.token, count=1)

    def _after(self, place: Place) -> None:
        """Count the numbers that the token after the number might have made of it."""
        before = self._path
        for name, (number, goes_beyond) in self._numbers.items():
            if number != self._written:
                weight = before * exp(place.top[name])
                self._path -= weight
                if goes_beyond or not self._is_open(number):
                    self._count(number, weight)

    def _count(self, number: str, weight: float) -> None:
        if float(number) in self._scale:
            self.weights[float(number)] += weight
        else:
            self.other += weight

    def _is_open(self, number: str) -> bool:
        """Say whether a number may be the beginning of another value of the scale.

        It is not, if the server lists a longer one beside it: then that would be a token of its own.
        """
        if "." in number:
            return False
        whole, beside = int(number), (n for n, _ in self._numbers.values())
        longer = 0 < whole * 10 <= self._scale.max and not any(
            n != number and n.startswith(number) for n in beside
        )
        return longer or (self._decimals and whole < self._scale.max)
