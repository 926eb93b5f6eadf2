"""Evaluators: from explanations to scores."""

from metaeval.evaluators.base import BaseEvaluator
from metaeval.evaluators.registry import REGISTRY, build, register
from metaeval.evaluators.scoring import Scoring, joined, judges_of, resolve, score

__all__ = [
    "REGISTRY",
    "BaseEvaluator",
    "Scoring",
    "build",
    "joined",
    "judges_of",
    "register",
    "resolve",
    "score",
]
