"""The phrases of a reply that tell whether the numbers beside them are an answer, in English and Chinese."""

from __future__ import annotations

import re

from metaeval.llm.replies.finder import Phrases, any_of


def _pattern(lines: str) -> re.Pattern[str]:
    return re.compile(any_of(lines), re.IGNORECASE)


_NO_ANSWER = any_of(r"""
    placeholders?|dummy|drafts?|provisional\w*|tentative\w*|preliminary|pending|tbd|todo
    to be (?:determined|confirmed|revised|decided)|revers(?:ed?|ely)|invers\w+|invert\w+|as an? percentage
""")
_NO_ANSWER_ZH = "示例|样例|占位|初步|暂定|反向|倒序"
_PERHAPS_NONE = any_of(r"""
    templates?|hypothetical\w*|illustrat\w+|percent(?:ages?)?|random(?:ly)?|arbitrary|max(?:imum)?|min(?:imum)?
    imdb|critics?
""")
_PERHAPS_NONE_ZH = "模板|假设|如果|百分|影评|豆瓣|网友"
_SOMETHING_ELSE = any_of(r"""
    examples?|e\.g|for instance|at (?:most|least|best|worst)|samples?|formats?|previous(?:ly)?|earlier|prior
    former(?:ly)?|original(?:ly)?|initial(?:ly)?|first|old|baselines?|references?|targets?|expected|ideal
    average|mean|typical|highest|lowest|best|worst|possible|scales?|ranges?|options?|legend|key|anchors?
    guidelines?|rubric|weights?|importance|priority|rank(?:ing)?s?|confidence|certainty|if|unless|suppose
    assuming|imagine|pretend|were|would have|(?:would|could|might|may) (?:be|look|get)|another|others?
    (?<!i )would|might|gold|had (?:it|the|this)|with an? (?:better|shorter|clearer|longer)
    different|someone|anybody|everyone|nobody|they|he|she|wrong|incorrect|invalid|bad|ignore|disregard
    instructions?|the (?:prompt|question|task)|the user (?:\w+s|\w+ed|gave|said)
    you|annotators?|raters?|humans?|experts?
""")
_SOMETHING_ELSE_ZH = (
    "例如|比如|例子|举例|格式|上一|之前|原来|原为|先前|最高|最低|平均|"
    "参考|满分|范围|量表|标准|置信|不是|不会|其他|另一"
)

LEADS_ELSEWHERE = _pattern(rf"""
    \b(?:{_NO_ANSWER}|{_PERHAPS_NONE}|{_SOMETHING_ELSE})\b|[?？]
    {_NO_ANSWER_ZH}|{_PERHAPS_NONE_ZH}|{_SOMETHING_ELSE_ZH}
    (?:\b(?:not|never|cannot)|n't)\b(?: \w+){{0,2}}\W*$
    (?:\b(?:not|never|cannot)|n't)\b(?: \w+){{0,2}} (?:rate|give|say|score|call|answer|evaluate)\b
    (?:\b(?:not|never|cannot)|n't)\b(?: \w+){{0,2}} (?:it|this|my|final|valid|judge|assess)\b
""")
"""Before values: ``For example:``, ``If it were shorter,``, ``The previous ratings:``."""

HARMLESS = Phrases(
    any_of(r"""
    \b(?:in|using|following|with|per|to) (?:the |a |your )?(?:\w+ ){0,2}(?:format|template|scale|rubric)\b
    \b(?:in|using|following|with|per|to) (?:the |a |your )?(?:\w+ ){0,2}(?:guidelines?|instructions?)\b
    \b(?:from|in|as|for|of|to|by) (?:the |this |a )?(?:perspective of )?(?:the |a |this )?user(?:'s \w+)?\b
    \b(?:on|using|with) (?:a|the) (?:\w+[- ]){0,2}scale\b
    \bscale\W*(?:of |from )?[0-9]
    \byou (?:asked|requested|provided|need|want|like|would like)\b|\bhere you (?:are|go)\b|\bthank you\b
    \bfor you\b|\bas you\b|\bdo you\b|\bif you\b
    \bmy (?:first|best|initial) (?:impression|estimate|judg\w+)\b|\bbased on (?:the |your )?\w+\b
""")
)
"""Parts of a lead that hold such words and say nothing: ``in the requested format``."""

OWN = _pattern(r"""
    \b(?:my|I|here|ratings?|scores?|evaluations?|assessment|answers?|final|results?|overall|summary)\b
    \b(?:follow\w*|verdicts?|judge?ments?|review|output|response|json|reason\w*|scale|why|rationale)\b
    \b(?:analysis|breakdown)\b|评|分|答|结果|总结|如下
""")
"""One of these is in a lead with a colon that introduces an answer: ``My ratings:``."""

