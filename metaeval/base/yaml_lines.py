"""YAML with its lines: plain values, and the line at which each key and item of the file stands."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from metaeval.base.errors import MetaevalError
from metaeval.base.files import to_read

Where = tuple[str | int, ...]
"""The way to a value: keys and positions, from the top of the file."""


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


_DEEPEST = 100
_MOST = 100_000  # keys and items: ten lines of aliases of aliases name more than fit into memory


def read_yaml(path: str | os.PathLike[str]) -> tuple[object, Lines]:
    """Read a YAML file: its content, and the lines at which keys and items stand.

    Raises `YamlError` if it cannot be read, is not UTF-8 or is not YAML; with the line, where there is one.
    """
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
    """Read YAML as `read_yaml` does; it stands in a file from line ``first`` on, ``numbers`` may be keys."""
    from ruamel.yaml import YAML
    from ruamel.yaml.comments import CommentedMap, CommentedSeq, TaggedScalar
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
    lines = Lines(file, at)

    def plain(value: object, where: Where) -> object:
        """Return built-in values, and note the line of every key and item."""
        if isinstance(value, TaggedScalar):
            raise YamlError(file, f"the tag {value.tag} is not known", lines.line(*where))
        if not isinstance(value, CommentedMap | CommentedSeq):
            return _scalar(value)
        if len(where) > _DEEPEST:
            raise YamlError(file, "an alias stands inside what it names", lines.line(*where))
        at.update({(*where, key): place[0] + first for key, place in (value.lc.data or {}).items()})
        if len(at) > _MOST:
            raise YamlError(
                file, f"holds more than {_MOST:,} values once its aliases are followed; write them out"
            )
        if isinstance(value, CommentedSeq):
            return [plain(item, (*where, i)) for i, item in enumerate(value)]
        for key in value:
            if not isinstance(key, str | int | float if numbers else str):
                text = _scalar(key) if isinstance(key, int | float) else str(key)
                message = f"the key {text!r} is not text; put it in quotes"
                raise YamlError(file, message, lines.line(*where))
        return {_scalar(key): plain(item, (*where, key)) for key, item in value.items()}

    return plain(tree, ()), lines


def _line(mark: object, first: int) -> int:
    return int(getattr(mark, "line", 0)) + first


def _scalar(value: object) -> object:
    """Return a built-in value for one that remembers how it was written."""
    if isinstance(value, bool) or type(value).__name__ == "ScalarBoolean":
        return bool(value)
    for plain in (int, float, str):
        if isinstance(value, plain):
            return plain(value)
    return value
