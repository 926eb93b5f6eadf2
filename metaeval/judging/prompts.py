"""Prompts of judges: checked, and filled for one question after the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from metaeval.base.errors import Problem, PromptError, unknown
from metaeval.llm.prompts.template import PromptTemplate, bundled_prompts, check_prompt, load_prompt


class JudgePrompt:
    """A judge's prompt, to be filled for one question after the other.

    Parameters
    ----------
    template
        The prompt; one with the placeholder ``aspect`` takes exactly one aspect.
    aspects
        What the prompt says of each aspect, its ``name`` too.
    fixed
        Placeholder → value, the same for all questions; None if there is none.
    known
        All placeholders that the judge can fill.
    reply
        ``json`` or ``text``; ``auto`` is the form that the prompt names first.

    Raises
    ------
    PromptError
        If the prompt cannot ask for these aspects, or for this form of reply.
    """

    def __init__(
        self,
        template: PromptTemplate,
        aspects: Sequence[Mapping[str, object]],
        fixed: Mapping[str, object],
        *,
        known: Sequence[str],
        reply: str = "auto",
    ) -> None:
        name, placeholders = template.name, template.placeholders
        single = "aspect" in placeholders
        if reply != "auto" and reply not in template.reply:
            raise PromptError(
                f"prompt {name!r} cannot ask for a reply in {reply!r}; "
                f"allowed: auto, {', '.join(template.reply)}"
            )
        if single and len(aspects) != 1:
            names = ", ".join(str(a["name"]) for a in aspects)
            raise PromptError(
                f"prompt {name!r} asks for one aspect per call; choose one of {names or '(none)'}"
            )
        for placeholder in placeholders:
            if placeholder not in known:
                said = f"prompt {name!r}: nothing fills the placeholder"
                raise PromptError(unknown(said, placeholder, known, "there are"))
        self._template = template
        every = {
            **fixed,
            "reply_form": template.reply[0] if reply == "auto" else reply,
            **({"aspect": aspects[0]} if single else {"aspects": aspects}),
        }
        self._fixed = {n: v for n, v in every.items() if v is not None and n in placeholders}

    def messages(
        self, values: Mapping[str, object], shown: Mapping[str, object] | None = None
    ) -> list[tuple[str, str]]:
        """Return role and text of each message.

        Parameters
        ----------
        values
            As ``fixed``, of this question.
        shown
            Further values, which the prompt must not leave out.

        Raises
        ------
        PromptError
            If the prompt cannot show what is given.
        """
        placeholders = self._template.placeholders
        for of, value in (shown or {}).items():
            if value is not None and of not in placeholders:
                raise PromptError(
                    f"prompt {self._template.name!r} has no placeholder {of!r}, so it cannot show one; "
                    f"add {of} to its header and body, or judge without"
                )
        given = {**self._fixed, **values, **(shown or {})}
        return self._template.messages({n: v for n, v in given.items() if n in placeholders})


class Parts(NamedTuple):
    """Which placeholders a prompt in two pieces shows where."""

    noun: str
    """What a prompt is about, of which a user has many."""
    own: tuple[str, ...]
    """What differs from one to the next: for the last part alone."""
    shared: tuple[str, ...] = ("history", "profile")
    """Long texts that they share: for the parts before it."""

    def wrong(self, template: PromptTemplate) -> list[str]:
        """Return what is wrong with the parts of a prompt."""
        first, last = template.of_parts(slice(-1)), template.of_parts(slice(-1, None))
        noun = self.noun
        if not first.parts:
            why = f"has no part before the one with the {noun}; write the text that all {noun}s of a user "
            return [f"{why}share above a line `<!-- user -->`, so that a provider's cache can hold it"]
        found = []
        if {*self.own} & {*first.placeholders}:
            found.append(
                f"shows the {noun} before its last part; move it below the last line `<!-- user -->`, since "
                f"what stands above is the same for all {noun}s of a user"
            )
        if {*self.shared} & {*last.placeholders}:
            found.append(
                f"shows {' or '.join(self.shared)} in its last part; move them above the last line "
                "`<!-- user -->`"
            )
        return found


class PartedPrompt:
    """A prompt in two pieces: what all prompts about a user share, and the rest.

    Parameters
    ----------
    template, known, reply
        As for `JudgePrompt`.
    parts
        Which placeholders stand where.
    fixed
        Values that are the same for all users.

    Raises
    ------
    PromptError
        If it has no such pieces.
    """

    def __init__(
        self,
        template: PromptTemplate,
        parts: Parts,
        fixed: Mapping[str, Any],
        *,
        known: Sequence[str],
        reply: str,
    ) -> None:
        wrong = parts.wrong(template)
        if wrong:
            raise PromptError(f"prompt {template.name!r} {wrong[0]}")
        pieces = (template.of_parts(slice(-1)), template.of_parts(slice(-1, None)))
        self._first, self._last = (JudgePrompt(p, (), fixed, known=known, reply=reply) for p in pieces)

    def shared(self, values: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Return role and text of the messages that all prompts about a user share."""
        return self._first.messages(values)

    def own(self, values: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Return role and text of the last message."""
        return self._last.messages(values)


def check_file(
    path: str | os.PathLike[str],
    *,
    needed: Sequence[str],
    known: Sequence[str],
    samples: Sequence[Mapping[str, object]],
    more: Callable[[PromptTemplate], list[str]] = lambda _: [],
) -> list[Problem]:
    """Return everything that is wrong with a file as a judge's prompt; an empty list if it can be used.

    Parameters
    ----------
    path, needed, known, samples
        As for `metaeval.llm.prompts.template.check_prompt`; ``aspects``, ``aspect`` and ``reply_form`` need
        no sample.
    more
        Returns what else is wrong with the prompt.
    """
    asked: dict[str, object] = {"name": "clarity", "statement": "I understand it."}
    every = [
        {"aspects": [asked], "aspect": asked, **values, "reply_form": form}
        for form in ("json", "text")
        for values in samples
    ]
    found = check_prompt(path, needed=needed, known=known, samples=every)
    if found:
        return found
    file, template = Path(path), load_prompt(Path(path))
    either = [name for name in ("aspects", "aspect") if name in template.placeholders]
    wrong = []
    if len(either) != 1 and "aspects" in known:
        wrong.append(
            f"uses {'both' if either else 'neither'} 'aspects' and 'aspect'; it must use one of them"
        )
    if len(template.reply) > 1 and "reply_form" not in template.placeholders:
        wrong.append("names two forms of reply and does not use 'reply_form', so both would ask for the same")
    wrong += more(template)
    shipped = bundled_prompts().get(template.name)
    if shipped is not None and load_prompt(template.name).hash != template.hash:
        wrong.append(f"has the name of the bundled prompt {template.name!r} and is another; rename it")
    return [Problem(file.name, None, None, message) for message in wrong]
