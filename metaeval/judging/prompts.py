"""Prompts of judges: what they may show, the check of their files, and how they are filled."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metaeval.base.errors import Problem, PromptError, unknown
from metaeval.llm.prompts.template import PromptTemplate, bundled_prompts, check_prompt, load_prompt


@dataclass(frozen=True, eq=False, kw_only=True)
class Asks:
    """What a judge's prompt may show: the placeholders that the judge fills, with examples of values.

    Of a prompt in two pieces, the first is what the prompts on many units have in common, such as the long
    history of a user: a provider's cache can hold it.

    Parameters
    ----------
    sample
        Placeholder → an example of its value, to try a prompt file with; a tuple has several examples.
        ``reply_form`` needs none. ``aspects`` are a list of ``name`` and ``statement``, each; a prompt with
        ``aspect`` takes exactly one of them.
    optional
        Those that have no value for some units.
    needed
        Those that a prompt must use.
    insisted
        Those that a prompt must have if there is a value to show, which the user asked for.
    noun
        What a prompt is about, of which a user has many.
    own, shared
        Of a prompt in two pieces: what differs from one to the next, for the last message alone; and long
        texts that they share, for the messages before it. Without ``shared`` it is in one piece.
    """

    sample: Mapping[str, object]
    optional: Sequence[str] = ()
    needed: Sequence[str] = ()
    insisted: Sequence[str] = ()
    noun: str = "unit"
    own: Sequence[str] = ()
    shared: Sequence[str] = ()

    @property
    def known(self) -> tuple[str, ...]:
        """All placeholders that the judge fills."""
        return tuple({**self.sample, "reply_form": ""})

    def tried(self, template: PromptTemplate) -> Mapping[str, object]:
        """Return the examples that a prompt is tried with."""
        del template
        return self.sample

    def pieces(self, template: PromptTemplate) -> tuple[PromptTemplate, PromptTemplate]:
        """Return what many prompts share, and the rest; nothing and all of it, if they share nothing."""
        cut = -1 if self.shared else 0
        return template.of_parts(slice(cut)), template.of_parts(slice(cut, None))

    def wrong(self, template: PromptTemplate) -> list[str]:
        """Return what is wrong with a prompt whose placeholders are right."""
        return self.misplaced(template)

    def misplaced(self, template: PromptTemplate) -> list[str]:
        """Return what is wrong with the pieces of a prompt, so that it cannot be used."""
        if not self.shared:
            return []
        (first, last), noun = self.pieces(template), self.noun
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

    def problems(self, path: str | os.PathLike[str]) -> list[Problem]:
        """Return everything that is wrong with a file as a prompt of the judge; empty if it can be used."""
        if found := check_prompt(path, needed=self.needed, known=self.known):
            return found
        file, template = Path(path), load_prompt(Path(path))
        every = {**self.tried(template), "reply_form": ("json", "text")}
        least = {name: value for name, value in every.items() if name not in self.optional}
        samples = [values for some in (least, every) for values in _each(some)]
        if found := check_prompt(path, samples=samples):
            return found
        either = [name for name in ("aspects", "aspect") if name in template.placeholders]
        wrong = []
        if len(either) != 1 and "aspects" in self.known:
            wrong.append(
                f"uses {'both' if either else 'neither'} 'aspects' and 'aspect'; it must use one of them"
            )
        if len(template.reply) > 1 and "reply_form" not in template.placeholders:
            wrong.append(
                "names two forms of reply and does not use 'reply_form', so both would ask for the same"
            )
        wrong += self.wrong(template)
        shipped = bundled_prompts().get(template.name)
        if shipped is not None and load_prompt(template.name).hash != template.hash:
            wrong.append(f"has the name of the bundled prompt {template.name!r} and is another; rename it")
        return [Problem(file.name, None, None, message) for message in wrong]


def _each(sample: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """Yield every combination of the examples."""
    several = [value if isinstance(value, tuple) else (value,) for value in sample.values()]
    yield from (dict(zip(sample, values, strict=True)) for values in itertools.product(*several))


class JudgePrompt:
    """A judge's prompt, to be filled for one unit after the other.

    Parameters
    ----------
    asks
        What it may show.
    template
        The prompt.
    fixed
        Placeholder → value, the same for all units; None if there is none. ``aspects`` are those to ask for.
    shared
        From what units share, such as a user, to the values of the first piece; None: nothing is known.
    reply
        ``json`` or ``text``; ``auto`` is the form that the prompt names first.

    Raises
    ------
    PromptError
        If the prompt cannot ask for these aspects, or for this form of reply.
    """

    def __init__(
        self,
        asks: Asks,
        template: PromptTemplate,
        fixed: Mapping[str, Any],
        shared: Callable[[Any], Mapping[str, object] | None] = lambda _: {},
        *,
        reply: str = "auto",
    ) -> None:
        name, placeholders = template.name, template.placeholders
        if wrong := asks.misplaced(template):
            raise PromptError(f"prompt {name!r} {wrong[0]}")
        if reply != "auto" and reply not in template.reply:
            raise PromptError(
                f"prompt {name!r} cannot ask for a reply in {reply!r}; "
                f"allowed: auto, {', '.join(template.reply)}"
            )
        aspects = fixed.get("aspects", ())
        if "aspect" in placeholders and len(aspects) != 1:
            names = ", ".join(str(a["name"]) for a in aspects)
            raise PromptError(
                f"prompt {name!r} asks for one aspect per call; choose one of {names or '(none)'}"
            )
        for placeholder in placeholders:
            if placeholder not in asks.known:
                said = f"prompt {name!r}: nothing fills the placeholder"
                raise PromptError(unknown(said, placeholder, asks.known, "there are"))
        self._name, self._placeholders, self._insisted = name, placeholders, asks.insisted
        self._first, self._last = asks.pieces(template)
        form = template.reply[0] if reply == "auto" else reply
        single = {"aspect": aspects[0], "aspects": None} if "aspect" in placeholders else {}
        self._fixed = {**fixed, "reply_form": form, **single}
        # Filled once per user, and the very same text for all of the units.
        self._shared = functools.lru_cache(maxsize=8)(self._filled_first)
        self._known_of = shared

    def messages(self, own: Mapping[str, object], of: object = None) -> list[tuple[str, str]] | None:
        """Return role and text of each message; None if nothing is known of what it shares with others.

        Parameters
        ----------
        own
            Placeholder → value, of this unit.
        of
            What it shares with other units, such as a user.

        Raises
        ------
        PromptError
            If the prompt cannot show what is given.
        """
        for name in self._insisted:
            if own.get(name) is not None and name not in self._placeholders:
                raise PromptError(
                    f"prompt {self._name!r} has no placeholder {name!r}, so it cannot show one; "
                    f"add {name} to its header and body, or judge without"
                )
        first = self._shared(of)
        return None if first is None else [*first, *self._filled(self._last, own)]

    def _filled_first(self, of: object) -> list[tuple[str, str]] | None:
        known = self._known_of(of)
        return None if known is None else self._filled(self._first, known)

    def _filled(self, piece: PromptTemplate, values: Mapping[str, object]) -> list[tuple[str, str]]:
        given = {**self._fixed, **values}
        return piece.messages({name: given[name] for name in piece.placeholders if name in given})
