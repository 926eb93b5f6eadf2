from __future__ import annotations

import json

from click.testing import CliRunner

from metaeval.base.errors import DataError
from metaeval.cli.data import data
from metaeval.kinds.explanations.data.imports.recexp import import_recexp
from tests.conftest import ROOT
from tests.kinds.explanations.data import released


def invoke(*arguments):
    return CliRunner().invoke(data, [str(a) for a in arguments])


def test_check_of_a_sound_set(sample):
    result = invoke("check", sample)
    assert result.exit_code == 0
    assert result.output.startswith("sample (simulated): 528 units, 22 users, 12 items, 6 generators")
    said = json.loads(invoke("check", sample, "--json").output)
    assert said["ok"]
    assert said["problems"] == []
    assert said["simulated"]
    assert said["counts"]["units"] == 528


def test_check_of_a_broken_set(tiny):
    tiny.replace("ratings.csv", "clarity,4", "clarity,9")
    tiny.replace("ratings.csv", "clarity,5", "clarity,x")
    result = invoke("check", tiny.folder)
    assert result.exit_code == 1
    assert len(result.output.splitlines()) == 2
    result = invoke("check", tiny.folder, "--json")
    assert result.exit_code == 1
    said = json.loads(result.output)
    assert not said["ok"]
    assert {"file": "ratings.csv", "row": 5, "column": "rating"}.items() <= said["problems"][0].items()


def test_imports_print_one_line(tmp_path, monkeypatch):
    source = released.write(tmp_path / "released")
    monkeypatch.setitem(import_recexp.__kwdefaults__, "digests", released.digests(source))
    result = invoke("import", "recexp", source, "--out", tmp_path / "out")
    assert result.exit_code == 0
    assert result.output == (
        "recexp: 3 units, 2 users, 2 items, 2 generators, 4 aspects, 3 raters, 0 recorded evaluators, "
        "35 ratings, 1 missing rating\n"
    )
    again = invoke("import", "recexp", source, "--out", tmp_path / "out")
    assert isinstance(again.exception, DataError)
    assert invoke("import", "recexp", source, "--out", tmp_path / "out", "--force").exit_code == 0


def test_import_of_a_table(tmp_path):
    names = [f"Human {r} {c}" for r in "123" for c in ("RE", "CH", "EM", "SU", "EG", "CX")]
    signs = ["Ξ§", "Ξε", "ΞΔ", "¤§", "¤ε", "¤Δ"]
    names += [f"Metric {i} {s}" for i, s in enumerate(signs)] + ["Judge RE 1", "Judge AVG 1"]
    (tmp_path / "t.csv").write_text(f"item_id,generator,{','.join(names)}\n0,a{',3' * len(names)}\n", "utf-8")
    table_map = ROOT / "studies" / "maps" / "hanna.yaml"
    result = invoke("import", "table", tmp_path / "t.csv", "--map", table_map, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.exception
    assert result.output == (
        "HANNA: 1 unit, 0 users, 1 item, 1 generator, 6 aspects, 3 raters, 7 recorded evaluators, "
        "18 ratings, 0 missing ratings, 1 column not in the map: Judge AVG 1\n"
    )
