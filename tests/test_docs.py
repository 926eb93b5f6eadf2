"""The code of the docs runs as it stands."""

from __future__ import annotations

import re
import sys
import types
from typing import TYPE_CHECKING

import metaeval as me
from metaeval.evaluators import REGISTRY
from metaeval.llm.providers import PROVIDERS
from tests.conftest import ROOT

if TYPE_CHECKING:
    import pytest

BLOCKS = re.findall(
    r"```python\n(.*?)```", (ROOT / "docs" / "README.md").read_text(encoding="utf-8"), re.DOTALL
)


def run(code: str, name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(code, "docs/README.md", "exec"), module.__dict__)  # noqa: S102 - our own docs
    return module


def test_a_new_provider(sample, monkeypatch: pytest.MonkeyPatch) -> None:
    provider, line, _ = BLOCKS
    monkeypatch.setattr("metaeval.llm.providers.PROVIDERS", PROVIDERS)
    name = "metaeval.llm.providers.echo"
    try:
        run(provider, name)
        run(line, "docs_line")
        monkeypatch.setenv("ECHO_KEY", "secret")
        table = me.score(me.load(sample), ["Judge('echo/any-model', attempts=1)"])
        # What it echoes is the prompt, which is never read as an answer.
        assert set(table.frame["status"]) == {"unparsed"}
        assert table.frame["call"].ne("").all()
    finally:
        PROVIDERS.pop("echo", None)
        for module in (name, "docs_line"):
            sys.modules.pop(module, None)


def test_a_new_evaluator(sample) -> None:
    try:
        run(BLOCKS[2], "docs_evaluator")
        table = me.score(me.load(sample), ["Exclamations(weight=2.0)"])
        assert table.frame["score"].ge(0).all()
        assert table.evaluators == ("Exclamations(weight=2.0)",)
    finally:
        REGISTRY.pop("Exclamations", None)
        sys.modules.pop("docs_evaluator", None)
