"""Meta-evaluation of explanation evaluators: which scores agree with the users' own ratings.

The public functions are loaded on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from metaeval.base import __version__

if TYPE_CHECKING:
    from metaeval.base.records import ScoreTable
    from metaeval.data.replies import read_replies, read_reply
    from metaeval.engine.frames import compare, correlate
    from metaeval.integrations import evaluate_module
    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
    from metaeval.kinds.explanations.data.hf_datasets import from_datasets, scores_from_dataset, to_datasets
    from metaeval.kinds.explanations.data.imports.table import from_table
    from metaeval.kinds.explanations.data.loading import from_frames
    from metaeval.kinds.functions import of_frame
    from metaeval.kinds.reading import load
    from metaeval.kinds.relevance.systems.topics import order_systems, read_topics
    from metaeval.kinds.scoring import score
    from metaeval.reports.leaderboards import leaderboard
    from metaeval.study.pipeline import run
    from metaeval.study.steps import save
    from metaeval.trust.choice import choose
    from metaeval.trust.improvement import improve

_HOME = {
    "ExplanationSet": "metaeval.kinds.explanations.data.explanation_set",
    "ScoreTable": "metaeval.base.records",
    "choose": "metaeval.trust.choice",
    "compare": "metaeval.engine.frames",
    "correlate": "metaeval.engine.frames",
    "evaluate_module": "metaeval.integrations",
    "from_datasets": "metaeval.kinds.explanations.data.hf_datasets",
    "from_frames": "metaeval.kinds.explanations.data.loading",
    "from_table": "metaeval.kinds.explanations.data.imports.table",
    "improve": "metaeval.trust.improvement",
    "leaderboard": "metaeval.reports.leaderboards",
    "load": "metaeval.kinds.reading",
    "of_frame": "metaeval.kinds.functions",
    "order_systems": "metaeval.kinds.relevance.systems.topics",
    "read_replies": "metaeval.data.replies",
    "read_reply": "metaeval.data.replies",
    "read_topics": "metaeval.kinds.relevance.systems.topics",
    "run": "metaeval.study.pipeline",
    "save": "metaeval.study.steps",
    "score": "metaeval.kinds.scoring",
    "scores_from_dataset": "metaeval.kinds.explanations.data.hf_datasets",
    "to_datasets": "metaeval.kinds.explanations.data.hf_datasets",
}

__all__ = [
    "ExplanationSet",
    "ScoreTable",
    "__version__",
    "choose",
    "compare",
    "correlate",
    "evaluate_module",
    "from_datasets",
    "from_frames",
    "from_table",
    "improve",
    "leaderboard",
    "load",
    "of_frame",
    "order_systems",
    "read_replies",
    "read_reply",
    "read_topics",
    "run",
    "save",
    "score",
    "scores_from_dataset",
    "to_datasets",
]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name == "stats":
        return importlib.import_module("metaeval.stats")
    raise AttributeError(f"module 'metaeval' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "stats"])
