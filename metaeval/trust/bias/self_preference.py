"""Self-preference: whether a judge scores texts of its own family of models higher than people would.

The score is regressed on whether the generator is of the judge's family and on the truth (and on the length
of the text, if known), with cluster fixed effects. The coefficient is in points of the judge's scale.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.trust.bias.bias import (
    ASPECT,
    JUDGE,
    UNITS,
    Bias,
    BiasData,
    Biases,
    BiasQuestion,
    JudgedUnits,
    Measured,
    TestedNumber,
    number,
    part,
)
from metaeval.trust.bias.given_truth import GivenTruth, given_truth, given_truth_note


@dataclass(frozen=True, slots=True, eq=False)
class SelfPreference:
    """How much a judge favours its own family."""

    judge: str
    family: str
    own: tuple[str, ...]
    """Generators of the judge's family."""
    points: GivenTruth
    """Points for the own family, the truth (and the length) held fixed."""
    beyond_others: Measured | None
    """The same for the score minus the mean score of judges of other families, without the texts of their
    families: quality that the truth misses is seen by these judges too. None without such judges."""
    others: tuple[str, ...]
    n_units: Ints
    """Shape (A,)."""


def own_generators(
    generators: Sequence[str], family: str | None, families: Mapping[str, str | None]
) -> tuple[str, ...]:
    """Return the generators of a family; none if the family is not known, or all are of it."""
    own = tuple(g for g in generators if family is not None and families.get(g) == family)
    return own if len(own) < len(generators) else ()


def own_family(data: JudgedUnits, judge: str, families: Mapping[str, str | None]) -> Floats | None:
    """Return 1 for the units of the judge's family and 0 for others, shape (U,); None if all are alike."""
    own = own_generators(data.generators, families.get(judge), families)
    if not own:
        return None
    return np.isin(np.array(data.generators, dtype=object), own)[data.generator].astype(np.float64)


def self_preference(
    data: JudgedUnits, judge: str, families: Mapping[str, str | None], resampler: Resampler
) -> SelfPreference | None:
    """Measure how much higher a judge scores its own family.

    ``families`` are those of judges and generators. None if the judge has no family, or no generator or every
    generator is of it.
    """
    is_own = own_family(data, judge, families)
    if is_own is None:
        return None
    family = str(families[judge])
    scores = data.of(judge)
    columns = [is_own] if data.doublings is None else [is_own, data.doublings]
    others = tuple(
        j
        for j in data.judges
        if families.get(j) not in (None, family) and (j in data.rates) == (judge in data.rates)
    )
    beyond = None
    if others:
        theirs = np.mean([data.of(j) for j in others], axis=0)
        favoured = [families.get(g) in {families[j] for j in others} for g in data.generators]
        theirs = np.where(np.array(favoured)[data.generator], np.nan, theirs)
        beyond = given_truth(data, scores - theirs, columns, resampler).best
    return SelfPreference(
        judge,
        family,
        own_generators(data.generators, family, families),
        given_truth(data, scores, columns, resampler),
        beyond,
        others,
        data.rated(judge).sum(axis=1),
    )


QUESTION = BiasQuestion(
    "self-preference", "points for its own family", "favours its own family", "scores its own family lower"
)
WINS_BY_FAMILY = QUESTION._replace(number="share of a win for its own family")


def _measure(data: BiasData) -> Iterator[SelfPreference]:
    for units, judge, resampler in data.judges:
        if result := self_preference(units, judge, data.families, resampler):
            yield result


def _notes(found: Biases, results: Sequence[SelfPreference]) -> Iterator[str]:
    length = " + length" if found.results["verbosity"] else ""
    yield (
        "Coefficient of being of the judge's family in score ~ own family + truth + "
        f"{found.data.clustered_by}{length}: points of the judge's scale."
    )
    if any(result.beyond_others is not None for result in results):
        yield (
            "Beyond judges of other families: the same for the score minus the mean score of judges of "
            "other families, without their families' texts. These judges, too, see what is truly better in "
            "the own family's texts."
        )
    yield given_truth_note(found)
    yield (
        "Families come from words in models' names, or from --family and --families. A generator differs "
        "from others in more than its family, so compare with judges of other families."
    )


SELF_PREFERENCE = Bias(
    "self_preference",
    "Self-preference: the own family against others, given the truth",
    _measure,
    lambda results: (TestedNumber(r.judge, "", QUESTION, r.points.best) for r in results),
    (
        JUDGE,
        part("family", "Family"),
        part("own", "Its generators", source=lambda result: ", ".join(result.own)),
        ASPECT,
        number("points", "Points for the own family", source="points.best"),
        number("plain", "Given the raw ratings", source="points.plain"),
        number("beyond", "Beyond judges of other families", source="beyond_others"),
        part("others", "", source=lambda result: ", ".join(result.others)),
        UNITS,
    ),
    _notes,
    lambda result: ((result.judge, "self-preference", result.points.best),),
)


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
