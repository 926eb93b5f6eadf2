"""Judging from stored replies: units per CPU second, by what the judge is told and how it replies."""

from __future__ import annotations

import functools
import json
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import metaeval as me
from benchmarks import inputs
from metaeval.judging.settings import judging
from metaeval.kinds.explanations.judge.judge import Judge
from metaeval.llm.calls.request import Reply
from metaeval.llm.store.replies import Store
from metaeval.llm.store.rows import put

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet

URL = "http://127.0.0.1:9/v1"
TOLD: dict[str, dict[str, Any]] = {
    "": {},
    ", profiles and examples": {"profile": True, "examples": "personalized"},
}
BEFORE = {
    ("json", ""): 5_230,
    ("json", ", profiles and examples"): 3_740,
    ("words", ""): 730,
    ("words", ", profiles and examples"): 790,
}
"""Units per CPU second before prompts were filled in pieces, on a machine with 2 cores."""
_WORDS = (
    "a",
    "slow",
    "warm",
    "drama",
    "with",
    "quiet",
    "humour",
    "by",
    "the",
    "director",
    "whose",
    "user",
    "liked",
)


def data(units: int) -> ExplanationSet:
    """Return explanations of some 200 characters, users with profiles, and ratings to show as examples."""
    rng = np.random.default_rng(0)
    key = inputs.keys(units)
    texts = [f"{' '.join(words)} {i}." for i, words in enumerate(rng.choice(_WORDS, (units, 36)))]
    explanations = pd.DataFrame({**key, "item_title": "Film " + key["item_id"], "explanation": texts})
    ratings = [
        pd.DataFrame({**key, "rater": "user", "aspect": aspect, "rating": rng.integers(1, 6, units)})
        for aspect in inputs.ASPECTS
    ]
    users = pd.DataFrame({"user_id": key["user_id"].unique()})
    for field in ("age", "country", "likes", "dislikes", "watches"):
        users[field] = [" ".join(words) for words in rng.choice(_WORDS, (len(users), 6))]
    return me.from_frames(explanations, pd.concat(ratings), users=users)


def _reply(number: int, form: str) -> Reply:
    values = {a: 1 + (number * 7 + 3 * i + number // 5) % 5 for i, a in enumerate(inputs.ASPECTS)}
    text = json.dumps(values)
    if form == "words":  # each its own
        said = " ".join(_WORDS[(number // 7**i + i) % len(_WORDS)] for i in range(16))
        why = (
            f"The explanation speaks of {said}. It says little about text {number}, and its wording is plain."
        )
        text = "\n".join([why, "", *(f"{aspect}: {value}" for aspect, value in values.items())])
    return Reply(
        text, "stop", model="m-1", fingerprint="f", prompt_tokens=400, completion_tokens=30, raw="x" * 500
    )


def _fill(connection: sqlite3.Connection, judge: Judge, of: ExplanationSet, form: str) -> None:
    for number, question in enumerate(judge.questions(of, list(of.aspects))):
        put(connection, question.request.key, question.request, _reply(number, form), 0.0)


def rate(of: ExplanationSet, form: str, told: dict[str, Any]) -> float:
    """Return units per CPU second; all replies are in the store."""
    judge = Judge("openai/m", base_url=URL, **told)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite"
        with Store(path) as store:
            store.write(functools.partial(_fill, judge=judge, of=of, form=form))
        with judging(path, offline=True):
            start = time.process_time()
            judge.score(of, list(of.aspects))
            return len(of) / (time.process_time() - start)


def run(quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield one result after the other."""
    os.environ.setdefault("OPENAI_API_KEY", "none")
    rate(data(200), "json", {})  # imports
    units = data(10_000 if quick else 100_000)
    for (form, told), before in BEFORE.items():
        found = rate(units, form, TOLD[told])
        yield {
            "benchmark": f"units judged per CPU second from {len(units):,} stored replies, {form}{told}",
            "a_second": round(found),
            "before": before,
            "ratio": round(found / before, 2),
            "target": 3,
            "held": found >= 3 * before,
        }
