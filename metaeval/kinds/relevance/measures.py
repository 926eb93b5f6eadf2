"""Measures of effectiveness by their names in ``ir_measures``, such as ``nDCG@10`` or ``Compat(p=0.95)``."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from metaeval.base.errors import MetaevalError, nearest
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.ranking.effectiveness import MEASURES, JudgedLists

OWN_DISCOUNT = "jk"
"""The ``dcg`` of nDCG that ``ir_measures`` does not have."""
LONGEST = "longest"
"""The ``depth`` of Compat in ``ir_measures``, which has no such parameter: that of the longer list."""


class Ties(NamedTuple):
    """How the program that made a measure orders items with equal scores: by their names."""

    bits: int
    """Of the scores that it keeps."""
    rising: bool


TREC_EVAL, GDEVAL, COMPATIBILITY = Ties(32, False), Ties(64, False), Ties(64, True)


class MeasurePair(NamedTuple):
    """What is compared: a measure by an evaluator's labels with one by the truth's."""

    judge: str
    truth: str


@dataclass(frozen=True, slots=True, eq=False)
class SystemMeasure:
    """A measure of how good a ranked list is."""

    name: str
    """As it was given."""
    measure: Any
    """The measure of ``ir_measures``."""
    relevant: float
    """The lowest label that is relevant, unless the name says another."""

    @property
    def depth(self) -> int | None:
        """How much of a list is read; None for all of it."""
        return None if self.measure.params.get("judged_only") else self.measure.params.get("cutoff")

    @property
    def ties(self) -> Ties | None:
        """The order of items with equal scores; None for that of the ranks."""
        name, params = self.measure.NAME, self.measure.params
        if name in ("RBP", "Judged"):
            return None
        if name == "Compat" or (name == "RR" and self.depth):  # with a cutoff, it is that of MS MARCO
            return COMPATIBILITY
        return GDEVAL if name == "ERR" or params.get("dcg") == "exp-log2" else TREC_EVAL

    def judged_only(self) -> SystemMeasure | None:
        """Return the same of lists without their unjudged items; None if there is no such measure."""
        measure = self.measure
        if "judged_only" not in measure.SUPPORTED_PARAMS or measure.params.get("judged_only"):
            return None
        return SystemMeasure(f"{self.name}, judged only", measure(judged_only=True), self.relevant)

    def values(self, lists: JudgedLists) -> Floats:
        """Return the value of each list, shape (lists,)."""
        measure, options = self.measure, dict(self.measure.params)
        rel = measure.SUPPORTED_PARAMS.get("rel")
        if rel is not None and (measure.NAME in MEASURES or isinstance(rel.default, int)):
            options.setdefault("rel", self.relevant)
        if measure.NAME not in MEASURES:
            return _by_library(measure, lists, options.get("rel"))
        judged_only = options.pop("judged_only", False)
        return MEASURES[measure.NAME](lists.condensed() if judged_only else lists, **options)


def _by_library(measure: Any, lists: JudgedLists, rel: float | None) -> Floats:  # noqa: ANN401 - the library has no types
    """Ask ``ir_measures``. Scores are made of the ranks, so that none ties and none is negative.

    The library knows whole labels only: a measure without ``rel`` has no value for fractions.
    """
    import ir_measures

    if rel is None and (lists.grades % 1).any():
        return np.full(len(lists.labels), np.nan)

    def whole(label: float) -> int:
        return 1 if rel is not None and label >= rel else int(label) if rel is None else min(int(label), 0)

    run: dict[str, dict[str, float]] = {}
    qrels: dict[str, dict[str, int]] = {}
    for i, row in enumerate(lists.labels):
        if not lists.counts[i, lists.grades >= 0].any():
            continue  # trec_eval crashes on it
        if lists.lengths[i]:
            run[str(i)] = {str(at): 1 / (at + 1) for at in range(int(lists.lengths[i]))}
        qrels[str(i)] = {str(at): whole(row[at]) for at in np.flatnonzero(~np.isnan(row))}
        for k, (grade, count) in enumerate(zip(lists.grades, lists.counts[i], strict=True)):
            beside = int(count) - int((row == grade).sum())
            qrels[str(i)] |= {f"{k}-{at}": whole(grade) for at in range(beside)}
    values = np.zeros(len(lists.labels))
    for metric in ir_measures.iter_calc([measure if rel is None else measure(rel=1)], qrels, run):
        values[int(metric.query_id)] = metric.value
    return values


def measure_named(name: str, *, relevant: float = 1) -> SystemMeasure:
    """Return the measure of a name, such as ``nDCG@10``.

    Parameters
    ----------
    relevant
        The lowest label that is relevant, where the name has no ``rel``.

    Raises
    ------
    MetaevalError
        If the name cannot be read, no measure has it, or a parameter is not allowed.
    """
    import ir_measures
    from ir_measures.measures import registry

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # it reads constants in Python's old way
            measure: Any = ir_measures.parse_measure(name)
    except NameError:
        word = name.partition("(")[0].partition("@")[0].strip()
        hint = nearest(word, [m.NAME for m in registry.values()])
        raise MetaevalError(
            f"measure {name!r} is not known; give a name of ir_measures, such as nDCG@10, Compat(p=0.95) or "
            f"RBP(p=0.8){hint}"
        ) from None
    except (ValueError, TypeError, AttributeError, KeyError):
        raise MetaevalError(
            f"measure {name!r} cannot be read; write it as Name(parameter=value)@cutoff, such as nDCG@10 or "
            "Compat(p=0.95)"
        ) from None
    if wrong := _wrong(measure):
        raise MetaevalError(f"measure {name!r}{wrong}")
    return SystemMeasure(name, measure, relevant)


def _wrong(measure: Any) -> str:  # noqa: ANN401 - the library has no types
    """Return what is wrong with a measure, or why it cannot be computed; empty if nothing."""
    params, known = dict(measure.params), measure.SUPPORTED_PARAMS
    depth = params.pop("depth", LONGEST) if measure.NAME == "Compat" else LONGEST
    if depth != LONGEST and not (isinstance(depth, int) and depth > 0):
        return f": depth={depth!r} is not allowed; give a whole number or {LONGEST!r}"
    for parameter in params:
        if parameter not in known:
            listed = ", ".join(known) or "it has none"
            return f" has no parameter {parameter!r}{nearest(str(parameter), known)} ({listed})"
    try:
        own = measure.NAME == "nDCG" and params.get("dcg") == OWN_DISCOUNT
        type(measure)(**(params | {"dcg": "log2"} if own else params)).validate_params()
    except AssertionError as error:
        wrong = str(error).partition("invalid param ")[2].partition("=")[0]
        message = f"{wrong}={params[wrong]!r} is not allowed" if wrong in params else f"{wrong} is missing"
        return f": {message}; {wrong} is {known[wrong].desc}"
    if params.get("cutoff", 1) < 1:
        return f" needs a cutoff of at least 1, such as {measure.NAME}@10"
    if not 0 < (p := params.get("p", 0.5)) < 1:
        return f": p={p} is not allowed; give a number between 0 and 1"
    return _refused(measure)


def _refused(measure: Any) -> str:  # noqa: ANN401 - the library has no types
    """Return why a measure whose name is right cannot order systems; empty if it can."""
    import ir_measures

    if not isinstance(measure.aggregator(), ir_measures.MeanAgg):
        return " cannot order systems: ir_measures adds it up over topics, it is no mean"
    if measure.NAME == "Accuracy":
        return " cannot order systems: ir_measures leaves out the topics for which a system found nothing"
    library: Any = ir_measures.DefaultPipeline
    if measure.NAME in MEASURES or library.supports(measure):
        return ""
    return (
        " cannot be computed here: ir_measures needs a further package for it; these need none: "
        f"{', '.join(MEASURES)}"
    )
