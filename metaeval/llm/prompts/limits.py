"""How much work filling a prompt may be, and which values it may print: Jinja with a budget.

Jinja's sandbox does not limit time and memory: ``10**(10**7)``, a text of a billion blanks and nested loops
never end. Here every fill has a budget. Each pass of a loop, each new value and each printed text is charged
by its length before it is made, so that no single step is long; there is a time limit too.

A template handles texts, numbers and lists of them. A method cannot be printed: it would show an address in
memory, and the key of a request would change from run to run.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from typing import TYPE_CHECKING, Any, cast

from jinja2 import Environment, Undefined, nodes, pass_context
from jinja2.exceptions import SecurityError, UndefinedError
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment

from metaeval.llm.prompts.charges import JOINED, MADE, STEP, STEPS, Counted, Printing
from metaeval.llm.prompts.sizes import METHOD_SIZES, METHODS, NUMBER_BITS, SIZES, formatted, power_bits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from jinja2 import Template

BUDGET = 10_000_000
"""Characters that one fill may handle; the longest prompts of today are a tenth of it."""
SECONDS = 5.0
"""After which a fill ends; it takes a ten-thousandth of that."""
TOO_LONG = f"filling it handles more than {BUDGET:,} characters; loop over less, or repeat less"
_NUMBER = 20
_PIECES = 32  # of the filled text, charged together
_SMALL = frozenset({int, float, bool, type(None)})
_DICT = frozenset(dir(dict))


class LeftOut:
    """The value of an optional placeholder that was not given: false, empty, and an error if printed."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __bool__(self) -> bool:
        return False

    def __iter__(self) -> Iterator[object]:
        return iter(())

    def __str__(self) -> str:
        raise UndefinedError(
            f"{self.name!r} is optional and was left out; print it inside {{% if {self.name} %}}"
        )


left_out = functools.lru_cache(64)(LeftOut)


class TooMuchError(ValueError):
    """A template that would take too long, or make too long a text."""


class LimitedContext(Context):
    """What a template sees while it is filled, and what is left of its budget."""

    left: int
    until: float

    def charge(self, characters: int) -> None:
        """Take from the budget; raise `TooMuchError` if it, or the time, is used up."""
        self.left -= characters
        if self.left < 0:
            raise TooMuchError(TOO_LONG)
        if time.monotonic() > self.until:
            raise TooMuchError(f"filling it takes longer than {SECONDS:g} seconds; loop over less")

    def weigh(self, value: object) -> None:
        """Charge a value with all it holds; raise `ValueError` if a part is no text, number or list."""
        kind = type(value)
        if kind is str:
            self.charge(len(value))  # type: ignore[arg-type]
        elif kind in _SMALL:
            self.charge(_NUMBER)
        elif isinstance(value, dict):
            for key, item in value.items():
                self.weigh(key)
                self.weigh(item)
        elif isinstance(value, list | tuple):
            self.charge(_NUMBER)
            for item in value:
                self.weigh(item)
        elif isinstance(value, str):
            self.charge(len(value))
        elif not isinstance(value, Undefined | LeftOut):
            raise ValueError(
                f"{_named(value)} is not a text; a prompt holds texts, numbers and lists of them"
            )


class _Method:
    """A method of a value; a template may only call it."""

    def __init__(self, owner: object, name: str) -> None:
        self.owner, self.name = owner, name

    def __str__(self) -> str:
        raise ValueError(f"{_named(self)} is no text; call it: {self.name}()")

    __repr__ = __html__ = __str__

    def bound(self, context: LimitedContext, given: Iterable[object], named: Mapping[str, object]) -> object:
        """Return the method itself, if a prompt may use it, and charge its result."""
        allowed = next((names for kind, names in METHODS if isinstance(self.owner, kind)), ())
        if self.name not in allowed:
            raise SecurityError(f"{_named(self)} cannot be used in a prompt; use a filter")
        if self.name in METHOD_SIZES:
            context.charge(METHOD_SIZES[self.name](self.owner, *given, **named))
        return getattr(self.owner, self.name)


