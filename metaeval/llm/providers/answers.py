"""What a simulated model says: values around a level that fit a JSON schema, and verdicts on two texts."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

_MOST_POINTS = 100  # of a scale, on which each has a probability


def uniform(key: str, what: str) -> float:
    """Return a number between 0 and 1 that looks random and is the same for the same words."""
    digest = hashlib.sha256(f"{key}|{what}".encode()).digest()
    return (int.from_bytes(digest[:6], "big") + 0.5) / (1 << 48)


def said_of(level: float) -> str:
    """Return a level in words."""
    return "says little" if level < 1 / 3 else "says what is needed" if level < 2 / 3 else "says a lot"


class SimulatedAnswer:
    """Values that fit a JSON schema, all around the same level."""

    def __init__(self, key: str, level: float, noise: float, off_scale: bool) -> None:
        self._key, self._level, self._noise, self._off = key, level, noise, off_scale
        self._scales: dict[str, tuple[float, float]] = {}  # of the whole numbers that were given

    def value(self, schema: Mapping[str, Any], path: str) -> object:
        """Return a value for a schema; each path within it has noise of its own."""
        if choices := schema.get("enum"):
            if self._off and all(isinstance(c, int) for c in choices):
                return max(choices) + 1
            chosen = choices[round(self._drawn(path) * (len(choices) - 1))]
            if all(isinstance(c, int) for c in choices):
                self._scales[str(chosen)] = min(choices), max(choices)
            return chosen
        match schema.get("type", "object"):
            case "object":
                properties = schema.get("properties", {})
                return {name: self.value(part, f"{path}.{name}") for name, part in properties.items()}
            case "array":
                return [self.value(schema["items"], f"{path}[0]")]
            case "integer" | "number" as kind:
                return self.number(schema, path, whole=kind == "integer")
        return f"It {said_of(self._level)}."

    def number(self, schema: Mapping[str, Any], path: str, *, whole: bool) -> float:
        """Return a number on the scale of a schema."""
        low = float(schema.get("minimum", 1))
        high = float(schema.get("maximum", low + 4))
        if self._off:
            return int(high) + 1
        value = low + self._drawn(path) * (high - low)
        # Rounded as it has few digits on paper; and whole numbers within bounds that may not be whole.
        if not whole:
            return round(value, 2)
        number = min(max(round(value), math.ceil(low)), math.floor(high))
        self._scales[str(number)] = low, high
        return number

    def odds(self, token: str) -> dict[str, float]:
        """Return the probability of each number that might have stood in the place of a token."""
        low, high = self._scales.get(token, (0.0, -1.0))
        if not 0 < high - low <= _MOST_POINTS:
            return {token: 1.0}
        mean, deviation = low + self._level * (high - low), max(self._noise, 0.05) * (high - low)
        points = range(math.ceil(low), math.floor(high) + 1)
        shares = [math.exp(-(((point - mean) / deviation) ** 2) / 2) + 1e-9 for point in points]
        return {str(p): share / sum(shares) for p, share in zip(points, shares, strict=True)}

    def _drawn(self, path: str) -> float:
        shift = self._noise * NormalDist().inv_cdf(uniform(self._key, path))
        return min(max(self._level + shift, 0.0), 1.0)


class SimulatedVerdict(SimulatedAnswer):
    """Which of two texts is better: 1 the first, 2 the second, 0 neither."""

    def __init__(
        self, key: str, difference: float, settings: Mapping[str, float], off_scale: bool, forced: bool
    ) -> None:
        super().__init__(key, 0.5, settings["noise"], off_scale)
        self._difference, self._settings, self._forced = difference, settings, forced

    def number(self, schema: Mapping[str, Any], path: str, *, whole: bool) -> float:
        """Return the verdict as a whole number; any other number is how sure it is, 0.5 for a guess."""
        if whole or self._off:
            return super().number(schema, path, whole=whole)
        low, high = float(schema.get("minimum", 0)), float(schema.get("maximum", 1))
        return round(low + min(0.5 + abs(self._difference), 1.0) * (high - low), 2)

    def _drawn(self, path: str) -> float:
        """Return the verdict as a place on the scale 0, 1, 2; of a forced choice, on the scale 1, 2."""
        first = 0.0 if self._forced else 0.5
        bias = self._settings["first_bias"]
        if uniform(self._key, f"{path} by place") < abs(bias):
            return first if bias > 0 else 1.0
        # Each text has noise of its own, as it has where texts are rated one by one.
        shift = self._noise * math.sqrt(2) * NormalDist().inv_cdf(uniform(self._key, path))
        difference = self._difference + shift
        if self._forced:
            difference = difference or uniform(self._key, f"{path} by chance") - 0.5
        elif abs(difference) <= self._settings["tie"]:
            return 0.0
        return first if difference > 0 else 1.0
