"""The kinds of study: those of this package, of installed ones, and those that the environment names."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from metaeval.base.errors import MetaevalError, nearest, shown
from metaeval.base.plugins import Registry
from metaeval.kinds.kind import StudyKind

VARIABLE = "METAEVAL_KINDS"
"""The environment variable that names further kinds: ``module:object``, several with commas."""

KINDS = Registry(
    "metaeval.kinds",
    StudyKind,  # type: ignore[type-abstract]
    "a StudyKind",
    "kind",
    {
        "explanations": "metaeval.kinds.explanations.kind:EXPLANATIONS",
        "people": "metaeval.kinds.explanations.people.kind:PEOPLE",
        "relevance": "metaeval.kinds.relevance.kind:RELEVANCE",
        "slates": "metaeval.kinds.slates.kind:SLATES",
        "exposure": "metaeval.kinds.exposure.kind:EXPOSURE",
    },
)
"""The kinds of study; the first is that of a study file that does not say which."""


def every_kind() -> Iterator[StudyKind]:
    """Yield all kinds: of this package, of installed ones, and those that the environment names."""
    _register_own()
    yield from map(KINDS.named, KINDS.names)


def _register_own() -> None:
    for where in filter(None, map(str.strip, os.environ.get(VARIABLE, "").split(","))):
        before = sys.path[:]
        sys.path.append("")  # last, and gone before a library looks for optional modules
        try:
            kind = KINDS.loaded(where)
        finally:
            sys.path[:] = before
        KINDS.register(kind.name, kind)


def kind_named(name: object = None) -> StudyKind:
    """Return a kind of study; the first one, if no name is given. `MetaevalError` is raised if there is none.

    The name is of a kind of `KINDS`, of an installed package, or one that the environment variable
    ``METAEVAL_KINDS`` names: ``module:object``, several with commas, imported from the working directory too.
    No file says what to import: a study or a run folder of someone else runs no code.
    """
    name = next(iter(KINDS)) if name is None else name
    if isinstance(name, str) and ":" in name:
        raise MetaevalError(
            f"kind: {name!r} is not imported from a file; name it in the environment, {VARIABLE}={name}, "
            "and write the name of the kind instead"
        )
    if not isinstance(name, str):
        name = shown(name)
    if name not in KINDS:
        _register_own()
    if name not in (known := KINDS.names):
        raise MetaevalError(
            f"kind: {shown(name)} is not allowed{nearest(name, known)} "
            f"(allowed: {', '.join(known)}); a kind of your own is named in {VARIABLE}"
        )
    return KINDS.named(name)
