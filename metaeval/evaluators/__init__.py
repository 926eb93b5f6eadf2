"""Evaluators: from explanations to scores."""

from metaeval.evaluators.base import BaseEvaluator
from metaeval.evaluators.registry import REGISTRY, build, register
from metaeval.evaluators.scoring import resolve, score

__all__ = ["REGISTRY", "BaseEvaluator", "build", "register", "resolve", "score"]
