"""The marks around the answer in a reply: reasoning, channels, tags."""

from __future__ import annotations

import re

_THOUGHTS = (
    r"(?:think|thinking|thoughts?|reasoning|reflection|analysis|scratchpad|planning|plan|draft|monologue)"
)
_THOUGHT = re.compile(
    rf"[<\[◁【]\s{{0,9}}\|?(?P<end>\s{{0,9}}/)?\s{{0,9}}(?P<name>{_THOUGHTS})\b[^<>\[\]◁▷【】\n]{{0,99}}[>\]▷】]",
    re.IGNORECASE,
)
_FINAL_CHANNEL = "<|channel|>final<|message|>"
_ENDS = re.compile(
    r"(?:\s|<\|(?:im_end|eot_id|eom_id|end_of_text|endoftext|end|return|endofturn)\|>|</s>|<end_of_turn>)+\Z"
)
_LATEX = re.compile(r"\\(?:boxed|text|textbf|mathbf)\{([^{}\\]{0,999})\}")

_TAG = re.compile(
    # no type of a program such as ``Set<String>``
    r"(?:(?<![a-z][a-z])<|<\s{0,9}/)\s{0,9}(?P<name>[^\W\d_][^<>\s/]{0,60})(?P<more>[^<>\n]{0,200})>"
    r"|(?P<odd>◁|▷|<\||\|>|~~|\[/?[A-Z][A-Z_ ]{2,30}\]"
    # comments and the marks of a diff: what they hold is not said, or is no longer
    r"|<!--|-->|/\*|\*/|^ {0,3}(?://|@@|;|--(?= ?\w)|%|\\begin\{comment|\w{1,30}\([\"']"
    r"|(?:---|\+\+\+) ?\w|\[[^\]\n]{0,60}\]: |\+[^\W\d]))",
    re.MULTILINE,
)
_PLAIN_TAGS = re.compile(
    r"b|strong|i|em|u|p|br|div|span|[uo]l|li|table|thead|tbody|t[rhd]|h[1-6r]|code|pre|json|"
    r"answer|final|output|response|reply|results?|evaluation|assessment|judge?ment|review|summary|aspects?|criterion|"
    r"scores?|ratings?|values?|reasons?|rationale|explanation|justification|comments?|feedback"
)


def answer_in(text: str) -> str | None:
    """Return what comes after the reasoning, or None if the reasoning never ends."""
    answer = _parted(text)[1]
    if answer is None:
        return None
    last = _ENDS.search(answer, max(0, len(answer) - 200))
    text = answer[: last.start()] if last else answer
    return _LATEX.sub(r" \1 ", _LATEX.sub(r" \1 ", text))  # one may stand in another


def parted(text: str) -> tuple[str, str]:
    """Return the reasoning in a reply, without its marks, and the rest of it as it is."""
    thought, rest = _parted(text)
    return thought.strip(), text if rest == text else (rest or "").strip()


def _parted(text: str) -> tuple[str, str | None]:
    """Return the reasoning, and what comes after it; None for that if the reasoning never ends.

    Some servers drop the mark that begins the reasoning: without one, all before its end is reasoning.
    """
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


def unknown_mark(text: str, known: frozenset[str]) -> str | None:
    """Return the first mark whose meaning is not known: it may enclose an example or a draft.

    Parameters
    ----------
    text
        The answer, without reasoning.
    known
        Names of tags that are known beside the usual ones, in lower case.
    """
    for mark in _TAG.finditer(text):
        name = (mark["name"] or "").casefold()
        plain = _PLAIN_TAGS.fullmatch(name) or name in known
        if mark["odd"] is not None or not plain or (mark["more"].strip(" /") and name != "span"):
            return mark.group()
    return None
