"""Correlations → the rows and columns of a paper's table: order, blocks, best and second, counts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from metaeval.base.records import AVERAGE, Correlation, Kind
from metaeval.base.simulation import REAL, Simulation
from metaeval.engine.ranking import no_interval_sentences, ranking

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from metaeval.base.records import Correlations
    from metaeval.engine.comparison import By, Comparisons
    from metaeval.engine.sheet import Sheet

Order = Literal["study", "estimate"]


class Mark(StrEnum):
    """How a value stands among all evaluators, for its aspect, level and coefficient."""

    NONE = ""
    BEST = "best"
    SECOND = "second"


@dataclass(frozen=True, slots=True)
class Value:
    """One estimate as it is printed."""

    correlation: Correlation
    text: str
    """× 100 with two decimals; empty where it is undefined."""
    mark: Mark = Mark.NONE


@dataclass(frozen=True, slots=True)
class Row:
    """One evaluator: a cell an aspect, in it a value a level."""

    evaluator: str
    cells: tuple[tuple[Value, ...], ...]
    counts: tuple[str, ...] = ()
    """What stands in the columns `StandingsTable.count_columns`."""
    simulated: Simulation = REAL
    """Of the data and of this evaluator."""

    @property
    def label(self) -> str:
        """The evaluator's name as it is printed."""
        return self.simulated.label(self.evaluator)


