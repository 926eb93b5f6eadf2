"""Reply → values, or the reason that there are none.

All or nothing: a reply is read only if it gives every field one clear value on the scale. A reply that can be
read in two ways, or that holds something that is not understood beside a value, such as another number, gives
none: a lost answer is counted and asked for again, an invented one is not noticed.
"""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from metaeval.base.records import Status
from metaeval.llm.replies.beside import sentences_of, speaks_of_another, takes_back
from metaeval.llm.replies.claims import mixed
from metaeval.llm.replies.claims.choices import (
    about_the_reply,
    compares,
    is_about,
    names_another,
    sole_choice,
)
from metaeval.llm.replies.claims.json_claims import find_json
from metaeval.llm.replies.claims.line_claims import claim_lines
from metaeval.llm.replies.claims.objects import claim_json, claim_objects
from metaeval.llm.replies.evidence import own_words, parts_of, stands_in, without_parts
from metaeval.llm.replies.fields import Choice, Number, Text
from metaeval.llm.replies.marks import answer_in, unknown_mark
from metaeval.llm.replies.names import names_of
from metaeval.llm.replies.remarks import is_not_understood, withdraws
from metaeval.llm.replies.words import UNCLEAR, tidy, with_stars_counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from metaeval.base.records import Scale
    from metaeval.llm.replies.claims.line_claims import Other
    from metaeval.llm.replies.fields import Field, Given
    from metaeval.llm.replies.names import Names

PARSER = "3"
"""Version of the reading of replies; raised when the same reply may be read otherwise."""

FORMS: tuple[str, ...] = ("auto", "json", "text")

Claims: TypeAlias = "defaultdict[str, set[Given | None]]"
"""Field → the values that are claimed of it."""

_FILTERED = frozenset(
    ["content_filter", "content-filter", "safety", "refusal", "prohibited_content", "recitation"]
)
_CUT_OFF = frozenset(["length", "max_tokens", "max_output_tokens", "model_length"])
_LONGEST = 30_000  # characters of an answer without its reasoning; a longer one is no rating

