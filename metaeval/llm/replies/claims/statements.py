"""Sentences that state a score: ``Score: 4``, ``…, resulting in a score of 2 out of 5.``, ``我给4分。``."""

from __future__ import annotations

import functools
import itertools
import re
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from metaeval.llm.replies.beside import leads_elsewhere, leads_here
from metaeval.llm.replies.finder import Phrases, any_of
from metaeval.llm.replies.numerals import is_count, says_other_scale
from metaeval.llm.replies.phrases import SENTENCE
from metaeval.llm.replies.values import read_value
from metaeval.llm.replies.words import FARTHEST, UNCLEAR, WORDS

if TYPE_CHECKING:
    from metaeval.base.records import Scale
    from metaeval.llm.replies.values import Reading
    from metaeval.llm.replies.words import Value

SCORE = r"(?:scores?|ratings?|rated|评分|得分|分数|打分)"
"""What a reply calls a value of a field."""

_TEXT = any_of(r"""
    (?:sentences? (?:in|of) (?:the |this )?)?(?:(?:provided|given|above|whole) )?(?:summar(?:y|i[sz]ation)
    explanations?|texts?|recommendations?|justifications?|responses?|reply|outputs?|answers?|translations?
    sentences?|writing|passages?|paragraphs?|descriptions?)
""")
_ADJECTIVES = "perfect|full|solid|strong|high|low|good|poor|fair|moderate|final|overall|summary"
_VERB = any_of(r"""
    result(?:ing|s) in|lead(?:ing|s) to|earn(?:ing|s)|receiv(?:ing|es)|deserv(?:ing|es)|merit(?:ing|s)
    warrant(?:ing|s)|yield(?:ing|s)|achiev(?:ing|es)|obtain(?:ing|s)|gets|getting|giving it|making it
    indicat(?:ing|es)|scor(?:ing|es)|with|is
""")
_MINE = re.compile(r"[:=]|\bmy\b|[为是]", re.IGNORECASE)
_FOLLOWS = re.compile(r"(?:[,;–—-]|\b(?:and|thus|therefore|hence|so|thereby)) ?$", re.IGNORECASE)
_IN_ITSELF = re.compile(r"[\u3400-\u9fff]|^\W*(?:I|my|overall|all)\b|^\W*$|^[^ ]+ ?:", re.IGNORECASE)
"""Before a label: ``I like it (score: 4)``, and not ``The match was fun, final score: 2``."""

_OF_ELSE = re.compile(r"\W*(?:the|that|an?|its|his|her|their)\b", re.IGNORECASE)

_GIVES = re.compile(r"(?:scor|making|giving|earn|receiv|deserv|merit|get|I\b)", re.IGNORECASE)
"""The verbs after which ``a 4`` is a score; after the others only ``a 4 out of 5`` is."""

_SUPPOSED = Phrases(
    any_of(r"""
    \b(?:unless|suppos\w+|imagine|pretend|assuming|otherwise|normally|usually|originally|initially|whether)\b
    (?:^|[,;:(] ?|\b(?:but|and|even|only|as|then|that) )(?:if|had|were)\b
    (?:^|[,;:(] ?|\b(?:but|and) )with (?:an? |the )?(?:better|more|fewer|less|shorter|longer|clearer)\b
    \b(?:previously|last time|elsewhere|another|(?:some|any|every)(?:one|body)|no(?:body| one)|imdb
    rotten|metacritic|raters?|annotators?|judges?|colleagues?|examples?|e\.g|for instance)\b|[?？]
    \b(?:would|could|should|might|must) (?:not )?have\b
    \b(?:some|others|many|most) (?:would|might|may|will|could)\b
    \b(?:scores?|ratings?|rated|stars|grades?|says?|said|claims?|thinks?|believes?|argues?|puts|wrote|according)\b
    \b(?:at first|(?:last|other|next) one)\b
    ^\W*(?:without|but for|apart|aside|ignoring|except|save|barring|leaving|in another)\b
    例如|比如|如果|假如|假设|若|可能|也许|或许|豆瓣|影评|网友|观众|别人|他人|有人|读者|用户
    """)
)
"""In a sentence before its score: it is supposed, of another time or of somebody else."""

_REPORTS = re.compile(
    r"\b(?:says?|stat(?:es?|ing)|mention\w*|reports?|notes?|claims?|tells?|quot\w+|writes?|adds?|saying|explains?"
    r"|describ\w+|reminds?|prais\w+)\b(?: \w+){0,2} (?:that|how|on|of|about)\b|[,:] [\"“']",
    re.IGNORECASE,
)
"""In a sentence about the text: what follows may be the text's own words."""

