"""The policy of a study: which levels and coefficients, and what is done with missing scores and ratings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field

from metaeval.base.errors import MetaevalError, one_of, shown
from metaeval.base.records import COEFFICIENTS
from metaeval.base.validation import Options, not_allowed


def _coefficient(value: str) -> str:
    return one_of(value, COEFFICIENTS, "unknown coefficient", "allowed", error=ValueError)


Coefficient = Annotated[str, AfterValidator(_coefficient)]


def _fill(value: object) -> object:
    if value == "drop" or (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    ):
        return value
    raise ValueError(f"{shown(value)} is not a number or drop, the two ways to treat a missing value")


Fill = Annotated[
    int | float | Literal["drop"],
    BeforeValidator(_fill),
    Field(description="a finite number to fill in, or 'drop'"),
]


class Missing(Options):
    """How missing ratings and scores are treated: filled with a value, or ``drop``."""

    called = "missing"
    truth: Fill = "drop"
    score: Fill = "drop"


@dataclass(frozen=True, slots=True)
class Policy:
    """Levels and coefficients of correlations, and how missing values and undefined groups are treated."""

    levels: tuple[str, ...]
    coefficients: tuple[str, ...]
    truth: float | str
    score: float | str
    undefined: Literal["skip", "zero"]
    common: bool

    @property
    def missing(self) -> dict[str, float | str]:
        """What is done with a missing rating of the truth, and with a missing score."""
        return {"truth": self.truth, "score": self.score}

    @classmethod
    def of(
        cls,
        levels: Sequence[str],
        coefficients: Sequence[str],
        missing: Mapping[str, float | str] | None,
        undefined: Literal["skip", "zero"],
        units: Literal["common", "own"],
    ) -> Policy:
        """Check the arguments of `metaeval.correlate`.

        Raises `MetaevalError` for an unknown coefficient, policy or fill, and for levels that are no list.
        Which levels there are depends on the keys of the data.
        """
        allowed("levels", levels)
        allowed("coefficients", coefficients, COEFFICIENTS)
        allowed("undefined_groups", [undefined], ("skip", "zero"))
        allowed("units", [units], ("common", "own"))
        if missing is not None and not isinstance(missing, Mapping):
            raise MetaevalError(
                f"missing must be a mapping, such as {{'truth': 3, 'score': 0}}, not {shown(missing)}"
            )
        fills = Missing.model_validate(dict(missing or {}))
        names = tuple(levels), tuple(coefficients)
        return cls(*names, fills.truth, fills.score, undefined, units == "common")


def allowed(name: str, given: Sequence[str], known: Sequence[str] | None = None) -> None:
    """See that a list of words holds known ones, if it is said which are known, each once.

    Raises `MetaevalError` if it does not.
    """
    if isinstance(given, str) or not given:
        of = f" of {', '.join(known)}" if known else ""
        raise MetaevalError(f"{name} must be a list of one or more{of}, not {shown(given)}")
    for value in given:
        if known is not None and value not in known:
            raise MetaevalError(not_allowed(name, value, known))
    if len(set(given)) != len(given):
        raise MetaevalError(f"{name}: {', '.join(given)} names one twice")


def whole_number(name: str, given: object, *, least: int = 0) -> None:
    """See that an option is a whole number; `MetaevalError` if it is not, or below ``least``."""
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < least:
        raise MetaevalError(f"{name} is {shown(given)}; give a whole number, {least} or more")
