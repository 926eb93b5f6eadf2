"""YAML with its lines: plain values, and the line at which each key and item of the file stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from metaeval.base.errors import MetaevalError
from metaeval.base.resources import to_read

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

Where = tuple[str | int, ...]
"""The way to a value: keys and positions, from the top of the file."""
_MOST = 100_000
"""Keys and items that a file may have: ten lines of aliases of aliases name more than fit into memory."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Where the values of a file stand; of a study that is not from a file, nothing."""

    file: str = ""
    at: Mapping[Where, int] = field(default_factory=dict)

    def line(self, *where: str | int) -> int | None:
        """Return the line of ``where``, or of what holds it."""
        return next((self.at[where[:n]] for n in range(len(where), 0, -1) if where[:n] in self.at), None)


class YamlError(MetaevalError):
    """A YAML file that cannot be read: ``message`` says why, ``line`` where, if one line is to blame."""

    def __init__(self, file: str, message: str, line: int | None = None) -> None:
        super().__init__(f"{file}{'' if line is None else f', line {line}'}: {message}")
        self.message = message
        self.line = line


def read_yaml(path: str | os.PathLike[str]) -> tuple[object, Lines]:
    """Read a YAML file.

    Returns
    -------
    The content as dicts, lists and scalars, and the lines at which keys and items stand.

    Raises
    ------
    YamlError
        If the file cannot be read, is not UTF-8 or is not YAML; with the line, where there is one.
    """
    from pathlib import Path

    file = str(path)
    try:
        text = Path(to_read(path)).read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise YamlError(file, "there is no such file; give the path of a YAML file") from None
    except IsADirectoryError:
        inside = sorted(p.name for p in Path(path).iterdir() if p.suffix in {".yaml", ".yml"})
        which = f", such as {Path(path) / inside[-1]}" if inside else ""
        raise YamlError(file, f"is a folder; give the path of a YAML file{which}") from None
    except UnicodeDecodeError as error:
        raise YamlError(file, f"not UTF-8 text (byte {error.start}); save the file as UTF-8") from error
    except OSError as error:
        raise YamlError(file, f"cannot be read: {error.strerror}") from error
    return parse_yaml(text, file)


def parse_yaml(text: str, file: str, *, first: int = 1, numbers: bool = False) -> tuple[object, Lines]:
    """Read YAML that stands in a file from line ``first`` on; ``numbers`` may be keys, or only text.

    Returns
    -------
    As `read_yaml`.

    Raises
    ------
    YamlError
        If it is not YAML; with the line, where there is one.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.constructor import DuplicateKeyError
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        tree = YAML(typ="rt").load(text)
    except DuplicateKeyError as error:
        mark = error.problem_mark
        what = str(error.problem).split(" with value", maxsplit=1)[0].removeprefix("found ")
        raise YamlError(file, f"{what}; a key may stand once", _line(mark, first)) from error
    except MarkedYAMLError as error:
        what = error.problem or error.context or "not YAML"
        mark = error.problem_mark or error.context_mark
        raise YamlError(file, f"this is not YAML: {what}", _line(mark, first)) from error
    except (YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise YamlError(file, f"this is not YAML: {reason}") from error
    at: dict[Where, int] = {}
    return _Copy(at, lines := Lines(file, at), first, numbers).plain(tree, (), ()), lines


def _line(mark: object, first: int) -> int:
    return int(getattr(mark, "line", 0)) + first


@dataclass(frozen=True, slots=True)
class _Copy:
    """Copies to plain values, noting the line of every key and item on the way."""

    at: dict[Where, int]
    lines: Lines
    first: int
    numbers: bool

    def plain(self, tree: object, where: Where, inside: tuple[int, ...]) -> object:
        """Return the plain value that stands at a place."""
        from ruamel.yaml.comments import CommentedMap, CommentedSeq, TaggedScalar

        if id(tree) in inside:
            raise YamlError(self.lines.file, "an alias stands inside what it names", self.lines.line(*where))
        if len(self.at) > _MOST:
            raise YamlError(
                self.lines.file,
                f"holds more than {_MOST:,} values once its aliases are followed; write them out",
            )
        inside = (*inside, id(tree))
        match tree:
            case CommentedMap():
                for key in tree:
                    if not isinstance(key, str | int | float if self.numbers else str):
                        shown = _scalar(key) if isinstance(key, int | float) else str(key)
                        raise YamlError(
                            self.lines.file,
                            f"the key {shown!r} is not text; put it in quotes",
                            self.lines.line(*where),
                        )
                    place = tree.lc.data.get(key) if tree.lc.data else None
                    if place is not None:
                        self.at[(*where, key)] = place[0] + self.first
                return {_scalar(k): self.plain(v, (*where, k), inside) for k, v in tree.items()}
            case CommentedSeq():
                for i in range(len(tree)):
                    place = tree.lc.data.get(i) if tree.lc.data else None
                    if place is not None:
                        self.at[(*where, i)] = place[0] + self.first
                return [self.plain(v, (*where, i), inside) for i, v in enumerate(tree)]
            case TaggedScalar():
                raise YamlError(self.lines.file, f"the tag {tree.tag} is not known", self.lines.line(*where))
            case _:
                return _scalar(tree)


def _scalar(value: object) -> object:
    """Return a built-in value for one that remembers how it was written."""
    if isinstance(value, bool) or type(value).__name__ == "ScalarBoolean":
        return bool(value)
    for plain in (int, float, str):
        if isinstance(value, plain):
            return plain(value)
    return value
