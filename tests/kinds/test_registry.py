from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError, SpecError
from metaeval.base.records import Kind
from metaeval.base.spec import EvaluatorSpec
from metaeval.evaluators.base import BaseEvaluator
from metaeval.evaluators.grid import Grid
from metaeval.kinds.explanations.text.overlap import BLEU, ROUGE
from metaeval.kinds.index import KINDS
from metaeval.kinds.registry import COMMON, build, factory_named, known_evaluators, register
from metaeval.llm.providers import PROVIDERS
from metaeval.llm.replies.patterns import PATTERNS
from tests.evaluators.making import make_set
from tests.kinds.toy import YES_NO

EXAMPLES = [
    "Judge('openai/gpt-4o', prompt='single-aspect', examples='personalized')",
    "Majority(Annotator('1'), Annotator('2'), Annotator('3'))",
    "Annotator('1')",
    "BLEU(n=1)",
    "ChrF()",
    "DawidSkene(Annotator('1'), Annotator('2'))",
    "GLAD(Annotator('1'), Annotator('2'))",
    "HF('somewhere')",
    "Length()",
    "MACE(Annotator('1'), Annotator('2'))",
    "Mean(Annotator('1'), User())",
    "Median(Length(), BLEU())",
    "Pairwise('openai/gpt-4o', pairs='swiss', rounds=3)",
    "ROUGE('L')",
    "Random(seed=0)",
    "Recorded('BLEU Ξ§')",
    "User()",
]


def test_every_registered_evaluator_has_an_example_here():
    assert sorted(EvaluatorSpec.parse(e).name for e in EXAMPLES) == sorted(known_evaluators())


@pytest.mark.parametrize("text", EXAMPLES)
def test_an_evaluator_prints_as_it_was_written_and_builds_again(text):
    evaluator = build(text)
    assert str(evaluator.spec) == str(evaluator) == repr(evaluator) == text
    assert build(evaluator.spec) == evaluator
    assert build(evaluator) is evaluator
    assert pickle.loads(pickle.dumps(evaluator)).spec == evaluator.spec
    assert evaluator.kind in Kind


def test_an_evaluator_made_in_python_prints_what_differs_from_the_defaults():
    assert str(BLEU()) == "BLEU()"
    assert str(BLEU(n=1)) == "BLEU(n=1)"
    assert str(ROUGE("L", use_stemmer=True)) == "ROUGE('L', use_stemmer=True)"
    assert BLEU(n=4) == build("BLEU(4)")


@pytest.mark.parametrize("given", [None, 3, ["BLEU()"], object()])
def test_what_is_no_evaluator(given):
    with pytest.raises(SpecError, match="an evaluator is given as text"):
        build(given)


def test_short_names_in_any_order():
    names = {"panel": "Mean(first, Annotator('2'))", "first": "Annotator('1')", "own": BLEU(n=2)}
    assert str(build("panel", names)) == "Mean(Annotator('1'), Annotator('2'))"
    assert str(build("Mean(own, panel)", names)) == "Mean(BLEU(n=2), Mean(Annotator('1'), Annotator('2')))"


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({"a": "Mean(b)", "b": "Mean(c)", "c": "Mean(a)"}, "'a' is defined by itself: a → b → c → a"),
        ({"a": "Mean(bb)", "b_b": "User()"}, "did you mean 'b_b'"),
        ({"a": 3}, "'a': an evaluator is given as text.*not as 3"),
    ],
)
def test_wrong_short_names(names, said):
    with pytest.raises(SpecError, match=said):
        build("a", names)


@dataclass(frozen=True, repr=False)
class Vowels(BaseEvaluator):
    """An evaluator from outside the package."""

    kind: ClassVar[Kind] = Kind.BASELINE
    letters: str = "aeiou"

    def grid(self, data, aspects):
        scores = np.array(
            [float(sum(c in self.letters for c in t)) for t in data.explanations["explanation"]]
        )
        return Grid.repeated(scores, len(aspects))


def test_an_evaluator_from_outside_can_be_registered(monkeypatch):
    monkeypatch.delitem(COMMON, "Vowels", raising=False)
    register("Vowels", Vowels)
    register("Vowels", Vowels)
    try:
        for kind in KINDS:
            assert factory_named(EvaluatorSpec("Vowels"), known_evaluators(kind)) is Vowels
        table = me.score(make_set(["a b", "eio"]), ["Vowels()", "Mean(Vowels(letters='b'), Length())"])
        assert table.frame["score"].tolist() == [1, 3, 1, 3, 2, 1.5, 2, 1.5]
        with pytest.raises(SpecError, match="did you mean 'letters'"):
            build("Vowels(leters='a')")
    finally:
        del COMMON["Vowels"]


def test_a_name_that_is_taken_or_no_name_is_refused():
    with pytest.raises(SpecError, match="'BLEU' is registered already"):
        register("BLEU", Vowels)
    with pytest.raises(SpecError, match="'my evaluator' cannot name"):
        register("my evaluator", Vowels)


@pytest.mark.parametrize(
    ("registry", "thing"),
    [(PROVIDERS, PROVIDERS["openai"]), (PATTERNS, PATTERNS["mt-bench"]), (KINDS, YES_NO)],
)
def test_what_is_registered_is_told_by_its_class(registry, thing, monkeypatch):
    monkeypatch.setitem(registry, "mine", thing)  # so that it is taken away again
    del registry["mine"]
    register("mine", thing)
    assert registry.named("mine") is thing
    with pytest.raises(MetaevalError, match="'mine' is registered already"):
        register("mine", thing._replace() if hasattr(thing, "_replace") else copy.copy(thing))
