"""What the JSON objects of a reply claim about the fields."""

from __future__ import annotations

import re
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from metaeval.llm.replies.beside import corrects, is_brief, is_status, takes_back
from metaeval.llm.replies.claims.json_claims import MOST_OBJECTS, Pairs
from metaeval.llm.replies.numerals import loose_numbers, says_other_scale
from metaeval.llm.replies.remarks import withdraws
from metaeval.llm.replies.values import whole_value
from metaeval.llm.replies.words import MAY_HOLD_VALUE, UNCLEAR

if TYPE_CHECKING:
    from collections.abc import Callable

    from metaeval.base.records import Scale
    from metaeval.llm.replies.claims.json_claims import Found
    from metaeval.llm.replies.names import Names
    from metaeval.llm.replies.words import Value

Claim: TypeAlias = "Callable[[str, Value], None]"
AnyClaim: TypeAlias = "Callable[[str, Any], None]"

_SCORE_KEYS = frozenset(["score", "rating", "value", "answer", "评分", "得分", "分数", "打分"])
_NAME_KEYS = frozenset(
    {"aspect", "name", "criterion", "dimension", "field", "metric", "category", "attribute", "property"}
    | {"item", "label", "type", "question", "id", "方面", "维度", "指标", "名称"}
)
_LIST_KEYS = frozenset(["scores", "ratings", "values", "summary", "answer", "评分", "得分"])
_ENVELOPE = re.compile(
    r"(?:my|the|final|user|aspect|individual|json|explanation)*"
    r"(?:ratings?|scores?|evaluations?|results?|outputs?|responses?|answers?|assessments?|judge?ments?|verdicts?|"
    r"values|aspects|criteria|dimensions|data|summary|reviews?|评分|打分|评价|结果|得分|评估|答案|总结)"
)
"""Keys that may hold the object with the values; what another one holds is about something else."""
_REMARK = re.compile(
    r"(?:score|rating|short|brief|my|the|for|of|overall|general)*"
    r"(?:reasons?|reasoning|explanations?|justifications?|rationales?|comments?|feedback|analysis|thoughts?|"
    r"remarks?|evidence|critique|理由|原因|说明|解释|评语|分析)"
)
_SCALE_KEY = re.compile(
    r"(?:.*[\W_])?(?:max|maximum|min|minimum|scale|range|denominator|out[\W_]?of|of|best|worst|upper|lower|high|low"
    r"|满分)(?:[\W_].*)?"
)
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")
_CHANGE = re.compile(
    r".*(?:revis|correct|updat|adjust|chang|actual|previous|draft|initial|original|alternat|final|true|real).*"
    r"|.*(?:error|refus|warning|invalid|valid|status|code|human|user|rater|id).*|(?:new|old|before|after|now).*"
)
"""Keys whose number may be another value of the same field, or say that there is none."""
_ASIDE = re.compile(r"(?:confidence|certainty|置信度?)(?:score)?")
_TOTAL = re.compile(rf"{_ASIDE.pattern}|(?:overall|average|total|mean|综合|总体|平均|总分)(?:score|rating)?")
_ORDER_KEYS = frozenset(["aspects", "criteria", "dimensions", "fields", "order"])
_OUT_OF = re.compile(r"\W*(?:out )?of\b", re.IGNORECASE)
_DEEPEST = 8  # objects within objects
_LARGEST = 1e15


def claim_objects(found: Found, read: Callable[[object, AnyClaim], None], claim: AnyClaim) -> None:
    """Have ``read`` tell ``claim`` every field and value that the objects of a reply name."""
    too_many = len(found.objects) > MOST_OBJECTS
    for value, is_answer in found.objects:
        read(value, claim if is_answer and not too_many else unclear(claim))


def claim_json(value: object, names: Names, scale: Scale, claim: Claim, depth: int = 0) -> None:
    """Tell ``claim`` every field and value that a JSON value names."""
    if depth > _DEEPEST:
        return
    if isinstance(value, Pairs):
        _claim_pairs(value, names, scale, claim, depth)
    elif isinstance(value, list):
        for item in value:
            claim_json(item, names, scale, claim, depth + 1)


def _claim_pairs(pairs: Pairs, names: Names, scale: Scale, claim: Claim, depth: int) -> None:
    named = any(names.field(key) is not None for key, _ in pairs)
    if _is_odd(pairs, names, scale):
        claim = unclear(claim)
    for key, value in pairs:
        field = names.field(key)
        if field is not None:
            claim_value(field, value, names, scale, claim)
        elif key.casefold() in _LIST_KEYS and _is_flat(value):
            _claim_list(value, pairs, names, scale, claim)
        else:
            claim_json(value, names, scale, claim if holds_values(key) else unclear(claim), depth + 1)
    if not named or len(names.fields) == 1:
        _claim_entry(pairs, names, scale, claim)


def unclear(claim: AnyClaim) -> AnyClaim:
    """Return a claim that every field it is told has no clear value."""
    return lambda field, _: claim(field, UNCLEAR)


def _plain_key(key: str) -> str:
    return re.sub(r"[\W_]+", "", key).casefold()


def _is_odd(pairs: Pairs, names: Names, scale: Scale) -> bool:
    """Say whether an object holds, beside its values, anything that may change them."""
    named = any(names.field(key) is not None for key, _ in pairs)
    return not all(
        _is_known(key, value, names, scale) or (named and _is_other_aspect(key, value, names))
        for key, value in pairs
    )