_REFUSAL = re.compile(
    r"\bI(?:'m| am)? (?:sorry|afraid)\b|\bmy apologies\b|\bI (?:must |have to |do )?apologi[sz]e\b"
    r"|\bI(?: can't| cannot| can not| won't| will not|(?: am|'m) (?:not able to|unable to|not comfortable)) "
    r"(?:assist|help|provid|rat|evaluat|giv|answer|comply|fulfil|complet|judg|assess|do|offer|respond|scor|engag)"
    r"|\bI (?:have to |must )?(?:decline|refuse)\b"
    r"|\bas an? (?:AI|artificial|language model|large language)\b|\bagainst my (?:guidelines|polic)"
    r"|抱歉|对不起|很遗憾|(?:无法|不能|不便|没有办法)(?:为您|为你|对此|就此)?(?:提供|回答|评价|评分|打分|给出|完成|协助)"
    r"|作为(?:一个|一款|一名)?(?:AI|人工智能|语言模型|大语言模型|大模型)",
    re.IGNORECASE,
)
_SHORT = 300  # characters of a reply that is likely to be met again
_REFUSED_WITHIN = (
    300  # characters: a refusal comes first; later, such words are about the text that is judged
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """What was read from a reply."""

    values: dict[str, Given] | None
    """Field → value, all fields in the order asked; None unless ``status`` is ``ok``."""
    status: Status
    """``ok``, ``refused``, ``unparsed``, ``out_of_range`` or ``truncated``."""
    reason: str = ""
    """Why there are no values, for people."""
    invented: tuple[str, ...] = ()
    """Fields whose evidence is not in the prompt."""
    unfound: tuple[str, ...] = ()
    """The evidence that is not."""


def read_reply(
    text: str | None,
    fields: Sequence[Field],
    *,
    form: str = "auto",
    finish_reason: str | None = None,
    refusal: str | None = None,
    prompt: str | None = None,
    material: str | None = None,
) -> Parsed:
    """Read the values of the fields from a reply.

    Parameters
    ----------
    text
        The reply; None or blank if there was none.
    fields
        What was asked for, in the order asked; the names differ.
    form
        ``json``: the values must stand in JSON; ``text``: in lines; ``auto``: in either. Whatever else the
        reply says must not contradict them.
    finish_reason
        Why the provider says that the reply ended. A reply that was cut off or filtered gives no values.
    refusal
        The provider's own field for a refusal.
    prompt
        What was sent: a reply that repeats it is no answer.
    material
        The part of it in which evidence must stand, without instructions; all of it, if left out.

    Raises
    ------
    ValueError
        For no fields, two of one name, or an unknown ``form``.
    """
    if not fields or len({field.name for field in fields}) < len(fields):
        raise ValueError(f"names of fields must be different, at least one, not {[f.name for f in fields]}")
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}, not {form!r}")
    unended = _unended(text, finish_reason, refusal)
    if unended is not None:
        return unended
    short = len(text or "") <= _SHORT
    answer = (_answer_in_short if short else _answer_in)(text or "")
    if answer is None:
        return Parsed(None, Status.TRUNCATED, "the reasoning never ends")
    if len(answer) > _LONGEST:
        return Parsed(None, Status.UNPARSED, f"the reply is longer than {_LONGEST:,} characters")
    tags = {tag for field in fields if isinstance(field, Text) for tag in field.evidence}
    own = answer if prompt is None else own_words(answer, without_parts(prompt, tags) if tags else prompt)
    if own is None:
        return Parsed(None, Status.UNPARSED, "the reply repeats the prompt")
    found = (_read_short if short else _read)(own, tuple(fields), form)
    if short and found.values is not None:
        found = Parsed(dict(found.values), found.status)  # the other is kept
    if found.values is not None and tags:
        shown = prompt if material is None else material
        found = _with_evidence(found, found.values, fields, shown or "")
    if found.status is not Status.UNPARSED or found.invented:
        return found
    match = _REFUSAL.search(own.replace("’", "'")[:_REFUSED_WITHIN])
    return Parsed(None, Status.REFUSED, f"the reply says: {match.group()}") if match else found


def _answer_in(text: str) -> str | None:
    return answer_in(with_stars_counted(tidy(text)))


def used_up(text: str | None, finish_reason: str | None) -> bool:
    """Say whether a reply used up its limit of tokens in thought, before it answered."""
    return (finish_reason or "").casefold() in _CUT_OFF and not (answer_in(text or "") or "").strip()


def _unended(text: str | None, finish_reason: str | None, refusal: str | None) -> Parsed | None:
    """Return why a reply did not end by itself, or None if it did."""
    ended = (finish_reason or "").casefold()
    if (refusal or "").strip() or ended in _FILTERED:
        said = (refusal or "").strip() or f"the provider ended it: {finish_reason}"
        return Parsed(None, Status.REFUSED, said)
    if ended in _CUT_OFF:
        where = "in thought, before it answered" if used_up(text, finish_reason) else "before it ended"
        return Parsed(None, Status.TRUNCATED, f"the reply used up its limit {where}; raise max_tokens")
    return None


def _read(text: str, fields: Sequence[Field], form: str) -> Parsed:
    if not text.strip():
        return Parsed(None, Status.UNPARSED, "the reply is empty")
    json, names = find_json(text), names_of(fields)
    scales = {field.numbers for field in fields}
    scale = scales.pop() if len(scales) == 1 else None
    in_json: Claims = defaultdict(set)
    in_text: Claims = defaultdict(set)
    if scale is None:
        of_name = {field.name: field for field in fields}
        claim_objects(json, lambda v, to: mixed.claim_json(v, names, of_name, to), _into(in_json))
        others = mixed.claim_lines(json.rest, names, of_name, _into(in_text))
    else:
        claim_objects(json, lambda v, to: claim_json(v, names, scale, to), _into(in_json))
        others = claim_lines(json.rest, names, scale, _into(in_text))
    if json.cut_off:
        return Parsed(None, Status.TRUNCATED, "a JSON object is begun and never ended")
    read = _agreed(in_json, in_text, fields, form)
    if isinstance(read, str):
        return Parsed(None, Status.UNPARSED, read)
    numbers: dict[Scale, dict[str, float]] = defaultdict(dict)
    for field in fields:
        on, value = scale or (field.scale if isinstance(field, Number) else None), read[field.name]
        if on is not None and not isinstance(value, str):
            if value not in on:
                return Parsed(None, Status.OUT_OF_RANGE, f"{field.name!r} is {value:g}; asked for were {on}")
            numbers[on][field.name] = value
    rest = json.rest if scale else "\n".join(line.text for line in others)
    choices = {} if scale else {f: read[f.name] for f in fields if isinstance(f, Choice)}
    doubt = _doubt(rest, others, names, numbers, choices)
    if doubt:
        return Parsed(None, Status.UNPARSED, doubt)
    if scale:
        read = {f.name: f.given(numbers[scale][f.name]) for f in fields if not isinstance(f, Text)}
    return Parsed(read, Status.OK)


