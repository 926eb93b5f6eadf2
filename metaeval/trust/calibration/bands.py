"""Verdicts on a judge, by the lower end of the interval of its agreement with people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from metaeval.base.errors import MetaevalError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metaeval.analysis.agreement.labels import Agreement
    from metaeval.stats.resampling.bootstrap import Estimate

USABLE = "usable as a gate"
TIGHTEN = "tighten the rubric"
NOT_MEASURING = "not measuring it"
UNKNOWN = "cannot be said"
_WORDS = (NOT_MEASURING, TIGHTEN, USABLE)


class Bands(NamedTuple):
    """The agreements from which on a rubric is worth tightening, and a judge usable as a gate."""

    tighten: float = 0.4
    usable: float = 0.6

    @classmethod
    def read(cls, text: str | None) -> Bands:
        """Read two numbers, such as ``0.4,0.6``.

        Raises
        ------
        MetaevalError
            If they are not two rising numbers in -1 … 1.
        """
        if text is None:
            return cls()
        try:
            found = cls(*(float(word) for word in text.split(",")))
            rises = text.count(",") == 1 and -1 <= found.tighten < found.usable <= 1
        except (TypeError, ValueError):
            rises = False
        if not rises:
            raise MetaevalError(f"--bands is {text!r}; give two rising numbers in -1 … 1, such as 0.4,0.6")
        return found

    def verdict(self, estimate: float, low: float) -> str:
        """Return the verdict; it says so if the estimate lies in a higher band than the lower end."""
        if math.isnan(low) or math.isnan(estimate):
            return UNKNOWN
        shown, seems = self._band(low), self._band(estimate)
        return f"{_WORDS[shown]}, or too few labels to tell" if seems > shown else _WORDS[shown]

    def judged(
        self, found: Agreement, wanted: str | None, cuts: Sequence[float]
    ) -> tuple[str, Estimate[float], str]:
        """Return the measure of the verdict on an agreement, its value, and the verdict."""
        by = found.measure(wanted, cuts)
        value = found.value(by)
        return by, value, self.verdict(value.value, value.low)

    def sentence(self) -> str:
        """Return a sentence on what the verdicts mean."""
        return (
            "The verdict uses the lower end of the interval, not the estimate: "
            f"{self.usable:g} or more is {USABLE}; {self.tighten:g} to {self.usable:g}: {TIGHTEN}; "
            f"below {self.tighten:g}: {NOT_MEASURING}."
        )

    def _band(self, value: float) -> int:
        return int(value >= self.tighten) + int(value >= self.usable)
