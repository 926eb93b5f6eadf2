"""Reply → values, or the reason that there are none.

All or nothing: a reply is read only if it gives every field one clear value on the scale. There are three
ways: by a pattern that the user states (`metaeval.llm.replies.patterns`), as JSON
(`metaeval.llm.replies.objects`), and by the grammar of text (`metaeval.llm.replies.grammar`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metaeval.base.errors import exact
from metaeval.base.records import Status
from metaeval.llm.replies.fields import Choice, Field, Given, Number, Text, names_of, tidy
from metaeval.llm.replies.grammar import stated
from metaeval.llm.replies.objects import find_answers, valid
from metaeval.llm.replies.patterns import ReplyPattern, UnreadError

PARSER = "6"
"""Version of the reading of replies; raised when the same reply may be read otherwise."""
FORMS: tuple[str, ...] = ("auto", "json", "text")

_FILTERED = ("content_filter", "content-filter", "safety", "refusal", "prohibited_content", "recitation")
_CUT_OFF = ("length", "max_tokens", "max_output_tokens", "model_length")
_LONGEST = 30_000  # characters of an answer; a longer one is no rating
_TAKES_BACK = re.compile(
    r"\W*(?:wait|correction|corrected|actually|adjusted|revised|on (?:reflection|second thoughts?))\b",
    re.IGNORECASE,
)
"""How a last line with another value begins that takes back what stands above it."""
_BEGINS_JSON = re.compile(r"\s*(?:```(?:json)?\s*)?[\[{]\s*[\"'{]")
_REFUSAL = re.compile(
    r"\bI(?:'m| am) (?:sorry|unable|not able)|\bas an? (?:AI|language model|large language)\b"
    r"|\bI (?:can't|cannot|can not|won't|will not|decline|refuse|apologize)\b"
    r"|抱歉|对不起|很遗憾|无法|不能提供|作为(?:一个|一名)?(?:AI|人工智能|语言模型)",
    re.IGNORECASE,
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
    pattern: ReplyPattern | None = None,
    finish_reason: str | None = None,
    refusal: str | None = None,
    prompt: str | None = None,
) -> Parsed:
    """Read the values of the fields, which were asked for in this order, from a reply.

    Parameters
    ----------
    form
        ``json``: an object has the values; ``text``: the grammar of text reads them; ``auto``: the object, if
        there is one, else the text.
    pattern
        Reads the reply instead.
    finish_reason, refusal
        Why it ended, and its refusal, as the provider says. What was cut off or filtered gives no values.
    prompt
        What was sent, without what is judged: a reply that repeats it is no answer.

    Raises
    ------
    ValueError
        For no fields, two of one name, or an unknown ``form``.
    """
    if not fields or len({field.name for field in fields}) < len(fields):
        raise ValueError(f"names of fields must be different, at least one, not {[f.name for f in fields]}")
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}, not {form!r}")
    try:
        answer = _ended(text or "", finish_reason, refusal)
        if pattern is not None:
            matched = pattern.read(answer, [field.name for field in fields])
            return _checked({f.name: valid(f, matched[f.name], names_of(fields)) for f in fields}, fields)
        return _checked(_read(answer if prompt is None else _own_words(answer, prompt), fields, form), fields)
    except UnreadError as why:
        refused = _REFUSAL.search((text or "").replace("’", "'")[:300])
        if why.status is Status.UNPARSED and refused:
            return Parsed(None, Status.REFUSED, f"the reply says: {refused.group()}")
        return Parsed(None, why.status, str(why))


def used_up(text: str | None, finish_reason: str | None) -> bool:
    """Say whether a reply used up its limit of tokens in thought, before it answered."""
    return (finish_reason or "").casefold() in _CUT_OFF and not (answer_in(text or "") or "").strip()


def _ended(text: str, finish_reason: str | None, refusal: str | None) -> str:
    """Return the answer of a reply that ended by itself, without its reasoning."""
    ended = (finish_reason or "").casefold()
    if (refusal or "").strip() or ended in _FILTERED:
        said = (refusal or "").strip() or f"the provider ended it: {finish_reason}"
        raise UnreadError(said, Status.REFUSED)
    if ended in _CUT_OFF:
        where = "in thought, before it answered" if used_up(text, finish_reason) else "before it ended"
        raise UnreadError(f"the reply used up its limit {where}; raise max_tokens", Status.TRUNCATED)
    answer = answer_in(text)
    if answer is None:
        raise UnreadError("the reasoning never ends", Status.TRUNCATED)
    if not answer.strip():
        raise UnreadError(f"the reply {'ends with its reasoning' if text.strip() else 'is empty'}")
    return answer


def _own_words(reply: str, prompt: str) -> str:
    """Return a reply without the lines it copies from the prompt; JSON stays, for it may equal an example."""
    said = _folded(reply)
    if said[:1] + said[-1:] == "{}":
        return reply
    lines = _long_lines(prompt)
    copied = {line for line in lines if line in said}
    if not copied:
        return reply
    if lines[0] in copied:
        raise UnreadError("the reply repeats the prompt")
    own = (line for line in reply.split("\n") if line.lstrip()[:1] in '{["' or _folded(line) not in copied)
    return "\n".join(own)


def _long_lines(prompt: str) -> list[str]:
    """Return the lines that nobody writes by chance."""
    # Most lines of a prompt are those of all others; what LaTeX marks may go on in the next line.
    parts = [prompt] if "\\" in prompt else prompt.split("\n")
    return [line for part in parts for line in _folded_lines(part) if len(line) >= 25]


@functools.lru_cache(maxsize=256)
def _folded_lines(text: str) -> list[str]:
    return [_folded(line) for line in tidy(text).split("\n")]


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _read(text: str, fields: Sequence[Field], form: str) -> dict[str, Given | None]:
    """Return field → value, or None where it is not clear."""
    if len(text) > _LONGEST:
        raise UnreadError(f"the reply is longer than {_LONGEST:,} characters")
    names = names_of(fields)
    answers, rest = find_answers(text, fields, names)
    above, _, last = rest.strip().rpartition("\n")
    taken_back = (above or answers) and _TAKES_BACK.match(last)
    if taken_back and (any(isinstance(f, Choice) for f in fields) or any(map(str.isdigit, last))):
        raise UnreadError(f"the reply takes its values back: {last[:100]}")
    if answers and form != "text":
        return {name: v if all(a[name] == v for a in answers) else None for name, v in answers[0].items()}
    no_object = f"no JSON object has all of {', '.join(repr(field.name) for field in fields)}"
    begun = _BEGINS_JSON.match(rest) is not None
    if begun and not text.rstrip(" \n`").endswith(("}", "]")):
        raise UnreadError("a JSON object is begun and never ended", Status.TRUNCATED)
    if form == "json" or (begun and form == "auto"):
        raise UnreadError(no_object)
    said = stated(tidy(rest), fields, names)
    for field in fields:
        if not said[field.name] and (not isinstance(field, Text) or field.required):
            raise UnreadError(no_object if rest != text else f"no value for {field.name!r}")
    return {name: values[0] if len(values) == 1 else None if values else "" for name, values in said.items()}


def _checked(read: Mapping[str, Given | None], fields: Sequence[Field]) -> Parsed:
    values: dict[str, Given] = {}
    for field in fields:
        value = read[field.name]
        if value is None:
            raise UnreadError(f"no clear value for {field.name!r}")
        if isinstance(field, Number) and float(value) not in field.scale:
            reason = f"{field.name!r} is {exact(float(value))}; asked for were {field.scale}"
            raise UnreadError(reason, Status.OUT_OF_RANGE)
        values[field.name] = value
    return Parsed(values, Status.OK)


_THOUGHTS = r"(?:think|thinking|thoughts?|reasoning|reflection|analysis|scratchpad|plan|draft|example)"
_THOUGHT = re.compile(
    rf"[<\[◁【]\s{{0,9}}\|?(?P<end>\s{{0,9}}/)?\s{{0,9}}(?P<name>{_THOUGHTS})\b[^<>\[\]◁▷【】\n]{{0,99}}[>\]▷】]",
    re.IGNORECASE,
)
_OPENS = re.compile(r"[<\[◁【]")
_FINAL_CHANNEL = "<|channel|>final<|message|>"
_ENDS = re.compile(
    r"(?:\s|<\|(?:im_end|eot_id|eom_id|end_of_text|endoftext|end|return|endofturn)\|>|</s>|<end_of_turn>)+\Z"
)


def answer_in(text: str) -> str | None:
    """Return what comes after the reasoning, or None if the reasoning never ends."""
    answer = parted(text)[1]
    if answer is None:
        return None
    last = _ENDS.search(answer, max(0, len(answer) - 200))
    return answer[: last.start()] if last else answer


def parted(text: str) -> tuple[str, str | None]:
    """Return the reasoning in a reply, without its marks, and the rest; None if the reasoning never ends.

    Some servers drop the mark that begins the reasoning: without one, all before its end is reasoning.
    """
    if not _OPENS.search(text):
        return "", text
    thoughts: list[str] = []
    at = text.rfind(_FINAL_CHANNEL)
    if at >= 0:
        thoughts.append(text[:at])
        text = text[at + len(_FINAL_CHANNEL) :].split("<|", maxsplit=1)[0]
    kept: list[str] = []
    at, thought = 0, None
    for mark in _THOUGHT.finditer(text):
        name = mark["name"].casefold()
        if thought is not None and name != thought:
            continue
        piece = text[at : mark.start()]
        if mark["end"] is not None and thought is None:
            thoughts += [*kept, piece]
            kept = []
        elif thought is None:
            kept.append(piece)
            thought = name
        else:
            thoughts.append(piece)
            thought = None if mark["end"] is not None else thought
        at = mark.end()
    if thought is not None:
        return "\n".join([*thoughts, text[at:]]), None
    return "\n".join(thoughts), "\n".join([*kept, text[at:]])
