from __future__ import annotations

import itertools
import json
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import metaeval as me
from metaeval.base.errors import DataError, SpecError
from metaeval.base.records import Kind
from metaeval.kinds.registry import build
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


@pytest.fixture(scope="module")
def offline(tmp_path_factory):
    """Keep the library's caches in a temporary folder: one, since Python remembers where it imported from."""
    cache = tmp_path_factory.mktemp("evaluate")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evaluate.config.HF_MODULES_CACHE", cache / "modules")
        patch.setattr("evaluate.config.HF_METRICS_CACHE", cache / "metrics")
        patch.setattr("evaluate.config.HF_EVALUATE_OFFLINE", True)
        patch.setattr("sys.path", sys.path[:])
        yield


@pytest.fixture
def module(tmp_path, offline):
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


def test_a_folder_in_the_way_of_a_name_is_said(module, tmp_path, monkeypatch, caplog):
    """A name of the hub runs a program of the folder that one works in, if it lies there."""
    folder = tmp_path / "exact_match"
    folder.mkdir()
    Path(module("return {'x': 1.0}")).rename(folder / "exact_match.py")
    monkeypatch.chdir(tmp_path)
    me.score(DATA, {"hf": "HF('exact_match')"})
    assert f"runs the program {folder / 'exact_match.py'}" in caplog.text


def test_a_list_is_asked_for_once(module):
    table = me.score(DATA, {"hf": f"HF({module(A_LIST)!r}, key='same')"})
    assert [s for s, _ in scores_of(table, "hf").values()][:3] == [1, 0, 1]


@pytest.mark.parametrize("features", [SEVERAL, EITHER])
def test_a_module_of_several_references_gets_all(module, features):
    path = module("return {'any': float(predictions[0] in references[0])}", features)
    data = make_set(["a", "b", "c"], ["x", "x", None], ["a", None, None])
    table = me.score(data, {"hf": f"HF({path!r})"})
    found = scores_of(table, "hf")
    assert [found["i0"], found["i1"]] == [(1, "ok"), (0, "ok")]
    assert found["i2"][1] == "missing"
    assert table.signatures["hf"]["references_used"] == "all"


def test_a_module_without_references(module):
    path = module("return {'length': [len(p) for p in predictions]}", ALONE, "predictions")
    table = me.score(make_set(["a", "bcd"]), {"hf": f"HF({path!r})"})
    assert [s for s, _ in scores_of(table, "hf").values()] == [1, 3]
    assert table.signatures["hf"]["references_used"] == "none"


def test_nan_is_missing(module):
    table = me.score(DATA, {"hf": f"HF({module('return dict(x=None)')!r})"})
    assert {t for _, t in scores_of(table, "hf").values()} == {"missing"}


def test_random_modules_are_seeded(module):
    path = module("import numpy\nreturn {'x': numpy.random.rand()}")
    scores = [me.score(DATA, {"hf": f"HF({path!r})"}).frame["score"].tolist() for _ in range(2)]
    assert np.array_equal(*scores, equal_nan=True)


@pytest.mark.parametrize(
    ("body", "features", "more", "said"),
    [
        (A_LIST, ONE, "", "gives 'same', 'calls'; choose one of them with key="),
        (A_LIST, ONE, ", key='smae'", "gives 'same', 'calls', not 'smae'; did you mean 'same'"),
        ("return {'x': 'good'}", ONE, "", "'x' is 'good', which is not a number"),
        ("return {'x': [1, 2, 3, 4]}", ONE, "", "a list of 4 values for 1 units"),
        ("return {'x': [1.0]}", ONE, "", "a list of 1 values for 3 units"),
        ("return {'x': [1.0] if len(predictions) == 1 else 2.0}", ONE, "", "not one each for 3"),
        ("raise ValueError('no such\\nthing')", ONE, "", "fails on these texts: no such$"),
        ("return 3", ONE, "", "gives no result by name"),
        (AGGREGATE, SOURCES, "", "asks for predictions, sources; only modules of predictions"),
    ],
)
def test_results_that_cannot_be_used(module, body, features, more, said):
    with pytest.raises(SpecError, match=said):
        me.score(DATA, [f"HF({module(body, features)!r}{more})"])


@pytest.mark.usefixtures("offline")
def test_a_path_where_nothing_is(tmp_path):
    with pytest.raises(SpecError, match="there is no module"):
        me.score(DATA, [f"HF({str(tmp_path / 'nothing.py')!r})"])


def test_a_module_that_cannot_be_loaded(module):
    path = module(AGGREGATE)
    with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123 - one line
        file.write("import nothing_of_this_name\n")
    with pytest.raises(SpecError, match=r"cannot be loaded.*nothing_of_this_name"):
        me.score(DATA, [f"HF({path!r})"])


@pytest.mark.parametrize("line", ["import datasets, evaluate", "import datasets; import evaluate"])
def test_imports_that_share_a_line(module, line):
    path = Path(module(AGGREGATE))
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("import datasets\nimport evaluate", line), encoding="utf-8")
    with pytest.raises(SpecError, match=r"imports 'datasets' and more on one line.*a line of its own$"):
        me.score(DATA, [f"HF({str(path)!r})"])


def test_a_folder_of_a_module(module, tmp_path):
    script = Path(module(AGGREGATE))
    folder = tmp_path / "folders" / script.stem
    folder.mkdir(parents=True)
    script.rename(folder / script.name)
    table = me.score(DATA, {"hf": f"HF({str(folder)!r})"})
    assert [s for s, _ in scores_of(table, "hf").values()][:3] == [1, 0, 1]


def test_references_are_needed(module):
    with pytest.raises(DataError, match="needs references"):
        me.score(make_set(["a"]), [f"HF({module(AGGREGATE)!r})"])


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("HF()", "missing a required argument: 'path'"),
        ("HF('')", "must not be empty"),
        ("HF('x', key=1)", "key must be a text"),
        ("HF('x', config='')", "config must not be empty"),
        ("HF('x', model_type='y')", r"no argument 'model_type'.*write HF\(path, key=None, config=None\)"),
    ],
)
def test_wrong_arguments(spec, said):
    with pytest.raises(SpecError, match=said):
        build(spec)
