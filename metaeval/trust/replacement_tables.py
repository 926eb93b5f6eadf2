"""May a judge replace a person? The verdict of each judge, and the numbers that it rests on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from metaeval.base.counts import plural_of
from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.keys import noun
from metaeval.base.progress import progress
from metaeval.base.records import USER_RATER
from metaeval.data.hub import FILE
from metaeval.engine.sheet import Column, Sheet, table
from metaeval.evaluators.annotator import Annotator
from metaeval.evaluators.recorded import Recorded
from metaeval.kinds.index import kind_named
from metaeval.kinds.kind import Scored
from metaeval.kinds.reading import load, make_study
from metaeval.kinds.scoring import score
from metaeval.runs.command import Aspects, Names, Printed, Resamples, Seed, Typed, command
from metaeval.runs.finished import open_run
from metaeval.stats.agreement.alternative import LEAST_UNITS, Advantages, Alignment, Replacing, advantage
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.bootstrap import NOTHING, Estimate, Resampler, bootstrap, each
from metaeval.study.pipeline import truth_ratings
from metaeval.trust.replacement import Panel, agreement_of, panels, raters_sheets, several

CROWD, EXPERT = 0.1, 0.2
"""What a person's advantage may be where people are crowd workers, and experts, as published."""
_CURVE = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
_TIMES = (1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)
_SHOWN = 5  # people in a sentence
_POWER = 0.8
"""The share of simulated studies that a number of units must decide."""
_HEAD = (Column("evaluator", "Evaluator"), Column("aspect", "Aspect"))


class ReplacingOptions(Typed):
    """How judges are held against people."""

    evaluators: Annotated[Names, "--evaluator NAME"] = ()
    """Evaluator to hold against people; may be given again.  [default: the judges]"""
    aspects: Aspects = ()
    experts: Annotated[Names, "--expert RATER"] = ()
    """Person who is an expert; may be given again."""
    epsilon: Annotated[float | None, Field(ge=0, le=1)] = None
    """What a person's advantage may be.  [default: 0.1, and 0.2 for an expert]"""
    alignment: Alignment | None = None
    """How a rating agrees with others.  [default: rmse, and accuracy for words]"""
    margin: Annotated[float, Field(ge=0, le=2)] = 0.1
    """How far below people's the judge's agreement may be."""
    cluster: Annotated[str | None, "user|item|..."] = None
    """Key by which units depend on each other.  [default: the run's]"""
    resamples: Resamples = 10_000
    seed: Seed = 0

    def of(self, person: str) -> float:
        """Return ε for a person."""
        usual = EXPERT if person in self.experts else CROWD
        return usual if self.epsilon is None else self.epsilon


