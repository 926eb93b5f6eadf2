"""Scores × truth → correlations at every level, with the counts that a reader needs; and their board."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metaeval.base.counts import counted
from metaeval.base.errors import DataError
from metaeval.base.frames import flat, html_heading, html_table, typed
from metaeval.base.records import AVERAGE, Kind, ScoreTable
from metaeval.base.simulation import Simulation
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import Prepared, prepare
from metaeval.engine.board import Board, BoardDimension, Cell, SecondEstimate
from metaeval.engine.intervals import Bootstrap, IntervalEnds, intervals
from metaeval.engine.sentences import (
    GENERATOR_INTERVALS,
    interval_sentence,
    no_interval_sentences,
    policy_sentences,
    true_means_sentence,
)
from metaeval.stats.coefficients.levels import Estimates, estimate
from metaeval.stats.coefficients.tables import Floats

_BLOCK = 2**22  # scores worked through at a time: bounds the memory of a wide table


CORRELATIONS = "correlations.csv"
"""The file of a run folder that holds correlations."""


class Correlation(NamedTuple):
    """The correlation of one evaluator with the truth, for one aspect, level and coefficient."""

    evaluator: str
    aspect: str
    """An aspect, or ``average``: the mean over aspects."""
    level: str
    coefficient: str
    estimate: float
    """NaN where it is undefined."""
    ci_low: float
    ci_high: float
    n_units: int
    """Units that entered; for ``average`` summed over aspects, as are the other counts."""
    n_groups: int
    """Groups of units: 1 at dataset level, else users, pairs, items or generators."""
    n_undefined: int
    """Groups without a defined coefficient."""
    n_missing: int
    """Units for which the evaluator gave no score: filled or dropped as the policy says."""
    corrected: float = math.nan
    """At generator level with intervals: the correlation that very many users would give, as the estimate
    corrected for the noise of the means (a median of draws). The interval is of that correlation."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Correlations:
    """Result of `metaeval.correlate`: ``frame`` has a row per `Correlation` and its fields as columns."""

    frame: pd.DataFrame
    policy: Mapping[str, Any] = field(default_factory=dict)
    """How missing scores, missing truth, undefined groups and differing units were treated."""
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    simulated: bool = False
    """Whether the data are simulated."""
    simulated_evaluators: frozenset[str] = frozenset()

    @property
    def simulation(self) -> Simulation:
        """What is simulated: the data, or which evaluators."""
        return Simulation(self.simulated, tuple(sorted(self.simulated_evaluators)))

    @classmethod
    def of_frame(cls, frame: pd.DataFrame, *, simulated: bool = False) -> Correlations:
        """Make correlations of a table with the columns of ``correlations.csv``; others are left out.

        Such a table does not say how its numbers were made; what is made of it says that this is not known.

        Raises `DataError` if a column is missing, a value is no number, or a row stands twice.
        """
        fields = Correlation._fields
        needed = [f for f in fields if f not in Correlation._field_defaults]
        plain = typed(frame, needed[:4], needed[4:], "the table of correlations")
        counts = [c for c in needed if c.startswith("n_")]
        plain[counts] = plain[counts].fillna(0).astype("int64")
        columns = flat(frame, fields).reset_index(drop=True)
        for name, default in Correlation._field_defaults.items():
            plain[name] = pd.to_numeric(columns[name]).astype("float64") if name in columns else default
        unreal = Simulation.of(simulated, {name: name for name in plain["evaluator"].unique()})
        policy = {"policy": "not known, for the numbers came as a table"}
        return cls(plain, policy, {}, simulated, frozenset(unreal.evaluators))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.frame)

    def __repr__(self) -> str:
        evaluators = counted(self.frame["evaluator"].nunique(), "evaluator")
        aspects, levels, names = (
            ", ".join(map(str, self.frame[c].unique())) for c in ("aspect", "level", "coefficient")
        )
        return f"<Correlations: {evaluators}; aspects: {aspects}; levels: {levels}; coefficients: {names}>"

    def _repr_html_(self) -> str:
        """Show a notebook the first correlations."""
        facts = {"evaluators": self.frame["evaluator"].nunique(), "rows": f"{len(self):,}"}
        return html_heading("Correlations", facts, simulated=self.simulation) + html_table(self.frame)

    def __iter__(self) -> Iterator[Correlation]:
        """Yield a `Correlation` per row."""
        for row in self.frame[list(Correlation._fields)].itertuples(index=False):
            correlation = Correlation(*row)
            # One NaN for all, so that equal rows are equal.
            yield (
                correlation._replace(corrected=math.nan) if math.isnan(correlation.corrected) else correlation
            )


