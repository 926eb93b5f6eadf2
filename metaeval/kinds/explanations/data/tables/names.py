"""What columns of a table are called, in English, German and Chinese: keys, texts, people, tools, aspects."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROLES = (
    *("user_id", "item_id", "generator", "explanation", "reference", "item_title"),
    *("rater", "aspect", "rating", "score", "profile", "ignore"),
)
"""What a column may be said to be."""
_USER = (
    r"user|participant|person|respondent|customer|subject|reader|member|uid|pid|prolific|e.?mail.*"
    r"|nutzer(in)?|teilnehmer(in)?|proband(in)?|kund(e|in)|befragter?|用户|参与者"
    r"|utilisat(eur|rice)|cliente?|usager|participante?|sujet|usuari[oa]|sujeto|viajer[oa]|utente|partecipante"
    r"|soggetto|gebruiker|deelnemer|klant|utilizador(a)?"
)
_ITEM = (
    r"item|movie|film|book|product|song|track|article|hotel|restaurant|story|place|game|asin|isbn|recipe|dish"
    r"|video|course|job|paper|podcast|app|destination|artikel|produkt|buch|rezept|物品|商品|电影"
    r"|objet|produit|livre|vin|vino|vinho|wijn|wein|plat|recette|lieu|objeto|[íi]tem|producto|pel[íi]cula|libro|receta"
    r"|alojamiento|lugar|viaje|oggetto|prodotto|ricetta|luogo|albergo|canzone|canción|chanson|produto|filme|livro"
    r"|receita|música|boek|recept|gerecht|liedje|plaats|bestemming|unterkunft|reiseziel|lied"
)
_SYSTEM = (
    r"generator|system|model|method|algorithm|llm|condition|variant|version|arm|author|writer"
    r"|(written|generated)\W*by|bedingung|modell|verfahren|模型|系统"
    r"|système|modèle|méthode|algorithme|sistema|modelo|método|algoritmo|modello|metodo|systeem|methode|algoritme"
)
_REFERENCE = (
    r"reference|review|own\W*words|ground\W*truth|gold\W*(text|standard)?"
    r"|rezension|bewertung\W(des|der)\W.*|评论"
    r"|référence|critique|referencia|reseña|riferimento|recensione|referência|resenha|referentie|recensie|referenz"
)
_TEXT = (
    r"explanation|text|justification|rationale|output|response|message|erklärung|begründung|解释|(推荐)?理由"
    r"|explication|explicación|spiegazione|explicação|uitleg|verklaring|texte|texto|testo|tekst"
    r"|text[eo]?\W+de\W+(la|l)\W+explicaci[oó]n|testo\W+della\W+spiegazione"
)
_IGNORED = (
    r"time\W*stamp|date|time|start\w*|end\w*|submit\w*|recorded|duration|index|row|#|unnamed.*|column \d+"
    r"|ip\W*\w*|status|progress|finished|location|latitude|longitude|response\W*type|comments?|year"
    r"|(.*\W)?id|trial|position|order|(n|number of|word)\W*(words?|counts?|tokens|characters)"
    r"|last\W*page|(start\W*)?language|seed|zeitstempel|datum|kommentare?|letzte\W*seite|zufallsstartwert"
    r"|n[°º]|num[eé]ro|número|nummer|date de.*|fecha.*|data di.*|年份|时间"
)
_RATER = (
    r"rater|annotator|assessor|coder|who|rated\W*by|by|judge|evaluator|worker|labell?er"
    r"|评价者|评分者|标注者|标注员"
    r"|évaluat(eur|rice)|annotat(eur|rice)|juge|evaluador(a)?|anotador(a)?|juez|valutatore|valutatrice|annotatore"
    r"|giudice|avaliador(a)?|beoordelaar|annotator(in)?|bewerter(in)?|gutachter(in)?"
)
_ASPECT = (
    r"aspect|criterion|criteria|dimension|question|facet|attribute|critère|criterio|critério|aspecto|aspetto"
    r"|dimensión|dimensione|dimensão|aspekt|kriterium|frage|pregunta|domanda|vraag"
)
_PROFILE = (
    r"age|gender|sex|country|education|occupation|experience|alter|geschlecht|年龄|性别"
    r"|âge|sexe|edad|sexo|età|sesso|idade|leeftijd|geslacht"
)
_ID = r"(\W*(p?id|name|nr|no|key|code|address))?"
_SHOWN = (
    r"(proposée?|recommandée?|propuest[oa]|recomendad[oa]|consigliat[oa]|propost[oa]|aanbevolen|empfohlen\w*)"
)
_KEYS = (
    ("user_id", rf"(.*\byour\W+)?(id\W+)?({_USER}){_ID}|token(\W+(zugangscode|access code))?"),
    ("item_id", rf"(id\W+)?({_ITEM})(\W*(id|nr|no|key|code)|\W+{_SHOWN})?"),
    ("generator", rf"({_SYSTEM}){_ID}|(explanation|text)\W*(type|source|version)"),
    ("item_title", rf"(({_ITEM})\W*)?(title|titel|name|标题)"),
    ("reference", rf"((user|gold|human)\W*)?({_REFERENCE})(\W*(text|\d+))?"),
    ("explanation", rf"(generated\W*|model\W*)?({_TEXT})(\W*(text|shown))?"),
    ("rater", rf"({_RATER}){_ID}"),
    ("aspect", rf"({_ASPECT}){_ID}"),
    ("profile", rf"(.*\byour\W+)?({_PROFILE})|(how\W+old|wie\W+alt)\W.*"),
    ("ignore", rf"({_IGNORED})(\W.*)?"),
)  # fmt: skip
"""Role → what a column is called that has it; an earlier one goes first."""
_ME = r"me|self|selbst|own|moi|yo|io|ich|ik|zelf|soi"
VALUE = r"(.*\W)?(rating|score|value|stars?|points?|label|answer|mark|评分|note|étoile"
VALUE += (
    r"|estrella|puntuación|valoración|nota|voto|valutazione|avaliação|estrela|cijfer|waardering|bewertung)s?"
)
SUFFIX = re.compile(r"(.+?)([\W_]+(?:score|rating|value|mark)s?)", re.IGNORECASE)
PERSON = re.compile(
    rf"\(?({_USER}|{_ME}|human|people|annotator|rater|expert|coder|assessor|crowd|worker|labell?er|student"
    r"|[arh](?=\W?\d))[\W_]?(\d+|[a-z])?(\W(rating|score)s?)?\)?",
    re.IGNORECASE,
)
_THE_USER = re.compile(rf"\(?({_USER}|{_ME})(\W*(rating|self|id))?\)?", re.IGNORECASE)
TOOL = re.compile(
    r"gpt|llm|bleu|rouge|chr.?f|meteor|bert|comet|claude|gemini|gemma|llama|mistral|mixtral|qwen|deepseek|judge"
    r"|metric|eval|length|perplex|ppl|cosine|similar|readab|flesch|distinct|nli|\b[ak]i\b|\bia\b|\bauto"
    r"|(?<![^\W_])mod[eè]l(l?[eo]?|os?)(?![^\W_])",
    re.IGNORECASE,
)
_ASPECTS = (
    ("trust", r"trust|vertrau"),
    ("persuasiveness", r"persua|convinc|überzeug"),
    ("transparency", r"transparen|why .*recommend"),
    ("satisfaction", r"satisf|enjoy|zufrieden"),
    ("accuracy", r"accura|correct|factual"),
    ("usefulness", r"useful|help|nützlich|hilfreich"),
    ("clarity", r"clear|clarity|easy|understand|comprehen|verständlich|nachvollzieh"),
    ("relevance", r"relevan|fit"),
    ("fluency", r"fluen|natural"),
    ("effectiveness", r"effective"),
    ("efficiency", r"efficien"),
    ("scrutability", r"scrutab"),
    ("fun", r"\bfun"),
    ("readability", r"readab"),
    ("informativeness", r"informati"),
    ("coherence", r"coheren"),
    ("quality", r"quality"),
)
"""Name of an aspect → what its column or question says."""
PATH = re.compile(r"(\w+\.)+\w*[^\W\d]\w*")
PLACE = "n"
"""The column of the number or letter of one of several explanations."""
NTH = f"{{{PLACE}}}"
"""Stands in a column's name for that number or letter."""
NUMBERED_TEXT = re.compile(
    rf"({_TEXT}|recommendation|empfehlung|system|version|variant|condition)s?\W*\{{n\}}", re.IGNORECASE
)
NUMBERED_SYSTEM = re.compile(rf"\b({_SYSTEM})\W*\{{n\}}", re.IGNORECASE)
NUMBERED_ITEM = re.compile(rf"(?!item)\b({_ITEM})\W*\{{n\}}", re.IGNORECASE)
_NOTE = re.compile(r"\([^)]*\)\s*$")
QUESTION = 4  # words from which a name is a question


