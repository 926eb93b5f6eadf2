"""Evaluator specs: values that print as text and parse back to an equal value.

A spec is written like a Python call with literal arguments: ``BLEU(n=4)``, ``Annotator('1')``,
``Mean(Annotator('1'), Annotator('2'))``.
"""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, Union

from metaeval.errors import SpecError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

Argument: TypeAlias = Union["EvaluatorSpec", str, int, float, bool, "tuple[Argument, ...]", None]

_NOT_A_SPEC = "{!r} is not an evaluator spec; write it like BLEU(n=4) or Annotator('1')"


@dataclass(frozen=True, slots=True)
class EvaluatorSpec:
    """The name of an evaluator and its arguments: literals, tuples of them, or other specs."""

    name: str
    args: tuple[Argument, ...] = ()
    kwargs: Mapping[str, Argument] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str, names: Mapping[str, EvaluatorSpec] | None = None) -> EvaluatorSpec:
        """Read a spec from text.

        Parameters
        ----------
        text
            Such as ``"BLEU(n=4)"``; a name without brackets must be one of ``names``.
        names
            Short names that stand for other specs.

        Raises
        ------
        SpecError
            If the text is not a call with literal arguments, or uses an unknown short name.
        """
        try:
            tree = ast.parse(text.strip(), mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise SpecError(
                f"{text!r} is not an evaluator spec; write it like BLEU(n=4) or Annotator('1')"
            ) from error
        value = _value(tree.body, text, names or {})
        if not isinstance(value, EvaluatorSpec):
            raise SpecError(_NOT_A_SPEC.format(text))
        return value

    def __str__(self) -> str:
        parts = [_text(a) for a in self.args] + [f"{k}={_text(v)}" for k, v in self.kwargs.items()]
        return f"{self.name}({', '.join(parts)})"

    def __hash__(self) -> int:
        return hash((self.name, self.args, frozenset(self.kwargs.items())))


def _text(value: Argument) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))}{',' if len(value) == 1 else ''})"
    return str(value) if isinstance(value, EvaluatorSpec) else repr(value)


def _value(node: ast.expr, text: str, names: Mapping[str, EvaluatorSpec]) -> Argument:
    match node:
        case ast.Constant(value=float(number)) if not math.isfinite(number):
            raise SpecError(f"{text!r}: {number} is not a finite number")
        case ast.Constant(value=str() | int() | float() | None as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return tuple(_value(e, text, names) for e in elements)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if all(k.arg for k in keywords):
            kwargs = {str(k.arg): _value(k.value, text, names) for k in keywords}
            return EvaluatorSpec(name, tuple(_value(a, text, names) for a in args), MappingProxyType(kwargs))
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.Name(id=name):
            hint = (
                nearest(name, names) or f"; write {name}() if it is an evaluator, or quote it if it is text"
            )
            raise SpecError(f"{text!r}: {name!r} is not a name defined in this study{hint}")
        case _:
            raise SpecError(f"{text!r}: arguments must be literals or evaluators, not {ast.unparse(node)!r}")
