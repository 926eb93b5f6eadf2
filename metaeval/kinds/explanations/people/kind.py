"""The kind of study whose truth is the distribution of what several people said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator

from metaeval.base.errors import SpecError, unknown
from metaeval.base.records import AVERAGE
from metaeval.base.spec import EvaluatorSpec, short_names
from metaeval.base.validation import Line, Options
from metaeval.engine.order.ranking import PeopleLine
from metaeval.engine.sheet import value_text
from metaeval.evaluators.people import People, SameForAll
from metaeval.kinds.explanations.kind import ExplanationKind
from metaeval.kinds.explanations.people.cells import MANHATTAN, RATINGS, WASSERSTEIN, PeopleCells
from metaeval.kinds.explanations.people.tables import (
    FARTHER,
    NEARER,
    OPEN,
    PERSON,
    PERSONS,
    REFERENCES,
    SAME,
    reference_of,
)
from metaeval.kinds.kind import Scored
from metaeval.kinds.study import Study, distinct, unknown_word
from metaeval.kinds.table import KindTable

if TYPE_CHECKING:
    from metaeval.base.records import DataOfKind
    from metaeval.engine.board import Cell
    from metaeval.engine.figure import Figure
    from metaeval.engine.sheet import Sheet


class PeopleOrder(Options):
    """The cell that orders the leaderboard and is tested."""

    called = "order_by"
    aspect: Line | None = None
    """The average, or the only aspect, if left out."""
    measure: (
        Literal[
            "Manhattan distance",
            "Wasserstein distance",
            "cross-entropy",
            "Jensen-Shannon divergence",
            "MSE of the share",
            "coverage",
        ]
        | None
    ) = None
    """The Wasserstein distance where each scale has more than two numbers, else the Manhattan distance."""


class PeopleStudy(Study):
    """A study of how near judges' distributions are to those of people."""

    kind: str = "people"
    truth: Line = "People()"
    groups: Annotated[list[Line], AfterValidator(distinct)] | None = None
    """Columns of the ratings that tell people apart, such as their gender."""
    order_by: PeopleOrder = PeopleOrder()

    @property
    def ordered_by(self) -> Cell:
        """The cell that orders the leaderboard, of a study that is resolved."""
        return {"aspect": str(self.order_by.aspect), "measure": str(self.order_by.measure)}


