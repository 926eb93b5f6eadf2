"""An LLM that rates explanations one by one."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from metaeval.base.errors import DataError
from metaeval.base.records import Status
from metaeval.evaluators.grid import rows_of
from metaeval.judging.unit_judge import UnitJudge
from metaeval.kinds.explanations.judge.examples import MODES, NONE, Examples, choose_examples
from metaeval.kinds.explanations.judge.prompt import UnitPrompt, aliases_of, check_references, text_of
from metaeval.kinds.explanations.profiles import ShowsProfile
from metaeval.llm.prompts.template import load_prompt
from metaeval.llm.replies.fields import Number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet


class _Prepared(NamedTuple):
    """What is the same for all units."""

    prompt: Callable[[tuple[str, ...]], UnitPrompt]
    examples: Examples
    keys: Sequence[tuple[Any, ...]]
    columns: Sequence[str]
    rows: Sequence[tuple[Any, ...]]
    profile: Callable[[int], Mapping[str, str] | None]


@dataclass(frozen=True, repr=False)
class Judge(UnitJudge, ShowsProfile):
    """A language model as an evaluator: it is shown an explanation and rates its aspects.

    Scores are on the data set's scale; a reply that is not complete and valid is a typed failure.

    Parameters
    ----------
    examples
        ``none`` (zero-shot), ``one-shot``, ``personalized`` or ``shuffled``; see `choose_examples`. Units
        shown as examples are never scored.
    profile
        Whether the judge is told the user's profile.
    samples, expected
        As for `metaeval.judging.unit_judge.UnitJudge`: the mean of repetitions; the expectation over the
        rating's token probabilities.
    model, prompt, temperature, replicate, reply, template, base_url, attempts, max_tokens, seed
        As for `metaeval.judging.model_evaluator.ModelEvaluator`; ``seed`` is of the choice of examples.
    """

    prompt: str = "multi-aspect"
    examples: str = NONE

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_profile()
        self.check_word("examples", MODES)

    def signature(self, data: ExplanationSet) -> Mapping[str, Any]:
        """Return the judge's settings, whether it is told profiles, and which examples it is shown."""
        return {**super().signature(data), "profile": self.profile, "examples": self.examples}

    def fields(self, data: ExplanationSet, aspects: Sequence[str]) -> list[Number]:
        """Return a number on the data's scale for each aspect, with a reason where there is a rubric."""
        aliases, reason = aliases_of(data, aspects), load_prompt(self.prompt).rubric is not None
        return [Number(a, data.scale.of(a), aliases[a], reason) for a in aspects]

    def parts(self, data: ExplanationSet, aspects: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the positions of the aspects of each call; one call names one scale."""
        scales = [data.scale.of(a) for a in aspects]
        return [
            tuple(a for a in part if scales[a] == scale)
            for part in super().parts(data, aspects)
            for scale in dict.fromkeys(scales[a] for a in part)
        ]

    def prepared(self, data: ExplanationSet, aspects: Sequence[str]) -> _Prepared:
        """Return template, examples and texts; raise `DataError` if the data lack what they need."""
        if "explanation" not in data.explanations:
            raise DataError(f"data set {data.name!r} has no explanation texts, so there is nothing to judge")
        examples = choose_examples(data, aspects, self.examples, self.seed)
        template = load_prompt(self.prompt)
        check_references(template, data)
        texts = ("item_title", "explanation", "reference")
        columns = [*data.keys, *(c for c in texts if c in data.explanations)]
        keys, rows = (list(rows_of(data.explanations, names)) for names in (data.keys, columns))
        prompt = functools.cache(lambda asked: UnitPrompt(template, data, asked, self.reply))
        return _Prepared(prompt, examples, keys, columns, rows, self.profiles(data))

    def messages(
        self, data: ExplanationSet, unit: int, aspects: Sequence[str], prepared: _Prepared
    ) -> list[tuple[str, str]] | Status:
        """Return what the model is told of an explanation; an example or a blank text is not judged."""
        del data
        key = prepared.keys[unit]
        if key in prepared.examples.shown:
            return Status.EXAMPLE
        row = dict(zip(prepared.columns, prepared.rows[unit], strict=True))
        if not isinstance(row["explanation"], str) or text_of(row["explanation"]) is None:
            return Status.MISSING
        example, profile = prepared.examples.of_unit.get(key), prepared.profile(unit)
        return prepared.prompt(tuple(aspects)).messages(row, example=example, profile=profile)

    def outcome(self, prepared: _Prepared) -> Mapping[str, Any]:
        """Return how many units were judged without an example because the rule gives none."""
        return {"without_example": prepared.examples.without}
