"""A prompt file: its header and its body, and everything that is wrong with them, with the line."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, ValidationInfo, model_validator

from metaeval.base.errors import Problem, exact, nearest, shown, unknown
from metaeval.base.files import bundled
from metaeval.base.validation import Filled, ScaleEnds, Strict, sentences
from metaeval.base.yaml_lines import YamlError, parse_yaml
from metaeval.llm.replies.patterns import ReplyPattern

_FEWEST = 2  # anchors that make a direction


@dataclass(frozen=True, slots=True)
class Anchor:
    """A level, and what a text at that level is like."""

    level: float
    text: str


@dataclass(frozen=True, slots=True)
class Dimension:
    """One thing that is judged."""

    name: str
    question: str
    """What it asks; may be empty."""
    anchors: tuple[Anchor, ...]
    """From the highest level to the lowest."""


@dataclass(frozen=True, slots=True)
class Rubric:
    """Named dimensions with anchored levels."""

    scale_min: float
    scale_max: float
    dimensions: tuple[Dimension, ...]

    def dimension(self, name: str) -> Dimension | None:
        """Return the dimension of that name, if any."""
        return next((d for d in self.dimensions if d.name == name), None)

    @property
    def hash(self) -> str:
        """SHA-256 of the scale and the dimensions, as 64 hex digits; how they are written does not matter."""
        content = [
            [self.scale_min, self.scale_max],
            [[d.name, d.question, [[a.level, a.text] for a in d.anchors]] for d in self.dimensions],
        ]
        return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()


class _DimensionModel(Strict):
    question: str = ""
    anchors: dict[Annotated[float, Field(allow_inf_nan=False)], str | None] | None = None

    def named(self, name: str) -> Dimension:
        anchors = [Anchor(at, " ".join((text or "").split())) for at, text in (self.anchors or {}).items()]
        anchors.sort(key=lambda anchor: -anchor.level)
        return Dimension(name.strip(), " ".join(self.question.split()), tuple(anchors))


class RubricModel(Strict):
    """The keys of a header that make a rubric."""

    scale: ScaleEnds | None = None
    dimensions: (
        Annotated[
            dict[
                Filled,
                Annotated[_DimensionModel, BeforeValidator(lambda value: {} if value is None else value)],
            ],
            Field(min_length=1),
        ]
        | None
    ) = None

    @model_validator(mode="after")
    def _on_the_scale(self) -> Self:
        if self.dimensions is None and self.scale is not None:
            raise ValueError("has a scale and no dimensions; name the dimensions that are judged on it")
        if self.dimensions is not None and self.scale is None:
            raise ValueError("dimensions need a scale, such as `scale: {min: 1, max: 5}`")
        for name, dimension in (self.dimensions or {}).items():
            for level in dimension.anchors or {}:
                if self.scale is not None and not self.scale.min <= level <= self.scale.max:
                    raise ValueError(
                        f"dimension {name!r} has an anchor at {exact(level)}, off the scale from "
                        f"{self.scale.min:g} to {self.scale.max:g}"
                    )
        return self

    @property
    def rubric(self) -> Rubric | None:
        """The rubric, if there is one."""
        if self.scale is None or self.dimensions is None:
            return None
        return Rubric(
            self.scale.min, self.scale.max, tuple(d.named(name) for name, d in self.dimensions.items())
        )


def vague(rubric: Rubric) -> list[str]:
    """Return where two people may apply the rubric differently; an empty list if nowhere.

    The rules: each dimension has two anchors or more, and their texts differ.
    """
    problems = []
    for dimension in rubric.dimensions:
        name, anchors = dimension.name, dimension.anchors
        if not anchors:
            problems.append(
                f"dimension {name!r} has no anchors; say what a text at the best and worst level is like"
            )
        elif len(anchors) < _FEWEST:
            problems.append(
                f"dimension {name!r} has one anchor, at {anchors[0].level:g}; say what another level is like"
            )
        first: dict[str, float] = {}
        for anchor in anchors:
            text = " ".join(anchor.text.split()).casefold().rstrip(" .。")
            if not text:
                problems.append(f"dimension {name!r}: the anchor at {anchor.level:g} has no text")
            elif text in first:
                problems.append(
                    f"dimension {name!r}: the anchors at {first[text]:g} and {anchor.level:g} say the same; "
                    "say how the levels differ"
                )
            first.setdefault(text, anchor.level)
    return problems


REPLY_FORMS: tuple[str, ...] = ("json", "text")
ROLES: tuple[str, ...] = ("system", "context", "user")
"""Parts of a prompt; ``context`` is a message of the user's before the last one."""

