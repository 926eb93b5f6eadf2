"""Prompts: files with a header and placeholders.

A prompt file begins with a header in YAML between two lines ``---``::

    name: my-prompt
    version: "1"
    description: One line on what it does.
    reply: [json, text]            # forms of reply it can ask for; the first is the usual one
    placeholders:
      required: [question]
      optional: [hint]

Below it stands what the model reads, in Jinja's syntax: ``{{ question }}``, ``{% if hint %}…{% endif %}``.
A line ``<!-- system -->`` or ``<!-- user -->`` begins a part with that role; without one, all is the user's.
A part ``<!-- context -->`` is a message of the user's too: what many prompts share, such as a history. The
caller decides what the placeholders mean.

A header may hold a rubric (`metaeval.llm.prompts.file`). Such a file needs no text of its own:
``base: rubric``, in place of ``reply`` and ``placeholders``, takes that of a bundled prompt.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from metaeval.base.errors import Problem, PromptError, nearest, unknown
from metaeval.base.files import bundled
from metaeval.llm.prompts.file import REPLY_FORMS, PromptFile, Rubric, read_prompt_file
from metaeval.llm.replies.patterns import ReplyPattern

__all__ = ["REPLY_FORMS", "PromptTemplate", "bundled_prompts", "check_prompt", "joined", "load_prompt"]

_SUFFIX = ".md"


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A prompt with placeholders, as its file holds it."""

    name: str
    version: str
    description: str
    reply: tuple[str, ...]
    """Forms of reply that it can ask for, of `REPLY_FORMS`; the first is the usual one."""
    required: tuple[str, ...]
    optional: tuple[str, ...]
    parts: tuple[tuple[str, str], ...]
    """Name and template text of each part, in order."""
    hash: str
    """SHA-256 of the text of the file and of its base, headers included, as 64 hex digits."""
    rubric: Rubric | None = None
    """What it judges, if its header has one: a reply in JSON then has a reason before each score."""
    pattern: ReplyPattern | None = None
    """How its replies are read, if its header states it."""

    @property
    def placeholders(self) -> tuple[str, ...]:
        """All placeholders, the required ones first."""
        return self.required + self.optional

    @property
    def signature(self) -> dict[str, Any]:
        """What of the prompt a number depends on, as plain JSON values."""
        rubric = {} if self.rubric is None else {"rubric": self.rubric.hash}
        return {"name": self.name, "version": self.version, "sha256": self.hash, **rubric}

    @property
    def source(self) -> str:
        """The text of the template, its placeholders not filled."""
        return joined(self.parts)

    def messages(self, values: Mapping[str, object]) -> list[tuple[str, str]]:
        """Return role and text of each part that is not empty, with its placeholders filled.

        Parameters
        ----------
        values
            Placeholder → value; optional ones may be absent or None. A value is never read as a template.

        Raises
        ------
        PromptError
            If a value is missing, is not a placeholder of this prompt, or lacks a part that it uses.
        """
        from metaeval.llm.prompts.syntax import fill, left_out

        known = self.placeholders
        if not values.keys() <= set(known):
            name = next(name for name in values if name not in known)
            raise PromptError(unknown(f"prompt {self.name!r} has no placeholder", name, known))
        absent = [name for name in self.required if values.get(name) is None]
        if absent:
            raise PromptError(
                f"prompt {self.name!r} needs a value for {', '.join(map(repr, absent))}"
                f"{nearest(absent[0], [v for v in values if v not in self.required])}"
            )
        filling = {n: left_out(n) if values.get(n) is None else values[n] for n in known}
        try:
            filled = [(role, fill(text, filling)) for role, text in self.parts]
        except ValueError as error:
            raise PromptError(f"prompt {self.name!r}: {error}") from error
        return [("user" if role == "context" else role, text) for role, text in filled if text.strip()]

    def of_parts(self, chosen: slice) -> PromptTemplate:
        """Return the prompt that some of the parts make, with the placeholders that these use."""
        from metaeval.llm.prompts.syntax import variables

        parts = self.parts[chosen]
        used = frozenset[str]().union(*(variables(text) for _, text in parts))
        both = (self.required, self.optional)
        required, optional = (tuple(name for name in names if name in used) for names in both)
        return replace(self, parts=parts, required=required, optional=optional)

    def render(self, values: Mapping[str, object]) -> str:
        """Return the filled prompt as one text, joined as `source` is; the errors are those of `messages`."""
        return joined(self.messages(values))


