"""Templates that were made to use a machine up: each ends at once, with one sentence."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from metaeval.cli import main
from metaeval.llm.prompts.syntax import fill
from metaeval.llm.prompts.template import load_prompt
from tests.llm.prompts.test_template import HEADER, write

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "A text.\nOf two lines."
VALUES = {
    "text": TEXT,
    "number": 3,
    "aspects": [{"name": "clear", "items": "x"}, {"name": "fitting", "items": "y"}],
    "table": {"a": 1, "b": "two"},
}
LONG = "long" * 9999
LOOPS = "".join(f"{{% for a{i} in text %}}" for i in range(12)) + "x" + "{% endfor %}" * 12
DOUBLED = "{% set x = text %}" + "{% set x = x ~ x %}" * 60 + "{{ x }}"
SHARED = "{% set x = [text] %}" + "{% set x = [x, x] %}" * 60
RECURSIVE = "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"
TWICE = "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}"

TOO_MUCH = {
    "a power": "{{ 10**(10**7) }}",
    "powers of powers": "{{ 9**9**9**9**9 }}",
    "a number squared": "{% set x = 10 %}" + "{% set x = x * x %}" * 40 + "{{ x }}",
    "a remainder": "{{ (10**900) ** 9 % 7 }}",
    "a text times": "{{ text * 10**9 }}",
    "times a text": "{{ 10**9 * text }}",
    "a list times": "{{ [text] * 10**9 }}",
    "a text of a constant": '{{ "x" * 10**10 }}',
    "center": "{{ text | center(10**10) }}",
    "center a constant": '{{ "x" | center(10**10) }}',
    "center by map": "{{ aspects | map(attribute='name') | map('center', 10**10) | list }}",
    "center as a block": "{% filter center(10**10) %}x{% endfilter %}",
    "center as a method": "{{ text.center(10**10) }}",
    "zfill": "{{ text.zfill(10**10) }}",
    "ljust": "{{ text['ljust'](10**10) }}",
    "expandtabs": "{{ '\t'.expandtabs(10**10) }}",
    "indent": "{{ text | indent(10**10) }}",
    "indent line by line": "{{ (text * 10000) | indent(10**6) }}",
    "indent by a text": "{{ (text * 1000) | indent(text * 1000) }}",
    "wordwrap": "{{ (text * 9999) | wordwrap(1, wrapstring=text * 9999) }}",
    "wordwrap by position": "{{ (text * 9999) | wordwrap(1, true, text * 9999) }}",
    "replace": "{{ (text * 1000) | replace('', text * 1000) }}",
    "replace as a method": "{{ (text * 1000).replace('e', text * 10000) }}",
    "join": "{{ (text * 1000) | join(text * 1000) }}",
    "join as a method": "{{ (text * 1000).join((text * 1000) | list) }}",
    "format": "{{ '%1000000000d' | format(number) }}",
    "format with a star": "{{ '%*d' | format(10**9, number) }}",
    "format of digits": "{{ '%.*f' | format(10**9, number) }}",
    "percent": "{{ '%1000000000d' % number }}",
    "percent many times": "{{ ('%(a)s' * 10000) % {'a': text * 10000} }}",
    "format as a method": "{{ '{:>1000000000}'.format(number) }}",
    "format map": "{{ '{a:>1000000000}'.format_map({'a': 1}) }}",
    "round": "{{ number | round(10**9) }}",
    "batch": "{{ aspects | batch(10**9, text) }}",
    "slice": "{{ aspects | slice(10**9) }}",
    "sum of lists": "{{ text | list | batch(1) | sum(start=[]) }}",
    "tojson": "{{ aspects | tojson(indent=10**9) }}",
    "loops": LOOPS,
    "loops in a macro": "{% macro f() %}" + LOOPS + "{% endmacro %}{{ f() }}",
    "loops in a block": "{% set x %}" + LOOPS + "{% endset %}{{ x }}",
    "a loop of a long text": "{% for a in text * 9 %}{% for b in text %}" + LONG + "{% endfor %}{% endfor %}",
    "a value in a loop": "{% set x = text * 1000 %}{% for a in x %}{{ x }}{% endfor %}",
    "steps by name": "{{ [-10**9] | map('a step') | list }}" + LOOPS,
    "a text doubled": DOUBLED,
    "joined in a macro": "{% macro f(x) %}{{ x ~ x }}{% endmacro %}" + "{{ f(text * 9999) }}" * 50,
    "a list of lists": SHARED + "{{ x }}",
    "a list of lists as text": SHARED + "{{ x | string }}",
    "lists that are compared": SHARED + SHARED.replace("x", "y").replace("tey", "tex") + "{{ x == y }}",
    "a macro that calls itself": RECURSIVE,
    "a macro that calls itself twice": TWICE,
    "a loop that calls itself": "{% for a in [text] recursive %}{{ loop([text]) }}{% endfor %}",
    "a caller": "{% macro f() %}{{ caller() }}{% endmacro %}{% call f() %}" + LOOPS + "{% endcall %}",
    "arguments": "{% macro f() %}{{ varargs | string }}{% endmacro %}{{ f(*((text * 99999) | list)) }}",
}  # fmt: skip


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", TOO_MUCH)
def test_what_takes_too_much_is_one_sentence(kind: str) -> None:
    with pytest.raises(ValueError, match=r"\S") as caught:
        fill(TOO_MUCH[kind], VALUES)
    assert len(str(caught.value)) < 300


NOT_TEXT = {
    "a method": "{{ text.upper }}",
    "a method as an item": "{{ text['upper'] }}",
    "a method as text": "{{ text.upper | string }}",
    "a method joined": "{{ text ~ text.upper }}",
    "a method formatted": "{{ '%s' | format(text.upper) }}",
    "a method by percent": "{{ '%s' % text.upper }}",
    "a method in a list": "{{ [text.upper] }}",
    "a method in a mapping": "{{ {'a': text.upper} }}",
    "methods by map": "{{ aspects | map(attribute='keys') | join(', ') }}",
    "methods by map as a list": "{{ aspects | map(attribute='keys') | list }}",
    "a method of a mapping": "{{ table.keys }}",
    "a method as JSON": "{{ text.upper | tojson }}",
    "a method in upper case": "{{ text.upper | upper }}",
    "a method set": "{% set x = text.upper %}{{ x }}",
    "a method of a group": "{{ aspects | groupby('keys') }}",
    "a macro": "{% macro f() %}{% endmacro %}{{ f }}",
    "a macro in a list": "{% macro f() %}{% endmacro %}{{ [f] }}",
    "the loop": "{% for a in text %}{{ loop }}{% endfor %}",
    "a loop's method": "{% for a in text %}{{ loop.cycle }}{% endfor %}",
    "the template": "{{ self }}",
    "a fenced method": "{{ text.upper | fenced('x') }}",
}


@pytest.mark.parametrize("kind", NOT_TEXT)
def test_what_is_no_text_is_not_printed(kind: str) -> None:
    with pytest.raises(ValueError, match=r"is no text|not JSON serializable|cannot be worked out"):
        fill(NOT_TEXT[kind], VALUES)


FINE = {
    "{{ text | upper }}": TEXT.upper(),
    "{{ text.upper() }}": TEXT.upper(),
    "{{ text['upper']() }}": TEXT.upper(),
    "{{ text.split()[0].strip('.') }}": "A",
    "{{ text.replace('text', 'word') | indent }}": "A word.\n    Of two lines.",
    "{{ aspects | map(attribute='name') | join(', ') }}": "clear, fitting",
    "{% for a in aspects %}{{ loop.index }}{{ a.name }}{{ ';' if not loop.last }}{% endfor %}": (
        "1clear;2fitting"
    ),
    "{% for a in aspects %}{{ loop.cycle('x', 'y') }}{% endfor %}": "xy",
    "{% for k, v in table.items() %}{{ k }}={{ v }} {% endfor %}.": "a=1 b=two .",
    "{{ table | dictsort | length }} {{ table.get('c', 'none') }}": "2 none",
    "{{ number + 1 }} {{ number * 2 }} {{ 7 // number }} {{ 2 ** number }} {{ -number }}": "4 6 2 8 -3",
    "{{ '%.2f of %5s' | format(number, 'x') }} {{ '%d%%' % number }}": "3.00 of     x 3%",
    "{{ number ~ ' of ' ~ 5 }} {{ 'ab' * 2 }} {{ [1] + [2, 3] }}": "3 of 5 abab [1, 2, 3]",
    "{% macro f(x) %}<{{ x }}>{% endmacro %}{{ f(1) }}{{ f(text.lower()) }}": f"<1><{TEXT.lower()}>",
    "{% macro f() %}({{ caller() }}){% endmacro %}{% call f() %}in{% endcall %}": "(in)",
    "{% set x %}{{ number }}!{% endset %}{{ x }} {{ x | center(6) }}.": "3!   3!  .",
    "{% for a in [[1, [2]], [3]] recursive %}{{ a if a is number else loop(a) }}{% endfor %}": "123",
    "{{ [1, 'a', none, true, {'k': 1.5}] }}": "[1, 'a', None, True, {'k': 1.5}]",
    "{{ aspects | map(attribute='name') | map('tojson') | join(', ') }}": '"clear", "fitting"',
    "{{ {'a': '好'} | tojson }}{{ [1] | tojson(indent=2) }}": '{"a": "好"}[\n  1\n]',
    "{{ none }} {{ true }} {{ 1.5 }} {{ (1, 2) }}": "None True 1.5 (1, 2)",
    "{{ 'yes' if 'text' in text and number in [1, 3] and aspects else 'no' }}": "yes",
    "{{ text[:6] }} {{ text | length }} {{ text | wordcount }} {{ text | truncate(9) }}": "A text 21 5 A...",
    "{{ (text * 2000) | length }}": str(len(TEXT) * 2000),
    "{% for i in (text * 20) %}{% if loop.last %}{{ loop.length }}{% endif %}{% endfor %}": "420",
    "{{ [3, 1, 2] | sort | join }}{{ [1, 2] | sum }}{{ aspects | groupby('name') | length }}": "12332",
    "{{ '' }}" * 40 + "end": "end",
}  # fmt: skip


@pytest.mark.parametrize("template", FINE)
def test_what_a_prompt_may_do(template: str) -> None:
    assert fill(template, VALUES) == FINE[template]


def test_a_long_example_is_no_attack() -> None:
    """A hundred examples of ten thousand characters, fenced and listed."""
    body = "{% for e in examples %}{{ e.text | fenced('example') }}\n{{ e.text | indent(2) }}\n{% endfor %}"
    filled = fill(body, {"examples": [{"text": "word " * 2_000}] * 100})
    assert len(filled) > 2_000_000


ALIASES = "".join(f"{chr(98 + i)}: &{chr(98 + i)} [" + f"*{chr(97 + i)}, " * 9 + "]\n" for i in range(12))
BOMBS = {
    "aliases of aliases": f"a: &a [x, x, x]\n{ALIASES}",
    "aliases as a description": "description: &a [x, x]\n" + ALIASES,
    "merges of merges": "a: &a {k1: 1, k2: 2}\n" + ALIASES.replace("[", "{<<: [").replace("]", "]}"),
    "an alias in itself": "scale: &a [*a]\ndescription: *a\n",
    "nested deeply": "a: " + "[" * 1_000 + "\n",
    "nested mappings": "a: " + "{a: " * 3_000 + "\n",
    "a number of many digits": "version: " + "9" * 100_000 + "\n",
}


@pytest.mark.timeout(30)
@pytest.mark.parametrize("kind", BOMBS)
def test_a_header_made_to_grow(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    path = write(tmp_path, f"---\n{BOMBS[kind]}---\n{{{{ explanation }}}}\n")
    assert main(["prompts", "check", str(path)]) in {1, 2}
    said = capsys.readouterr()
    assert len(said.out + said.err) < 4_000
    assert "header" in said.out + said.err or "YAML" in said.out + said.err


def test_an_alias_may_be_used(tmp_path: Path) -> None:
    header = HEADER.replace("placeholders:", "placeholders: &p").replace("---\n", "---\n", 1)
    assert load_prompt(write(tmp_path, header + "{{ question }}{{ hint or '' }}")).required == ("question",)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "body",
    [
        "{{ " + "(" * 30_000 + "1" + ")" * 30_000 + " }}",
        "{{ " + "not " * 30_000 + "1 }}",
        "{% for a in explanation %}" * 30 + "{% endfor %}" * 30,
        "{% if explanation %}" * 300 + "{% endif %}" * 300,
        "{{ " + "9" * 10_000 + " }}",
        "{{ explanation }}" * 100_000,
        "{{ explanation }}" * 11_000,
        "{% include 'x' %}",
        "{% block x %}{% endblock %}",
    ],
)
def test_a_body_that_python_cannot_compile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], body: str
) -> None:
    path = write(tmp_path, HEADER + body)
    assert main(["prompts", "check", str(path)]) in {1, 2}
    said = capsys.readouterr()
    assert len(said.out + said.err) < 1_000


@pytest.mark.timeout(60)
def test_a_method_gives_no_key_that_changes(tmp_path: Path) -> None:
    """The command, in two processes: nothing of the memory is printed."""
    path = write(tmp_path, HEADER + "{{ question.upper }}{{ hint or '' }}")
    said = {
        subprocess.run(
            [sys.executable, "-m", "metaeval", "prompts", "check", str(path)],
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        for _ in range(2)
    }
    assert len(said) == 1
    assert " at 0x" not in said.pop()
