"""The names under which the fields that were asked for may stand in a reply."""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from typing import TYPE_CHECKING

from metaeval.llm.replies.words import tidy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from metaeval.llm.replies.fields import Field

_SUFFIX = re.compile(r"(?:scores?|ratings?|评分|得分|分数)$")
_PUNCTUATION = re.compile(r"[\s_\-.:*\"'`]+")


class Names:
    """The names under which the fields may stand in a reply.

    Parameters
    ----------
    fields
        What was asked for, in order.
    aliases
        Other names of a field. A name that would stand for two fields stands for neither.
    """

    def __init__(self, fields: Sequence[str], aliases: Mapping[str, Iterable[str]] | None = None) -> None:
        self.fields = tuple(fields)
        owners: defaultdict[str, set[str]] = defaultdict(set)
        spellings: dict[str, str] = {}
        for field in self.fields:
            for name in (field, *(aliases or {}).get(field, ())):
                key = _key(name)
                if key:
                    owners[key].add(field)
                    spellings.setdefault(key, tidy(name).strip())
        # The name of a field itself is stronger than an alias of another one.
        for field in self.fields:
            if sum(_key(f) == _key(field) for f in self.fields) == 1:
                owners[_key(field)] = {field}
        self._field = {key: next(iter(of)) for key, of in owners.items() if len(of) == 1}
        self.spellings = frozenset(spellings[k].casefold() for k in self._field)
        named = sorted((spellings[k] for k in self._field), key=len, reverse=True)
        self.pattern = "(?P<name>" + "|".join(map(_pattern, named)) + ")" if named else "(?P<name>(?!))"
        self.search = re.compile(rf"(?<![^\W\d_]){self.pattern}", re.IGNORECASE)

    def field(self, name: str) -> str | None:
        """Return the field that a name stands for, or None; ``Clarity score`` stands for ``clarity``."""
        if name in self.fields:
            return name
        key = _key(name)
        return self._field.get(key) or self._field.get(_SUFFIX.sub("", key))


def names_of(fields: Sequence[Field]) -> Names:
    """Return the names of the fields; those that were asked for lately are kept."""
    return _names(tuple((field.name, tuple(field.aliases)) for field in fields))


@functools.lru_cache(maxsize=64)
def _names(fields: tuple[tuple[str, tuple[str, ...]], ...]) -> Names:
    return Names([name for name, _ in fields], dict(fields))


def _key(name: str) -> str:
    return _PUNCTUATION.sub("", tidy(name)).casefold()


def _pattern(name: str) -> str:
    words = [re.escape(w) for w in re.split(r"[\s_-]+", name.rstrip(" .:。")) if w]
    return r"[ _-]*".join(words)