_TITLE_KEYS = ("name", "version", "description")
_OWN_KEYS = ("reply", "placeholders")
_FILE = re.compile(r"\A---[ \t]*\n(?P<header>.*?\n)---[ \t]*(?:\n(?P<body>.*))?\Z", re.DOTALL)
_PART = re.compile(r"^<!--[ \t]*(?P<role>\w+)[ \t]*-->[ \t]*\n?", re.MULTILINE)
_LONGEST = 200_000  # bytes; an A4 page has 3,000
_NAME = re.compile(r"[a-z0-9]+(?:[-_.][a-z0-9]+)*")


def _listed(value: object, info: ValidationInfo) -> object:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(i, str) for i in items):
        raise ValueError(f"{info.field_name} must be a list of words, not {shown(value)}")
    if info.field_name == "reply" and not items:
        raise ValueError(f"reply is empty; allowed: {', '.join(REPLY_FORMS)}, or a list of both")
    for word in sorted({w for w in items if items.count(w) > 1}):
        raise ValueError(f"{info.field_name} names {word!r} twice")
    return tuple(items)


Words = Annotated[tuple[str, ...], BeforeValidator(_listed)]


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError(f"name is {value!r}; use small letters, digits and hyphens, such as 'my-prompt'")
    return value


class Placeholders(Strict):
    """What a prompt is filled with."""

    required: Words = ()
    optional: Words = ()

    @model_validator(mode="after")
    def _apart(self) -> Self:
        for name in self.required + self.optional:
            if not name.isidentifier():
                raise ValueError(f"the placeholder {name!r} must be of letters, digits and _")
        for name in sorted(set(self.required) & set(self.optional)):
            raise ValueError(f"the placeholder {name!r} is both required and optional; it can be one")
        return self


class Header(RubricModel):
    """The keys of a header, in the order in which they are listed."""

    name: Annotated[Filled, AfterValidator(_name)] = ""
    version: Filled = ""
    description: Filled = ""
    reply: Annotated[tuple[Literal["json", "text"], ...], BeforeValidator(_listed)] = ()
    pattern: ReplyPattern | None = None
    placeholders: Placeholders = Placeholders()
    base: Filled = ""

    @model_validator(mode="before")
    @classmethod
    def _by_pattern(cls, given: object) -> object:
        """Take ``reply: {pattern: …}`` for a reply in text that is read by this pattern."""
        if isinstance(given, dict) and isinstance(given.get("reply"), dict):
            return {**given, "reply": ["text"], "pattern": given["reply"]}
        return given


@dataclass(slots=True)
class PromptFile:
    """What a prompt file holds, as far as it could be read; ``problems`` says what is wrong."""

    file: str
    content: str = ""
    header: Header = field(default_factory=Header)
    parts: tuple[tuple[str, str], ...] = ()
    base: PromptFile | None = None
    """The bundled prompt whose text this one uses."""
    problems: list[Problem] = field(default_factory=list)

    def wrong(self, message: str, line: int | None = None) -> None:
        """Note a problem."""
        at = f"line {line}: " if line else ""
        self.problems.append(Problem(self.file, None, None, at + message))


