"""Reply → values, or the reason that there are none.

All or nothing: only a reply that gives every field one clear value on the scale gives values. What can be
read in two ways is not read at all, nor is a value beside which stands what is not understood, such as
another number: a lost answer is counted and asked for again, an invented one is not noticed by anybody.
"""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from metaeval.base.records import Scale, Status
from metaeval.llm.replies.beside import sentences_of, speaks_of_another, takes_back
from metaeval.llm.replies.json_claims import find_json
from metaeval.llm.replies.line_claims import claim_lines
from metaeval.llm.replies.marks import answer_in, unknown_mark
from metaeval.llm.replies.names import names_of
from metaeval.llm.replies.objects import claim_objects
from metaeval.llm.replies.remarks import is_not_understood, withdraws
from metaeval.llm.replies.words import UNCLEAR, tidy, with_stars_counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from metaeval.llm.replies.line_claims import Other
    from metaeval.llm.replies.names import Names
    from metaeval.llm.replies.words import Value

PARSER = "2"
"""Version of the reading of replies; raised when the same reply may be read otherwise."""

FORMS: tuple[str, ...] = ("auto", "json", "text")

_FILTERED = frozenset(
    ["content_filter", "content-filter", "safety", "refusal", "prohibited_content", "recitation"]
)
_CUT_OFF = frozenset(["length", "max_tokens", "max_output_tokens", "model_length"])
_LONGEST = 30_000  # characters of an answer without its reasoning; a longer one is no rating
_MOST_CHOICES = 100  # points of a scale that a schema lists one by one

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
_REFUSED_WITHIN = (
    300  # characters: a refusal comes first; later, such words are about the text that is judged
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """What was read from a reply."""

    values: dict[str, float] | None
    """Field → value, all fields in the order asked; None unless ``status`` is ``ok``."""
    status: Status
    """``ok``, ``refused``, ``unparsed``, ``out_of_range`` or ``truncated``."""
    reason: str = ""
    """Why there are no values, for people."""


def parse_reply(
    text: str | None,
    fields: Sequence[str],
    scale_min: float,
    scale_max: float,
    integer: bool,
    *,
    form: str = "auto",
    finish_reason: str | None = None,
    refusal: str | None = None,
    aliases: Mapping[str, Iterable[str]] | None = None,
    prompt: str | None = None,
) -> Parsed:
    """Read the values of the fields from a reply.

    Parameters
    ----------
    text
        The reply; None or blank if there was none.
    fields
        What was asked for, in the order asked.
    scale_min, scale_max, integer
        The scale, both ends included, and whether only integers are on it.
    form
        ``json``: the values must stand in JSON; ``text``: in lines; ``auto``: in either. Whatever else the
        reply says must not contradict them.
    finish_reason
        Why the provider says that the reply ended. A reply that was cut off or filtered gives no values.
    refusal
        The provider's own field for a refusal.
    aliases
        Field → other names under which it may stand, such as its name in another language.
    prompt
        What was sent, so that a reply which repeats it is not read as an answer.

    Raises
    ------
    ValueError
        If ``fields`` is empty or names one twice, or ``form`` is not known: an error of the caller.
    """
    if not fields or len(set(fields)) < len(fields):
        raise ValueError(f"fields must be different names, at least one, not {list(fields)!r}")
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}, not {form!r}")
    unended = _unended(finish_reason, refusal)
    if unended is not None:
        return unended
    answer = answer_in(with_stars_counted(tidy(text or "")))
    if answer is None:
        return Parsed(None, Status.TRUNCATED, "the reasoning never ends")
    if len(answer) > _LONGEST:
        return Parsed(None, Status.UNPARSED, f"the reply is longer than {_LONGEST:,} characters")
    own = answer if prompt is None else _own_words(answer, prompt)
    if own is None:
        return Parsed(None, Status.UNPARSED, "the reply repeats the prompt")
    found = _read(own, names_of(fields, aliases), Scale(scale_min, scale_max, integer), form)
    if found.status is not Status.UNPARSED:
        return found
    match = _REFUSAL.search(own.replace("’", "'")[:_REFUSED_WITHIN])
    return Parsed(None, Status.REFUSED, f"the reply says: {match.group()}") if match else found


def _unended(finish_reason: str | None, refusal: str | None) -> Parsed | None:
    """Return why a reply did not end by itself, or None if it did."""
    ended = (finish_reason or "").casefold()
    if (refusal or "").strip() or ended in _FILTERED:
        said = (refusal or "").strip() or f"the provider ended it: {finish_reason}"
        return Parsed(None, Status.REFUSED, said)
    if ended in _CUT_OFF:
        return Parsed(None, Status.TRUNCATED, f"the provider cut it off: {finish_reason}")
    return None


