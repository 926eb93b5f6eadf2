"""A choice in words: alone, before its reason, or in a sentence such as ``Therefore, B is better``."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, NamedTuple

from metaeval.base.records import FIRST, SECOND, TIE
from metaeval.llm.replies.beside import sentences_of
from metaeval.llm.replies.claims.line_claims import without_markup
from metaeval.llm.replies.fields import Choice
from metaeval.llm.replies.words import FARTHEST, UNCLEAR, tidy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from metaeval.llm.replies.fields import Field, Given

_AROUND = "\"'“”‘’「」()[]*_`. !。"
_THING = (
    r"(?:response|output|option|answer|text|list|slate|assistant|candidate|choice|explanation|summary|one)"
)
_SHOWN = r"(?:[a-z]|[1-9]|first|second|third|one|two|three|former|latter|left|right)"
_DESIGNATES = re.compile(rf"(?:the )?(?:{_THING} )?\(?{_SHOWN}\)?(?: {_THING})?", re.IGNORECASE)
_COMPARED = re.compile(
    rf"\b(?:{_THING} \(?(?:[1-9]|[a-e]|one|two)\b\)?|(?:first|second|third|both|other) {_THING}s?\b)",
    re.IGNORECASE,
)
_BETTER = r"(?:better|best|superior|prefer(?:red|able)|winner|winning|favou?rite|strong(?:er|est))"
_DEGREES = (
    r"(?: (?:the|an?|my|overall|much|by|far|still|also|therefore|thus|somewhat|more|clear|indeed|now"
    r"|(?!hard|bare|scarce|supposed|alleged)[a-z]+ly)){0,4}"
)
_VERDICT = r"(?:choice|answer|verdict|winner|decision|preference|pick|selection|judge?ment|conclusion|result)"
_LAST = r"(?:final(?:ly)?|overall|summary|revised|updated?|correct(?:ed|ion)|edit|actually|now)"
_CHOOSE = (
    r"(?:choos(?:e|ing)|pick(?:ing)?|select(?:ing)?|prefer|favou?r|chosen?|picked|selected"
    r"|(?:go|going|went) with|vote for|opt(?:ing)? for|settle on|should (?:be|have been)"
    r"|change (?:\w+ ){1,3}to)"
)
_ENDS = (
    r"(?=[\])\"'”’*.!]*(?:\W*$|[.,;:!)](?:\s|$)"
    r"| (?:because|since|as|than(?! nothing| average| most| many)|for|over|overall|due|given|here|and|but"
    r"|compared|instead|[-–—])(?:\s|$)))"
)
_CLAUSE = re.compile(r"[,;:—–]|\b(?:so|but|therefore|hence|thus|and|while|because)\b", re.IGNORECASE)
_SUPPOSED = re.compile(
    r"\b(?:if|unless|whether|when|suppose|example|at first)\b|\b(?:say|says|said|thinks?)\W*$|[\"“‘]\W*$",
    re.IGNORECASE,
)
_OF_OTHERS = re.compile(
    r"\b(?:not|never|cannot|neither|nor|could|might|may|either|previous\w*|earlier|instruct\w*|told|asked"
    r"|some(?:one|body)?|nobody|others?|people|users?|annotators?|raters?|judges?|experts?|they|he|she|you"
    r"|doubt\w*|hard(?:ly)?|difficult|unlikely|wrong|false|disagree|den(?:y|ies)|(?<!\bI )would)\b|n't\b",
    re.IGNORECASE,
)
_NOT_SO = re.compile(
    r"\W*(?:they|he|she|some|others|people|the user|say|says|said|according)\b|.{0,60}\b(?:only if|unless)\b",
    re.IGNORECASE,
)
"""After a verdict: it is another's, or not certain."""

_UNDECIDED = re.compile(
    rf"\bneither (?:\w+ )?(?:wins|(?:is|are|was) (?:\w+ )?{_BETTER})\b|\bit(?:'s| is) a (?:tie|draw|toss)"
    r"|\bI (?:can(?:no|')t|can not|could not|couldn't|am unable to) "
    r"(?:choose|decide|pick|determine|say|tell)\b",
    re.IGNORECASE,
)
_ITSELF = re.compile(
    r"\b(?:I|me|mine|my|your (?:outputs?|answers?|responses?)|raters?|judges?|annotators?)\b"
    r"|\b(?:this|that|these|those|the(?: above)?|your) (?:choices?|verdicts?|decisions?|judge?ments?|labels?"
    r"|repl(?:y|ies))\b"
    r"|\b(?:this|that|these|those) (?:was|were|(?:is|are) (?:only|just|merely|not (?:my|the)))\b"
    r"|\bthe (?:labels|letters|order) (?:are|were|is|was)\b"
    r"|^\W*(?:please )?(?:ignore|disregard|swap)\b|\b(?:ignore|disregard) (?:this|that|the above)\b",
    re.IGNORECASE,
)
"""In a sentence that may say that the reply chooses nothing."""

