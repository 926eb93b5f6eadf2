from __future__ import annotations

import base64
import gzip
import hashlib
import json
import math
import re
from pathlib import Path

import pytest

from metaeval.base.errors import MetaevalError
from metaeval.reports import report_model as module
from metaeval.reports.report_model import APP, payload_of, report_page
from tests.reports.report.payloads import payload

ASSETS = Path(module.__file__).parent / "assets"
SCRIPT = re.compile(r"<script([^>]*)>(.*?)</script>", re.DOTALL)


def test_the_payload_comes_back() -> None:
    given = payload(6, 4, texts={0: "</script><b>é 漢字 🙂", 1: "\ud800 is half a character"})
    [packed] = [text for attributes, text in SCRIPT.findall(report_page(given)) if "payload" in attributes]
    given["units"]["texts"][1] = "? is half a character"
    assert json.loads(gzip.decompress(base64.b64decode(packed))) == given


def test_a_page_without_a_payload_is_no_report() -> None:
    with pytest.raises(MetaevalError, match="is not a report of metaeval"):
        payload_of("<!doctype html><p>mine</p>")


def test_a_number_that_json_does_not_have_is_an_error() -> None:
    with pytest.raises(ValueError, match="JSON"):
        report_page({**payload(3, 4), "people": [{"estimate": math.nan}]})


def test_only_the_page_s_own_scripts_may_run() -> None:
    page = report_page(payload(3, 4))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    scripts = [
        text
        for attributes, text in SCRIPT.findall(page)
        if "type=" not in attributes or "module" in attributes
    ]
    digests = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    assert len(scripts) == 3
    allowed = " ".join(f"'sha256-{d}'" for d in digests)
    assert f"script-src {allowed};" in policy[1]
    assert policy[1].startswith("default-src 'none'; ")
    assert "unsafe-eval" not in page.split("<body>")[0]


def test_the_title_is_escaped_and_the_static_part_is_not() -> None:
    page = report_page({**payload(3, 4), "title": "<i>$app & co</i>"}, static="<p id='plain'>$vendor</p>")
    assert "<title>&lt;i&gt;$app &amp; co&lt;/i&gt;</title>" in page
    assert "<p id='plain'>$vendor</p>" in page


def test_every_file_of_the_app_is_in_the_page_once() -> None:
    assert sorted(APP) == sorted(f.stem for f in (ASSETS / "app").iterdir())


def test_scripts_cannot_end_early_and_put_no_text_into_markup() -> None:
    for file in (*ASSETS.rglob("*.js"), ASSETS / "vendor" / "LICENSES.txt"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"</script|<!--", text, re.IGNORECASE), file
        if file.parent.name == "app":
            assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", text), file


def test_the_page_names_no_kind_of_study() -> None:
    of_one_kind = re.compile(
        r"aspect|coefficient|explanation|user_id|item_id|generator|pearson", re.IGNORECASE
    )
    for file in (*(ASSETS / "app").iterdir(), *ASSETS.parent.glob("report_*.py")):
        lines = file.read_text(encoding="utf-8").splitlines()
        named = [line for line in lines if of_one_kind.search(line) and "import" not in line]
        assert named == [], file
