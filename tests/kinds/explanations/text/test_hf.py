from __future__ import annotations

import itertools
import json
import textwrap
from pathlib import Path

import pytest

import metaeval as me
from metaeval.base.errors import SpecError
from metaeval.base.records import Kind
from tests.evaluators.making import make_set, scores_of

MODULE = """
import datasets
import evaluate


class Overlap(evaluate.Metric):
    def _info(self):
        return evaluate.MetricInfo(
            description="", citation="", inputs_description="",
            features={features},
        )

    def _compute(self, {arguments}):
        {body}
"""
ONE = 'datasets.Features({"predictions": datasets.Value("string"), "references": datasets.Value("string")})'
SEVERAL = ONE.replace(
    '"references": datasets.Value("string")', '"references": datasets.Sequence(datasets.Value("string"))'
)
ALONE = 'datasets.Features({"predictions": datasets.Value("string")})'
EITHER = f"[{SEVERAL}, {ONE}]"
SOURCES = 'datasets.Features({"predictions": datasets.Value("string"), "sources": datasets.Value("string")})'
_numbers = itertools.count()


@pytest.fixture
def module(tmp_path, evaluate_offline):
    """Return a function that writes a module and returns its path; nothing leaves the machine."""

    def write(body, features=ONE, arguments="predictions, references"):
        name = f"overlap{next(_numbers)}"
        path = tmp_path / f"{name}.py"
        path.write_text(
            MODULE.format(
                features=features, arguments=arguments, body=textwrap.indent(body, " " * 8).strip()
            ),
            encoding="utf-8",
        )
        return str(path)

    return write


AGGREGATE = "return {'share': sum(p == r for p, r in zip(predictions, references)) / len(predictions)}"
A_LIST = (
    "return {'same': [float(p == r) for p, r in zip(predictions, references)], 'calls': len(predictions)}"
)
DATA = make_set(["a", "b", "c", None], ["a", "x", "c", "c"])


def test_a_module_is_not_asked_about_an_empty_text(module):
    table = me.score(
        make_set(["a", "", " "], ["a", "a", "a"]), {"hf": f"HF({module(LENGTHS, ALONE, 'predictions')!r})"}
    )
    assert next(iter(scores_of(table, "hf").values())) == (1, "ok")
    assert [status for _, status in scores_of(table, "hf").values()] == ["ok", "missing", "missing"]


def test_an_aggregate_is_asked_unit_by_unit(module):
    spec = f"HF({module(AGGREGATE)!r})"
    table = me.score(DATA, {"hf": spec})
    found = scores_of(table, "hf")
    assert [s for s, _ in found.values()][:3] == [1, 0, 1]
    assert found["i3"][1] == "missing"
    assert table.kinds["hf"] is Kind.REFERENCE
    signature = table.signatures["hf"]
    assert json.loads(json.dumps(signature)) == signature
    assert signature["references_used"] == "first"
    assert signature["library"].startswith("evaluate ")


def test_which_program_runs_is_said_before_it_does_and_once(module, caplog):
    path = module("print('running')\nreturn {'x': 1.0}")
    source = Path(path).read_text(encoding="utf-8")
    Path(path).write_text("import logging\nlogging.getLogger('metaeval').warning('it runs')\n" + source)
    for _ in range(2):
        me.score(DATA, {"hf": f"HF({path!r})"})
    said = [record.getMessage() for record in caplog.records if record.name == "metaeval"]
    assert said == [f"metaeval: HF({path!r}) runs the program {path}", "it runs"]


@pytest.mark.parametrize("features", [SEVERAL, EITHER])
def test_a_module_of_several_references_gets_all(module, features):
    path = module("return {'any': float(predictions[0] in references[0])}", features)
    data = make_set(["a", "b", "c"], ["x", "x", None], ["a", None, None])
    table = me.score(data, {"hf": f"HF({path!r})"})
    found = scores_of(table, "hf")
    assert [found["i0"], found["i1"]] == [(1, "ok"), (0, "ok")]
    assert found["i2"][1] == "missing"
    assert table.signatures["hf"]["references_used"] == "all"


LENGTHS = "return {'length': [len(p) for p in predictions]}"


@pytest.mark.parametrize(
    ("arguments", "key", "scores"),
    [
        ((A_LIST,), ", key='same'", [1, 0, 1]),
        ((LENGTHS, ALONE, "predictions"), "", [1, 1, 1, None]),
        (("return dict(x=None)",), "", [None, None, None]),
    ],
)
def test_a_list_is_asked_for_once_and_no_number_is_missing(module, arguments, key, scores):
    table = me.score(DATA, {"hf": f"HF({module(*arguments)!r}{key})"})
    found = list(scores_of(table, "hf").values())
    for (score, status), expected in zip(found, scores, strict=False):
        assert (status, score) == ("ok", expected) if expected is not None else status == "missing"
    assert table.signatures["hf"]["references_used"] == ("none" if ALONE in arguments else "first")


@pytest.mark.parametrize(
    ("body", "features", "more", "said"),
    [
        (A_LIST, ONE, "", "gives 'same', 'calls'; choose one of them with key="),
        (A_LIST, ONE, ", key='smae'", "gives 'same', 'calls', not 'smae'; did you mean 'same'"),
        ("return {'x': 'good'}", ONE, "", "'x' is 'good', which is not a number"),
        ("return {'x': [1, 2, 3, 4]}", ONE, "", "a list of 4 values for 1 units"),
        ("return {'x': [1.0]}", ONE, "", "a list of 1 values for 3 units"),
        ("return {'x': [1.0] if len(predictions) == 1 else 2.0}", ONE, "", "not one each for 3"),
        ("raise ValueError('no such\\nthing')", ONE, "", "fails on these texts: ValueError: no such$"),
        ("raise RuntimeError", ONE, "", "fails on these texts: RuntimeError$"),
        ("raise SystemExit(0)", ONE, "", "fails on these texts: SystemExit: 0$"),
        ("return 3", ONE, "", "gives no result by name"),
        (AGGREGATE, SOURCES, "", "asks for predictions, sources; only modules of predictions"),
    ],
)
def test_results_that_cannot_be_used(module, body, features, more, said):
    with pytest.raises(SpecError, match=said):
        me.score(DATA, [f"HF({module(body, features)!r}{more})"])


@pytest.mark.parametrize(
    ("line", "said"),
    [("raise SystemExit(0)", "SystemExit: 0"), ("1 / 0", "ZeroDivisionError"), ("(", "SyntaxError")],
)
def test_a_module_that_cannot_be_loaded(module, line, said):
    path = module(AGGREGATE)
    Path(path).write_text(f"{Path(path).read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")
    with pytest.raises(SpecError, match=f"the module cannot be loaded: {said}"):
        me.score(DATA, [f"HF({path!r})"])
