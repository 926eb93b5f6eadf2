"""A prompt file: its header and its body, and everything that is wrong with them, with the line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from metaeval.base.errors import Problem, nearest
from metaeval.base.resources import bundled
from metaeval.llm.prompts.rubric import read_rubric

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from metaeval.llm.prompts.rubric import Rubric

REPLY_FORMS: tuple[str, ...] = ("json", "text")
ROLES: tuple[str, ...] = ("system", "user")

_TITLE_KEYS = ("name", "version", "description")
_OWN_KEYS = ("reply", "placeholders")
_RUBRIC_KEYS = ("base", "scale", "dimensions")
_KEYS = (*_TITLE_KEYS, *_OWN_KEYS, *_RUBRIC_KEYS)
_FILE = re.compile(r"\A---[ \t]*\n(?P<header>.*?\n)---[ \t]*(?:\n(?P<body>.*))?\Z", re.DOTALL)
_PART = re.compile(r"^<!--[ \t]*(?P<role>\w+)[ \t]*-->[ \t]*\n?", re.MULTILINE)
_LONGEST = 200_000  # bytes; an A4 page has 3,000
_MOST_VALUES = 10_000  # of a header, once its aliases are followed
_NAME = re.compile(r"[a-z0-9]+(?:[-_.][a-z0-9]+)*")


@dataclass(slots=True)
class PromptFile:
    """What a prompt file holds, as far as it could be read; ``problems`` says what is wrong."""

    file: str
    content: str = ""
    name: str = ""
    version: str = ""
    description: str = ""
    reply: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    parts: tuple[tuple[str, str], ...] = ()
    rubric: Rubric | None = None
    base: PromptFile | None = None
    """The bundled prompt whose text this one uses."""
    problems: list[Problem] = field(default_factory=list)

    def wrong(self, message: str, line: int | None = None) -> None:
        """Note a problem."""
        at = f"line {line}: " if line else ""
        self.problems.append(Problem(self.file, None, None, at + message))


def read_prompt_file(path: Path) -> PromptFile:
    """Read a prompt file; what is wrong with it is in the ``problems`` of the result."""
    found = PromptFile(path.name)
    try:
        size = path.stat().st_size
        if size > _LONGEST:
            found.wrong(f"has {size:,} bytes; a prompt can have {_LONGEST:,} at most")
            return found
        # Line ends and a byte-order mark say nothing: the same prompt has the same hash on every system.
        content = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        found.wrong("is not UTF-8; save the file as UTF-8")
        return found
    except OSError as error:
        found.wrong(f"cannot be read: {error.strerror}")
        return found
    found.content = content
    match = _FILE.match(content)
    if match is None:
        found.wrong(
            "has no header; begin the file with a line `---`, the keys "
            f"{', '.join(_TITLE_KEYS + _OWN_KEYS)} and a second line `---`"
        )
        return found
    _read_header(match["header"], found)
    body = match["body"] or ""
    if found.base is not None:
        _take_base(found.base, body, found)
        return found
    first = content[: match.start("body")].count("\n") + 1 if match["body"] else 1
    _read_parts(body, first, found)
    return found


def _read_header(header: str, found: PromptFile) -> None:
    tree = _header_values(header, found)
    if found.problems:
        return
    if not isinstance(tree, dict):
        found.wrong("the header must hold keys and values, such as `name: my-prompt`", 1)
        return
    for key in tree:
        if key not in _KEYS:
            found.wrong(f"unknown key {str(key)!r}{nearest(str(key), _KEYS)}; allowed: {', '.join(_KEYS)}")
    for key in _TITLE_KEYS if "base" in tree else _TITLE_KEYS + _OWN_KEYS:
        if key not in tree:
            found.wrong(f"the key {key!r} is missing from the header")
    found.name = _text(tree, "name", found)
    found.version = _text(tree, "version", found)
    found.description = _text(tree, "description", found)
    if found.name and not _NAME.fullmatch(found.name):
        found.wrong(f"name is {found.name!r}; use small letters, digits and hyphens, such as 'my-prompt'")
    found.rubric = read_rubric(tree, found.wrong)
    if "base" in tree:
        _read_base(tree, found)
        return
    found.reply = _names(tree.get("reply", []), "reply", found)
    for form in found.reply:
        if form not in REPLY_FORMS:
            found.wrong(
                f"reply is {form!r}{nearest(form, REPLY_FORMS)}; allowed: {', '.join(REPLY_FORMS)}, "
                "or a list of both"
            )
    if "reply" in tree and not found.reply:
        found.wrong(f"reply is empty; allowed: {', '.join(REPLY_FORMS)}, or a list of both")
    _read_placeholders(tree.get("placeholders", {}), found)


def _header_values(header: str, found: PromptFile) -> object:
    """Return what a header holds, with its aliases followed; a problem is noted if that cannot be."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        if _values_in(YAML(typ="safe").compose(header), {}) <= _MOST_VALUES:
            return YAML(typ="safe").load(header)
        found.wrong(
            f"the header holds more than {_MOST_VALUES:,} values once its aliases are followed; "
            "write them out"
        )
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else None
        found.wrong(f"the header is not valid YAML: {error.problem or error.context}", line)
    except RecursionError:
        found.wrong("the header is not valid YAML: its values are nested too deeply")
    except (YAMLError, ValueError) as error:
        found.wrong(f"the header is not valid YAML: {str(error).splitlines()[0]}")
    return None