def bundled_prompts() -> dict[str, Path]:
    """Return name → file of the prompts that ship with the package, sorted by name."""
    files = sorted(bundled("prompts").glob(f"*{_SUFFIX}"), key=lambda path: path.stem)
    return {path.stem: path for path in files if path.stem != "README"}


def load_prompt(name_or_path: str | os.PathLike[str]) -> PromptTemplate:
    """Load a bundled prompt by its name, or any file by its path.

    A text with a folder or the suffix ``.md`` in it is a path; any other is a name.

    Raises
    ------
    PromptError
        If there is no such prompt, or anything is wrong with the file.
    """
    name = os.fspath(name_or_path)
    shipped = bundled_prompts()
    path = Path(name)
    if isinstance(name_or_path, str) and name in shipped:
        path = shipped[name]
    elif isinstance(name_or_path, str) and path.name == name and path.suffix != _SUFFIX:
        raise PromptError(
            f"there is no prompt {name!r}{nearest(name, shipped)} (bundled: {', '.join(shipped)}; "
            f"a file of your own is given by its path, such as ./{name or 'my-prompt'}{_SUFFIX})"
        )
    elif not path.is_file():
        raise PromptError(f"there is no prompt file {name}; give the path of a file, or one of the names "
                          f"{', '.join(shipped)}")  # fmt: skip
    with contextlib.suppress(OSError):
        return _loaded(path, path.read_bytes())
    return _loaded(path, b"")


@functools.lru_cache(maxsize=64)
def _loaded(path: Path, _content: bytes) -> PromptTemplate:
    """Return the template in a file of that content; a judge needs it often, and parsing takes long."""
    file = read_prompt_file(path)
    if file.problems:
        raise PromptError(file.problems, listed_by=f"metaeval prompts check {shlex.quote(str(path))}")
    return _template_of(file)


def check_prompt(
    path: str | os.PathLike[str],
    *,
    needed: Iterable[str] = (),
    known: Iterable[str] | None = None,
    samples: Sequence[Mapping[str, object]] = (),
) -> list[Problem]:
    """Return everything that is wrong with a prompt file; an empty list if it can be used.

    Parameters
    ----------
    path
        The file.
    needed
        Placeholders that it must use.
    known
        All placeholders that its caller can fill; None: any.
    samples
        Values to fill the prompt with, to find parts that values lack; those it does not name are ignored.
    """
    file = read_prompt_file(Path(path))
    if not file.problems:
        template = _template_of(file)
        names = template.placeholders
        fillable = names if known is None else tuple(known)
        for name in needed:
            if name not in names:
                file.wrong(f"does not use the placeholder {name!r}{nearest(name, names)}; it is needed")
        for name in names:
            if name not in fillable:
                file.wrong(unknown("nothing fills the placeholder", name, fillable, "there are"))
        for values in samples if not file.problems else ():
            try:
                template.messages({n: values[n] for n in names if n in values})
            except PromptError as error:
                message = str(error).removeprefix(f"prompt {template.name!r}: ")
                if message not in [p.message for p in file.problems]:
                    file.wrong(message)
    return file.problems


def _template_of(file: PromptFile) -> PromptTemplate:
    header = file.header
    return PromptTemplate(
        header.name,
        header.version,
        header.description,
        header.reply,
        header.placeholders.required,
        header.placeholders.optional,
        file.parts,
        hashlib.sha256(file.content.encode("utf-8")).hexdigest(),
        header.rubric,
        header.pattern,
    )


def joined(parts: Iterable[tuple[str, str]]) -> str:
    """Return the parts as one text; roles are shown if there are other roles than the user."""
    shown = list(parts)
    if len(shown) == 1 and shown[0][0] == "user":
        return shown[0][1]
    return "\n\n".join(f"<!-- {role} -->\n{text}" for role, text in shown)