_MISSED = re.compile(
    r"(?:\b(?:not|never|hardly|barely|almost|nearly|from|of|than|without|could|would|might|may|should|can|cannot|to"
    r"|between|least|most|if)|n't|不|最多|至少|大约|约|接近|将近)(?: \w+)? ?$",
    re.IGNORECASE,
)
"""Before a verb: ``which keeps it from scoring``, ``could earn``."""

_BARE = re.compile(
    r"[.!]?\Z| ?[(\[][^()\[\]]*[)\]][.!]?\Z|,? (?:because|since|as)\b| [-–—] (?=\w)|—(?=\w)", re.IGNORECASE
)
"""What may follow a number that begins an answer."""

_HEADING = re.compile(r"[^\W\d_][^:.!?\n]{0,40}:")
_VALUE = rf"[0-9]|(?:{'|'.join(WORDS)})\b"
_ENDS = ("one", "two", "three", "four", "five", "ten", "stars", "star", "points")
_MOST = 50  # statements on a line, beyond which it is no rating


class _Forms(NamedTuple):
    """The ways in which a sentence states a score, each up to the value."""

    label: Phrases  # "Final score: 4"
    mine: Phrases  # "I would give it a 4"
    judged: Phrases  # ", earning a score of 4", of the text that is judged
    chinese: Phrases  # "因此给4分"
    about: re.Pattern[str]  # a sentence that begins with the text that is judged
    aspect: Phrases  # "for fluency", after a value


class Stated(NamedTuple):
    """What the sentences of a line state."""

    values: list[Value]
    rest: list[tuple[str, bool]]
    """The sentences, or parts of them, without a score, each with whether it comes after one."""


@functools.lru_cache(maxsize=64)
def _forms(names: str, negative: bool) -> _Forms:
    """Return the patterns for the field whose names are a pattern; a dash is a minus below zero."""
    aspect = rf"(?:dis|in|ir)?(?:{names.replace('?P<name>', '?:')})"
    adjectives = rf"(?:(?:{_ADJECTIVES}|{aspect})(?:'s)? ){{0,4}}"
    article = r"(?:an? |the )?"
    named = rf"(?:scores?|ratings?|grades?|{aspect}) ?(?:of |is |: ?)?"
    score = rf"{article}{adjectives}{named}(?:an? )?{adjectives}"
    text = rf"(?:{_TEXT})"
    it = (
        rf"(?:it|this|(?:the|this) {text}(?:'s {aspect}(?: \w+){{0,4}}?)?"
        rf"|the {aspect}(?: (?:of|between) [^.,;:0-9]{{1,80}}?)?)"
    )
    label = rf"(?:(?:(?:my|the|{_ADJECTIVES}|最终|总体?|综合|我的|{aspect})(?:'s)? ?){{0,4}}{SCORE})"
    start = r"(?:^|(?<=[.。;,、(\[–—-])|(?<=[.。;,、(\[–—-] )|(?<=[.!?][\"')] ))"
    led = r"(?:therefore|thus|so|hence|and|因此|所以|故|综上|[综总][合体]来看),? ?"
    dashed = "" if negative else rf"|^{label} - "
    own = rf"i(?:'d| would|'ll| will)? (?:give|score|rate|assign|award|grade|mark) {it}(?: (?:as|with|at))?"
    a_text = r"(?:[该本这][个段份条]?)?(?:摘要|总结|文本|解释|推荐语?|推荐理由|回答)"
    begun = r"(?:\W|\b(?:overall|therefore|thus|so|hence|however|while|although|in|based|on|and)\b){0,6}"
    of_it = rf"(?:its|the|overall|perfect|{aspect}) "
    begins = (
        rf"{begun}(?:(?:the|this|these|its) )?(?:{text}|{aspect}|it)\b"
        r"(?! [0-9]| (?:of|in|from|by|on) (?:the |an? |its |this )?"
        r"(?:article|original|news|film|movie|book|review|author))"
    )
    patterns = (
        rf"{start}(?:{led})?{label}(?: ?(?::|=|\bis\b|为|是) ?| (?=[0-9]))[(\[\"]?{dashed}",
        rf"\b(?P<verb>{own}) (?:(?P<score>{score})|{article}{adjectives})(?={_VALUE})",
        rf"\b(?P<verb>{_VERB}) (?:(?P<score>{score})|{article}{adjectives})(?={_VALUE})",
        (
            rf"(?:^|[.。;,、] ?)(?:{led})?(?:(?:我|本人)(?:会|将|想|愿意)?|{a_text}(?:可以|应)?)?"
            rf"(?:给[出予]?|打出?|评为?|获得|得到?)(?:它|其|{a_text})?[打评]?[出了为]? ?(?=[^\s,。;])"
        ),
        (
            rf"(?:(?<=[0-9])|{'|'.join(f'(?<={word})' for word in _ENDS)})"
            rf" (?:for|in|on|(?:in terms|with regard|with respect) (?:of|to)) (?:{of_it}){{0,2}}{aspect}"
            rf"(?: (?:to|with|of) the (?:article|{text}))?(?= ?(?:$|[.,;:!?)]|(?:because|as|since|due)\b))"
        ),
    )
    label_, mine, judged, chinese, after = map(Phrases, patterns)
    return _Forms(label_, mine, judged, chinese, re.compile(begins, re.IGNORECASE), after)