def _is_other_aspect(key: str, value: object, names: Names) -> bool:
    """Say whether an aspect that was not asked for has a score of its own."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    plain = _plain_key(key)
    other = names.search.search(key) or _CHANGE.fullmatch(plain) or withdraws(_WORDS.sub(" ", key))
    return number and not other and not _SCALE_KEY.fullmatch(_WORDS.sub("_", key).casefold())


def _is_known(key: str, value: object, names: Names, scale: Scale) -> bool:
    plain = _plain_key(key)
    if names.field(key) is not None or plain in _SCORE_KEYS or plain in _LIST_KEYS:
        return True
    if isinstance(value, list):  # an object, too
        return _is_known_list(key, value, names, scale)
    if _SCALE_KEY.fullmatch(_WORDS.sub("_", key).casefold()):
        return _is_the_scale(value, scale)
    if isinstance(value, str):
        is_name = plain in _NAME_KEYS and names.field(value) is not None
        return is_name or (is_remark_key(key, names) and _is_remark(value, names, scale))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (_ASIDE if len(names.fields) == 1 else _TOTAL).fullmatch(plain) is not None
    return value is None and is_remark_key(key, names)


def _is_known_list(key: str, value: list[object], names: Names, scale: Scale) -> bool:
    """Say whether a list or an object holds the values, their order or reasons for them."""
    plain = _plain_key(key)
    if isinstance(value, Pairs) or all(isinstance(v, list) for v in value):
        return holds_values(key)
    texts = [v for v in value if isinstance(v, str)]
    if len(texts) < len(value):
        return False
    reasons = is_remark_key(key, names) and all(_is_remark(v, names, scale) for v in texts)
    return reasons or plain in _ORDER_KEYS


def holds_values(key: str) -> bool:
    """Say whether a key such as ``ratings`` may hold the object with the values."""
    return _ENVELOPE.fullmatch(_plain_key(key)) is not None


def is_remark_key(key: str, names: Names) -> bool:
    """Say whether a key such as ``reason`` holds a remark on the values."""
    return _REMARK.fullmatch(_plain_key(names.search.sub("", key))) is not None


def _is_remark(text: str, names: Names, scale: Scale) -> bool:
    """Say whether a text beside values is a reason for them."""
    if takes_back(text) or corrects(text, scale) or withdraws(text, names) or says_other_scale(text, scale):
        return False
    brief = is_brief(text)
    return not (brief and is_status(text)) and not (
        (brief or _OUT_OF.match(text)) and loose_numbers(text, scale, None)
    )


def _is_the_scale(value: object, scale: Scale) -> bool:
    if isinstance(value, str):
        return not loose_numbers(value, scale, scale.max) and not is_status(value)
    if isinstance(value, list):
        return value == [scale.min, scale.max]
    return value in (scale.min, scale.max) and not isinstance(value, bool)


def _is_flat(value: object) -> TypeGuard[list[object]]:
    return (
        isinstance(value, list)
        and not isinstance(value, Pairs)
        and not any(isinstance(v, list) for v in value)
    )


def _claim_list(values: list[object], pairs: Pairs, names: Names, scale: Scale, claim: Claim) -> None:
    """Read ``"scores": [4, 3, 4, 4]``: in the order asked, if there are as many as were asked for."""
    orders = [v for k, v in pairs if v is not values and _is_flat(v) and not _REMARK.fullmatch(_plain_key(k))]
    told = [
        names.search.finditer(v)
        for k, v in pairs
        if isinstance(v, str) and not _REMARK.fullmatch(_plain_key(k))
    ]
    orders += [found for names_told in told if len(found := [m["name"] for m in names_told]) > 1]
    as_asked = all([names.field(str(n)) for n in order] == list(names.fields) for order in orders)
    in_order = as_asked and len(values) == len(names.fields)
    for at, field in enumerate(names.fields):
        claim(field, _scalar(values[at], scale) if in_order else UNCLEAR)


def _claim_entry(pairs: Pairs, names: Names, scale: Scale, claim: Claim) -> None:
    """Read ``{"aspect": "clarity", "score": 4}``, or ``{"score": 4}`` where one field was asked for."""
    scores = [v for k, v in pairs if k.casefold() in _SCORE_KEYS and not isinstance(v, list)]
    labels = [v for k, v in pairs if k.casefold() in _NAME_KEYS]
    fields = [f for v in labels if isinstance(v, str) and (f := names.field(v)) is not None]
    if not labels and len(names.fields) == 1:
        fields = list(names.fields)
    if len(fields) == 1:
        odd = len(labels) > 1 or _is_odd(pairs, names, scale)
        for score in scores:
            claim(fields[0], UNCLEAR if odd else _scalar(score, scale))


def claim_value(field: str, value: object, names: Names, scale: Scale, claim: Claim) -> None:
    """Tell ``claim`` the number that stands under the name of a field."""
    if isinstance(value, Pairs):
        # {"clarity": {"score": 4, "reason": …}}; one without a score describes the field (a schema), no more.
        odd = _is_odd(value, names, scale)
        for key, inner in value:
            if key.casefold() in _SCORE_KEYS or names.field(key) == field:
                claim(field, UNCLEAR if odd else _scalar(inner, scale))
    elif isinstance(value, str) and not MAY_HOLD_VALUE.search(value):
        return  # a reason, or a word such as "high"
    else:
        claim(field, _scalar(value, scale))


def _scalar(value: object, scale: Scale) -> Value:
    match value:
        case bool():
            return UNCLEAR
        case int() | float():
            return float(value) if abs(value) < _LARGEST else inf
        case str():
            return UNCLEAR if withdraws(value) else whole_value(value, scale)
        case _:
            return UNCLEAR
