"""What the body of a prompt may hold, and that no body uses a machine up."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import Environment, StrictUndefined, TemplateSyntaxError

from metaeval.cli import main
from metaeval.llm.prompts.syntax import fill, left_out, variables
from tests.examples import examples
from tests.llm.prompts.test_template import HEADER, write

TEXT = 'A "text".\nOf two lines.'
VALUES = {"text": TEXT, "number": 3, "aspects": [{"name": "clear", "items": "x"}, {"name": "fitting"}]}
PARTS = st.sampled_from(
    [
        "plain text\n",
        "{{ a }}{{ a | upper }}",
        "{{ b | default('none') | trim }}\n",
        "{% if a == 1 and b != 'b' %}A {{ b }}{% elif not a %}none{% else %}{{ -2 }}{% endif %}",
        "{% for one in many %}{{ loop.index }} {{ one.name }}{{ ', ' if not loop.last }}{% endfor +%}",
        "{% for one in many if one.name in ['n', 1] %}{{ one['name'] }}{% else %}none{% endfor %}",
        "{{ many | map(attribute='name') | map('lower') | join(', ') }}{{ many | length }}",
        "{{ many | selectattr('name', 'eq', 'n') | list }}{{ b[:-1] }}{{ b | truncate(4) }}",
        "{% set x = a %}",
        "{{ x if x is defined }}",
        "{% for a in many %}{% set x = a.name %}{{ x }}{% endfor %}{{ a }}",
        "{# a comment #}{% raw %}{{ a }}{% endraw %}",
    ]
)
GIVEN = st.fixed_dictionaries(
    {
        "a": st.sampled_from(["", "a", 1, 1.0, True, 0.0, -0.0, False]),
        "b": st.text(max_size=9),
        "many": st.lists(st.fixed_dictionaries({"name": st.sampled_from(["n", 1, True])}), max_size=2),
    }
)


@settings(max_examples=examples(60))
@given(st.lists(PARTS, min_size=1, max_size=8), GIVEN)
def test_a_prompt_prints_what_plain_jinja_prints(parts: list[str], values: dict[str, object]) -> None:
    plain = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)  # noqa: S701 - no HTML
    assert fill("".join(parts), values) == plain.from_string("".join(parts)).render(values).strip("\n")


def test_filters_of_prompts() -> None:
    body = "{{ aspects | map(attribute='name') | map('tojson') | join(', ') }} {{ '好' | tojson }}"
    assert fill(body, VALUES) == '"clear", "fitting" "好"'
    assert fill("{{ aspects[0].items }}{{ number | fenced('n') }}", VALUES) == "x<n>\n3\n</n>"


def test_what_was_left_out_is_false_and_empty_and_is_not_printed() -> None:
    body = "{% if hint %}a{% endif %}{% for one in hint %}b{% endfor %}{{ hint or 'none' }}"
    assert fill(body, {"hint": left_out("hint")}) == "none"
    with pytest.raises(ValueError, match=r"'hint' is optional and was left out; print it inside {% if hint"):
        fill("{{ hint }}", {"hint": left_out("hint")})


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("{{ text.upper() }}", "Jinja's 'Call'"),
        ("{% for i in range(9) %}{% endfor %}", "Jinja's 'Call'"),
        ("{{ text * 10**9 }}", "Jinja's 'Mul'"),
        ("{{ '%999999999d' % number }}", "Jinja's 'Mod'"),
        ("{{ text ~ text }}", "Jinja's 'Concat'"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "Jinja's 'Macro'"),
        ("{% set x %}{{ text }}{% endset %}", "Jinja's 'AssignBlock'"),
        ("{% filter upper %}x{% endfilter %}", "Jinja's 'FilterBlock'"),
        ("{% include 'x' %}", "Jinja's 'Include'"),
        ("{{ {'a': text} }}", "Jinja's 'Dict'"),
        ("{% set x = [text, text] %}", "a list in a prompt can hold texts and numbers only"),
        ("{% for a in aspects recursive %}{% endfor %}", "a loop cannot be recursive"),
        ("{% if number %}{{ text | center(10**9) }}{% endif %}", "there is no filter 'center'"),
        ("{{ text | attr('upper') }}", "there is no filter 'attr'"),
        ("{{ text is odder }}", "there is no test 'odder'; did you mean 'odd'?"),
    ],
)
def test_what_a_prompt_cannot_hold(expression: str, says: str) -> None:
    with pytest.raises(TemplateSyntaxError) as caught:
        variables(f"first line\n{expression}")
    assert says in str(caught.value)
    assert caught.value.lineno == 2


LOOPS = "".join(f"{{% for a{i} in text %}}" for i in range(12)) + "{% endfor %}" * 12
HOSTILE = {
    "loops without a text": LOOPS,
    "a long text in loops": "{% for a in text %}{% for b in text %}"
    + TEXT * 999
    + "{% endfor %}{% endfor %}",
    "a text that grows": "{% set x = text %}" + "{% set x = x | tojson %}" * 60,
    "texts in a list that grow": "{{ text | list " + "| map('tojson') | list" * 30 + " }}",
    "a part of Python's": "{{ text.__class__.__mro__ }}",
    "a method": "{{ text.upper }}",
    "a method of a mapping": "{{ aspects | map(attribute='keys') | join }}",
    "an unknown filter by name": "{{ aspects | map('attr', 'keys') | list }}",
    "a loop's own": "{% for a in text %}{{ loop.cycle }}{% endfor %}",
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_prompt_ends_in_one_sentence(kind: str) -> None:
    with pytest.raises(ValueError, match=r"\S") as caught:
        fill(HOSTILE[kind], VALUES)
    assert len(str(caught.value)) < 300


def test_a_long_example_is_no_attack() -> None:
    """A hundred examples of ten thousand characters, fenced and listed."""
    body = "{% for e in examples %}{{ e.text | fenced('example') }}\n{{ e.text | upper }}\n{% endfor %}"
    assert len(fill(body, {"examples": [{"text": "word " * 2_000}] * 100})) > 2_000_000


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "body",
    [
        "{{ " + "(" * 30_000 + "1" + ")" * 30_000 + " }}",
        "{{ " + "not " * 30_000 + "1 }}",
        "{% for a in explanation %}" * 30 + "{% endfor %}" * 30,
        "{{ " + "9" * 10_000 + " }}",
        "{{ explanation }}" * 11_000,
    ],
)
def test_a_body_that_python_cannot_compile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], body: str
) -> None:
    path = write(tmp_path, HEADER + body)
    assert main(["prompts", "check", str(path)]) in {1, 2}
    said = capsys.readouterr()
    assert len(said.out + said.err) < 1_000