@dataclass(frozen=True, slots=True)
class Block:
    """The evaluators of one kind."""

    kind: Kind
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class StandingsTable:
    """All evaluators by one coefficient."""

    coefficient: str
    aspects: tuple[str, ...]
    levels: tuple[str, ...]
    blocks: tuple[Block, ...]
    count_columns: tuple[str, ...] = ()
    """Counts that differ between evaluators, and so have a column."""
    counts: tuple[str, ...] = ()
    """Sentences on the counts that are the same for all."""

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, block after block."""
        return tuple(row for block in self.blocks for row in block.rows)


@dataclass(frozen=True, slots=True)
class Standings:
    """What a leaderboard says, before it is put into a format."""

    tables: tuple[StandingsTable, ...]
    policy: tuple[str, ...] = ()
    """Sentences on what was done with missing values, undefined groups and differing units."""
    title: str = ""
    dataset: str = ""
    truth: str = ""
    simulated: Simulation = REAL
    signatures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    """Sentences on calls of judges that brought no reply, which are said loudly."""
    name: str = ""
    """Of the study or run; LaTeX labels begin with it, or with that of the data set."""
    ranking: Sheet | None = None
    """The order by one column, with intervals, clusters of rank and costs."""

    @property
    def frame(self) -> pd.DataFrame:
        """A row a value: the fields of `Correlation`, ``block``, ``mark`` and ``printed``."""
        import pandas as pd

        rows = [
            {
                **value.correlation._asdict(),
                "block": str(b.kind),
                "mark": str(value.mark),
                "printed": value.text,
            }
            for table in self.tables
            for b in table.blocks
            for row in b.rows
            for cell in row.cells
            for value in cell
        ]
        return pd.DataFrame(rows, columns=[*Correlation._fields, "block", "mark", "printed"])


def standings(
    result: Correlations,
    *,
    order: Order = "study",
    coefficients: Sequence[str] | None = None,
    title: str = "",
    dataset: str = "",
    truth: str = "",
    simulated: bool = False,
    signatures: Mapping[str, Mapping[str, Any]] | None = None,
    name: str = "",
    by: By | None = None,
    tests: Comparisons | None = None,
    costs: pd.DataFrame | None = None,
    lost: Sequence[str] = (),
) -> Standings:
    """Put correlations into blocks, rows and columns.

    Parameters
    ----------
    result
        What `metaeval.correlate` returned.
    order
        Of the evaluators in a block: ``study``, as they come, or ``estimate``, the best first by the last
        column's first level and the first coefficient.
    coefficients
        Those to show, in this order; all, if left out.
    by, tests, costs
        Of the ranking; see `metaeval.engine.ranking.ranking`.
    lost
        Sentences on calls that brought no reply.

    Raises
    ------
    ValueError
        If ``order`` or a coefficient is not known.
    MetaevalError
        If the evaluators cannot be ranked so.
    """
    if order not in ("study", "estimate"):
        raise ValueError(f"order is 'study' or 'estimate', not {order!r}")
    found = list(result)
    have = _distinct(c.coefficient for c in found)
    shown = have if coefficients is None else list(coefficients)
    for wanted in shown:
        if wanted not in have:
            raise ValueError(f"the result has no coefficient {wanted!r}; it has {', '.join(have) or 'none'}")
    evaluators = _distinct(c.evaluator for c in found)
    if order == "estimate" and found:
        first = [c for c in found if c.coefficient == shown[0] and c.level == found[0].level]
        last_aspect = _aspects(first)[-1]
        estimate = {c.evaluator: c.estimate for c in first if c.aspect == last_aspect}
        evaluators.sort(key=lambda e: -estimate[e] if math.isfinite(estimate.get(e, math.nan)) else math.inf)
    simulation = result.simulation | Simulation(simulated)
    kinds = {e: Kind(result.kinds.get(e, Kind.RECORDED)) for e in evaluators}
    return Standings(
        tables=tuple(
            _table(
                wanted,
                [c for c in found if c.coefficient == wanted],
                evaluators,
                kinds,
                simulation,
            )
            for wanted in shown
        ),
        policy=policy_sentences(result.policy),
        title=title,
        dataset=dataset,
        truth=truth,
        simulated=simulation,
        signatures=dict(signatures or {}),
        lost=tuple(lost),
        name=name,
        ranking=ranking(result, by=by, tests=tests, costs=costs) if found else None,
    )


def _table(
    coefficient: str,
    found: Sequence[Correlation],
    evaluators: Sequence[str],
    kinds: Mapping[str, Kind],
    simulated: Simulation,
) -> StandingsTable:
    aspects, levels = _aspects(found), _distinct(c.level for c in found)
    at = {(c.evaluator, c.aspect, c.level): c for c in found}
    printed = {key: _printed(c.estimate) for key, c in at.items()}
    marks: dict[tuple[str, str, str], Mark] = {}
    for aspect in aspects:
        for level in levels:
            keys = [(e, aspect, level) for e in evaluators if (e, aspect, level) in at]
            # What is equal as printed is equal: the order of two values that look the same is not shown.
            ranks = (
                sorted({float(printed[k]) for k in keys if printed[k]}, reverse=True)[:2]
                if len(keys) > 1
                else []
            )
            for key in keys:
                if printed[key] and float(printed[key]) in ranks:
                    marks[key] = (Mark.BEST, Mark.SECOND)[ranks.index(float(printed[key]))]
    columns, counts, sentences = _counts(evaluators, aspects, levels, at)
    rows = {
        e: Row(
            e,
            tuple(
                tuple(
                    Value(at[e, a, v], printed[e, a, v], marks.get((e, a, v), Mark.NONE))
                    if (e, a, v) in at
                    else Value(_absent(e, a, v, coefficient), "")
                    for v in levels
                )
                for a in aspects
            ),
            counts[e],
            simulated.among([e]),
        )
        for e in evaluators
    }
    blocks = [Block(k, tuple(rows[e] for e in evaluators if kinds[e] is k)) for k in Kind]
    shown = tuple(b for b in blocks if b.rows)
    return StandingsTable(coefficient, tuple(aspects), tuple(levels), shown, columns, sentences)


def _counts(
    evaluators: Sequence[str],
    aspects: Sequence[str],
    levels: Sequence[str],
    at: Mapping[tuple[str, str, str], Correlation],
) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Return the counts that need a column, each evaluator's, and sentences for those that do not."""
    parts = [a for a in aspects if a != AVERAGE] or list(aspects)
    columns: list[str] = []
    sentences: list[str] = []
    texts: dict[str, list[str]] = {e: [] for e in evaluators}
    for name, label, nothing in (
        ("n_units", "units", "No unit entered."),
        ("n_groups", "groups", "There was no group."),
        ("n_undefined", "undefined groups", "No group was undefined."),
        ("n_missing", "missing scores", "No score was missing."),
    ):
        numbers = {
            e: [[int(getattr(at[e, a, v], name)) for a in parts if (e, a, v) in at] for v in levels]
            for e in evaluators
        }
        # A number that holds for every aspect is said once, any other is a sum.
        each = all(len(set(n)) <= 1 for by_level in numbers.values() for n in by_level)
        over = (
            ""
            if len(parts) < 2
            else f" in each of {len(parts)} aspects"
            if each
            else f" over {len(parts)} aspects"
        )
        shown = {e: _by_level([n[0] if each and n else sum(n) for n in v]) for e, v in numbers.items()}
        if len(set(shown.values())) > 1:
            columns.append(label)
            sentences.append(f"{label.capitalize()} are counted{over}.")
            for e in evaluators:
                texts[e].append(shown[e])
        else:
            text = next(iter(shown.values()), "0")
            sentences.append(nothing if text == "0" else f"{label.capitalize()}{over}: {text}.")
    return tuple(columns), {e: tuple(t) for e, t in texts.items()}, tuple(sentences)