class PeopleKind(ExplanationKind):
    """Texts that several people rated, who need not agree."""

    name = "people"
    study = PeopleStudy
    evaluators = {  # noqa: RUF012 - as a reader would write it
        **ExplanationKind.evaluators,
        "Draws": "metaeval.evaluators.people:Draws",
        "People": "metaeval.evaluators.people:People",
        "Probabilities": "metaeval.evaluators.recorded:Probabilities",
        "SameForAll": "metaeval.evaluators.people:SameForAll",
    }

    @property
    def tables(self) -> Sequence[KindTable]:
        """The two references, and each person."""
        return RATINGS, REFERENCES, PERSONS

    def resolve(self, study: Any, data: DataOfKind) -> Any:  # noqa: ANN401 - a `PeopleStudy`
        """See that the truth is several people's, add one distribution for all, and fill in the order."""
        truth = EvaluatorSpec.parse(study.truth)
        if truth.name != People.__name__:
            raise study.error(
                "the truth of a study of `kind: people` is People(), the distribution of several people, "
                f"not {study.truth}; leave the kind out",
                "truth",
            )
        people = People(*truth.args, **truth.kwargs)  # type: ignore[arg-type]
        for at, column in enumerate(study.groups or ()):
            if column not in data.ratings:
                raise study.error(
                    unknown("the ratings have no column", column, [str(c) for c in data.ratings]),
                    "groups",
                    at,
                )
        aspects, order = list(study.aspects or data.aspects), study.order_by
        scales = [data.scale.of(aspect) for aspect in aspects]
        if people.sets and any((*s.steps, *s.labels) != (0.0, 1.0) for s in scales):
            wrong = "sets=True takes aspects rated 0 or 1, the options of one question"
            raise study.error(wrong, "truth")
        cells = [*aspects, *([AVERAGE] if len(aspects) > 1 else [])]
        if order.aspect is not None and order.aspect not in cells:
            raise study.error(unknown_word("aspect", order.aspect, cells), "order_by", "aspect")
        if order.measure == WASSERSTEIN and any(s.labels for s in scales):
            wrong = (
                "the ratings are words without an order, so there is no Wasserstein distance; name another"
            )
            raise study.error(wrong, "order_by", "measure")
        steps = all(len(s.steps) > 2 and not s.labels for s in scales)
        filled = PeopleOrder(
            aspect=order.aspect or cells[-1], measure=order.measure or (WASSERSTEIN if steps else MANHATTAN)
        )
        return study.model_copy(update={"order_by": filled, "evaluators": _with_same(study, people)})

    def cells(self, scored: Scored[Any]) -> Any:  # noqa: ANN401 - `PeopleCells`
        """Compare distributions."""
        return PeopleCells(scored)

    def analyses(self, scored: Scored[Any]) -> Sequence[Sheet]:
        """Return nothing: other sheets are of correlations with one truth."""
        del scored
        return []

    def people(self, scored: Scored[Any], drawn: Sequence[Figure]) -> list[PeopleLine]:
        """Return what a person who is left out reaches, and whether the best evaluator is nearer."""
        del drawn
        at, table = dict(scored.study.ordered_by), scored.table(REFERENCES)
        rows = scored.board.of(at).dropna(subset=["estimate"])
        rows = rows.sort_values("estimate", ascending=not scored.board.higher_in(at), kind="stable")
        if rows.empty:
            return []
        best = str(rows["evaluator"].iloc[0])
        person, same = (reference_of(table, best, at, who) for who in (PERSON, SAME))
        if person is None or isnan(person["reference"]):
            return []
        own = EvaluatorSpec.parse(scored.study.specs[best]).name == SameForAll.__name__
        said = _said(short_names(scored.study.specs)[best], person, None if own else same)
        ends = person["reference"], person["reference_low"], person["reference_high"]
        return [PeopleLine(PERSON, at, *ends, said=said)]

    def words(self, scored: Scored[Any]) -> dict[str, str]:
        """Explain the measures."""
        del scored
        return {
            "Manhattan distance": "the sum of the differences of shares, 0 to 2",
            "Wasserstein distance": "how many steps of the scale shares must move to be people's",
            "cross-entropy": "how surprised, in nats, a judge's distribution is by people's ratings",
            "Jensen-Shannon divergence": "of the judge's and people's distribution, in bits, 0 to 1",
            "MSE of the share": "the mean squared difference of shares",
            "coverage": "how often the judge's likeliest value is one that people gave",
        }


PEOPLE = PeopleKind()


def _with_same(study: PeopleStudy, truth: People) -> dict[str, str]:
    """Return the evaluators, with one distribution for all units if it is not among them."""
    specs = study.specs
    for text in specs.values():
        try:
            if EvaluatorSpec.parse(text).name == SameForAll.__name__:
                return specs
        except SpecError:  # one that uses short names, or a wrong one, which is reported later
            continue
    spec = str(SameForAll(raters=truth.raters).spec)
    return {**specs, spec if SameForAll.__name__ in specs else SameForAll.__name__: spec}


_PHRASES = {
    NEARER: "nearer to people than",
    FARTHER: "farther from people than",
    OPEN: "not shown to be nearer to people (or farther) than",
}


def _said(best: str, person: Mapping[str, Any], same: Mapping[str, Any] | None) -> str:
    """Say whether the best evaluator is nearer to people than the references are."""

    def values(row: Mapping[str, Any]) -> str:
        judge, other, gap = (value_text(row[k], "decimal") for k in ("judge", "reference", "difference"))
        low, high = (row[f"difference_{end}"] for end in ("low", "high"))
        ends = "" if isnan(low) else f" [{value_text(low, 'decimal')}, {value_text(high, 'decimal')}]"
        return f"({judge} against {other}, difference {gap}{ends})"

    text = f"{best} is {_PHRASES[person['verdict']]} {PERSON} {values(person)}"
    if same is None:
        return f"{text}."
    phrase = "than" if same["verdict"] == person["verdict"] else _PHRASES[same["verdict"]]
    return f"{text}, and {phrase} one distribution for all units {values(same)}."
