"""What a model thought between marks before it answered, which is never read as an answer."""

from __future__ import annotations

import re

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
    answer = _parted(text)[1]
    if answer is None:
        return None
    last = _ENDS.search(answer, max(0, len(answer) - 200))
    return answer[: last.start()] if last else answer


def parted(text: str) -> tuple[str, str]:
    """Return the reasoning in a reply, without its marks, and the rest of it as it is."""
    thought, rest = _parted(text)
    return thought.strip(), text if rest == text else (rest or "").strip()


def _parted(text: str) -> tuple[str, str | None]:
    """Return the reasoning, and what comes after it; None for that if the reasoning never ends.

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
