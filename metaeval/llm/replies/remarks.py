"""Remarks that take values back, or say that they are about someone or something else, in seven languages.

A lost answer is counted and asked for again, an invented one is not noticed: in doubt a remark counts. Only
a sentence about the text that is judged may hold such a word and be a reason.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from metaeval.llm.replies.finder import Phrases, any_of
from metaeval.llm.replies.phrases import HARMLESS, SENTENCE
from metaeval.llm.replies.words import FARTHEST

if TYPE_CHECKING:
    from metaeval.llm.replies.names import Names

_VALUES = r"(?:ratings?|scores?|numbers?|values?|answers?|digits?|figures?|verdicts?|scale|order)"
_REVOKED = any_of(r"""
    withdr[ae]w\w*|retract\w*|revok\w*|rescind\w*|void(?:ed)?|cancel\w*|null(?:ified)?|annul\w*|disregard\w*
    ignor(?:e|ed|es)|discard\w*|delet\w*|scratch|swap\w*|switched|mix(?:ed)?[- ]up|interchanged|flip\w*
    revers\w*|invert\w*|invers\w*|upside|opposite|backwards?|supersed\w*|outdated|obsolete|expired
    deprecated|stale
    copied|pasted|quot(?:ed?|ing)|guess(?:ed|es|ing)?(?! (?:why|how|what|that))|random\w*|fabricat\w*
    made[- ]up|invented|hypothetical\w*
    placeholders?|dummy|templates?|samples?|(?<!for )examples?|draft|tentative\w*|provisional\w*|pending
    allegedly|supposedly|so they say|as (?:instructed|told|ordered|you wish)|calibration|schema
    needs a number
    inherited|crossed|redacted|removed|struck|never ?mind|meaningless|cached?|grep|console|logs?|truncated
    self-reported
    gold|testing|(?:just|only|a) test|dice?|rolled|coin|do(?:n't| not) (?:count|use)|unverified
    erroneous\w*|mistaken\w*|typo|oops|whoops|replace\w*|default
""")
_OTHERS = any_of(r"""
    previous(?:ly)?|earlier|prior|former(?:ly)?|last (?:week|time|round|month|year|one|item)|yesterday\w*
    another|other (?:one|item|rater|judge|model|person)|someone|somebody|colleague\w*|humans?
    annotators?|raters?|judge's|reviewers?|(?<!above )(?<!below )averag\w*(?! ?(?:scores?
    ratings?)? ?[:|=])|mean|median|not mine|tool|for reference
""")
_TURNS = any_of(r"""
    actually|instead|on (?:second|reflection|further)|correction|corrected|sorry|apologies|rather
    lower|higher|too (?:generous|harsh|high|low|strict|lenient|kind)|wrong (?:way|scale|order|\w+)
    max(?:imum)?