@dataclass(frozen=True, slots=True, eq=False)
class ReplacingTest:
    """A judge that was held against people, by an aspect."""

    panel: Panel
    people: tuple[str, ...]
    """Those with enough units."""
    units: Ints
    """Units that each person of the panel, the judge and others rated, shape (people of the panel,)."""
    clustered: Replacing
    published: Replacing
    """With each unit a cluster of its own."""
    advantage: Estimate[float]

    @classmethod
    def of(cls, panel: Panel, how: ReplacingOptions, resampler: Resampler) -> ReplacingTest:
        """Hold a judge against each person."""
        alignment = how.alignment or ("accuracy" if panel.scale.labels else "rmse")
        compared = Advantages.of(panel.ratings, panel.scores, alignment)
        use = compared.units >= LEAST_UNITS
        people = tuple(np.array(panel.people, dtype=object)[use])
        epsilon = np.array([how.of(person) for person in people])
        n = len(panel.scores)
        kept = compared.take(use)
        sums = kept.sums(panel.cluster, panel.n_clusters)
        alone = kept.sums(np.arange(n), n)
        rho = NOTHING
        if people:
            [rho] = each(bootstrap(advantage(sums), resampler.of(panel.n_clusters), bounds=(0.0, 1.0)))
        return cls(panel, people, compared.units, Replacing(sums, epsilon), Replacing(alone, epsilon), rho)

    def verdict(self, how: ReplacingOptions) -> tuple[str, float, float]:
        """Return the verdict in words, the further units that would decide it, and those by twice the people.

        Both are NaN where the verdict is decided, or nothing can be said; infinity where the largest study
        that was simulated does not decide either.
        """
        if not self.panel.on_scale:
            return "cannot be said: its scores are not on people's scale", math.nan, math.nan
        if not self.people:
            why = f"cannot be said: a person needs {LEAST_UNITS} units that the judge and others rated"
            most = np.argsort(-self.units, kind="stable")[:_SHOWN]
            have = ((self.panel.people[j], self.units[j]) for j in most)
            each_has = ", ".join(f"{person} has {n} ({LEAST_UNITS - n} more)" for person, n in have)
            return f"{why}; {each_has or 'there is nobody'}", math.nan, math.nan
        if self.panel.unlike:
            return f"cannot be said: {self.panel.unlike}", math.nan, math.nan
        parts = [self._of_sort(how, expert=expert) for expert in (False, True)]
        said = [part for part in parts if part]
        sorts = {won: [text for w, text in said if w is won] for won in (True, False, None)}
        words = [f"replaces {' and '.join(sorts[True])}"] if sorts[True] else []
        words += [f"does not replace {' or '.join(sorts[False])}"] if sorts[False] else []
        if not sorts[None]:
            return "; ".join(words), math.nan, math.nan
        more, of_twice = self._missing()
        needed = "more than 16 times as many units" if math.isinf(more) else f"about {more:,.0f} more units"
        words.append(f"too few labels to tell for {' and '.join(sorts[None])}: {needed} would decide")
        return "; ".join(words), more, of_twice

    def replaces(self, how: ReplacingOptions) -> str:
        """Return ``yes``, ``no``, ``undecided`` (too few labels) or ``unknown``, of all sorts of people."""
        if not (self.panel.on_scale and self.people) or self.panel.unlike:
            return "unknown"
        parts = [self._of_sort(how, expert=expert) for expert in (False, True)]
        won = {part[0] for part in parts if part}
        return "undecided" if len(won) > 1 or None in won else "yes" if True in won else "no"

    def _of_sort(self, how: ReplacingOptions, *, expert: bool) -> tuple[bool | None, str] | None:
        """Return whether the judge replaces people of a sort (None: too few labels), and who they are."""
        use = np.array([(person in how.experts) == expert for person in self.people])
        if not use.any():
            return None
        test = Replacing(self.clustered.sums[:, use], self.clustered.epsilon[use])
        rate = test.winning_rate()
        who = "an expert" if expert else "a crowd worker" if how.experts else "a person"
        won = True if rate >= 0.5 else False if test.losing_rate() >= 0.5 else None
        return won, f"{who} (ω = {rate:.2f} at ε = {test.epsilon[0]:g})"

    def _missing(self) -> tuple[float, float]:
        """Return how many more units decide in 80 % of simulated studies, by these people and by twice."""
        found = []
        for people in (len(self.people), 2 * len(self.people)):
            shares = self.clustered.decided(_TIMES, people=people)
            enough = np.flatnonzero(shares >= _POWER)
            times = _TIMES[enough[0]] if enough.size else math.inf
            found.append(math.inf if math.isinf(times) else (times - 1) * self.n_units)
        return found[0], found[1]

    @property
    def n_units(self) -> int:
        """Units that the judge and two people rated."""
        there = ~np.isnan(self.panel.ratings)
        return int(((there.sum(axis=0) > 1) & ~np.isnan(self.panel.scores)).sum())