HEAD = re.compile(r"[:：]\s*$|^\s*(?:#|\||//|%)")
"""A line that introduces those below it."""

TURNS = _pattern(rf"""
    \b(?:{_NO_ANSWER})\b|{_NO_ANSWER_ZH}
    \b(?:for|as) illustration
    \b(?:just|only|merely|as|is|are|an?|for) (?:an? )?(?:examples?|samples?|guess)\s*(?:$|[.,;)])
    \b(?:example|sample|previous|earlier|original|initial|old) (?:score|rating|value|answer)s?\b
    \b(?:expected|average) (?:score|rating|value|answer)s?\b
    ^[\s,;:.!–—-]*(?:as (?:soon|long) as|once|until|provided)\b|^\W*not\W*$
    ^\W*(?:the )?\w+(?:'s|s') (?:view|opinion|words|rating|take)\b|\bgive or take\b
    ^[\s,;:.–—-]*(?:if|unless|when|where|would|could|should|means?|meaning|being|is|wait|were|was|no(?=\W*$))\b
    ^\W*(?:is )?too (?:high|low|generous|harsh|strict)\W*(?:$|,)
    ^\W*(?:see|worse|inferior|loses?)\b|[0-9] is worse\b|\b(?:was before|reconsider\w*|correction)\b
    \bon (?:second|reflection)\b
    \b(?:or|maybe|perhaps|probably|possibly|slightly|even|bit) (?:less|more|lower|higher|fewer)\s*(?:$|[.,;)])
    不对|更正|改为|改成|应为|应该是|原为|^\W*(?:半|左右|以上|以下|不到|之间|满分|如果)
""")
"""After a value: ``4, a placeholder``, ``5 - if nobody objects``, ``4分左右``."""

DOUBTS = _pattern(rf"""
    \b(?:{_PERHAPS_NONE})\b|{_PERHAPS_NONE_ZH}
    ^\W*(?:an? |the |my |just |only |for )*(?:examples?|samples?|old|previous|before|earlier)\b
    ^\W*(?:an? |the |my |just |only |for )*(?:expected|average|others?|another|first|second|reference)\b
    ^\W*(?:an? |the |my |just |only |for )*(?:initial|original|baseline|ideal|target|guess)\b
    ^\W*(?:an? |the |my |just |only |for )*(?:confidence|weight|rank|importance)\b
    ^\W*at (?:most|least|best|worst)\b|\bnot (?:my|mine|the|final|a|rated|applicable)\b
    ^\W*(?:as in|from the|per the|default|error|sic|to be|unrated|n/?a|negative|minus|plus)\b
    \b(?:irony|ironic\w*|sarcas\w*|joking)\b|^\W*for (?!me\b)
    \b(?:previously|formerly|originally|initially)\b|例如|例子|原(?:为|来|分|评)|最高分|最低分|平均
""")
"""In brackets, or alone, after a value or a name: ``4 (at most)``; in a longer reason they say nothing."""

SPEAKS_OF_SCORES = _pattern(r"""
    \b(?:scores?|scored|scoring|ratings?|rated?|grades?|graded|points?|stars?|marks?|scale|out of)\b
    \b(?:maximum|minimum|max|min|values?|answers?|verdict|result)\b
    [0-9] ?/ ?[0-9]|[0-9][分星]|评分|打分|得分|分数|满分
""")

_LED = r"(?:(?:and|but|or|so|oh|well|then|ok(?:ay)?|hmm+|um+)\W+)?"
CORRECTS = _pattern(rf"""
    ^\W*{_LED}(?:wait|actually|no|nope|correct(?:ion|ed)|hmm)\b
    ^\W*{_LED}(?:sorry|scratch|scrap|on (?:second|reflection|further)|i meant?)\b
    ^\W*{_LED}(?:make (?:that|it)|change|rather|let me|let's|edit|update|new)\b
    ^\W*{_LED}(?:revis\w+|adjust\w+|final\w*|instead|better|should|amend\w*)\b
    ^\W*{_LED}(?:i (?:change|revise|correct|lower|raise|take)|oops|my mistake)\b
    ^\W*(?:不|更正|修改|改|应|其实|实际|最终|调整|还是)
""")
"""The beginning of a sentence that takes a value back: a number in it is another one."""