def read_prompt_file(path: Path) -> PromptFile:
    """Read a prompt file; the ``problems`` of the result say what is wrong with it."""
    prompt = PromptFile(path.name)
    try:
        size = path.stat().st_size
        if size > _LONGEST:
            prompt.wrong(f"has {size:,} bytes; a prompt can have {_LONGEST:,} at most")
            return prompt
        # Line ends and a byte-order mark say nothing: the same prompt has the same hash on every system.
        content = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        prompt.wrong("is not UTF-8; save the file as UTF-8")
        return prompt
    except OSError as error:
        prompt.wrong(f"cannot be read: {error.strerror}")
        return prompt
    prompt.content = content
    match = _FILE.match(content)
    if match is None:
        prompt.wrong(
            "has no header; begin the file with a line `---`, the keys "
            f"{', '.join(_TITLE_KEYS + _OWN_KEYS)} and a second line `---`"
        )
        return prompt
    _read_header(match["header"], prompt)
    body = match["body"] or ""
    if prompt.base is None:
        _read_parts(body, content[: match.start("body")].count("\n") + 1 if body else 1, prompt)
        return prompt
    if body.strip():
        prompt.wrong("has both a base and a text of its own; leave one out")
    of_base = prompt.base.header
    prompt.header = prompt.header.model_copy(
        update={key: getattr(of_base, key) for key in ("reply", "pattern", "placeholders")}
    )
    prompt.parts = prompt.base.parts
    prompt.content += prompt.base.content  # a change of either is another prompt
    return prompt


def _read_header(text: str, prompt: PromptFile) -> None:
    try:
        tree, lines = parse_yaml(text, prompt.file, first=2, numbers=True)
    except YamlError as error:
        prompt.wrong(error.message.replace("this is not YAML", "the header is not valid YAML"), error.line)
        return
    if not isinstance(tree, dict):
        prompt.wrong("the header must hold keys and values, such as `name: my-prompt`", 1)
        return
    for key in _TITLE_KEYS if "base" in tree else _TITLE_KEYS + _OWN_KEYS:
        if key not in tree:
            prompt.wrong(f"the key {key!r} is missing from the header")
    try:
        prompt.header = Header.model_validate(tree)
    except ValidationError as error:
        for where, message in sentences(error, tree, Header, whole=True):
            prompt.wrong(message, lines.line(*where))
    if "base" in tree:
        _find_base(tree, prompt)


def _find_base(tree: Mapping[object, object], prompt: PromptFile) -> None:
    """Find the bundled prompt whose text is used with the dimensions of this file."""
    for key in _OWN_KEYS:
        if key in tree:
            prompt.wrong(f"has both base and {key}; with a base, {key} is that of the base")
    if "dimensions" not in tree:
        prompt.wrong(
            "has a base and no dimensions of its own; name the base itself where a prompt is asked for"
        )
    name = tree["base"]
    shipped = {p.stem: p for p in bundled("prompts").glob("*.md")}
    base = read_prompt_file(shipped[name]) if isinstance(name, str) and name in shipped else None
    if base is not None and base.header.rubric is not None:
        prompt.base = base
    elif isinstance(name, str):
        rubrics = sorted(n for n, p in shipped.items() if read_prompt_file(p).header.rubric is not None)
        why = "is not a bundled prompt" if base is None else "has no dimensions"
        prompt.wrong(f"base is {name!r}, which {why}{nearest(name, rubrics)}; allowed: {', '.join(rubrics)}")


def _read_parts(body: str, first_line: int, prompt: PromptFile) -> None:
    """Split the body at lines such as ``<!-- system -->``; a body without one is the user's part."""
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
            prompt.wrong(unknown("unknown part", role, ROLES, "allowed"), line - 1)
        if role in [r for r, _ in parts]:
            prompt.wrong(f"the part {role!r} occurs twice; it may occur once", line - 1)
        parts.append((role, text))
        try:
            used |= variables(text)
        except TemplateSyntaxError as error:
            prompt.wrong(f"this is not a valid template: {error.message}", line + blank + error.lineno - 1)
    prompt.parts = tuple(parts)
    if not any(role == "user" and text.strip() for role, text in parts):
        prompt.wrong("has no text for the model; write it below the header")
    if prompt.problems:
        return
    declared = prompt.header.placeholders.required + prompt.header.placeholders.optional
    for name in sorted(used - set(declared)):
        prompt.wrong(
            f"uses the placeholder {name!r}, which the header does not name{nearest(name, declared)}"
        )
    for name in declared:
        if name not in used:
            prompt.wrong(f"the header names the placeholder {name!r}, which is not used{nearest(name, used)}")
