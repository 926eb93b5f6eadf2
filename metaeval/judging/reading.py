"""Reading a judge's reply, and whether the evidence that it quotes stands in what was shown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from metaeval.base.errors import SpecError
from metaeval.base.records import Status
from metaeval.llm.prompts.syntax import fenced_parts
from metaeval.llm.prompts.template import joined
from metaeval.llm.providers.answers import filled_beside
from metaeval.llm.replies.fields import Field, Number, Text, names_of, tidy
from metaeval.llm.replies.objects import valid
from metaeval.llm.replies.patterns import ReplyPattern, UnreadError
from metaeval.llm.replies.reader import Parsed, read_reply

if TYPE_CHECKING:
    from metaeval.judging.outcome import Question
    from metaeval.llm.calls.request import Reply

_NUMBERED = re.compile(r"-[0-9]+\Z")
_PLAIN = (
    dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff\ufe0f"), "")
    | dict.fromkeys(map(ord, "‘’‚‛′`´"), "'")
    | dict.fromkeys(map(ord, "“”„‟″«»"), '"')
    | dict.fromkeys(map(ord, "‐‑‒–—―−"), "-")
    | {ord("⁄"): "/", ord("∕"): "/"}
)
_QUOTES = "\"' \u300c\u300d"


def as_compared(text: str) -> str:
    """Return a text as evidence is compared.

    Unicode is normalised (NFKC), characters without a width are left out, quotation marks, dashes and
    slashes take their plain form, and each run of white space is one blank. Case counts.
    """
    # A sign may be made of others: ´ of a blank and an accent, ¼ of digits and a slash of its own.
    return " ".join(unicodedata.normalize("NFKC", text.translate(_PLAIN)).translate(_PLAIN).split())


def stands_in(said: str, parts: Collection[str]) -> bool:
    """Say whether a text of a reply stands word for word in one of some texts; it needs a letter or digit."""
    wanted = as_compared(said).strip(_QUOTES)
    if not any(map(str.isalnum, wanted)):
        return False
    # A reply is tidied before it is read: a character without a width is then a blank in it.
    return any(wanted in as_compared(part) or wanted in as_compared(tidy(part)) for part in parts)


def parts_of(prompt: str, tags: Collection[str]) -> list[str]:
    """Return the texts that a prompt shows under these tags."""
    return [text for tag, text in fenced_parts(prompt) if tag in tags or _NUMBERED.sub("", tag) in tags]


def without_parts(prompt: str, tags: Collection[str]) -> str:
    """Return a prompt without the texts that it shows under these tags."""
    for text in parts_of(prompt, tags):
        prompt = prompt.replace(text, "")
    return prompt


def with_evidence(parsed: Parsed, fields: Sequence[Field], material: str) -> Parsed:
    """Return what was read, with the evidence that is not in the material; unread, if it must be there.

    Parameters
    ----------
    material
        What the judge was shown, without instructions.
    """
    values = parsed.values or {}
    unfound: dict[str, list[str]] = {}
    texts = [f for f in fields if isinstance(f, Text) and f.evidence and values.get(f.name)]
    for field in texts:
        parts = parts_of(material, field.evidence)
        if invented := [said for said in field.texts(values[field.name]) if not stands_in(said, parts)]:
            unfound[field.name] = invented
    all_of_it = tuple(text for of in unfound.values() for text in of)
    if any(field.binding for field in texts if field.name in unfound):
        name, invented = next(iter(unfound.items()))
        reason = f"{name!r} is not in the prompt: {invented[0][:100]}"
        return Parsed(None, Status.UNPARSED, reason, tuple(unfound), all_of_it)
    return replace(parsed, invented=tuple(unfound), unfound=all_of_it)


def read_answer(question: Question, reply: Reply, form: str, pattern: ReplyPattern | None) -> Parsed:
    """Read a reply to a question."""
    told = question.request.messages
    tags = {tag for field in question.fields if isinstance(field, Text) for tag in field.evidence}
    if question.request.shares:
        told = (told[0], told[-1])  # a history of thousands of lines is what no reply repeats
    parsed = read_reply(
        reply.text,
        question.fields,
        form=form,
        pattern=pattern,
        finish_reason=reply.finish_reason,
        refusal=reply.refusal,
        prompt=without_parts(joined(told), tags) if tags else joined(told),
    )
    if not reply.text.strip() and parsed.status is Status.UNPARSED and (there := filled_beside(reply.raw)):
        reason = f"the reply's text is empty; all of it stands in {' and '.join(there)}"
        parsed = replace(parsed, reason=f"{reason}, where no answer is read")
    if not tags or not parsed.values:
        return parsed
    shown = joined([message for message in question.request.messages if message.role != "system"])
    return with_evidence(parsed, question.fields, shown)


def check_pattern(pattern: ReplyPattern, fields: Sequence[Field]) -> None:
    """Raise `SpecError` for a pattern that can give no value of a field."""
    said = f"the replies cannot be read by {pattern.pattern!r}: "
    try:
        pattern.groups([field.name for field in fields])
    except UnreadError as error:
        raise SpecError(said + str(error)) from None
    meant = set(pattern.values.values())
    for field in fields:
        values = [valid(field, value, names_of(fields)) for value in meant]
        on_scale = [
            v for v in values if v is not None and (not isinstance(field, Number) or float(v) in field.scale)
        ]
        if meant and not on_scale:
            means = ", ".join(sorted(map(str, meant)))
            raise SpecError(f"{said}it gives {means}; none of these is a value of {field.name!r}")
