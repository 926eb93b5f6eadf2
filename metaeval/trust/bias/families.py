"""The family of models that a name belongs to: from a table, or as the user says."""

from __future__ import annotations

import re
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
"""Family → patterns of the words in its models' names."""

_WORDS = {
    family: re.compile("|".join(rf"(?<![a-z]){word}(?![a-z])" for word in words))
    for family, words in FAMILIES.items()
}


def family_of(name: str, said: Mapping[str, str | None] | None = None) -> str | None:
    """Return the family of a generator or a model, such as ``Qwen2.5-72B``; None if no pattern matches.

    ``said`` maps names to families and goes before the table; None is no family. Of several matches the
    leftmost counts: ``deepseek-r1-distill-qwen`` is one of ``deepseek``.
    """
    if said is not None and name in said:
        return said[name]
    folded = name.casefold().replace("_", "-")
    found = [(match.start(), family) for family, word in _WORDS.items() if (match := word.search(folded))]
    return min(found)[1] if found else None


def model_family(model: str) -> str | None:
    """Return the family of ``provider/model``; a provider may serve models of any family."""
    return family_of(model.partition("/")[2] or model)