def _by_level(numbers: Sequence[int]) -> str:
    texts = [f"{n:,}" for n in numbers]
    return texts[0] if len(set(texts)) == 1 else " / ".join(texts)


def _printed(estimate: float) -> str:
    if not math.isfinite(estimate):
        return ""
    text = f"{100 * estimate:.2f}"
    return "0.00" if text == "-0.00" else text


def _absent(evaluator: str, aspect: str, level: str, coefficient: str) -> Correlation:
    return Correlation(evaluator, aspect, level, coefficient, math.nan, math.nan, math.nan, 0, 0, 0, 0)


def _aspects(found: Iterable[Correlation]) -> list[str]:
    """Return the aspects in the order of the result, then their average if there are several."""
    found_aspects = _distinct(c.aspect for c in found)
    aspects = [a for a in found_aspects if a != AVERAGE]
    return [*aspects, AVERAGE] if AVERAGE in found_aspects and len(aspects) != 1 else aspects


def _distinct(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(words))


def policy_sentences(policy: Mapping[str, Any]) -> tuple[str, ...]:
    """Say in words what a policy does; a key without words of its own is shown as it is."""
    words = {k: v for k, v in policy.items() if k not in ("levels", "coefficients", "bootstrap")}
    out = []
    missing = words.pop("missing", None) or {}
    n_truth = {aspect: n for aspect, n in (words.pop("n_truth_missing", None) or {}).items() if n}
    for what, name, counts in (("truth", "rating of the truth", n_truth), ("score", "score", {})):
        if what in missing:
            done = "drops its unit" if missing[what] == "drop" else f"counts as {missing[what]:g}"
            which = f" ({', '.join(f'{aspect}: {n:,}' for aspect, n in counts.items())})" if counts else ""
            out.append(f"A missing {name} {done}{which}.")
    match words.pop("undefined_groups", None):
        case "skip":
            out.append("Groups without a defined coefficient are left out of the mean.")
        case "zero":
            out.append("Groups without a defined coefficient count as 0.")
    match words.pop("units", None):
        case "common":
            out.append("All evaluators are compared on the same units.")
        case "own":
            out.append("Each evaluator is compared on the units that it scored.")
    out += no_interval_sentences(words.pop("no_interval", None) or {})
    out += [
        f"{key.replace('_', ' ').capitalize()}: {value}." for key, value in words.items() if value is not None
    ]
    return tuple(out)
