from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.base.errors import SpecError
from metaeval.base.spec import EvaluatorSpec

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True).filter(
    lambda w: w.isidentifier() and w not in __import__("keyword").kwlist
)
literals = (
    st.text(max_size=12)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.none()
)


def _spec(arguments):
    return st.builds(
        EvaluatorSpec,
        names,
        st.lists(arguments, max_size=3).map(tuple),
        st.dictionaries(names, arguments, max_size=3),
    )


specs = _spec(
    st.recursive(literals, lambda inner: _spec(inner) | st.lists(inner, max_size=3).map(tuple), max_leaves=8)
)


@given(specs)
def test_print_and_parse_give_the_value_back(spec):
    again = EvaluatorSpec.parse(str(spec))
    assert again == spec
    assert hash(again) == hash(spec)
    assert str(again) == str(spec)


@given(specs)
def test_pickle_gives_the_value_back(spec):
    assert pickle.loads(pickle.dumps(spec)) == spec


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("BLEU( n = 1 )", "BLEU(n=1)"),
        ('Annotator("1")', "Annotator('1')"),
        ("Mean(Annotator('1'),Annotator('2'))", "Mean(Annotator('1'), Annotator('2'))"),
        ("A([1, 2], (3,))", "A((1, 2), (3,))"),
        ("  A(-1, x=None)\n", "A(-1, x=None)"),
        ("Recorded('BLEU Ξ§')", "Recorded('BLEU Ξ§')"),
    ],
)
def test_normal_form(text, printed):
    assert str(EvaluatorSpec.parse(text)) == printed


def test_short_names_stand_for_specs():
    names = {"a": EvaluatorSpec.parse("Annotator('1')")}
    assert str(EvaluatorSpec.parse("Mean(a, User())", names)) == "Mean(Annotator('1'), User())"
    assert EvaluatorSpec.parse("a", names) == names["a"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not an evaluator spec"),
        ("BLEU(", "is not an evaluator spec"),
        ("'BLEU'", "is not an evaluator spec"),
        ("BLEU\x00()", "is not an evaluator spec"),
        (r"HF('a\metric')", "is not an evaluator spec"),
        ("BLEU", r"write BLEU\(\)"),
        ("Mean(pannel)", "did you mean 'panel'"),
        ("BLEU(n=1, n=2)", "twice"),
        ("BLEU(n=1e999)", "not a finite number"),
        ("BLEU(n=1+1)", "must be literals"),
        ("BLEU(*x)", "must be literals"),
        ("BLEU(**x)", "must be literals"),
        ("a.b()", "must be literals"),
        ("BLEU(b'x')", "must be literals"),
        ("__import__('os').system('x')", "must be literals"),
    ],
)
def test_bad_text_is_one_sentence(text, said):
    with pytest.raises(SpecError, match=said) as caught:
        EvaluatorSpec.parse(text, {"panel": EvaluatorSpec("User")})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "arguments",
    [
        ("two words",),
        ("class",),
        ("",),
        ("A", (float("nan"),)),
        ("A", ({1, 2},)),
        ("A", (b"x",)),
        ("A", (), {"not a name": 1}),
    ],
)
def test_what_could_not_be_read_back_is_refused(arguments):
    with pytest.raises(SpecError):
        EvaluatorSpec(*arguments)


def test_subclasses_of_literals_become_plain():
    assert str(EvaluatorSpec("A", (np.float64(0.5), np.str_("x")))) == "A(0.5, 'x')"


def test_arguments_are_read_only():
    kwargs = {"n": 1}
    spec = EvaluatorSpec("BLEU", (), kwargs)
    kwargs["n"] = 2
    assert str(spec) == "BLEU(n=1)"
    with pytest.raises(TypeError):
        spec.kwargs["n"] = 3