_TURNS = re.compile(
    r"^\W*(?:(?:and|but|or|so|oh|well|then|ok(?:ay)?|hmm+|um+)\W+)?(?:wait|no|nope|actually"
    r"|correct(?:ion|ed)|sorry|scratch|scrap|make (?:that|it)|change|rather|let me|edit|update|revis\w+)\b"
    r"|\b(?:on (?:second|further|reflection)|reconsider\w*|I meant?|I was wrong|my mistake|changed? my)\b",
    re.IGNORECASE,
)
_GOES_ON = re.compile(r"[)\]\"']* [a-z]|,? (?:is|was|has)")
_QUOTED = re.compile(r"[\"“][^\"“”\n]{0,200}[\"”]")
_OTHER_SIDES: dict[Given, tuple[str, ...]] = {
    FIRST: ("2", "second"),
    SECOND: ("1", "first"),
    TIE: ("1", "2", "first", "second"),
}
"""Value → the texts, by the order in which they are shown, that a verdict for it does not prefer."""

_FEW_WORDS = 4
_TWO = 2


class _Patterns(NamedTuple):
    """How a reply names one of some words."""

    word: re.Pattern[str]
    headed: re.Pattern[str]
    alone: re.Pattern[str]
    turn: re.Pattern[str]
    better: re.Pattern[str]
    chosen: re.Pattern[str]
    denied: re.Pattern[str]


@functools.lru_cache(64)
def _patterns(words: tuple[str, ...]) -> _Patterns:
    # A letter keeps its case, and "A fine list" begins with no choice.
    verb = r"is|was|wins|has|it|to|the|should|deserves|over|or|and|then|because|since|as|for|than"
    one_of = "|".join(
        rf"(?-i:{re.escape(w)})(?! (?!(?:{verb})\b)[a-z])" if len(w) == 1 else re.escape(w)
        for w in sorted(words, key=len, reverse=True)
    )
    word = rf"(?<![\w/'-])(?P<word>{one_of or '(?!)'})(?![\w+#/-]|'s?\w)"
    named = rf"(?:the )?(?:{_THING} )?[\[(\"'“]{{0,3}}{word}[\])\"'”]{{0,3}}(?: {_THING}\b)?"
    label = rf"(?:{_VERDICT}|{_BETTER}(?: {_THING})?|{_LAST}(?= ?[:=]))"
    patterns = {
        "word": word,
        "headed": rf"\s*{named}(?:[.!:]\s+|\s+[-–—]\s+|,?\s+(?=because\b|since\b|as it\b|\())"
        r"(?P<reason>\S.*)",
        "alone": rf"^\W*{named}(?:\W*$|\W+(?:because|since|as it)\b)",
        "turn": rf"\b(?:so|therefore|hence|thus|reflection|actually|instead),? {named}[.! ]*$",
        "better": rf"(?P<found>\b(?:believe|find|consider|deem|mak(?:es?|ing)) )?{named}"
        rf"(?:(?(found)(?: to be| as)?| (?:is|was|(?:seems|appears)(?: to be)?|remains)){_DEGREES} {_BETTER}"
        rf"(?: (?:{_THING}|fit|match))?{_ENDS}"
        rf"| (?:wins|(?:should|deserves to) win|is my {_VERDICT})\b| it is{_ENDS})",
        "chosen": rf"\b(?:{_CHOOSE}|{label} ?(?:is|was|would be|remains|goes to|:|=)"
        rf"(?: now| clearly| therefore| still)?:?|I meant?) {named}{_ENDS}",
        "denied": rf"(?:(?P<before>\b(?:not|n't|never) {_CHOOSE}|\b{_VERDICT} (?:is not|isn't)) )?{named}"
        rf"(?(before){_ENDS}| (?:(?:is|was) (?:not|never|no)|isn't|wasn't){_DEGREES} {_BETTER}{_ENDS})",
    }
    return _Patterns(**{name: re.compile(p, re.IGNORECASE | re.DOTALL) for name, p in patterns.items()})


def sole_choice(fields: Iterable[Field]) -> Choice | None:
    """Return the only choice among fields, if there is one; numbers and texts may stand beside it."""
    asked = [field for field in fields if isinstance(field, Choice)]
    return asked[0] if len(asked) == 1 else None