def _values_in(node: Any, counted: dict[int, int]) -> int:  # noqa: ANN401 - a node of YAML's graph, or None
    """Return how many values a node stands for, once its aliases are followed; each node is counted once.

    Raises
    ------
    ValueError
        If it holds itself.
    """
    if id(node) not in counted:
        counted[id(node)] = -1
        parts = node.value if isinstance(getattr(node, "value", None), list) else []
        inside = [part for pair in parts for part in (pair if isinstance(pair, tuple) else (pair,))]
        counted[id(node)] = 1 + sum(_values_in(part, counted) for part in inside)
    elif counted[id(node)] < 0:
        raise ValueError("an alias stands inside what it names")
    return counted[id(node)]


def _read_base(tree: Mapping[object, object], found: PromptFile) -> None:
    """Find the bundled prompt whose text is used with the dimensions of this file."""
    for key in _OWN_KEYS:
        if key in tree:
            found.wrong(f"has both base and {key}; with a base, {key} is that of the base")
    if "dimensions" not in tree:
        found.wrong(
            "has a base and no dimensions of its own; name the base itself where a prompt is asked for"
        )
    name = _text(tree, "base", found)
    shipped = {p.stem: p for p in bundled("prompts").glob("*.md")}
    base = read_prompt_file(shipped[name]) if name in shipped else None
    if base is not None and base.rubric is not None:
        found.base = base
    elif name:
        rubrics = sorted(n for n, p in shipped.items() if read_prompt_file(p).rubric is not None)
        why = "is not a bundled prompt" if base is None else "has no dimensions"
        found.wrong(f"base is {name!r}, which {why}{nearest(name, rubrics)}; allowed: {', '.join(rubrics)}")


def _take_base(base: PromptFile, body: str, found: PromptFile) -> None:
    if body.strip():
        found.wrong("has both a base and a text of its own; leave one out")
    found.reply, found.required, found.optional = base.reply, base.required, base.optional
    found.parts = base.parts
    found.content += base.content  # a change of either is another prompt


def _read_placeholders(tree: object, found: PromptFile) -> None:
    kinds = ("required", "optional")
    if not isinstance(tree, dict):
        found.wrong("placeholders must hold two lists: `required: [...]` and `optional: [...]`")
        return
    for key in tree:
        if key not in kinds:
            found.wrong(f"unknown key {str(key)!r} under placeholders{nearest(str(key), kinds)}")
    found.required = _names(tree.get("required", []), "placeholders.required", found)
    found.optional = _names(tree.get("optional", []), "placeholders.optional", found)
    for name in found.required + found.optional:
        if not name.isidentifier():
            found.wrong(f"the placeholder {name!r} must be of letters, digits and _")
    for name in sorted(set(found.required) & set(found.optional)):
        found.wrong(f"the placeholder {name!r} is both required and optional; it can be one")


def _text(tree: Mapping[object, object], key: str, found: PromptFile) -> str:
    value = tree.get(key, "")
    if not isinstance(value, str):
        found.wrong(f"{key} is {value!r}, which YAML takes for no text; put it in quotes")
        return ""
    if key in tree and not value.strip():
        found.wrong(f"{key} is empty")
    return value.strip()


def _names(value: object, key: str, found: PromptFile) -> tuple[str, ...]:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(i, str) for i in items):
        found.wrong(f"{key} must be a list of words, not {value!r}")
        return ()
    words = tuple(cast("list[str]", items))
    for word in sorted({w for w in words if words.count(w) > 1}):
        found.wrong(f"{key} names {word!r} twice")
    return tuple(dict.fromkeys(words))


def _read_parts(body: str, first_line: int, found: PromptFile) -> None:
    """Split the body at lines such as ``<!-- system -->``; a body without one is what the user says."""
    from jinja2 import TemplateSyntaxError

    from metaeval.llm.prompts.syntax import variables

    marks = list(_PART.finditer(body))
    starts = [(m["role"], m.start(), m.end()) for m in marks]
    if not marks or body[: marks[0].start()].strip():
        starts.insert(0, ("user", 0, 0))
    ends = [begin for _, begin, _ in starts[1:]] + [len(body)]
    used: set[str] = set()
    parts: list[tuple[str, str]] = []
    for (role, _, begin), end in zip(starts, ends, strict=True):
        line = first_line + body[:begin].count("\n")
        text = body[begin:end].strip("\n")
        blank = len(body[begin:end]) - len(body[begin:end].lstrip("\n"))
        if role not in ROLES:
            found.wrong(f"unknown part {role!r}{nearest(role, ROLES)}; allowed: {', '.join(ROLES)}", line - 1)
        if role in [r for r, _ in parts]:
            found.wrong(f"the part {role!r} stands twice; it can stand once", line - 1)
        parts.append((role, text))
        try:
            used |= variables(text)
        except TemplateSyntaxError as error:
            found.wrong(f"this is not a valid template: {error.message}", line + blank + error.lineno - 1)
    found.parts = tuple(parts)
    if not any(role == "user" and text.strip() for role, text in parts):
        found.wrong("has no text for the model; write it below the header")
    if not found.problems:
        _compare(used, found)


def _compare(used: set[str], found: PromptFile) -> None:
    declared = (*found.required, *found.optional)
    for name in sorted(used - set(declared)):
        found.wrong(f"uses the placeholder {name!r}, which the header does not name{nearest(name, declared)}")
    for name in declared:
        if name not in used:
            found.wrong(f"the header names the placeholder {name!r}, which is not used{nearest(name, used)}")