def correlated(data: Prepared, scores: ScoreTable | pd.DataFrame, wanted: Bootstrap | None) -> Correlations:
    """Correlate aligned scores with the truth; ``scores`` are what was aligned."""
    policy = data.policy
    found = estimates(data)
    recorded: dict[str, Any] = {
        "levels": list(policy.levels),
        "coefficients": list(policy.coefficients),
        "missing": {"truth": policy.truth, "score": policy.score},
        "undefined_groups": policy.undefined,
        "units": "common" if policy.common else "own",
        "n_truth_missing": dict(zip(data.aspects, map(int, data.truth_missing), strict=True)),
        **_left_out(data),
        **({"apart": {name: n_units(data, name) for name in sorted(data.apart)}} if data.apart else {}),
    }
    if wanted:
        recorded["bootstrap"] = wanted.record(data)
    ends = intervals(data, found, wanted) if wanted else None
    if ends is not None and ends.no_interval:
        recorded["no_interval"] = ends.no_interval
    result = _frame(data, found, ends)
    given = scores if isinstance(scores, ScoreTable) else ScoreTable(result)
    # Scores that were read from a table have no signatures, and often a spec for a name.
    known = {name: given.signatures.get(name, name) for name in data.evaluators}
    simulated = Simulation.of(given.simulated, known)
    return Correlations(result, recorded, given.kinds, simulated.data, frozenset(simulated.evaluators))


BY = "by"
"""The column of correlations by a column of the units: the value."""


