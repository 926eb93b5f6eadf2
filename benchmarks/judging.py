"""Judging from stored replies, by what the judge is told and how it replies, against a plain script.

The script does one thing after the other for each unit: it fills the prompt, looks one reply up in SQLite,
reads its JSON and adds to a list. All times are CPU time. Before commit ec372ec, judging reached 0.43 of the
script's rate, 0.34 with profiles and examples, and 0.065 with replies in words; where the script does 9,000
units per second, these 0.43 are the 3,900 that were once measured. The targets are three times that.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jinja2 import Environment

import metaeval as me
from benchmarks import inputs
from metaeval.judging.settings import judging
from metaeval.kinds.explanations.judge.judge import Judge
from metaeval.llm.calls.request import Reply
from metaeval.llm.prompts.template import load_prompt
from metaeval.llm.store.replies import Store
from metaeval.llm.store.rows import put

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
    from metaeval.llm.store.rows import StoreConnection

URL = "http://127.0.0.1:9/v1"
TOLD: dict[str, dict[str, Any]] = {
    "": {},
    ", profiles and examples": {"profile": True, "examples": "personalized"},
}
TARGETS = {("json", ""): 1.29, ("json", ", profiles and examples"): 1.02, ("words", ""): 0.195}
"""How judges reply, and what they are told → the rate that is asked for, as a share of the script's."""
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


def data(units: int, words: int = 36) -> ExplanationSet:
    """Return explanations of so many words, users with profiles, and ratings to show as examples."""
    rng = np.random.default_rng(0)
    key = inputs.keys(units)
    texts = [f"{' '.join(said)} {i}." for i, said in enumerate(rng.choice(_WORDS, (units, words)))]
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


def _fill(connection: StoreConnection, judge: Judge, of: ExplanationSet, form: str) -> None:
    for number, question in enumerate(judge.questions(of, list(of.aspects))):
        put(connection, question.request.key, question.request.fields, _reply(number, form), 0.0)


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


def plain(of: ExplanationSet) -> float:
    """Return units per CPU second of a script for the same: JSON replies, no profiles, no checks."""
    [(_, text)] = load_prompt("multi-aspect").parts
    prompt = Environment(trim_blocks=True, lstrip_blocks=True)  # noqa: S701 - plain text
    prompt.filters["fenced"] = lambda text, tag: f"<{tag}>\n{text}\n</{tag}>"
    template = prompt.from_string(text)
    told = {
        "aspects": [{"name": name, "statement": said} for name, said in of.aspects.items()],
        "scale_min": 1,
        "scale_max": 5,
        "integer": True,
        "reply_form": "json",
    }

    def key_of(unit: Mapping[Hashable, Any]) -> str:
        shown = {"item_title": unit["item_title"], "explanation": unit["explanation"]}
        messages = [{"role": "user", "content": template.render(**told, **shown)}]
        request = {"model": "m", "messages": messages, "temperature": 0, "max_tokens": 1024}
        return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()

    with tempfile.TemporaryDirectory() as folder, closing(sqlite3.connect(f"{folder}/store.sqlite")) as store:
        store.execute("CREATE TABLE replies (key TEXT PRIMARY KEY, text TEXT)")
        units = of.explanations.to_dict("records")
        kept = ((key_of(unit), _reply(number, "json").text) for number, unit in enumerate(units))
        store.executemany("INSERT INTO replies VALUES (?, ?)", kept)
        store.commit()
        start = time.process_time()
        rows = []
        for unit in of.explanations.to_dict("records"):
            found = store.execute("SELECT text FROM replies WHERE key = ?", (key_of(unit),)).fetchone()
            for aspect, score in json.loads(found[0]).items():
                rows.append({**{key: unit[key] for key in of.keys}, "aspect": aspect, "score": score})
        pd.DataFrame(rows)
        return len(of) / (time.process_time() - start)


def run(quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield one result after the other."""
    os.environ.setdefault("OPENAI_API_KEY", "none")
    rate(data(200), "json", {})  # imports
    units = data(10_000 if quick else 100_000)
    script = plain(units)
    for (form, told), target in TARGETS.items():
        found = rate(units, form, TOLD[told])
        yield {
            "benchmark": f"units judged per CPU second from {len(units):,} stored replies, {form}{told}",
            "a_second": round(found),
            "script": round(script),
            "ratio": round(found / script, 2),
            "target": target,
            "held": found >= target * script,
        }
