"""What installed packages add by entry points; nothing of theirs is imported before it is used."""

from __future__ import annotations

import functools
import logging
import sys
from importlib import metadata
from typing import NamedTuple, TypeVar

from metaeval.base.errors import MetaevalError

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
        """Return the object; ``what`` says what it must be.

        Raises
        ------
        MetaevalError
            If it cannot be imported, is something else, or several packages offer it.
        """
        whose = f"{self.name!r} is offered by the installed package {self.package}"
        if " and " in self.package:
            raise MetaevalError(f"{whose}, which cannot both have that name; uninstall one of them")
        try:
            found = self.point.load()
        except Exception as error:  # whatever a package of someone else does when it is imported
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
