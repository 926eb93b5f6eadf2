"""Checks of evaluators' arguments: each wrong value is answered with what was given and what is allowed."""

from __future__ import annotations

from collections.abc import Sequence

from metaeval.base.errors import SpecError, nearest, shown


def check_choice(evaluator: str, argument: str, value: object, allowed: Sequence[str]) -> None:
    """Raise `SpecError` unless ``value`` is one of the texts ``allowed``."""
    if not isinstance(value, str) or value not in allowed:
        raise SpecError(
            f"{evaluator}: {argument} must be one of {', '.join(map(repr, allowed))}, not {shown(value)}"
            + (nearest(str(value), allowed))
        )


def check_integer(
    evaluator: str, argument: str, value: object, low: int | None = None, high: int | None = None
) -> None:
    """Raise `SpecError` unless ``value`` is an integer between ``low`` and ``high``, both included."""
    wrong = isinstance(value, bool) or not isinstance(value, int)
    if wrong or not (low is None or low <= value) or not (high is None or value <= high):  # type: ignore[operator]
        allowed = "an integer"
        if low is not None:
            allowed += f" of at least {low}" if high is None else f" from {low} to {high}"
        raise SpecError(f"{evaluator}: {argument} must be {allowed}, not {shown(value)}")


def check_flag(evaluator: str, argument: str, value: object) -> None:
    """Raise `SpecError` unless ``value`` is True or False."""
    if not isinstance(value, bool):
        raise SpecError(f"{evaluator}: {argument} must be True or False, not {shown(value)}")


def check_text(evaluator: str, argument: str, value: object) -> None:
    """Raise `SpecError` unless ``value`` is a text with something in it."""
    if not isinstance(value, str):
        hint = f"; write {evaluator}({str(value)!r})" if isinstance(value, int | float) else ""
        raise SpecError(f"{evaluator}: {argument} must be a text in quotes, not {shown(value)}{hint}")
    if not value.strip():
        raise SpecError(f"{evaluator}: {argument} must not be empty")
