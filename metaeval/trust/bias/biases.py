"""All biases of judges: one correction for all tests, and their sheets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.simulation import REAL, Simulation
from metaeval.engine.board import Board
from metaeval.engine.sentences import made_from
from metaeval.engine.sheet import Column, Form, Sheet
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS, TOO_FEW, few_note, holm
from metaeval.stats.resampling.weights import one_thread
from metaeval.trust.bias.between import REPEATABILITY, WORDING
from metaeval.trust.bias.bias import Bias, BiasData, Biases, Test, TestedNumber
from metaeval.trust.bias.given_truth import given_truth_note
from metaeval.trust.bias.position import POSITION
from metaeval.trust.bias.scale_use import SCALE_USE
from metaeval.trust.bias.self_preference import SELF_PREFERENCE
from metaeval.trust.bias.verbosity import VERBOSITY
from metaeval.trust.bias.verdicts_between import VERDICTS_BETWEEN

ALPHA = 0.05
BIASES: tuple[Bias, ...] = (
    POSITION,
    VERDICTS_BETWEEN,
    VERBOSITY,
    SELF_PREFERENCE,
    SCALE_USE,
    WORDING,
    REPEATABILITY,
)
"""In the order of their sheets."""
BESIDE: Mapping[str, tuple[str, Form]] = {
    "position": ("Shown first wins", "share"),
    "flips": ("Flips", "share"),
    "verbosity": ("Points for twice the length", "number"),
    "self-preference": ("Own family", "number"),
    "leniency": ("Leniency", "number"),
    "central tendency": ("Spread", "number"),
    "range use": ("Range use", "number"),
    "wording": ("Other wording", "number"),
    "repeatability": ("Repeated alike", "share"),
}
"""Number → title and form of its column beside the leaderboard."""


@one_thread()
def measure(data: BiasData) -> Biases:
    """Measure and test the biases of judges."""
    found = Biases(data, {bias.name: tuple(bias.measure(data)) for bias in BIASES})
    # The tests of verdicts between judges come last.
    order = sorted(BIASES, key=lambda bias: bias is VERDICTS_BETWEEN)
    asked = [one for bias in order for one in bias.asked(found.results[bias.name])]
    judges = list(dict.fromkeys(one.judge for one in asked))
    asked.sort(key=lambda one: judges.index(one.judge))
    corrected = holm([float(one.numbers.p[-1]) for one in asked])
    return replace(found, tests=[_test(one, float(p)) for one, p in zip(asked, corrected, strict=True)])


def _test(asked: TestedNumber, p_holm: float) -> Test:
    question, numbers = asked.question, asked.numbers
    estimate, low, high, p = (float(v[-1]) for v in (numbers.value, numbers.low, numbers.high, numbers.p))
    has_bias = bool(p_holm < ALPHA)
    if has_bias:
        words = question.above if estimate > question.none else question.below
    elif np.isnan(p):
        words = "not defined"
    else:
        words = "no bias found" if numbers.n >= FEWEST_CLUSTERS else TOO_FEW
    names = asked.judge, question.bias, question.number, asked.aspect
    return Test(*names, estimate, low, high, p, p_holm, words, has_bias)


def bias_sheets(
    found: Biases,
    ranking: pd.DataFrame | None = None,
    board: Board | None = None,
    *,
    notes: Sequence[str] = (),
    simulated: Simulation = REAL,
) -> list[Sheet]:
    """Return ``judges`` (beside the leaderboard), ``biases`` (the tests) and the sheet of each bias.

    ``ranking`` is the leaderboard (``rank``, ``evaluator``, the dimensions of the board, ``estimate``,
    ``ci_low``, ``ci_high``) of the ``board``; None without one. ``notes`` say what was left out and why.
    """
    sheets = [_judges(found, ranking, board), _tests(found, notes), *(b.sheet(found) for b in BIASES)]
    return [replace(s, simulated=simulated.among(_named(s.frame))) for s in sheets if s is not None]


def _named(frame: pd.DataFrame) -> set[str]:
    """Return the judges of a sheet; several that are compared share a cell."""
    named = {str(v) for c in ("judge", "other") if c in frame for v in frame[c]}
    return named | {part for name in named for part in name.split(" / ")}


def _judges(found: Biases, ranking: pd.DataFrame | None, board: Board | None) -> Sheet | None:
    """Return one row per judge: its place on the leaderboard, its numbers, and the biases found."""
    names = list(dict.fromkeys(n for t in found.tests for n in t.judge.split(" / ")))
    if not names:
        return None
    rows = []
    for name in names:
        own = [t for t in found.tests if name in t.judge.split(" / ")]
        row: dict[str, Any] = {"judge": name}
        for beside, estimates in _estimates(found, name).items():
            row[beside] = sum(estimates) / len(estimates) if estimates else float("nan")
        said = dict.fromkeys(t.found for t in own if t.has_bias) or dict.fromkeys(t.found for t in own)
        row["found"] = "; ".join(said)
        rows.append(row)
    frame = pd.DataFrame(rows)
    columns = [Column("judge", "Judge")]
    notes = [
        (
            "Significant biases are named in words; the numbers are tested below (for verdicts on several "
            "aspects, their mean)."
        ),
    ]
    if frame[["flips", "wording", "repeatability"]].notna().any(axis=None):
        notes.append(
            "Flips: pairs on which the two orders differ. Other wording: the mean absolute difference, in "
            "points, from the same judge with another prompt. Repeated alike: the share of equal answers "
            "when asked again. These three are not tested."
        )
    if ranking is not None and board is not None and len(ranking):
        first = ranking.iloc[0]
        ranks = ranking[["rank", "evaluator", "estimate", "ci_low", "ci_high"]]
        frame = frame.merge(ranks.rename(columns={"evaluator": "judge"}), on="judge", how="left")
        frame = frame.sort_values("rank", kind="stable", ignore_index=True)
        cell = {d.name: str(first[d.name]) for d in board.dimensions}
        name = board.estimate.format(**cell)
        at = [f"{d} {v}" for d, v in cell.items() if f"{{{d}}}" not in board.estimate]
        where = ", ".join([at[0].partition(" ")[2], *at[1:]])
        estimate = Column("estimate", name, board.form, "ci_low", "ci_high")
        notes.append(
            f"Rank and {f'{name} {board.unit}'.strip()} are those of the leaderboard ({where}), among all of "
            f"its {counted(len(ranking), 'evaluator')}."
        )
        columns = [Column("rank", "Rank", "count"), *columns, estimate]
    columns += [Column(b, title, form) for b, (title, form) in BESIDE.items() if frame[b].notna().any()]
    columns.append(Column("found", "Found", keep=True))
    title = "The judges on the leaderboard, and their biases" if "rank" in frame else "The judges' biases"
    return Sheet("judges", title, frame, tuple(columns), tuple(notes))


def _estimates(found: Biases, judge: str) -> dict[str, list[float]]:
    """Return the numbers beside the leaderboard, each with all its estimates for the judge."""
    estimates: dict[str, list[float]] = {column: [] for column in BESIDE}
    for bias in BIASES:
        for result in found.results[bias.name]:
            for name, column, numbers in bias.beside(result):
                if name == judge:
                    estimates[column].append(float(numbers.value[-1]))
    return estimates


def _tests(found: Biases, further: Sequence[str]) -> Sheet | None:
    if not found.tests:
        return None
    frame = pd.DataFrame(found.tests)
    aspect = [Column("aspect", "Aspect")] if (frame["aspect"] != "").any() else []
    columns = (
        Column("judge", "Judge"),
        Column("bias", "Bias"),
        Column("number", "Number"),
        *aspect,
        Column("estimate", "Estimate", "number", "ci_low", "ci_high", keep=True),
        Column("p", "p", "p"),
        Column("p_holm", "p (Holm)", "p", keep=True),
        Column("found", "Found", keep=True),
    )
    notes = (*_how_tested(found), *further)
    return Sheet("biases", "Biases of the judges, tested", frame, columns, notes)


def _how_tested(found: Biases) -> Iterator[str]:
    """Say how intervals and tests were made, and what the tests cannot show."""
    data, positions = found.data, found.results["position"]
    n = data.units.n_clusters if data.units else max(p.flips.n for p in positions)
    by, tests, resamples = data.clustered_by, len(found.tests), data.resamples
    drawn = f"bootstrap resamples of the {n} {by}s, by percentiles"
    yield (
        f"Brackets hold 95 % intervals from {made_from(Resampler(n, resamples), drawn)} (seed {data.seed}), "
        f"widened for few {by}s. With several aspects, the mean. Units without a score or a rating are left "
        "out, even if the run fills them."
    )
    yield (
        f"Two-sided tests turn the signs of whole {by}s at random (wild score bootstrap; "
        f"{resamples:,} times; for range use, scores and truth are swapped), Holm's correction "
        f"over all {counted(tests, 'test')} of this table; the significance level is "
        f"{100 * ALPHA:g} %. No significant bias does not mean no bias: see the interval. "
        "Wording and repetitions are tested for a shift alone: "
        "answers may differ one by one and be the same in the mean, see below."
    )
    if few := few_note(n, by):
        yield few
    if tests / (resamples + 1) > ALPHA:
        least = round(tests / ALPHA)
        yield f"{resamples:,} resamples are too few for so many tests: take {least:,} or more."
    if found.results["verbosity"] or found.results["self_preference"]:
        yield given_truth_note(found)