def _read(text: str, names: Names, scale: Scale, form: str) -> Parsed:
    if not text.strip():
        return Parsed(None, Status.UNPARSED, "the reply is empty")
    json = find_json(text)
    claims: dict[str, defaultdict[str, set[Value]]] = {"json": defaultdict(set), "text": defaultdict(set)}
    claim_objects(json, names, scale, lambda f, v: claims["json"][f].add(v))
    others = claim_lines(json.rest, names, scale, lambda f, v: claims["text"][f].add(v))
    if json.cut_off:
        return Parsed(None, Status.TRUNCATED, "a JSON object is begun and never ended")
    for field in names.fields:
        said = claims["json"][field] | claims["text"][field]
        if not (said if form == "auto" else claims[form][field]):
            return Parsed(None, Status.UNPARSED, f"no value for {field!r}")
        if len(said) > 1 or UNCLEAR in said:
            return Parsed(None, Status.UNPARSED, f"no clear value for {field!r}")
    values = {f: v for f in names.fields for v in claims["json"][f] | claims["text"][f] if v is not UNCLEAR}
    for field, value in values.items():
        if value not in scale:
            return Parsed(None, Status.OUT_OF_RANGE, f"{field!r} is {value:g}; asked for were {scale}")
    doubt = _doubt(json.rest, others, names, scale, values)
    return Parsed(None, Status.UNPARSED, doubt) if doubt else Parsed(values, Status.OK)


def _doubt(
    text: str, others: list[Other], names: Names, scale: Scale, values: Mapping[str, float]
) -> str | None:
    """Return what the rest of the reply says against the values, or None."""
    mark = unknown_mark(text, names.spellings)
    if mark is not None:
        return f"the mark {mark!r} is not known"
    taken_back = takes_back(text) or withdraws(text, names)
    if taken_back is not None:
        return f"the reply says: {taken_back}"
    for line in others:
        if line.after and is_not_understood(line.text, names):
            return f"it is not clear what this means: {line.text[:100]}"
        for sentence in sentences_of(line.text):
            about = {f for m in names.search.finditer(sentence[:400]) if (f := names.field(m["name"]))}
            said = [values[f] for f in about or names.fields]
            if speaks_of_another(sentence, scale, said, named=bool(about), after=line.after):
                return f"another value may be meant: {sentence.strip()[:100]}"
    return None


def _own_words(reply: str, prompt: str) -> str | None:
    """Return the reply without the lines it copies from the prompt, such as the ratings of an example.

    None if it repeats the prompt: its first long line, or two thirds of them. What is JSON stays, for an
    answer may well be equal to an example.
    """
    bare = reply.strip()
    if bare.startswith("{") and bare.endswith("}"):
        return reply
    lines = _long_lines(prompt)
    said = " ".join(reply.split()).casefold()
    here = {line for line in lines if line in said}
    if here and (lines[0] in here or len(here) * 3 >= 2 * len(set(lines))):
        return None
    kept = [
        line
        for line in reply.split("\n")
        if line.lstrip()[:1] in ("{", "[", '"') or " ".join(line.split()).casefold() not in here
    ]
    return "\n".join(kept)


@functools.lru_cache(maxsize=8)  # a reply is looked at when it comes, and again when it is used
def _long_lines(prompt: str) -> list[str]:
    """Return the lines that nobody writes by chance, without blanks and case."""
    lines = (" ".join(line.split()).casefold() for line in tidy(prompt).split("\n"))
    return [line for line in lines if len(line) >= 25]


def json_schema(
    fields: Sequence[str], scale_min: float, scale_max: float, integer: bool, *, reasons: bool = False
) -> dict[str, Any]:
    """Return the JSON schema of a reply, as strict as providers take it.

    Every field is required and no other is allowed. The points of a scale of integers are listed, which all
    providers with a schema understand; another scale has its two ends. With ``reasons`` each field is an
    object ``{"reason": "…", "score": 4}``: models write keys in this order, so the reason comes first.
    """
    if integer and scale_max - scale_min < _MOST_CHOICES:
        low, high = int(-(-scale_min // 1)), int(scale_max // 1)
        value: dict[str, Any] = {"type": "integer", "enum": list(range(low, high + 1))}
    else:
        value = {"type": "integer" if integer else "number", "minimum": scale_min, "maximum": scale_max}
    if reasons:
        value = _object({"reason": {"type": "string"}, "score": value})
    return _object({field: dict(value) for field in fields})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
