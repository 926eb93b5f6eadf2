"""The frame of commands that are declared beside what they compute: their options, made of their models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import click
from pydantic.fields import FieldInfo

from metaeval.cli.index import COMMANDS, SENTENCES
from metaeval.cli.options import PATH, Decorator, flag, numbers, option
from metaeval.cli.sheets import prints_sheets
from metaeval.runs.command import Command, Places, Typed


def command_of(words: str) -> click.Command:
    """Load a declared command, by the words by which it is typed."""
    declared: Command = resolve_name(f"metaeval.{COMMANDS[words]}")
    function = prints_sheets(uncalibrated=declared.calibrated, answered=declared.answered)(declared.made)
    function = options_of(declared.options)(function)
    for name, (kind, metavar) in reversed(declared.places.items()):
        more: dict[str, Any] = {"nargs": -1, "required": True} if kind is Places else {}
        function = click.argument(name, type=PATH, metavar=metavar, **more)(function)
    return click.command(words.rsplit(maxsplit=1)[-1], help=declared.__doc__)(function)


def __getattr__(name: str) -> click.Command:
    """Return a declared command by its name, as Sphinx asks for it."""
    if name not in SENTENCES:
        raise AttributeError(name)
    return command_of(name)


def options_of(model: type[Typed], *names: str) -> Decorator:
    """Return what gives a function the options of a model: all, or some."""

    def give(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names or [*model.model_fields]):
            function = _option(name, model.model_fields[name])(function)
        return function

    return give


def _option(name: str, field: FieldInfo) -> Decorator:
    """Return the option of a field."""
    typed, more = f"--{name.replace('_', '-')}", dict[str, Any]()
    for text in field.metadata:
        if isinstance(text, str):
            own, _, metavar = text.partition(" ") if text.startswith("--") else (typed, "", text)
            typed, more = own, {"metavar": metavar} if metavar else {}
    flags, about = f"{typed} {name}", (field.description or "").replace("\n", " ")
    kind = field.annotation
    if kind is bool:
        return flag(flags, about)
    if NoneType in get_args(kind):
        (kind,) = (one for one in get_args(kind) if one is not NoneType)
    if kind == tuple[int, ...]:
        more["read"], kind = numbers(int, "10,20,40"), None
    elif get_origin(kind) is tuple and get_args(kind)[-1] is ...:
        more["multiple"], kind = True, get_args(kind)[0]
    elif get_origin(kind) is tuple:
        more["nargs"], kind = len(get_args(kind)), str
    if field.default not in (None, ()):
        more["default"] = field.default
    return option(flags, about, _type(kind, field), **more)


def _type(kind: Any, field: FieldInfo) -> object:
    ends = ("ge", "gt", "le", "lt")
    limits = {end: getattr(m, end) for m in field.metadata for end in ends if hasattr(m, end)}
    low, high = limits.get("ge", limits.get("gt")), limits.get("le", limits.get("lt"))
    if get_origin(kind) is Literal:
        return [*get_args(kind)]
    if limits and kind is int:
        return click.IntRange(low, high)
    if limits:
        return click.FloatRange(low, high, "gt" in limits, "lt" in limits)
    return PATH if kind is Path else kind
