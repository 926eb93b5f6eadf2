"""Measures of effectiveness by their names in ``ir_measures``, such as ``nDCG@10`` or ``Compat(p=0.95)``."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.base.errors import MetaevalError, nearest
from metaeval.stats.ranking.effectiveness import MEASURES

if TYPE_CHECKING:
    from metaeval.stats.coefficients.tables import Floats
    from metaeval.stats.ranking.effectiveness import JudgedLists

OWN_DISCOUNT = "jk"
"""The ``dcg`` of nDCG that ``ir_measures`` has not."""
_NOT_OF_TREC_EVAL = ("Compat", "RBP", "Judged")


@dataclass(frozen=True, slots=True, eq=False)
class SystemMeasure:
    """A measure of how good a ranked list is."""

    name: str
    """As it was given."""
    of: Any
    """The measure of ``ir_measures``."""
    relevant: int
    """The lowest label that is relevant, unless the name says another."""

    @property
    def depth(self) -> int | None:
        """How much of a list is read; None for all of it."""
        return None if self.of.params.get("judged_only") else self.of.params.get("cutoff")

    @property
    def of_trec_eval(self) -> bool:
        """Whether it is a measure of trec_eval, which has an order of its own for ties of scores."""
        return self.of.NAME not in _NOT_OF_TREC_EVAL

    def judged_only(self) -> SystemMeasure | None:
        """Return the same of lists without their unjudged items; None if there is no such measure."""
        if "judged_only" not in self.of.SUPPORTED_PARAMS or self.of.params.get("judged_only"):
            return None
        return SystemMeasure(f"{self.name}, judged only", self.of(judged_only=True), self.relevant)

    def values(self, lists: JudgedLists) -> Floats:
        """Return the value of each list, shape (lists,)."""
        options = dict(self.of.params)
        rel = self.of.SUPPORTED_PARAMS.get("rel")
        if rel is not None and (self.of.NAME in MEASURES or isinstance(rel.default, int)):
            options.setdefault("rel", self.relevant)
        if self.of.NAME in MEASURES:
            read = lists.condensed() if options.pop("judged_only", False) else lists
            return MEASURES[self.of.NAME](read, **options)
        return _by_library(self.of(**options), lists)


def _by_library(measure: Any, lists: JudgedLists) -> Floats:  # noqa: ANN401 - the library has no types
    """Ask ``ir_measures``. Scores are made of the ranks, so that none ties and none is negative."""
    import ir_measures

    run: dict[str, dict[str, float]] = {}
    labels: dict[str, dict[str, int]] = {}
    for u, row in enumerate(lists.labels):
        run[str(u)] = {str(i): 1 / (i + 1) for i in range(int(lists.lengths[u]))}
        known = np.flatnonzero(~np.isnan(row))
        labels[str(u)] = {str(i): int(row[i]) for i in known}
        in_list = [int((row == grade).sum()) for grade in lists.grades]
        for grade, n, inside in zip(lists.grades, lists.counts[u], in_list, strict=True):
            labels[str(u)] |= {f"{grade:g}-{i}": int(grade) for i in range(int(n) - inside)}
    found = np.zeros(len(lists.labels))
    for one in ir_measures.iter_calc([measure], labels, {u: of for u, of in run.items() if of}):
        found[int(one.query_id)] = one.value
    return found


def measure_named(name: str, *, relevant: int = 1) -> SystemMeasure:
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
            measure = ir_measures.parse_measure(name)
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
    _check(name, measure)
    return SystemMeasure(name, measure, relevant)


def _check(name: str, measure: Any) -> None:  # noqa: ANN401 - the library has no types
    """See that parameters are allowed and that the measure can be computed."""
    import ir_measures

    library: Any = ir_measures.DefaultPipeline

    params, known = measure.params, measure.SUPPORTED_PARAMS
    for parameter in params:
        if parameter not in known:
            listed = ", ".join(known) or "it has none"
            raise MetaevalError(
                f"measure {name!r} has no parameter {parameter!r}{nearest(str(parameter), known)} ({listed})"
            )
    own = measure.NAME == "nDCG" and params.get("dcg") == OWN_DISCOUNT
    try:
        (measure(dcg="log2") if own else measure).validate_params()
    except AssertionError as error:
        wrong = str(error).partition("invalid param ")[2].partition("=")[0]
        said = f"{wrong}={params[wrong]!r} is not allowed" if wrong in params else f"{wrong} is missing"
        raise MetaevalError(f"measure {name!r}: {said}; {wrong} is {known[wrong].desc}") from None
    cutoff, p = params.get("cutoff", 1), params.get("p", 0.5)
    if cutoff < 1:
        raise MetaevalError(f"measure {name!r} needs a cutoff of at least 1, such as {measure.NAME}@10")
    if not 0 < p < 1:
        raise MetaevalError(f"measure {name!r}: p={p} is not allowed; give a number between 0 and 1")
    if measure.NAME not in MEASURES and not library.supports(measure):
        raise MetaevalError(
            f"measure {name!r} cannot be computed here: ir_measures needs a further package for it; these "
            f"need none: {', '.join(MEASURES)}"
        )
