"""A sheet a bias: what was measured of every judge, aspect by aspect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from metaeval.engine.sheet import Column, Sheet
from metaeval.trust.bias.notes import FAMILY_NOTE, given_truth_note, self_preference_notes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from metaeval.engine.sheet import Form
    from metaeval.trust.bias.biases import Biases
    from metaeval.trust.bias.clustered import Measured


def cells(name: str, numbers: Measured | None, at: int) -> dict[str, float]:
    """Return a number of a row and the ends of its interval."""
    if numbers is None:
        return {name: float("nan"), f"{name}_ci_low": float("nan"), f"{name}_ci_high": float("nan")}
    values = (numbers.value, numbers.low, numbers.high)
    return {k: float(v[at]) for k, v in zip((name, f"{name}_ci_low", f"{name}_ci_high"), values, strict=True)}


def column_of(name: str, title: str, form: Form = "number") -> Column:
    """Return a column of numbers with intervals, as `cells` names them."""
    return Column(name, title, form, f"{name}_ci_low", f"{name}_ci_high")


def _count(values: Sequence[int] | Any, at: int, *, total: bool = True) -> int | None:  # noqa: ANN401
    """Return a count of an aspect; of the average the sum, or none."""
    if at < len(values):
        return int(values[at])
    return int(sum(values)) if total else None


def sheet_of(
    name: str, title: str, rows: Iterable[dict[str, Any]], columns: Sequence[Column], notes: Sequence[str]
) -> Sheet | None:
    """Return a sheet; None without rows. A column of aspects of which there is one is not printed."""
    frame = pd.DataFrame(list(rows))
    if frame.empty:
        return None
    shown = tuple(
        c
        for c in columns
        if frame[c.name].notna().any() and not (c.name == "aspect" and len(set(frame["aspect"])) == 1)
    )
    return Sheet(name, title, frame, shown, tuple(notes))


def verbosity_sheet(found: Biases) -> Sheet | None:
    """Return what length is worth to each judge; None if lengths are not known."""
    rows = [
        {
            "judge": v.judge,
            "aspect": aspect,
            **cells("doubling", v.doubling.best, a),
            **cells("plain", v.doubling.plain if v.doubling.instrument else None, a),
            **cells("of_truth", v.of_truth, a),
            "n_units": _count(v.n_units, a),
        }
        for v in found.verbosity
        for a, aspect in enumerate(found.data.rows if found.data else ())
    ]
    columns = (
        Column("judge", "Judge"),
        Column("aspect", "Aspect"),
        column_of("doubling", "Points for twice the length"),
        column_of("plain", "Given the raw ratings"),
        column_of("of_truth", "In people's ratings"),
        Column("n_units", "Units", "count"),
    )
    notes = (
        (
            "Coefficient of the binary logarithm of the length in score ~ length + truth + user: points of "
            "the judge's scale for a text twice as long that people rate alike (and, where the judge has a "
            "family among the generators, that is of it as much)."
        ),
        given_truth_note(found),
        "In people's ratings: what twice the length is worth to people themselves (truth ~ length + user).",
    )
    return sheet_of("verbosity", "Verbosity: what length is worth, given the truth", rows, columns, notes)


def self_preference_sheet(found: Biases) -> Sheet | None:
    """Return what the own family is worth to each judge; None if no judge has one."""
    rows = [
        {
            "judge": s.judge,
            "family": s.family,
            "own": ", ".join(s.own),
            "aspect": aspect,
            **cells("points", s.points.best, a),
            **cells("plain", s.points.plain if s.points.instrument else None, a),
            **cells("beyond", s.beyond_others, a),
            "others": ", ".join(s.others),
            "n_units": _count(s.n_units, a),
        }
        for s in found.self_preference
        for a, aspect in enumerate(found.data.rows if found.data else ())
    ]
    columns = (
        Column("judge", "Judge"),
        Column("family", "Family"),
        Column("own", "Its generators"),
        Column("aspect", "Aspect"),
        column_of("points", "Points for the own family"),
        column_of("plain", "Given the raw ratings"),
        column_of("beyond", "Beyond judges of other families"),
        Column("n_units", "Units", "count"),
    )
    notes = (*self_preference_notes(found), given_truth_note(found), FAMILY_NOTE)
    title = "Self-preference: the own family against others, given the truth"
    return sheet_of("self_preference", title, rows, columns, notes)


def scale_sheet(found: Biases) -> Sheet | None:
    """Return how each judge uses the scale; None if no judge's scores are ratings on it."""
    ranges = {r.judge: r for r in found.range_use}
    rows = []
    for x in found.leniency:
        for a, aspect in enumerate(found.data.rows if found.data else ()):
            r = ranges.get(x.judge)
            rows.append(
                {
                    "judge": x.judge,
                    "aspect": aspect,
                    **cells("difference", x.difference, a),
                    **cells("spread", x.spread, a),
                    **cells("entropy", r.entropy if r else None, a),
                    "levels": _count(r.levels, a, total=False) if r else None,
                    "levels_of_truth": _count(r.levels_of_truth, a, total=False) if r else None,
                    **cells("middle", r.middle if r else None, a),
                    **cells("middle_of_truth", r.middle_of_truth if r else None, a),
                    "n_units": _count(x.n_units, a),
                }
            )
    columns = (
        Column("judge", "Judge"),
        Column("aspect", "Aspect"),
        column_of("difference", "Mean of score − truth"),
        column_of("spread", "Spread / truth"),
        column_of("entropy", "Entropy / truth"),
        Column("levels", "Levels", "count"),
        Column("levels_of_truth", "Levels of the truth", "count"),
        column_of("middle", "In the middle", "share"),
        column_of("middle_of_truth", "Truth in the middle", "share"),
        Column("n_units", "Units", "count"),
    )
    notes = (
        (
            "Of judges whose scores are ratings on the truth's scale. Spread: standard deviation of the "
            "scores by that of the truth; below 1 the judge keeps to the middle, and noise of its own makes "
            "it larger."
        ),
        (
            "Entropy over the levels of the scale by the truth's: below 1 less of the scale is used. In the "
            "middle: share of scores on the middle level, or on the two of them."
        ),
    )
    return sheet_of("scale", "Leniency, range use and central tendency", rows, columns, notes)