""")
_STRONG = Phrases(
    any_of(rf"""
    \bnot my (?:own|rating|score|answer|opinion)\b|\bnot mine\b|\byour own\b|\bmy (?:max|min)\w*\b
    \b(?:scratch|strike|forget|undo) (?:that|this|it)\b|\bon second thoughts?\b|\boops\b|\bplaceholders?\b
    \b(?:the )?(?:lower|smaller|less|higher)(?:,)? the (?:better|worse|clearer)\b|\b(?:low|lower|smaller
    1) is (?:better|best)\b
    \b(?:said|says|wrote|gave|given by|assigned by|according to) (?:the |a |an |my )?(?:user|human
    \w*rater|annotator|judge|other|previous|crowd|author)s?\b
    \b(?:user|human|rater|annotator|judge)'?s?[ _]?(?:[0-9]|ratings?|scores?)
    \b(?:ratings?|scores?) (?:from|by|of) (?:the |a |an )?(?:user|human|rater|annotator|previous|other
    crowd|last|example)
    \b(?:(?:one|half|two)(?: points?| notch\w*| steps?)?|a (?:point|notch|step)) (?:lower|higher|less|more
    fewer)\b(?! (?:sentence|reason|word|detail))
    \b{_VALUES} (?:\w+ ){{0,3}}(?:is|are|was|were|has been|have been|comes?|came|belongs?|refers?|appl(?:y
    ies)|should|stands?)\b[^.]{{0,30}}\b(?:{_REVOKED}|{_OTHERS})\b
    \b(?:{_REVOKED}|previous|earlier|prior) (?:\w+ ){{0,3}}{_VALUES}\b|\b(?:this|that|it) (?:rates|scores
    is for|was for|belongs to|refers to) (?:the |an? )?(?:previous|other|another|example|last|next)\b
    \bas well if\b|\bif (?:the|it|there|they|this|that|only|one) (?:\w+ ){{0,3}}(?:were|had)\b
    ^\W*(?:please |sorry,? |just |so,? )*(?:ignore|disregard|discard|delete|swap|switch|replace|undo)\b
    ^\W*(?:from|to|cc|subject|date|sent|reply-to|role|tool\w*|tool (?:output|call|result)|observation
    action|user|human|system|stdout|stderr)\s*:
    \byour (?:output|answer|reply|response)s? (?:should|must|will|would|has to|could|looks?|may)\b
    \b(?:answer|reply|respond|write|output|fill)\w* (?:\w+ ){{0,2}}(?:like (?:this|so)|as follows
    in this (?:way|form))\W*$
    \b(?:school|german|reversed?|inverted|golf) (?:grades?|marks?|scale|scoring)\b|schulnoten?
    撤回|作废|撤销|收回|无效|取消|对调|互换|颠倒|反过来|占位|不是我的|并非我|搞错|弄错|写错|打错|写反|笔误
    说错|越低越好|数字越小|(?:应该?|要|会)更?[低高]一?些?|上一(?:个|条|轮)|前一个|他人|别人|人工(?:评|标)
    标注者|用户的?(?:评分|打分)
    撤回|取り消|無効|訂正|入れ替|仮の|前回|無視して|低いほど|サンプルです|ユーザーの評価|例です|の例
    例として|逆(?:です|に|の)
    """)
)
"""Such a remark is none about the text, whatever else it says."""

_WEAK = Phrases(
    any_of(rf"""
    \b(?:{_REVOKED}|{_OTHERS}|{_TURNS})\b
    \b(?:zum beispiel|beispiel\w*|z\. ?b\.|vorlage\w*|platzhalter|zurückgezogen|zurückgenommen|ungültig
    gilt nicht|ignorier\w*|vorherig\w*|vorig\w*|umgekehrt\w*|vertauscht\w*|korrektur|eigentlich
    stattdessen|niedriger|höher|besser gesagt|nicht mein\w*|entwurf|storniert|gestrichen|hinfällig|irrtum
    versehen\w*|durchschnitt\w*|menschlich\w*|entschuldigung|vergiss\w*|widerruf\w*|moment)\b
    \b(?:ejemplo\w*|plantilla|anterior\w*|ignor[ae]\w*|retir\w+|anulad\w*|cancelad\w*|invertid\w*
    intercambi\w*|correcci[oó]n|en realidad|m[aá]s (?:baj|alt)\w+|mejor dicho|borrador|no es m[ií]\w*
    perd[oó]n|me equivoqu\w*|promedio|(?:in)?v[aá]lid\w*|provisional|al rev[eé]s)\b
    \b(?:exemples?|gabarit|pr[eé]c[eé]dent\w*|ignor(?:er|ez)|annul\w*|invers\w+|échang\w*|en fait
    plut[oô]t|plus (?:bas|haut|élevé|faible)\w*|brouillon|pas (?:la|le|ma|mon|de moi)|désolée?|la moyenne
    caduc|provisoire|oubliez|à l'envers)\b
    \b(?:esempi\w*|modello|precedent\w+|ignorar\w*|ritir\w+|annull\w*|scambi\w*|correzione|in realt[aà]
    anzi|pi[uù] (?:bass|alt)\w+|bozza|non (?:è )?(?:il |la )?mi[oa]|la media|scus\w+|provvisori\w+
    al contrario)\b
    算了|没有?看|没有?读|待定|测试数据|其实|实际上|抱歉|忽略|示例|样例|例子|模板|仅供|之前的|上次|反向
    反着|平均|初步|暂定|草稿|^\W*不[,，]|重新|更正|改为
    テスト|私の評価では|例えば|例:|テンプレ|前の|実は|やはり|むしろ|もっと|間違|人間|平均|すみません|無視
    ではなく
    """)
)
"""Such a remark may be a reason if it is about the text."""

_ABOUT_THE_TEXT = re.compile(
    any_of(r"""
    \b(?:explanations?|text|summar\w+|recommend\w*|films?|movies?|books?|songs?|series|seasons?|products?
    articles?|actors?
    reasons?|reasoning|sentences?|phras\w+|wording|words?|details?|specifics?|genres?|stor(?:y|ies)|plots?
    topics?|information|facts?
    points? (?:out|of)|context|events?|grammar\w*|clear\w*|unclear|clarity|vague\w*|generic|specific
    inform\w+|mention\w*
    descri\w+|includ\w+|provid\w*|lack\w*|convinc\w*|persuas\w*|interest\w*|tastes?|preferences?|likes?
    liked|enjoy\w*|watch\w*
    names|feels|reads?|readers?|sounds|seems|structure\w*|coheren\w*|consisten\w*|fluen\w*|relevan\w*|flow
    focus\w*|content
    reviews?|viewers?|people|friends?|directors?|helpful|useful|good|great|weak|poor|fits?|fine|short|long
    shorter|longer|explain\w*|states?|stated|statements?|repeti\w+|sense|quality)\b
    \b(?:erklärung|begründung|explicaci[oó]n|explication|spiegazione|recommandation|recomendaci[oó]n
    empfehlung)
    解释|推荐|文本|内容|电影|影片|理由|原因|说明|提到|描述|用户喜|説明|推薦|文章|作品
    """),
    re.IGNORECASE,
)


_UNDERSTOOD = re.compile(
    any_of(r"""
    \b(?:agree\w*|disagree\w*|neutral|neither|excellent|fair\w*|moderate\w*|satisf\w+|accura\w+
    transparen\w+|effective\w*
    strong\w*|solid|perfect\w*|ok(?:ay)?|bad|enough|more|much|match\w*|suits?|trust\w*|because|since
    explains?|average|high\w*|low
    breakdown|analysis|assessment|let me know|hope|thanks?|feel free|happy to|regards|helps?|reason\w*
    note|summary|overall|total|end|want|need|know|why|how
    understand\w*|complete\w*|concise\w*|correct\w*|missing|misses|captur\w+|cover\w*|main|key|easy|hard
    difficult|well|better)\b
    """),
    re.IGNORECASE,
)
_FEW_WORDS = 8


def is_not_understood(line: str, names: Names) -> bool:
    """Say whether a short line after a value is neither about the text nor a judgement or a courtesy."""
    said = names.search.sub(" ", line[:FARTHEST])
    words = re.findall(r"[^\W\d_]+", said)
    if (
        len(words) < 2
        or len(words) > _FEW_WORDS
        or line.endswith((":", ">"))
        or re.search(r"[\u3400-\u9fff]", said)
    ):
        return False
    return not (_ABOUT_THE_TEXT.search(said) or _UNDERSTOOD.search(said))


def withdraws(text: str, names: Names | None = None) -> str | None:
    """Return the sentence by which a text takes values back or gives them to another, or None."""
    for sentence in SENTENCE.split(text.replace("’", "'")):
        said = HARMLESS.sub(" ", sentence[:FARTHEST])
        if names is not None:
            said = names.search.sub(" ", said)
        if _STRONG.search(said) or (_WEAK.search(said) and not _ABOUT_THE_TEXT.search(said)):
            return sentence.strip()
    return None
