"""The effect of examples on a judge: the same model and prompt asked zero-shot, one-shot and personalized.

This is Figure 3 of the study of LLM judges of explanations at RecSys 2024.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from metaeval.analysis.agreement.forest import CELL, ESTIMATE, without_lone_average
from metaeval.base.simulation import REAL
from metaeval.engine.sheet import Column, Sheet
from metaeval.kinds.explanations.judge.examples import NONE

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from metaeval.base.simulation import Simulation

ZERO_SHOT = "zero-shot"

_OPTIONS = (
    *("address", "temperature", "max_tokens", "parameters", "profile", "replicate", "reply", "attempts"),
    *("samples", "expected"),
)


def judge_names(signatures: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, str]]:
    """Return of each judge its model, and how it is asked.

    Parameters
    ----------
    signatures
        Of all evaluators; those of judges have ``model``, ``prompt`` and ``examples``.

    Returns
    -------
    dict
        Name of the evaluator → (model, prompt and the options that differ between its judges;
        ``zero-shot``, ``one-shot``, …, with the seed where only it differs).
    """
    judges = {n: s for n, s in signatures.items() if {"model", "prompt", "examples"} <= set(s)}
    alike: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for s in judges.values():
        alike.setdefault((str(s["model"]), str(s["prompt"]["name"])), []).append(s)
    found: dict[str, tuple[str, str]] = {}
    for name, s in judges.items():
        named = str(s["model"]), str(s["prompt"]["name"])
        differing = (o for o in _OPTIONS if len({str(other.get(o)) for other in alike[named]}) > 1)
        options = [f"{o} {s[o]}" for o in differing if s.get(o) is not None]
        way = ZERO_SHOT if s["examples"] == NONE else str(s["examples"])
        found[name] = (", ".join([*named, *options]), way)
    times = Counter(found.values())
    return {
        name: (model, f"{way}, seed {judges[name].get('seed')}")
        if times[model, way] > 1 and way != ZERO_SHOT
        else (model, way)
        for name, (model, way) in found.items()
    }


def prompting(
    correlations: pd.DataFrame,
    signatures: Mapping[str, Mapping[str, Any]],
    *,
    intervals: str = "",
    simulated: Simulation = REAL,
) -> Sheet | None:
    """Lay the correlations of a model's ways of being asked side by side.

    Parameters
    ----------
    correlations
        The columns of `metaeval.base.records.Correlation`.
    signatures
        Of the evaluators.
    intervals
        A sentence on how the intervals were made.
    simulated
        What is simulated: the data, or which evaluators.

    Returns
    -------
    Sheet or None
        One row per evaluator, aspect, level and coefficient, with ``model`` (and prompt) and ``way``. None
        unless one model and prompt was asked in two ways or more.
    """
    names = judge_names(signatures)
    ways: dict[str, set[str]] = {}
    for model, way in names.values():
        ways.setdefault(model, set()).add(way)
    shown = {name: both for name, both in names.items() if len(ways[both[0]]) > 1}
    if not shown:
        return None
    frame = without_lone_average(correlations)
    frame = frame[frame["evaluator"].isin(list(shown))]
    frame = frame[["evaluator", *CELL, "estimate", "ci_low", "ci_high"]].reset_index(drop=True)
    frame.insert(1, "model", [shown[name][0] for name in frame["evaluator"]])
    frame.insert(2, "way", [shown[name][1] for name in frame["evaluator"]])
    return Sheet(
        "prompting",
        "The effect of examples on a judge",
        frame,
        (Column("model", "Model and prompt"), Column("way", "Asked"), *ESTIMATE),
        (
            (
                "The same model and prompt without an example (zero-shot), with a rated example of any user "
                "(one-shot), of the same user (personalized), or of another user (shuffled)."
            ),
            *([intervals] if intervals else []),
        ),
        simulated.among(shown),
    )