def wording_sheet(
    found: Biases, ranks: Mapping[str, int], signatures: Mapping[str, Mapping[str, Any]]
) -> Sheet | None:
    """Return how far judges are apart that are asked in other words; None if there are none."""
    rows = [
        {
            "judge": b.judges[0],
            "other": b.judges[1],
            "prompts": " / ".join(prompt_of(signatures.get(j, {})) for j in b.judges),
            "aspect": aspect,
            **cells("distance", b.distance, a),
            **cells("shift", b.shift, a),
            **cells("correlation", b.correlation, a),
            "tau": float(b.tau[a]),
            "ranks": " → ".join(str(ranks.get(j, "–")) for j in b.judges) if ranks else None,
            "n_units": _count(b.n_units, a),
        }
        for b in found.wording
        for a, aspect in enumerate(found.data.rows if found.data else ())
    ]
    columns = (
        Column("judge", "Judge"),
        Column("prompts", "Prompts"),
        Column("aspect", "Aspect"),
        column_of("distance", "Mean absolute difference"),
        column_of("shift", "Second − first"),
        column_of("correlation", "Pearson's r", "hundred"),
        Column("tau", "τ of generators", "hundred"),
        Column("ranks", "Rank"),
        Column("n_units", "Units", "count"),
    )
    notes = (
        (
            "Pairs of evaluators whose signatures differ in the prompt alone, on the units that both scored; "
            "coefficients × 100. τ: Kendall's τ-b of the generators' mean scores. Rank: on the leaderboard."
        ),
    )
    return sheet_of("wording", "Sensitivity to the wording of the prompt", rows, columns, notes)


def prompt_of(signature: Mapping[str, Any]) -> str:
    """Return the name and version of a judge's prompt."""
    prompt = signature.get("prompt", {})
    return " ".join(str(prompt[k]) for k in ("name", "version") if k in prompt)


def repeatability_sheet(found: Biases) -> Sheet | None:
    """Return how far repetitions agree; None if there are none."""
    rows = [
        {
            "judge": " / ".join(b.judges),
            "n_replicates": len(b.judges),
            "aspect": aspect,
            **cells("identical", b.identical, a),
            **cells("distance", b.distance, a),
            **cells("icc", b.icc, a),
            **cells("shift", b.shift, a),
            "n_units": _count(b.n_units, a),
        }
        for b in found.repeatability
        for a, aspect in enumerate(found.data.rows if found.data else ())
    ]
    columns = (
        Column("judge", "Judge"),
        Column("n_replicates", "Repetitions", "count"),
        Column("aspect", "Aspect"),
        column_of("identical", "Identical", "share"),
        column_of("distance", "Mean absolute difference"),
        column_of("icc", "ICC(2, 1)", "hundred"),
        column_of("shift", "Largest shift"),
        Column("n_units", "Units", "count"),
    )
    notes = (
        (
            "Evaluators whose signatures differ in the replicate alone, on the units that all of them "
            "scored. Identical: units on which all give the same score. ICC(2, 1): absolute agreement, × "
            "100. Shift: the difference of two repetitions' means, the largest if there are several."
        ),
    )
    return sheet_of("repeatability", "Repeatability", rows, columns, notes)
