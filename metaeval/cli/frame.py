"""The frame of commands that are declared beside what they compute: their options, made of the parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter
from pathlib import Path
from pkgutil import resolve_name
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import click

from metaeval.cli.index import COMMANDS
from metaeval.cli.options import PATH, Decorator, flag, numbers, option
from metaeval.cli.sheets import prints_sheets
from metaeval.runs.command import Command, Option
from metaeval.runs.finished import OpenRun


def command_of(words: str) -> click.Command:
    """Load a declared command, by the words by which it is typed."""
    declared: Command = resolve_name(f"metaeval.{COMMANDS[words]}")
    printed = prints_sheets(uncalibrated=declared.calibrated)(declared.made)
    return click.command(words.rsplit(maxsplit=1)[-1], help=declared.__doc__)(options_of(declared)(printed))


def options_of(declared: Command, *names: str) -> Decorator:
    """Return what gives a function the arguments and options of a declared command: all, or some."""

    def give(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names or [*declared.parameters]):
            function = _option(name, *declared.parameters[name])(function)
        return function

    return give


def _option(name: str, kind: Any, default: object, how: Option) -> Decorator:
    """Return the argument or option of a parameter."""
    more: dict[str, Any] = {"metavar": how.metavar} if how.metavar else {}
    if default is Parameter.empty:
        if kind is OpenRun:
            more.setdefault("metavar", "RUN")
        return click.argument(name, type=PATH, **more)
    flags = f"{how.flag or '--' + name.replace('_', '-')} {name}"
    if kind is bool:
        return flag(flags, how.about)
    if NoneType in get_args(kind):
        (kind,) = (one for one in get_args(kind) if one is not NoneType)
    if get_origin(kind) is tuple:
        more["nargs"], kind = len(get_args(kind)), str
    elif kind == Sequence[int]:
        more["read"], kind = numbers(int, "10,20,40"), None
    elif get_origin(kind) is Sequence:
        more["multiple"], (kind,) = True, get_args(kind)
    if default not in (None, ()):
        more["default"] = default
    return option(flags, how.about, _type(kind, how), **more)


def _type(kind: Any, how: Option) -> object:
    if get_origin(kind) is Literal:
        return [*get_args(kind)]
    if (how.least, how.most) != (None, None):
        return (click.IntRange if kind is int else click.FloatRange)(how.least, how.most)
    return PATH if kind is Path else kind
