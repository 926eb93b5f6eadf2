"""Replies whose fields differ in kind: numbers, choices in words, and texts.

In JSON each field is a key of one object. In text each has a line ``name: value``; a text may continue below
it, up to an empty line or the next field. A value is the whole of its line or key, but for the reason of a
choice: with anything beside it that is not understood, it is not read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from metaeval.llm.replies.beside import is_head, leads_here, takes_back
from metaeval.llm.replies.claims.choices import (
    about_the_reply,
    before_reason,
    chosen,
    compares,
    sole_choice,
    verdicts,
)
from metaeval.llm.replies.claims.json_claims import Pairs
from metaeval.llm.replies.claims.line_claims import Other, is_partly_quoted, without_markup
from metaeval.llm.replies.claims.objects import claim_value, holds_values, is_remark_key, unclear
from metaeval.llm.replies.fields import EVIDENCE, REASON, Choice, Number, Text
from metaeval.llm.replies.remarks import withdraws
from metaeval.llm.replies.values import whole_value
from metaeval.llm.replies.words import UNCLEAR

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from metaeval.llm.replies.fields import Field, Given
    from metaeval.llm.replies.names import Names

    Claim: TypeAlias = Callable[[str, Given | None], None]

_DEEPEST = 8
_LEAD = r"^[\s>#•●▪◦·+|*_`\"'-]*(?:[0-9]{1,2}[.)] *)?[*_`\"' ]{0,9}"
_HEADS_REASON = re.compile(
    r"^(?:[0-9]{1,2}[.)] +)?(?:\W*(?:reasons?|reasoning|rationale|explanation|justification) *(?::\W*|$))?",
    re.IGNORECASE,
)
_BETWEEN = "|"
"""What stands between the reason of a rationale and its evidence, in a line."""
_BULLET = re.compile(r"^\s*(?:[-*•] +|[0-9]{1,2}[.)] +)?")
_SEPARATOR = r"[*_`\"' ]*(?::|=)[*_` ]*"


def claim_json(
    value: object, names: Names, fields: Mapping[str, Field], claim: Claim, depth: int = 0
) -> None:
    """Tell ``claim`` every field and value that a JSON value names."""
    if depth > _DEEPEST or not isinstance(value, Pairs):
        return
    asked = [(names.field(key), key, inner) for key, inner in value]
    named = any(field for field, _, _ in asked)
    choice = sole_choice(fields.values())
    if named and not all(field or _is_harmless(key, inner, names, choice) for field, key, inner in asked):
        claim = unclear(claim)
    for field, key, inner in asked:
        if named and (field is None or isinstance(fields[field], Text)):
            for reason in _reasons(inner):
                _claim_reason(reason, choice, claim)
        if field is None:
            known = holds_values(key) and not named
            claim_json(inner, names, fields, claim if known else unclear(claim), depth + 1)
        elif isinstance(one := fields[field], Number):
            claim_value(field, inner, names, one.scale, claim)
        else:
            claim(field, _read(one, inner, choice))


def _is_harmless(key: str, value: object, names: Names, choice: Choice | None) -> bool:
    """Say whether a key beside the fields of an object holds a reason for them."""
    if not is_remark_key(key, names):
        return False
    return value is None or (isinstance(value, str) and not _is_taken_back(value, names, choice))


def _is_taken_back(text: str, names: Names | None, choice: Choice | None) -> bool:
    said = about_the_reply(text) if compares(choice) else text
    return takes_back(said) is not None or withdraws(said, names) is not None


def _reasons(value: object) -> list[object]:
    """Return a value; of a list of rationales the reason of each."""
    if not isinstance(value, list) or isinstance(value, Pairs):
        return [value]
    return [dict(of).get(REASON) for of in value if isinstance(of, Pairs)]


def _claim_reason(value: object, choice: Choice | None, claim: Claim) -> None:
    """Tell ``claim`` what a reason says is chosen: it must not be another value than the one beside it."""
    if choice and isinstance(value, str):
        for said in verdicts(value, choice):
            claim(choice.name, said)


def claim_lines(raw: str, names: Names, fields: Mapping[str, Field], claim: Claim) -> list[Other]:
    """Tell ``claim`` every field and value that the lines of a reply name; return the other lines."""
    begins = re.compile(f"{_LEAD}{names.pattern}{_SEPARATOR}", re.IGNORECASE)
    quotations = is_partly_quoted(raw)
    choice = sole_choice(fields.values())
    others: list[Other] = []
    said: list[tuple[str, str, bool]] = []  # field, what is said of it, and whether it is an answer
    elsewhere = below = stated = False
    for line in raw.split("\n"):
        is_answer = not (elsewhere or (quotations and line.lstrip().startswith(">")))
        rest = line
        match = begins.match(line)
        if match and (field := names.field(match["name"])):
            text, rest = line[match.end() :], ""
            if fields[field] is choice:
                text, rest = before_reason(choice, text)
                if not text.strip("*_` "):
                    continue  # its word stands in the next line
            said.append((field, text, is_answer))
            below = isinstance(fields[field], Text)
        elif below and line.strip():
            field, text, was_answer = said.pop()
            said.append((field, f"{text}\n{line}", was_answer))
            continue
        else:
            below = False
        bare = without_markup(rest).strip()
        if bare := _HEADS_REASON.sub("", bare) if choice else bare:
            if choice and (values := set(verdicts(bare, choice))):
                claim(choice.name, values.pop() if is_answer and len(values) == 1 else UNCLEAR)
                stated = True
            others.append(Other(bare, stated or bool(said)))
            elsewhere = is_head(rest) and not leads_here(bare)
    for field, text, is_answer in said:
        claim(field, _read(fields[field], text, choice) if is_answer else UNCLEAR)
        if isinstance(one := fields[field], Text):
            for reason in [line.partition(_BETWEEN)[0] for line in text.split("\n")] if one.many else [text]:
                _claim_reason(reason, choice, claim)
    return others


def _read(field: Field, value: object, choice: Choice | None) -> Given | None:
    """Return the value of a field, or `UNCLEAR`."""
    match field:
        case Number():
            return whole_value(without_markup(value), field.scale) if isinstance(value, str) else UNCLEAR
        case Choice():
            return chosen(field, value)
        case Text():
            return _rationales(field, value) if field.many else _text(field, value, choice)


def _text(field: Text, value: object, choice: Choice | None) -> str | None:
    if value is None and not field.required:
        return ""
    if not isinstance(value, str) or (field.required and not value.strip()):
        return UNCLEAR
    text = value.strip()
    return UNCLEAR if not field.evidence and _is_taken_back(text, None, choice) else text


def _rationales(field: Text, value: object) -> str | None:
    """Return the evidence of rationales, a line for each; `UNCLEAR` if one has none."""
    if isinstance(value, str):
        lines = (_BULLET.sub("", line) for line in value.split("\n") if line.strip())
        found: list[object] = [line.rpartition(_BETWEEN)[2] for line in lines]
    elif isinstance(value, list) and not isinstance(value, Pairs):
        found = [dict(of).get(EVIDENCE) if isinstance(of, Pairs) else of for of in value]
    else:
        found = [] if value is None else [value]
    texts = [" ".join(of.split()) for of in found if isinstance(of, str)]
    if len(texts) < len(found) or not all(texts) or (field.required and not texts):
        return UNCLEAR
    return "\n".join(texts)
