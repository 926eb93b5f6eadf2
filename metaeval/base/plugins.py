"""What there is of a sort, by name: of this package, registered by a program, or of an installed package.

Nothing is imported before it is used.
"""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Mapping
from importlib import metadata
from pkgutil import resolve_name
from typing import NamedTuple, TypeVar, cast

from metaeval.base.errors import FOREIGN, MetaevalError, one_of

T = TypeVar("T")

_log = logging.getLogger("metaeval")


class Plugin(NamedTuple):
    """One thing that an installed package offers under a name."""

    name: str
    group: str
    package: str
    """The package; several, if they offer the same name."""
    point: metadata.EntryPoint

    def load(self, wanted: type[T], what: str) -> T:
        """Return the object, or raise `MetaevalError` if it cannot be used; ``what`` says what it must be."""
        whose = f"{self.name!r} is offered by the installed package {self.package}"
        if " and " in self.package:
            raise MetaevalError(f"{whose}, which cannot both have that name; uninstall one of them")
        try:
            found = self.point.load()
        except FOREIGN as error:
            raise MetaevalError(
                f"{whose}, but {self.point.value} cannot be loaded: {type(error).__name__}: {error}"
            ) from error
        if not isinstance(found, wanted):
            raise MetaevalError(f"{whose}, but {self.point.value} is not {what}; it is {found!r}")
        return found


def plugins(group: str) -> dict[str, Plugin]:
    """Return what installed packages offer in a group of entry points, by name."""
    return _plugins(group, tuple(sys.path))


@functools.cache
def _plugins(group: str, path: tuple[str, ...]) -> dict[str, Plugin]:
    del path  # where packages are looked for
    found: dict[str, Plugin] = {}
    for point in metadata.entry_points(group=group):
        package = point.dist.name if point.dist else "of an unknown name"
        other = found.get(point.name)
        both = f"{other.package} and {package}" if other and other.point.value != point.value else package
        found[point.name] = Plugin(point.name, group, both, point)
    return dict(sorted(found.items()))


def clash(plugin: Plugin) -> str:
    """Return the sentence on a name that this package has itself, and keeps."""
    return (
        f"{plugin.name!r} is that of metaeval; the installed package {plugin.package} offers the same name "
        f"({plugin.group}), which is left out"
    )


def warn_of_clash(group: str, name: str) -> None:
    """Log, once per name, that an installed package offers a name of this package."""
    if (plugin := plugins(group).get(name)) is not None:
        _warn(clash(plugin))


@functools.cache
def _warn(sentence: str) -> None:
    _log.warning("metaeval: %s", sentence)


class Registry(dict[str, T]):
    """Things of one sort by name; a text says where one is, ``module:object``.

    ``group`` are the entry points by which installed packages offer further ones, ``sort`` is their class,
    which messages call ``what``, and one of them ``noun``.
    """

    def __init__(
        self, group: str, sort: type[T], what: str, noun: str, known: Mapping[str, T | str] | None = None
    ) -> None:
        super().__init__(cast("dict[str, T]", known or {}))
        self.group, self.sort, self.noun, self._what = group, sort, noun, what

    def register(self, name: str, thing: T) -> None:
        """Make a thing known by a name; raise `MetaevalError` if the name is taken."""
        if self.get(name, thing) is not thing:
            raise MetaevalError(f"{name!r} is registered already; choose another name for the {self.noun}")
        self[name] = thing

    @property
    def names(self) -> list[str]:
        """Those of this package, of a program, and of installed packages."""
        return list(dict.fromkeys([*self, *plugins(self.group)]))

    def named(self, name: str) -> T:
        """Return a thing, or raise `MetaevalError` if there is none of that name that can be used."""
        if name in self:
            warn_of_clash(self.group, name)
            return self.loaded(self[name])
        one_of(name, self.names, f"there is no {self.noun}", f"{self.noun}s")
        return plugins(self.group)[name].load(self.sort, self._what)

    def loaded(self, thing: T | str) -> T:
        """Return a thing, or what a text says the place of; raise `MetaevalError` if it is none there."""
        if not isinstance(thing, str):
            return thing
        try:
            found = resolve_name(thing)
        except FOREIGN as error:
            why = f"{type(error).__name__}: {error}"
            raise MetaevalError(f"{self.noun}: {thing!r} cannot be imported: {why}") from error
        if not isinstance(found, self.sort):
            raise MetaevalError(f"{self.noun}: {thing!r} is not {self._what} but {found!r}")
        return found
