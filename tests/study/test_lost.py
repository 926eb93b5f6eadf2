"""Runs that lost calls on the way say so, end with exit code 3, and ask again for what was lost."""

from __future__ import annotations

import itertools
import json
import shlex
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import metaeval as me
from metaeval.cli import main
from metaeval.study import asking
from metaeval.study.lost import lost_sentences
from tests.evaluators.test_judge import KEY
from tests.evaluators.test_judge import answer as good
from tests.llm.server import ANSWER, Act, Server, error, serving
from tests.study.runs import QUICK
from tests.study.test_report import payload
from tests.tiny import write_study

if TYPE_CHECKING:
    from collections.abc import Callable

UNITS = 24
TOO_LONG = error(400, "context_length_exceeded", "This prompt is too long.")
LOUD = "CALLS WITHOUT A REPLY."


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data set whose texts all differ, so that each is a call of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    units = pd.DataFrame(
        itertools.product(["u1", "u2", "u3"], ["i1", "i2"], ["a", "b", "c", "d"]),
        columns=["user_id", "item_id", "generator"],
    )
    texts = [f"Text number {n}." for n in range(len(units))]
    ratings = pd.concat(
        units.assign(rater=rater, aspect="clear", rating=[1 + (n * step) % 5 for n in range(len(units))])
        for rater, step in (("user", 1), ("1", 3))
    )
    found = me.from_frames(units.assign(explanation=texts), ratings)
    me.sources.folder.save(found, tmp_path / "data", "csv")
    return tmp_path
