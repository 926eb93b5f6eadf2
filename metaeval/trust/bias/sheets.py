"""Sheets of the biases of judges: beside the leaderboard, all tests, and one per bias."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.simulation import REAL
from metaeval.engine.sentences import made_from
from metaeval.engine.sheet import Column, Sheet
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.trust.bias.biases import ALPHA
from metaeval.trust.bias.clustered import FEWEST_CLUSTERS
from metaeval.trust.bias.notes import given_truth_note
from metaeval.trust.bias.tables import bias_tables
from metaeval.trust.bias.verdicts.between import REPLICATE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from metaeval.base.simulation import Simulation
    from metaeval.engine.board import Board
    from metaeval.engine.sheet import Form
    from metaeval.trust.bias.between import Between
    from metaeval.trust.bias.biases import Biases, Test
    from metaeval.trust.bias.verdicts.between import VerdictsBetween

_BESIDE: Mapping[str, tuple[str, Form]] = {
    "position": ("Shown first wins", "share"),
    "flips": ("Flips", "share"),
    "verbosity": ("Twice the length", "number"),
    "self-preference": ("Own family", "number"),
    "leniency": ("Leniency", "number"),
    "central tendency": ("Spread", "number"),
    "range use": ("Range use", "number"),
    "wording": ("Other wording", "number"),
    "repeatability": ("Repeated alike", "share"),
}
"""Number → title and form of its column beside the leaderboard."""


def bias_sheets(
    found: Biases,
    ranking: pd.DataFrame | None = None,
    board: Board | None = None,
    *,
    signatures: Mapping[str, Mapping[str, Any]] | None = None,
    said: Sequence[str] = (),
    simulated: Simulation = REAL,
) -> list[Sheet]:
    """Return ``judges`` (beside the leaderboard), ``biases`` (the tests) and the sheets of `bias_tables`.

    Parameters
    ----------
    found
        The result of `metaeval.trust.bias.biases.measure`.
    ranking, board
        The leaderboard (``rank``, ``evaluator``, the dimensions of the board, ``estimate``, ``ci_low``,
        ``ci_high``) and the board that it ranks; None without one.
    signatures
        Of the judges, for the names of prompts.
    said
        Sentences on what was left out and why.
    simulated
        Whether the data are, and which evaluators.
    """
    ranks = {} if ranking is None else dict(zip(ranking["evaluator"], ranking["rank"], strict=True))
    sheets = [
        _judges(found, ranking, board),
        _tests(found, said),
        *bias_tables(found, ranks, signatures or {}),
    ]
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
        for beside, estimates in _estimates(found, name, own).items():
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
    columns += [Column(b, title, form) for b, (title, form) in _BESIDE.items() if frame[b].notna().any()]
    columns.append(Column("found", "Found"))
    title = "The judges on the leaderboard, and their biases" if "rank" in frame else "The judges' biases"
    return Sheet("judges", title, frame, tuple(columns), tuple(notes))


def _estimates(found: Biases, judge: str, tests: Sequence[Test]) -> dict[str, list[float]]:
    """Return the numbers beside the leaderboard, each with all its estimates for the judge."""
    # Shares of a win are not points: they are in the sheet of verdicts alone.
    of: dict[str, list[float]] = {
        beside: [t.estimate for t in tests if t.bias == beside and not t.number.startswith("share")]
        for beside in _BESIDE
    }
    of["flips"] = [float(p.flips.value[-1]) for p in found.position if p.judge == judge]
    # The tests are of the shift of the mean; how far single scores differ says more about a judge.
    of["wording"] = [float(b.distance.value[-1]) for b in found.wording if judge in b.judges]
    again: list[Between | VerdictsBetween] = [
        *found.repeatability,
        *(b for b in found.verdicts_between if b.differ_in == REPLICATE),
    ]
    of["repeatability"] = [float(b.identical.value[-1]) for b in again if judge in b.judges]
    return of


def _tests(found: Biases, said: Sequence[str]) -> Sheet | None:
    if not found.tests:
        return None
    frame = pd.DataFrame(found.tests)
    aspect = [Column("aspect", "Aspect")] if (frame["aspect"] != "").any() else []
    columns = (
        Column("judge", "Judge"),
        Column("bias", "Bias"),
        Column("number", "Number"),
        *aspect,
        Column("estimate", "Estimate", "number", "ci_low", "ci_high"),
        Column("p", "p", "p"),
        Column("p_holm", "p (Holm)", "p"),
        Column("found", "Found"),
    )
    notes = (*_how_tested(found), *said)
    return Sheet("biases", "Biases of the judges, tested", frame, columns, notes)


def _how_tested(found: Biases) -> Iterator[str]:
    """Say how intervals and tests were made, and what the tests cannot show."""
    n = found.data.n_clusters if found.data else max(p.flips.n for p in found.position)
    by, tests, resamples = found.clustered_by, len(found.tests), found.resamples
    drawn = f"bootstrap resamples of the {n} {by}s, by percentiles"
    yield (
        f"Brackets hold 95 % intervals from {made_from(Resampler(n, resamples), drawn)} (seed {found.seed}), "
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
    if n < FEWEST_CLUSTERS:
        yield f"{n} {by}s are too few for any test at {100 * ALPHA:g} %: take {FEWEST_CLUSTERS} or more."
    if tests / (resamples + 1) > ALPHA:
        least = round(tests / ALPHA)
        yield f"{resamples:,} resamples are too few for so many tests: take {least:,} or more."
    if found.verbosity or found.self_preference:
        yield given_truth_note(found)