def role_of(column: str, texts: Sequence[str], *, numeric: bool, taken: Mapping[str, str]) -> str:
    """Return the role of a column by its name; empty if its name says nothing."""
    # Of a path into JSON, such as meta.user.id or explanations.model, the last parts may say it alone.
    parts = column.split(".") if PATH.fullmatch(column) else [column]
    names = [without_place(column), *dict.fromkeys(".".join(parts[-n:]) for n in (2, 1) if n < len(parts))]
    names += [column[: note.start()]] if (note := _NOTE.search(column)) else []
    names = [re.sub(r"[\W_]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", n)).strip() for n in names]
    for (role, pattern), name in itertools.product(_KEYS, names):
        if role not in taken and re.fullmatch(pattern, name, re.IGNORECASE):
            return "" if numeric and role in ("explanation", "reference", "item_title") else role
    plain = names[0]
    if not numeric and len(plain.split()) >= QUESTION - 1 - column.endswith("?") and len(set(texts)) > 1:
        # A question of a form that was answered with a key, such as "Which film did you see?"
        words = (("item_id", _ITEM), ("generator", _SYSTEM), ("explanation", r"explanation|text"))
        return next(
            (r for r, w in words if r not in taken and re.search(rf"\b({w})", plain, re.IGNORECASE)), ""
        )
    return ""