_answer_in_short = functools.lru_cache(2048)(_answer_in)
_read_short = functools.lru_cache(2048)(_read)


def _into(claims: Claims) -> Callable[[str, Given | None], None]:
    return lambda field, value: claims[field].add(value)


def _agreed(json: Claims, text: Claims, fields: Sequence[Field], form: str) -> dict[str, Given] | str:
    """Return the one value that is claimed of each field, or why there is none."""
    read: dict[str, Given] = {}
    for field in fields:
        said = json[field.name] | text[field.name]
        if isinstance(field, Text) and not field.required:
            said = said or {""}
        elif not {"auto": said, "json": json[field.name], "text": text[field.name]}[form]:
            return f"no value for {field.name!r}"
        value, *more = said
        if more or value is UNCLEAR:
            return f"no clear value for {field.name!r}"
        read[field.name] = value
    return read


def _doubt(
    text: str,
    others: list[Other],
    names: Names,
    numbers: Mapping[Scale, Mapping[str, float]],
    choices: Mapping[Choice, Given],
) -> str | None:
    """Return what the rest of the reply, ``others`` line by line, says against the values, or None."""
    mark = unknown_mark(text, names.spellings)
    if mark is not None:
        return f"the mark {mark!r} is not known"
    one = sole_choice(choices)
    compared = one if compares(one) and not numbers else None
    text = about_the_reply(text) if compared else text
    taken_back = takes_back(text) or withdraws(text, names)
    if taken_back is not None:
        return f"the reply says: {taken_back}"
    for line in others:
        about_choice = compared and is_about(line.text, compared)
        if line.after and not about_choice and is_not_understood(line.text, names):
            return f"it is not clear what this means: {line.text[:100]}"
        for sentence in sentences_of(line.text):
            about = {f for m in names.search.finditer(sentence[:400]) if (f := names.field(m["name"]))}
            another = any(
                speaks_of_another(
                    sentence,
                    scale,
                    [values[f] for f in about & values.keys() or values],
                    named=bool(about),
                    after=line.after,
                )
                for scale, values in numbers.items()
            )
            if another or (
                line.after
                and any(names_another(sentence, f, v, reason=f is compared) for f, v in choices.items())
            ):
                return f"another value may be meant: {sentence.strip()[:100]}"
    return None


def _with_evidence(found: Parsed, values: dict[str, Given], fields: Sequence[Field], prompt: str) -> Parsed:
    """Return what was read, with the texts that are not in the prompt; no values, if one of them must be."""
    texts = [f for f in fields if isinstance(f, Text) and f.evidence and values[f.name] != ""]
    unfound: dict[Text, list[str]] = {}
    for field in texts:
        parts = parts_of(prompt, field.evidence)
        if invented := [said for said in field.texts(values[field.name]) if not stands_in(said, parts)]:
            unfound[field] = invented
    named, said = tuple(f.name for f in unfound), tuple(text for of in unfound.values() for text in of)
    if any(f.binding for f in unfound):
        reason = f"{named[0]!r} is not in the prompt: {said[0][:100]}"
        return Parsed(None, Status.UNPARSED, reason, named, said)
    return replace(found, invented=named, unfound=said)