_CANNOT = any_of(r"""
    can(?:no|')t|can ?not|could(?:n't| not)|will not|won't|would not|wouldn't|do(?:n't| not) (?:want|wish) to
    refuse to|decline to|(?:am|'m) (?:not able|unable) to|(?:am|'m) not (?:going|allowed|permitted) to
""")
_UNREAL = r"(?:placeholders?|(?:examples?|samples?|templates?|illustrations?|drafts?|guess)(?! of a))"
_INVENTED = any_of(r"""
    hypothetical|arbitrary|random|made up|invented|fictional|fictitious|illustrative|provisional|tentative
    preliminary|from the (?:example|prompt)|reversed|inverted
""")
_ABOUT = r"(?:how|why|whether|if|what|more)\b"
_VALUES = r"(?:these|those|above|values?|ratings?|scores?|numbers?|answers?)"
_ARE = r"(?: \w+){0,2} (?:is|are|was|were|as|be)(?: \w+){0,3}"
_IGNORE = r"(?:^|[.!?:(\n] ?|please )(?:ignore|disregard|discard|forget|scrap|retract|withdraw|delete)"
_INPUT = r"(?:explanation|text|summary|content|recommendation|input|message)"
TAKES_BACK = Phrases(
    any_of(rf"""
    \bi ?(?:{_CANNOT}) (?:\w+ )?(?:rate|evaluate|judge|assess|score|answer)\b(?! {_ABOUT})
    \bi ?(?:{_CANNOT}) (?:\w+ )?provide (?:an? |any |you )?(?:\w+ )?(?:rating|score|answer|evaluation)\b
    \b(?:impossible|not possible|unable) to (?:rate|judge|assess|evaluate|score)\b(?! {_ABOUT})
    \b(?:please|kindly|could you) (?:provide|share|send|paste|give) (?:me )?(?:with )?(?:the|an?|your)\b
    {_IGNORE} (?:that|this|these|those|it|them)\b
    {_IGNORE} (?:the|my) (?:\w+ )?(?:above|answers?|ratings?|scores?|numbers?)\b
    \b(?:{_VALUES}|all|this|that|they|it){_ARE} (?:an? |the |only |just )?(?:\w+ )?{_UNREAL}\b
    \b{_VALUES}{_ARE} (?:{_INVENTED})\b
    \b(?:{_VALUES}|this|that|they|it) (?:is|are) not (?:my|the|a) (?:\w+ )?(?:ratings?|scores?|answers?)\b
    \b(?:this|that|the|my) (?:rating|score|value|number) is (?:for|of) the (?:film|item|example)\b
    \b(?:lower|higher) is (?:better|worse)\b|\brandom (?:number|value|score|rating)\b
    \bi (?:withdraw|retract)\b
    (?:^|[.!?] ?)(?:minus|plus|less) (?:one|half|an?|[0-9])\b
    \b{_VALUES} (?:is|are) not (?:final|mine|real)\b|\bi (?:just )?made (?:this|it|them|that|these) up\b
    \b(?:can(?:no|')t|can not|won't) (?:help|assist|do (?:that|this)|comply)\b(?! but)
    \bi (?:must )?(?:refuse|decline)\b
    \bi need (?:the|more|an?) {_INPUT}\b|\b(?:is|have|see|had) no {_INPUT} to\b
    \bno {_INPUT} (?:was|is|has been) (?:given|provided|shown)(?:,? so i| (?:to|for) me|[.!;]|\W*$)
    \bthere (?:is|was) no {_INPUT}(?: to \w+)?(?:[.!;]|\W*$)
    \bi ?(?:{_CANNOT}) (?:tell|say|know)(?:[.!;]|\W*$)
    \bi (?:could|did|have)(?: not|n't) (?:see|seen|read|receive) (?:the|any|this|an?) {_INPUT}\b
    ^\W*(?:strike|scratch) that\b|\bi take (?:\w+ )?back\b|\bjust kidding\b|\b(?:that|this|it) was a typo\b
    \bswap (?:\w+ )+and\b|\band \w+ are swapped\b|\bsubtract (?:one|[0-9])
    \b(?:{_VALUES}|all|they|it) should (?:all )?be (?:\w+ )?(?:lower|higher|reversed)\b
    \b(?:final|actual|real) (?:ratings?|scores?|values?|answers?) (?:will |to )?follow
    无法(?:评价|评分|打分)|不能(?:评价|评分|打分)|请提供|仅为示例|只是示例|仅供参考
"""),
    re.MULTILINE,
)
"""Anywhere: the reply itself says that it gives no values, or that those in it are none."""

SENTENCE = re.compile(
    r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\bmax\.)(?<!\bmin\.)[\s*\"')\]]+|[。！？;\n]+"
)
"""What is between two sentences."""