class LimitedEnvironment(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, in which every fill has a budget."""

    context_class = LimitedContext
    code_generator_class = Printing
    intercepted_binops = frozenset(ImmutableSandboxedEnvironment.default_binop_table)

    def __init__(self, removed: Iterable[str] = (), **options: Any) -> None:  # noqa: ANN401 - as in the base
        super().__init__(finalize=_finalize, optimized=False, **options)
        self.globals.clear()  # `lipsum`, `cycler`, …: nothing that a prompt needs
        plain = Environment(**options)  # noqa: S701 - a prompt is plain text, see `prompt_syntax`
        for name in removed:
            del self.filters[name]
        for name in self.filters:
            self.filters[name] = _limited(plain, name)
        self.filters |= {STEPS: _step, MADE: _made, JOINED: _join_all}

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        Counted(self).visit(tree)
        return tree

    def getattr(self, obj: Any, attribute: str) -> Any:  # noqa: ANN401 - any value of a template
        """Return a part of a value, a method wrapped."""
        if type(obj) is dict and attribute not in _DICT and attribute in obj:
            return obj[attribute]
        return _bare(obj, attribute, super().getattr(obj, attribute))

    def getitem(self, obj: Any, argument: Any) -> Any:  # noqa: ANN401 - any value of a template
        """Return a part of a value, a method wrapped."""
        return _bare(obj, argument, super().getitem(obj, argument))

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401, N805 - as in the base class
        """Call a method, a macro or a loop."""
        __context.charge(STEP)
        named = {k: v for k, v in kwargs.items() if not k.startswith("_")}  # the others are Jinja's own
        for value in (*args, *named.values()):
            if not isinstance(value, Macro):
                __context.weigh(value)
        if isinstance(__obj, _Method):
            __obj = __obj.bound(__context, args, named)
        return _settled(__context, super().call(__context, __obj, *args, **kwargs))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:  # noqa: ANN401 - any values
        """Evaluate an expression, unless its result is too long."""
        for number in (left, right):
            if isinstance(number, int) and number.bit_length() > NUMBER_BITS:
                raise TooMuchError(f"a number has more than {NUMBER_BITS:,} bits")
        if operator == "**" and power_bits(left, right) > NUMBER_BITS:
            raise TooMuchError(f"a power has more than {NUMBER_BITS:,} bits")
        if operator == "*":
            for many, times in ((left, right), (right, left)):
                if isinstance(many, str | list | tuple) and isinstance(times, int):
                    context.charge(len(many) * max(times, 0))
        if operator == "%" and isinstance(left, str):
            context.charge(formatted(left, right))
        result = super().call_binop(context, operator, left, right)
        context.weigh(result)
        return result


def fill(template: Template, values: Mapping[str, object], left: int, until: float) -> tuple[str, int]:
    """Return a template with its placeholders filled, and how many characters that handled.

    Parameters
    ----------
    left, until
        The budget, and the time at which it ends.

    Raises
    ------
    TooMuchError
        If either is used up; and whatever an expression raises.
    """
    # Shared, since there are no globals beside the values.
    context = cast("LimitedContext", template.new_context(dict(values), shared=True))
    context.left, context.until = left, until
    pieces = template.root_render_func(context)
    filled: list[str] = []
    while some := tuple(itertools.islice(pieces, _PIECES)):
        filled.append("".join(some))
        context.charge(len(filled[-1]))
    return "".join(filled), left - context.left


def _limited(plain: Environment, name: str) -> Callable[..., object]:
    """Return one of Jinja's filters that charges what it gives."""
    size, function = SIZES.get(name), plain.filters[name]
    wanted = getattr(function, "jinja_pass_arg", None)

    @pass_context
    def limited(context: LimitedContext, value: object, *given: object, **named: object) -> object:
        if size is not None:  # else the result is about as long as the value
            context.charge(size(value, *given, **named))
        passed = {"context": context, "environment": plain, "eval_context": context.eval_ctx}
        first = () if wanted is None else (passed[wanted.name],)
        settled = _settled(context, function(*first, value, *given, **named))
        if size is not None and not isinstance(settled, str):
            context.weigh(settled)
        return settled

    return limited


def _settled(context: LimitedContext, value: object) -> object:
    """Charge a result and return it, an iterator as a list; what a list holds was charged before."""
    if type(value) is str:
        context.left -= len(value)
    elif isinstance(value, list):
        context.left -= _NUMBER * len(value)
    elif isinstance(value, Iterator | KeysView | ValuesView | ItemsView):
        value = list(value)
        context.left -= _NUMBER * len(value)
    if context.left < 0:
        context.charge(0)
    return value


@pass_context
def _finalize(context: LimitedContext, value: object) -> object:
    """Charge what is printed, which must be text or a number."""
    if type(value) is str:
        context.charge(len(value))
    elif type(value) not in _SMALL:
        context.weigh(value)
    return value


@pass_context
def _step(context: LimitedContext, characters: int) -> None:
    context.left -= abs(characters)  # `map` can be given any name of a filter, and any number
    if context.left < 0 or time.monotonic() > context.until:
        context.charge(0)


@pass_context
def _made(context: LimitedContext, value: object) -> object:
    context.weigh(value)
    return value


@pass_context
def _join_all(context: LimitedContext, values: list[object]) -> str:
    context.weigh(values)
    return "".join(map(str, values))


def _bare(owner: object, name: object, value: object) -> object:
    if type(value) is str or not callable(value) or isinstance(value, Undefined | LoopContext | Macro):
        return value
    return _Method(owner, str(name))


def _named(value: object) -> str:
    """Say what a value is that is no text."""
    if isinstance(value, _Method):
        what = "text" if isinstance(value.owner, str) else type(value.owner).__name__
        return f"the method {value.name!r} of a {what}"
    if isinstance(value, Macro):
        return f"the macro {value.name!r}"
    return "the loop" if isinstance(value, LoopContext) else f"a {type(value).__name__}"