def aspect_name(text: str) -> str:
    """Return a short name for what a column's name or a question says of an aspect."""
    text = without_place(text)
    if legend := re.fullmatch(r"(.*\S)\s*[\[(][^\[(]*\d\s*[=:–-][^\[(]*[\])]\s*", text):  # [1 = no, 5 = very]
        return aspect_name(legend[1])
    if row := re.search(r"(?:\[| - )([^\[\]]+)\]?\s*$", text):  # a row of a form's grid
        coded = re.fullmatch(r"[A-Z]+\d+", row[1].strip()) and row.start()  # trust[SQ001]
        return aspect_name(text[: row.start()] if coded else row[1].strip())
    if len(text.split()) < QUESTION and len(text) < 30:
        return text
    known = (name for name, words in _ASPECTS if re.search(words, text, re.IGNORECASE))
    return next(known, " ".join(re.findall(r"\w+", text)[:QUESTION]))


def without_place(text: str) -> str:
    """Return a question, or a column's name, without the explanation that it is of: ``[Explanation {n}]``."""
    if NTH not in text:
        return text
    alone = r"(\w+\W+)?\{n\}"  # [Explanation {n}] and the like, at an end
    short = re.sub(rf"\s*\[{alone}\]\s*$|\s+[-–]\s+{alone}\s*$|^{alone}\s+[-–]\s+", "", text)
    short = re.sub(r"\s*[\[(]\s*[\])]", "", re.sub(r"[^\W_]*\{n\}", "", short))
    return " ".join(short.split()).strip(" _-.:/|") or text


def is_aspect(text: str) -> bool:
    """Say whether a text says what people rated."""
    return any(re.search(words, text, re.IGNORECASE) for _, words in _ASPECTS)


def the_user(raters: Sequence[str]) -> str:
    """Return the rater that is probably the user; empty if none is."""
    return next((r for r in raters if _THE_USER.fullmatch(r)), "")