def replacing_sheets(
    panels: Sequence[Panel], how: ReplacingOptions, resampler: Resampler
) -> list[Sheet | None]:
    """Hold each judge against people.

    Returns
    -------
    list of Sheet
        ``replace`` with a verdict in words per evaluator and aspect, ``replace-rates`` with its numbers,
        ``replace-people`` with the test of each person, ``replace-curve`` with ω by ε, and
        ``replace-agreement`` with the agreement of judge and people.
    """
    rows: list[dict[str, Any]] = []
    of_people: list[dict[str, Any]] = []
    curve: list[dict[str, Any]] = []
    agreed: list[dict[str, Any]] = []
    with progress("judges", len(panels)) as advance:
        for panel in panels:
            tested = ReplacingTest.of(panel, how, resampler)
            head = {"evaluator": panel.evaluator, "aspect": panel.aspect}
            said, more, of_twice = tested.verdict(how)
            usable = panel.on_scale and bool(tested.people)
            rates = [t.winning_rate() if usable else math.nan for t in (tested.clustered, tested.published)]
            rows.append(
                {
                    **head,
                    "verdict": said,
                    "replaces": tested.replaces(how),
                    **dict(zip(("winning_rate", "published_winning_rate"), rates, strict=True)),
                    **(tested.advantage if usable else NOTHING).row("advantage"),
                    "people": len(tested.people),
                    "n_units": tested.n_units,
                    "more_units": _finite(more),
                    "more_units_by_twice_the_people": _finite(of_twice),
                }
            )
            if usable:
                of_people += [head | row for row in _person_rows(tested)]
                rates_at = {f"{e:g}": tested.clustered.winning_rate(e) for e in _CURVE}
                curve.append(head | rates_at)
            if (found := agreement_of(panel, resampler, how.margin)) is not None:
                agreed.append(head | found)
            advance()
    return [
        _table("replace", "May a judge replace a person?", rows, _VERDICTS),
        _table("replace-rates", "Winning rate and advantage", rows, _RATES, *_notes(how)),
        _table("replace-people", "The test of each person", of_people, _PEOPLE),
        _table("replace-curve", "Winning rate ω by ε", curve, _CURVES),
        _table(
            "replace-agreement",
            "Agreement of judge and people, and of people among themselves",
            agreed,
            _AGREEMENT,
            "r, or κ for words. Non-inferior: yes if the interval of the difference is above "
            f"−{how.margin:g}, no if it is below. This is a question of its own: the verdict asks who agrees "
            "better unit by unit, and may be undecided where r is not.",
            "z: the difference in standard deviations of the people's own agreement with the others; within "
            "±1 the judge is like one of them. Few people may agree alike by chance, and z is then large.",
        ),
    ]


def _finite(value: float) -> float:
    return value if math.isfinite(value) else math.nan


_VERDICTS = (*_HEAD, Column("verdict", "Verdict", keep=True))
_RATES = (
    *_HEAD,
    Column("winning_rate", "ω, by cluster", "hundredths"),
    Column("published_winning_rate", "ω, as published", "hundredths"),
    Column("advantage", "ρ", "hundredths", "advantage_low", "advantage_high"),
    Column("people", "People tested", "count"),
    Column("n_units", "Units", "count"),
    Column("more_units_by_twice_the_people", "More units, twice the people", "count", optional=True),
)
_PEOPLE = (
    *_HEAD,
    Column("person", "Person"),
    Column("epsilon", "ε", "number"),
    Column("share", "Judge as good", "share"),
    Column("p", "p, by cluster", "p"),
    Column("published_p", "p, as published", "p"),
    Column("n_units", "Units", "count"),
    Column("n_clusters", "Clusters", "count"),
)
_CURVES = (*_HEAD, *(Column(f"{e:g}", f"ε = {e:g}", "hundredths") for e in _CURVE))
_AGREEMENT = (
    *_HEAD,
    Column("measure", "Measure"),
    Column("judge", "Judge with people", "number", "judge_low", "judge_high"),
    Column("people", "People", "number", "people_low", "people_high"),
    Column("difference", "Difference", "number", "difference_low", "difference_high"),
    Column("z", "z", "hundredths"),
    Column("non_inferior", "Non-inferior"),
)


def _table(
    name: str, title: str, rows: Sequence[dict[str, Any]], columns: Sequence[Column], *notes: str
) -> Sheet | None:
    return table(name, title, rows, several(columns, rows), *notes)


def _person_rows(tested: ReplacingTest) -> Iterator[dict[str, Any]]:
    test = tested.clustered
    columns: list[Floats | Sequence[str]] = [
        tested.people,
        test.epsilon,
        test.shares,
        test.p(),
        tested.published.p(),
        test.units.astype(float),
        test.clusters.astype(float),
    ]
    names = ("person", "epsilon", "share", "p", "published_p", "n_units", "n_clusters")
    yield from (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))


