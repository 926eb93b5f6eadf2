"""Evaluator specs: values that print as text and parse back to an equal value.

A spec is written like a Python call with literal arguments: ``BLEU(n=4)``, ``Annotator('1')``,
``Mean(Annotator('1'), Annotator('2'))``.
"""

from __future__ import annotations

import ast
import keyword
import math
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias, Union

from metaeval.base.errors import SpecError, nearest, shown
from metaeval.base.simulation import MARK

Argument: TypeAlias = Union["EvaluatorSpec", str, int, float, bool, "tuple[Argument, ...]", None]

_NOT_A_SPEC = "{!r} is not an evaluator spec; write it like BLEU(n=4) or Annotator('1')"


@dataclass(frozen=True, slots=True)
class EvaluatorSpec:
    """The name of an evaluator and its arguments: literals, tuples of them, or other specs."""

    name: str
    args: tuple[Argument, ...] = ()
    kwargs: Mapping[str, Argument] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for word in (self.name, *self.kwargs):
            if not (isinstance(word, str) and word.isidentifier() and not keyword.iskeyword(word)):
                raise SpecError(
                    f"{word!r} cannot name an evaluator or an argument; use letters, digits and _"
                )
        object.__setattr__(self, "args", tuple(_checked(a, self.name) for a in self.args))
        frozen = {k: _checked(v, self.name) for k, v in self.kwargs.items()}
        object.__setattr__(self, "kwargs", MappingProxyType(frozen))

    def __reduce__(self) -> tuple[type[EvaluatorSpec], tuple[object, ...]]:
        """Pickle by value: the read-only view of ``kwargs`` cannot be pickled itself."""
        return EvaluatorSpec, (self.name, self.args, dict(self.kwargs))

    @classmethod
    def parse(cls, text: str, names: Mapping[str, EvaluatorSpec] | None = None) -> EvaluatorSpec:
        """Read a spec from text, such as ``"BLEU(n=4)"``; ``names`` are short names of other specs.

        Raises `SpecError` if it is not a call with literal arguments, or uses an unknown short name.
        """
        try:
            with warnings.catch_warnings():
                # Such as an unknown escape in a text: it would be read otherwise than it was meant.
                warnings.simplefilter("error")
                tree = ast.parse(text.strip(), mode="eval")
        except (SyntaxError, ValueError, Warning) as error:
            raise SpecError(_NOT_A_SPEC.format(text)) from error
        value = _value(tree.body, text, {} if names is None else names)
        if not isinstance(value, EvaluatorSpec):
            raise SpecError(_NOT_A_SPEC.format(text))
        return value

    @property
    def parts(self) -> list[EvaluatorSpec]:
        """The specs among the arguments: what an ensemble is made of."""

        def among(values: Iterable[Argument]) -> Iterator[EvaluatorSpec]:
            for value in values:
                if isinstance(value, EvaluatorSpec):
                    yield value
                elif isinstance(value, tuple):
                    yield from among(value)

        return [*among([*self.args, *self.kwargs.values()])]

    @property
    def short(self) -> str:
        """A readable name, such as ``ROUGE-L``, ``Annotator 1``, ``Annotators (mean of 2)`` or ``users``."""
        if self.name == "User":
            return USERS
        if self.parts:
            names = {part.name for part in self.parts}
            what = f"{names.pop()}s" if len(names) == 1 else "Evaluators"
            return f"{what} ({self.name.lower()} of {len(self.parts)})"
        first, *more = [*map(str, self.args), *(str(v) for k, v in self.kwargs.items() if k != "seed"), ""]
        joint = "-" if self.name.isupper() else " "
        head = first if self.name in _THEIR_OWN else f"{self.name}{joint * bool(first)}{first}"
        return ", ".join(filter(None, [head, *more]))

    def __str__(self) -> str:
        parts = [_text(a) for a in self.args] + [f"{k}={_text(v)}" for k, v in self.kwargs.items()]
        return f"{self.name}({', '.join(parts)})"

    def __hash__(self) -> int:
        return hash((self.name, self.args, frozenset(self.kwargs.items())))


USERS = "users"
"""What `User()` is called."""
_THEIR_OWN = ("Recorded", "Labels")
"""Evaluators whose first argument is a name."""


def short_names(specs: Mapping[str, str]) -> dict[str, str]:
    """Return name of each evaluator → the name that is printed: a short one where the spec is the name.

    The spec stays where two would be called the same.
    """
    short = {name: EvaluatorSpec.parse(spec).short if name == spec else name for name, spec in specs.items()}
    times = Counter(short.values())
    return {name: shown if times[shown] == 1 else name for name, shown in short.items()}


def printed_name(text: str, names: Mapping[str, str]) -> str:
    """Return what is printed of a cell that names an evaluator, or two as ``A / B``; other cells stay."""
    parts = text.removesuffix(MARK).split(" / ")
    if not names or not all(part in names for part in parts):
        return text
    return " / ".join(names[part] for part in parts) + (MARK if text.endswith(MARK) else "")


def parts_of(spec: EvaluatorSpec) -> frozenset[str]:
    """Return the specs that an evaluator is made of: those of an ensemble's parts, or its own."""
    return frozenset().union(*map(parts_of, spec.parts)) if spec.parts else frozenset([str(spec)])


def _checked(value: object, name: str) -> Argument:
    if isinstance(value, list | tuple):
        return tuple(_checked(v, name) for v in value)
    if isinstance(value, float) and not math.isfinite(value):
        raise SpecError(f"{name}: {value} is not a finite number")
    # The very types: a subclass (numpy's float64 is one of float) may print otherwise.
    for literal in (bool, int, float, str):
        if isinstance(value, literal):
            return literal(value)
    if value is None or isinstance(value, EvaluatorSpec):
        return value
    raise SpecError(
        f"{name}: an argument must be a text, a number, True, False, None, a tuple of them or an evaluator, "
        f"not {shown(value)}"
    )


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
            if len(kwargs) < len(keywords):
                raise SpecError(f"{text!r}: {name} is given an argument twice; give each once")
            return EvaluatorSpec(name, tuple(_value(a, text, names) for a in args), kwargs)
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.Name(id=name):
            hint = (
                nearest(name, names) or f"; write {name}() if it is an evaluator, or quote it if it is text"
            )
            raise SpecError(f"{text!r}: {name!r} is not a name defined in this study{hint}")
        case _:
            raise SpecError(f"{text!r}: arguments must be literals or evaluators, not {ast.unparse(node)!r}")
