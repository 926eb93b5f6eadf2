"""Which family of models a name belongs to: a stated table, and what the user says instead."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "openai": ("chatgpt", "gpt", "davinci", r"o[134](?=$|-)"),
    "anthropic": ("claude",),
    "google": ("gemini", "gemma", r"palm-?2", "bard"),
    "llama": ("llama", "codellama", "vicuna", "alpaca"),
    "qwen": ("qwen", "qwq", "tongyi"),
    "mistral": ("mistral", "mixtral", "ministral", "magistral", "codestral"),
    "deepseek": ("deepseek",),
    "glm": ("chatglm", "glm"),
    "baichuan": ("baichuan",),
    "ernie": ("ernie", "wenxin"),
    "yi": (r"yi-\d",),
    "phi": (r"phi-?\d",),
    "grok": ("grok",),
    "cohere": ("command-r", "command-a", "cohere", "aya"),
    "kimi": ("kimi", "moonshot"),
    "doubao": ("doubao",),
    "hunyuan": ("hunyuan",),
    "internlm": ("internlm",),
}
"""Family → the words that its models' names hold. A tuned model goes by the name that it carries."""

_WORDS = {
    family: re.compile("|".join(rf"(?<![a-z]){word}(?![a-z])" for word in words))
    for family, words in FAMILIES.items()
}


def family_of(name: str, said: Mapping[str, str | None] | None = None) -> str | None:
    """Return the family of a generator or a model.

    Parameters
    ----------
    name
        Such as ``gpt-4o`` or ``Qwen2.5-72B``.
    said
        Name → family, which goes before the table; None for a model of no family.

    Returns
    -------
    str or None
        None if the table has no word of the name. Of several words the one that stands first counts, so a
        ``deepseek-r1-distill-qwen`` is one of ``deepseek``.
    """
    if said is not None and name in said:
        return said[name]
    folded = name.casefold().replace("_", "-")
    found = [(match.start(), family) for family, word in _WORDS.items() if (match := word.search(folded))]
    return min(found)[1] if found else None


def model_family(model: str) -> str | None:
    """Return the family of ``provider/model``: the provider says who serves a model, not whose it is."""
    return family_of(model.partition("/")[2] or model)