def _notes(how: ReplacingOptions) -> Iterator[str]:
    yield (
        "The alternative annotator test (Calderon, Reichart & Dror 2025): each person is left out in turn, "
        "and the judge and the person are held against the others. ω is the share of people whose advantage "
        "over the judge is shown to be below ε (Benjamini–Yekutieli, q = 0.05); from 0.5 on the judge "
        "replaces a person. ρ is the share of units on which it agrees at least as well."
    )
    yield (
        f"By cluster: the units of one {how.cluster} depend on each other, which the verdict takes into "
        "account. As published: all units are independent."
    )
    if how.epsilon is None:
        yield (
            f"ε is {CROWD:g} for crowd workers and {EXPERT:g} for experts, as published; --expert names the "
            f"experts ({', '.join(how.experts) or 'none is named'})."
        )
    yield (
        f"More units: those that decide in {100 * _POWER:.0f} % of studies simulated by drawing "
        f"{plural_of(str(how.cluster))} from these."
    )


@command("replace", view="replace")
def replacing_of(folder: Annotated[Path, "RUN|DATA"], how: ReplacingOptions) -> Printed:
    """Say whether a judge of a finished run, or of the recorded scores of a data set, may replace a person.

    The alternative annotator test: each person is left out in turn; does the judge agree with the others at
    least as well, less epsilon? A verdict in words per judge, the test of each person, how many more labels
    would decide, and agreement beside that of people among themselves. The run's report.html shows them.
    """
    scored = _labelled(folder) if (folder / FILE).is_file() else open_run(folder, rated=True).scored
    how = how.model_copy(update={"cluster": how.cluster or noun(scored.cluster)})
    judged = list(panels(scored, how.evaluators, how.aspects, how.cluster))
    known = dict.fromkeys(person for panel in judged for person in panel.people)
    for name in how.experts:
        one_of(name, known, "the run has no person", "it has")
    resampler = Resampler(0, how.resamples, how.seed)
    agree, *raters = raters_sheets(judged, resampler)
    verdicts, *others = replacing_sheets(judged, how, resampler)
    sheets = [agree, verdicts, *others, *raters]
    simulated = scored.scores.simulation.among([panel.evaluator for panel in judged])
    return Printed(sheets, simulated, found=_clauses(verdicts) if verdicts else {})


def _clauses(verdicts: Sheet) -> dict[str, str]:
    """Say in a clause whether each judge may replace a person."""
    clauses = {}
    for name, own in verdicts.frame.groupby("evaluator", sort=False):
        aspects = {str(answer): ", ".join(of["aspect"]) for answer, of in own.groupby("replaces", sort=False)}
        clause, open_for = "may not replace a person", aspects.get("undecided", "")
        if "yes" in aspects:
            clause = "may replace a person"
            clause += f" for {aspects['yes']} alone" if len(aspects) > 1 else ""
        elif "no" not in aspects:
            clause = f"{clause} yet" if open_for else "whether it may replace a person cannot be said"
        if open_for:
            more = own.loc[own["replaces"] == "undecided", "more_units"].max()
            units = f"about {more:,.0f} more units" if more > 0 else "more than 16 times as many units"
            of = f"for {open_for}, " if len(aspects) > 1 else ""
            clause += f" ({of}too few labels to tell: {units} needed)"
        clauses[str(name)] = clause
    return clauses


def _labelled(folder: Path) -> Scored[Any]:
    """Return the recorded scores of a data set with what people said, which may be words."""
    data = load(folder)
    kind, names = kind_named(data.kind), Recorded.found_in(data)
    if not names:
        raise MetaevalError(
            f"data set {data.name!r} has no recorded scores; run a study of it, and name the run"
        )
    people = Annotator.found_in(data)
    truth = "User()" if USER_RATER in data.ratings["rater"].unique() else f"Annotator({people[0]!r})"
    specs = {name: f"Recorded({name!r})" for name in names}
    content = {"kind": data.kind, "dataset": str(folder), "truth": truth, "evaluators": specs}
    said = data.ratings[~data.ratings["rater"].isin(getattr(data, "models", ()))]
    of_truth = truth_ratings(score(data, [truth]))
    study = make_study(content)
    scored: Scored[Any] = kind.scored(
        kind, study, data.scale, data.cluster, score(data, specs), of_truth, said[said["rater"] != USER_RATER]
    )
    return scored