def statements_of(line: str, names: str, scale: Scale, *, prose: bool, first: bool) -> Stated:
    """Return the scores that a line states, and its sentences without one.

    Parameters
    ----------
    names
        The pattern of the names of the field.
    prose
        Whether more than a label such as ``Score: 4`` may state one, as it may if one field was asked for.
    first
        Whether nothing but a heading stands before the line: it may begin with the value alone.
    """
    forms, heading = _forms(names if prose else "(?!)", scale.min < 0), _HEADING.match(line)
    line = line.replace("’", "'")
    if prose:
        line = forms.aspect.sub("", line)
    ends = [0, *(m.end() for m in SENTENCE.finditer(line)), len(line) + 1]
    found: dict[int, tuple[int, Value]] = {}  # where a value ends: where its statement begins, and the value
    if first and (value := _value_first(line, scale)) is not None:
        found[value.end] = (0, value.value)
    for form in forms[:4] if prose else forms[:1]:
        for match in form.finditer(line):
            if len(found) > _MOST:
                return Stated([UNCLEAR], [])
            reading = read_value(line, match.end(), scale)
            at = bisect_right(ends, match.start())
            lead = line[ends[at - 1] : match.start()]
            if reading is None or not _counts(match, reading, forms, lead, first=at == 1):
                continue
            asked = line[match.end() : ends[at]].rstrip(" \"')").endswith("?")
            own = _is_answer(match, forms, lead) and not asked and not says_other_scale(lead, scale)
            found.setdefault(reading.end, (match.start(), reading.value if own else UNCLEAR))
    if not found or (heading and leads_elsewhere(heading[0])):  # "Format: a reason. Score: 4"
        return Stated([UNCLEAR] if found else [], [])
    starts = sorted(start for start, _ in found.values())
    rest = []
    for begin, end in itertools.pairwise(ends):
        at = bisect_right(starts, begin - 1)
        until = min(end, starts[at]) if at < len(starts) else end
        if line[begin:until].strip():
            rest.append((line[begin:until], begin > starts[0]))
    return Stated([value for _, value in found.values()], rest)


def _value_first(line: str, scale: Scale) -> Reading | None:
    """Return the value with which an answer begins: ``Four stars. …``, ``- 4``, ``4, because …``."""
    reading = read_value(line, 2 if line.startswith("- ") and scale.min >= 0 else 0, scale)
    if reading is None or line.startswith(":", reading.end):
        return None
    bare = None if reading.rated else _BARE.match(line, reading.end)
    counts = bare is not None and is_count(" " + bare[0].strip(" ()[]"), 0)  # "2 (films)"
    return reading if reading.rated or (bare and not counts) else None


def _counts(match: re.Match[str], reading: Reading, forms: _Forms, lead: str, *, first: bool) -> bool:
    """Say whether the words before a value make it a score, or the value itself says that it is one."""
    said = match[0]
    if match.re is forms.label.whole:  # "Bayern leads. The score is 4."
        return reading.rated or first or bool(lead) or _MINE.search(said) is not None
    if match.re is forms.chinese.whole:
        return reading.rated
    verb = match["verb"].casefold()
    follows = verb == "with" or verb.split()[0].endswith("ing")
    if match.re is forms.judged.whole and follows and not _FOLLOWS.search(lead):
        return False  # "Kane scoring a 4"
    if reading.rated or match["score"] is not None:
        return reading.rated or verb != "with"
    return _GIVES.match(verb) is not None and (" a" in said[len(verb) :] or match.re is forms.mine.whole)


def _is_answer(match: re.Match[str], forms: _Forms, lead: str) -> bool:
    """Say whether the sentence up to a statement leaves it the score of the text that is judged."""
    if lead.count('"') % 2 or lead.count("“") > lead.count("”"):
        return False
    near = lead[-FARTHEST:]
    if _SUPPOSED.search(near) or (lead.endswith(": ") and not leads_here(near)):
        return False
    begun = forms.about.match(lead) is not None
    if match.re is forms.label.whole:
        of_else = _OF_ELSE.match(lead) is not None or (lead != "" and "final" in match[0].casefold())
        return not _REPORTS.search(near) and (begun or not of_else or _IN_ITSELF.search(lead) is not None)
    if match.re is forms.judged.whole:
        return begun and not (_REPORTS.search(near) or _MISSED.search(near))
    return not _MISSED.search(near)
