"""A sheet per bias: every judge's numbers, aspect by aspect."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from metaeval.engine.sheet import Column, Sheet
from metaeval.trust.bias.clustered import Measured
from metaeval.trust.bias.notes import FAMILY_NOTE, given_truth_note, self_preference_notes
from metaeval.trust.bias.verdicts.between import PROMPT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from metaeval.engine.sheet import Form
    from metaeval.trust.bias.biases import Biases

_Row: TypeAlias = tuple[Any, int, str]
"""A result, the position of an aspect, and its name."""
_Source: TypeAlias = "Callable[[Any], object] | str"
"""Where the cells of a column come from: a function of a result, or one of its attributes."""
_Part: TypeAlias = tuple[Column, _Source]


def _part(name: str, title: str, form: Form = "text", of: _Source = "") -> _Part:
    """Return a column, by default of the attribute of its name; without a title it is not printed."""
    return Column(name, title, form), of or name


def _number(name: str, title: str, form: Form = "number", of: _Source = "") -> _Part:
    """Return a column of numbers with intervals."""
    return Column(name, title, form, f"{name}_ci_low", f"{name}_ci_high"), of or name


_JUDGE = _part("judge", "Judge")
_FIRST = _part("judge", "Judge", of=lambda b: b.judges[0])
_ASPECT = _part("aspect", "Aspect")
_UNITS = _part("n_units", "Units", "count", lambda x: np.append(x.n_units, x.n_units.sum()))
_PAIRS = _part("n_pairs", "Pairs", "count")


def bias_tables(
    found: Biases, ranks: Mapping[str, int], signatures: Mapping[str, Mapping[str, Any]]
) -> list[Sheet | None]:
    """Return a sheet per bias; None for one that was not measured.

    They are ``position``, ``verdicts_between``, ``verbosity``, ``self_preference``, ``scale``, ``wording``
    and ``repeatability``.

    Parameters
    ----------
    found
        The result of `metaeval.trust.bias.biases.measure`.
    ranks
        Judge → rank on the leaderboard; empty without one.
    signatures
        Of the judges, for the names of prompts.
    """
    aspects = found.data.rows if found.data else []
    effects = {(e.judge, e.aspect): e for e in found.pairwise}
    ranges = {r.judge: r for r in found.range_use}

    def rows(things: Iterable[object]) -> list[_Row]:
        return [(thing, at, aspect) for thing in things for at, aspect in enumerate(aspects)]

    def effect(name: str) -> Callable[[Any], object]:
        return lambda p: getattr(effects.get((p.judge, p.aspect)), name, None)

    def used(name: str) -> Callable[[Any], object]:
        return lambda x: getattr(ranges.get(x.judge), name, None)

    def prompts(b: Any) -> str:  # noqa: ANN401 - two kinds of results have judges
        named = [signatures.get(judge, {}).get("prompt", {}) for judge in b.judges]
        return " / ".join(" ".join(str(p[k]) for k in ("name", "version") if k in p) for p in named)

    return [
        _sheet(
            "position",
            "Position: the effect of the order of a pair",
            [(p, 0, p.aspect) for p in found.position],
            (
                _JUDGE,
                _ASPECT,
                _PAIRS,
                _number("flips", "Flips", "share"),
                _number("first", "Shown first wins", "share"),
                _number("ties", "Ties", "share"),
                _number("length", "Twice the length", of=effect("length")),
                _number("family", "Own family", of=effect("family")),
                _part("n_left_out", "Left out", "count"),
            ),
            "A flip is a pair on which the two orders differ. Shown first wins: of decided verdicts, by the "
            "text shown first; 50 % without a bias. Ties: of all verdicts.",
            "Only pairs with an answer in both orders count.",
            "Twice the length, own family: what it adds to a text's share of a win (0 to 1), the mean over "
            "both orders, given the difference of the truth (regression through the origin of differences).",
        ),
        _sheet(
            "verdicts_between",
            "Verdicts in other words, and when asked again",
            [(b, 0, b.aspect) for b in found.verdicts_between],
            (
                _FIRST,
                _part("other", "Other", of=lambda b: b.judges[1]),
                _part(
                    "differ_in",
                    "Difference in",
                    of=lambda b: f"prompt: {prompts(b)}" if b.differ_in == PROMPT else b.differ_in,
                ),
                _ASPECT,
                _number("identical", "Same verdicts", "share"),
                _number("shift", "Second − first"),
                _PAIRS,
            ),
            "Pairwise evaluators whose signatures differ only in the prompt or the replicate, on the pairs "
            "that both answered in both orders. Same verdicts: order by order. Second − first: difference "
            "in the share of verdicts for the text shown first; a tie is half a verdict.",
        ),
        _sheet(
            "verbosity",
            "Verbosity: the effect of length, given the truth",
            rows(found.verbosity),
            (
                _JUDGE,
                _ASPECT,
                _number("doubling", "Points for twice the length", of="doubling.best"),
                _number("plain", "Given the raw ratings", of="doubling.plain"),
                _number("of_truth", "In people's ratings"),
                _UNITS,
            ),
            "Coefficient of the binary logarithm of the length in score ~ length + truth + "
            f"{found.clustered_by}: points of the judge's scale for a text twice as long with the same "
            "rating by people (and, if generators are of the judge's family, with the same family).",
            given_truth_note(found),
            "In people's ratings: the effect of twice the length on people's own ratings (truth ~ length + "
            f"{found.clustered_by}).",
        ),
        _sheet(
            "self_preference",
            "Self-preference: the own family against others, given the truth",
            rows(found.self_preference),
            (
                _JUDGE,
                _part("family", "Family"),
                _part("own", "Its generators", of=lambda s: ", ".join(s.own)),
                _ASPECT,
                _number("points", "Points for the own family", of="points.best"),
                _number("plain", "Given the raw ratings", of="points.plain"),
                _number("beyond", "Beyond judges of other families", of="beyond_others"),
                _part("others", "", of=lambda s: ", ".join(s.others)),
                _UNITS,
            ),
            *self_preference_notes(found),
            given_truth_note(found),
            FAMILY_NOTE,
        ),
        _sheet(
            "scale",
            "Leniency, range use and central tendency",
            rows(found.leniency),
            (
                _JUDGE,
                _ASPECT,
                _number("difference", "Mean of score − truth"),
                _number("spread", "Spread / truth"),
                _number("entropy", "Entropy / truth", of=used("entropy")),
                _part("levels", "Levels", "count", used("levels")),
                _part("levels_of_truth", "Levels of the truth", "count", used("levels_of_truth")),
                _number("middle", "In the middle", "share", used("middle")),
                _number("middle_of_truth", "Truth in the middle", "share", used("middle_of_truth")),
                _UNITS,
            ),
            "Of judges whose scores are ratings on the truth's scale. Spread: standard deviation of the "
            "scores by that of the truth; below 1 the judge keeps to the middle; the judge's noise "
            "increases it.",
            "Entropy over the levels of the scale by the truth's: below 1 the judge uses less of the scale. "
            "In the "
            "middle: share of scores on the middle level, or on the two of them.",
        ),
        _sheet(
            "wording",
            "Sensitivity to the wording of the prompt",
            rows(found.wording),
            (
                _FIRST,
                _part("other", "", of=lambda b: b.judges[1]),
                _part("prompts", "Prompts", of=prompts),
                _ASPECT,
                _number("distance", "Mean absolute difference"),
                _number("shift", "Second − first"),
                _number("correlation", "Pearson's r", "hundred"),
                _part("tau", "τ of generators", "hundred"),
                _part(
                    "ranks",
                    "Rank",
                    of=lambda b: " → ".join(str(ranks.get(j, "–")) for j in b.judges) if ranks else None,
                ),
                _UNITS,
            ),
            "Pairs of evaluators whose signatures differ only in the prompt, on the units that both scored; "
            "coefficients × 100. τ: Kendall's τ-b of the generators' mean scores. Rank: on the leaderboard.",
        ),
        _sheet(
            "repeatability",
            "Repeatability",
            rows(found.repeatability),
            (
                _part("judge", "Judge", of=lambda b: " / ".join(b.judges)),
                _part("n_replicates", "Repetitions", "count", lambda b: len(b.judges)),
                _ASPECT,
                _number("identical", "Identical", "share"),
                _number("distance", "Mean absolute difference"),
                _number("icc", "ICC(2, 1)", "hundred"),
                _number("shift", "Largest shift"),
                _UNITS,
            ),
            "Evaluators whose signatures differ only in the replicate, on the units that all of them "
            "scored. Identical: units on which all give the same score. ICC(2, 1): absolute agreement, × "
            "100. Shift: the difference between two repetitions' means; with several, the largest.",
        ),
    ]


def _sheet(name: str, title: str, rows: Iterable[_Row], parts: Sequence[_Part], *notes: str) -> Sheet | None:
    """Return a sheet; None without rows. A column without a value, or of a single aspect, is not printed."""
    cells = [{k: v for part in parts for k, v in _cells(row, *part).items()} for row in rows]
    if not cells:
        return None
    frame = pd.DataFrame(cells)
    shown = [c for c, _ in parts if c.title and frame[c.name].notna().any()]
    if len(set(frame["aspect"])) == 1:
        shown = [c for c in shown if c.name != "aspect"]
    return Sheet(name, title, frame, tuple(shown), notes)


def _cells(row: _Row, column: Column, of: _Source) -> dict[str, object]:
    thing, at, aspect = row
    if column.name == "aspect":
        return {"aspect": aspect}
    value = of(thing) if callable(of) else attrgetter(of)(thing)
    if column.low:
        numbers = (value.value, value.low, value.high) if isinstance(value, Measured) else ()
        ends = [float(v[at]) for v in numbers] or [np.nan] * 3
        return dict(zip((column.name, column.low, column.high), ends, strict=True))
    if isinstance(value, np.ndarray):
        return {column.name: value[at].item() if at < len(value) else None}
    return {column.name: value}