def among(truth: pd.DataFrame, units: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the truth whose key columns, as text, are those of a row of ``units``."""
    by = list(units.columns)
    wanted = pd.MultiIndex.from_frame(units)
    return truth[pd.MultiIndex.from_frame(truth[by].astype(str)).isin(wanted)]


def correlated_by(
    scores: ScoreTable,
    truth: pd.DataFrame,
    policy: Policy,
    wanted: Bootstrap | None,
    categories: pd.DataFrame,
) -> pd.DataFrame:
    """Correlate as `correlated` does, within the units of each value of a column.

    ``categories`` has key columns, as text, and ``category``, the value. The rows have it as ``by``; values
    without a unit that has a truth and scores have none.
    """
    found = []
    for value, units in categories.groupby("category", sort=True):
        part = among(truth, units.drop(columns="category"))
        if part["rating"].notna().any():
            rows = correlated(prepare(scores, part, policy), scores, wanted).frame
            found.append(rows.assign(**{BY: str(value)}))
    if not found:
        raise DataError("no unit with a truth has a value of the column, so there is nothing to correlate by")
    return pd.concat(found, ignore_index=True)


def n_units(data: Prepared, evaluator: str) -> list[int]:
    """Return on how many units an evaluator stands, and how many are rated, over all aspects."""
    own = data.entering[data.evaluators.index(evaluator)]
    return [int(own.sum()), int(data.n_rated.sum())]


def _left_out(data: Prepared) -> dict[str, dict[str, Any]]:
    """Return how many ratings are left out of all evaluators because some have no score, and who has none."""
    rated, left_out = data.n_rated, data.n_left_out
    if left_out is None or not left_out.any():
        return {}
    # An evaluator without any score for an aspect takes nothing from the others.
    missing = np.where(data.n_missing < rated, data.n_missing, 0).sum(axis=1)
    missing[[name in data.apart for name in data.evaluators]] = 0
    lacking = {data.evaluators[e]: int(missing[e]) for e in np.flatnonzero(missing)}
    return {"left_out": {"ratings": int(left_out.sum()), "of": int(rated.sum()), "missing": lacking}}


def estimates(p: Prepared) -> dict[tuple[str, str], Estimates]:
    """Correlate aligned scores with the truth, at each level and by each coefficient of the policy.

    Returns
    -------
    dict
        (level, coefficient) → estimates of which every array has shape (E * A,), aspect after aspect of each
        evaluator; ``terms`` has a column per group besides.
    """
    if p.found:
        return p.found
    n_rows = len(p.evaluators) * len(p.aspects)
    x = p.scores.reshape(n_rows, -1)
    mask = None if p.mask is None else p.mask.reshape(n_rows, -1)
    y_row = np.tile(np.arange(len(p.aspects)), len(p.evaluators))
    step = max(1, _BLOCK // max(1, x.shape[1]))
    blocks = []
    for start in range(0, n_rows, step):
        at = slice(start, start + step)
        blocks.append(
            estimate(
                x[at],
                p.truth,
                p.groupings,
                p.policy.coefficients,
                y_row=y_row[at],
                mask=None if mask is None else mask[at],
                undefined=p.policy.undefined,
            )
        )
    fields = ("estimate", "n_units", "n_groups", "n_undefined", "terms")
    whole = blocks[0]
    if len(blocks) > 1:
        whole = {
            key: Estimates(*(np.concatenate([getattr(b[key], f) for b in blocks]) for f in fields))
            for key in whole
        }
    p.found.update(whole)
    return p.found


def _frame(
    p: Prepared, found: Mapping[tuple[str, str], Estimates], ends: IntervalEnds | None
) -> pd.DataFrame:
    """Put the estimates and their mean over aspects into the columns of `Correlation`."""
    policy = p.policy
    shape = (len(p.evaluators), len(p.aspects))
    cells = [(level, coefficient) for level in policy.levels for coefficient in policy.coefficients]
    aspects = [*p.aspects, AVERAGE]

    def column(field: str) -> Floats:
        values = np.stack([getattr(found[c], field).reshape(shape) for c in cells], axis=2)
        average = values.mean(axis=1) if field == "estimate" else values.sum(axis=1)
        return np.concatenate([values, average[:, None]], axis=1).ravel()

    n = shape[0] * len(aspects) * len(cells)

    def repeated(names: Sequence[str], each: int) -> NDArray[Any]:
        return np.array(names, dtype=object)[np.arange(n) // each % len(names)]

    missing = np.concatenate([p.n_missing, p.n_missing.sum(axis=1, keepdims=True)], axis=1)
    columns: dict[str, Any] = {
        "evaluator": repeated(p.evaluators, len(aspects) * len(cells)),
        "aspect": repeated(aspects, len(cells)),
        "level": repeated(policy.levels, len(policy.coefficients)),
        "coefficient": repeated(policy.coefficients, 1),
        "estimate": column("estimate"),
        "ci_low": np.nan if ends is None else ends.low.ravel(),
        "ci_high": np.nan if ends is None else ends.high.ravel(),
    }
    for count in ("n_units", "n_groups", "n_undefined"):
        columns[count] = column(count).astype(np.int64)
    columns["n_missing"] = np.repeat(missing.ravel(), len(cells))
    columns["corrected"] = np.nan if ends is None else ends.corrected.ravel()
    return pd.DataFrame(columns)[list(Correlation._fields)]


COLUMN = ("aspect", "level", "coefficient")
"""The dimensions of correlations."""

COEFFICIENT_NAMES = {"pearson": "Pearson's r", "spearman": "Spearman's ρ", "kendall": "Kendall's τ-b"}


def correlation_board(result: Correlations, first: Cell | None = None) -> Board:
    """Return correlations as a board that shows one column first: the average, if it is left out.

    The average over aspects is left out where it is that of a single one.
    """
    frame, bootstrap = result.frame, result.policy.get("bootstrap")
    aspects, levels, coefficients = ([str(v) for v in frame[c].unique()] for c in COLUMN)
    if AVERAGE in aspects:
        aspects.remove(AVERAGE)
        if len(aspects) == 1:
            frame = frame[frame["aspect"] != AVERAGE]
        else:
            aspects.append(AVERAGE)
    shown = {"aspect": AVERAGE, **(first or {})}
    return Board(
        frame,
        (
            BoardDimension(
                "aspect",
                {a: "average over aspects" if a == AVERAGE else a for a in aspects},
                first=shown["aspect"] if shown["aspect"] in aspects else "",
                total=AVERAGE,
                spoken={AVERAGE: "the average over aspects"},
            ),
            BoardDimension(
                "level", {level: f"{level} level" for level in levels}, first=shown.get("level", "")
            ),
            BoardDimension(
                "coefficient",
                {c: COEFFICIENT_NAMES.get(c, c) for c in coefficients},
                first=shown.get("coefficient", ""),
                spoken={c: c for c in coefficients},
            ),
        ),
        estimate="{coefficient}",
        relation="with the truth",
        noun="coefficient",
        second=_corrected(result.policy) if "generator" in levels else None,
        form="hundred",
        columns=("aspect", "level"),
        counts={"n_undefined": "undefined groups", "n_missing": "missing scores"},
        sums={
            "n_units": ("compared units", "No unit is compared."),
            "n_groups": ("groups", "There was no group."),
            "n_undefined": ("undefined groups", "No group was undefined."),
            "n_missing": ("missing scores", "No score was missing."),
        },
        intervals=interval_sentence(bootstrap or {}, frame[frame["level"] != "generator"]),
        notes=policy_sentences(result.policy),
        kinds=result.kinds,
        apart=tuple(result.policy.get("apart") or ()),
        simulated=result.simulation,
    )


def _corrected(policy: Mapping[str, Any]) -> SecondEstimate:
    """Return what generator level has beside the plain estimate."""
    bootstrap = policy.get("bootstrap")
    many = f"very many {bootstrap['cluster'] if bootstrap else 'user'}s would give"
    made = (
        (true_means_sentence(bootstrap), *no_interval_sentences(policy.get("no_interval", {})))
        if bootstrap
        else ()
    )
    return SecondEstimate(
        "corrected",
        "corrected",
        f"For the noise of the means of generators: the correlation that {many}",
        f"Corrected: an estimate of the correlation of the means that {many}. Noise in the means lowers the "
        "plain correlation, the dot. The interval is that of the corrected one.",
        at={"level": "generator"},
        made=made,
        intervals=GENERATOR_INTERVALS,
    )