def compares(field: Choice | None) -> bool:
    """Say whether a choice is one of several texts, such as ``A`` and ``B``: a reason names both."""
    return (
        field is not None
        and sum(all(map(_DESIGNATES.fullmatch, map(_bare, said))) for said in field.words.values()) > 1
    )


def chosen(field: Choice, value: object) -> Given | None:
    """Return the value whose word a text is, or `UNCLEAR`."""
    said = f"{value:g}" if type(value) in (int, float) else str(value)  # True is "true"
    word = _bare(tidy(without_markup(said))).casefold()
    found = [of for of, words in field.words.items() if word in {_bare(w.casefold()) for w in words}]
    return found[0] if len(found) == 1 else UNCLEAR


def before_reason(field: Choice, text: str) -> tuple[str, str]:
    """Split ``B. It is clearer.`` into the word of a choice and the reason for it, which may be empty."""
    match = _patterns(_words(field)).headed.match(without_markup(text))
    return (match["word"], match["reason"]) if match else (text, "")


def verdicts(text: str, field: Choice) -> Iterator[Given | None]:
    """Yield each value that a text says is chosen."""
    patterns = _patterns(_words(field))
    for sentence in sentences_of(text) if compares(field) else ():
        for word in _claimed(sentence, patterns, (patterns.alone, patterns.turn)):
            yield chosen(field, word)


def _claimed(sentence: str, patterns: _Patterns, more: Iterable[re.Pattern[str]] = ()) -> Iterator[str]:
    """Yield the words that a sentence says are chosen."""
    said = " ".join(sentence.replace("’", "'").split())
    if said.endswith("?") or not patterns.word.search(said):
        return
    for pattern in (patterns.better, patterns.chosen, *more):
        for match in pattern.finditer(said):
            lead = said[max(0, match.start() - FARTHEST) : match.start()]
            supposed = _SUPPOSED.search(lead) or _NOT_SO.match(said, match.end())
            if not (supposed or _OF_OTHERS.search(_CLAUSE.split(lead)[-1])):
                yield match["word"]


def is_about(line: str, field: Choice) -> bool:
    """Say whether a line is about a choice, or about what is compared."""
    return bool(_COMPARED.search(line) or _UNDECIDED.search(line)) or any(True for _ in verdicts(line, field))


def about_the_reply(text: str) -> str:
    """Return the sentences that may be about the reply itself, and not only about what is compared."""
    unquoted = (_QUOTED.sub(" ", sentence) for sentence in sentences_of(text))
    return "\n".join(
        _COMPARED.sub(" ", said)
        for said in unquoted
        if _ITSELF.search(said) or (len(said.split()) <= _FEW_WORDS and not _COMPARED.search(said))
    )


def names_another(sentence: str, field: Choice, value: Given, *, reason: bool) -> bool:
    """Say whether a sentence beside the choice that was read may mean another one.

    Parameters
    ----------
    reason
        Whether it may be a reason, which names what is compared, such as ``B`` or ``the second``. Any other
        word of another choice, such as ``tie``, is a choice wherever it stands.
    """
    sentence = sentence.replace("’", "'")
    others = _words(field, but=value)
    shown = tuple(w for w in others if reason and _DESIGNATES.fullmatch(w))
    plain = "|".join(re.escape(w) for w in others if w not in shown)
    if plain and re.search(rf"(?<![a-z0-9])(?:{plain})(?![a-z0-9])", sentence, re.IGNORECASE):
        return True
    if not reason or _speaks_against(sentence, field, value):
        return reason
    named = _patterns(shown).word.search(sentence)
    if named is None:
        return False
    brief = len(sentence.split()) <= _FEW_WORDS and not _GOES_ON.match(sentence, named.end())
    return brief or _TURNS.search(sentence) is not None


def _speaks_against(sentence: str, field: Choice, value: Given) -> bool:
    """Say whether a sentence denies a choice, without a word of another."""
    return (
        _patterns(_words(field, only=value)).denied.search(sentence) is not None
        or any(_claimed(sentence, _patterns(_OTHER_SIDES.get(value, ()))))
        or (
            (value in (FIRST, SECOND) or len(field.words) == _TWO) and _UNDECIDED.search(sentence) is not None
        )
    )


def _words(field: Choice, *, but: Given | None = None, only: Given | None = None) -> tuple[str, ...]:
    """Return the words of the values of a field, without the marks around them."""
    of_values = (said for of, said in field.words.items() if of != but and only in (None, of))
    return tuple(filter(None, (_bare(w) for said in of_values for w in said)))


def _bare(text: str) -> str:
    return text.strip(_AROUND)
