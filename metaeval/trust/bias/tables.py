"""A sheet per bias: what was measured of every judge, aspect by aspect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

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


class _Part(NamedTuple):
    """A column of a sheet, and where its cells come from."""

    name: str
    title: str
    """Empty for a column that is not printed."""
    of: Callable[[Any], object] | None = None
    """From what was measured to its values by aspect, or to one value for all; None for the aspect."""
    form: Form = "text"
    interval: bool = False

    @property
    def ends(self) -> tuple[str, str]:
        """Names of the columns of the interval."""
        return (f"{self.name}_ci_low", f"{self.name}_ci_high") if self.interval else ("", "")

    def cells(self, thing: object, at: int, aspect: str) -> dict[str, object]:
        """Return the cells of one thing and aspect; ``at`` is the position of the aspect."""
        if self.of is None:
            return {self.name: aspect}
        value = self.of(thing)
        if self.interval:
            numbers = (value.value, value.low, value.high) if isinstance(value, Measured) else ()
            cells = [float(v[at]) for v in numbers] or [np.nan] * 3
            return dict(zip((self.name, *self.ends), cells, strict=True))
        if isinstance(value, np.ndarray):
            return {self.name: value[at].item() if at < len(value) else None}
        return {self.name: value}


def _number(name: str, title: str, of: Callable[[Any], object], form: Form = "number") -> _Part:
    """Return a column of numbers with intervals."""
    return _Part(name, title, of, form, interval=True)


_JUDGE = _Part("judge", "Judge", lambda x: x.judge)
_FIRST = _Part("judge", "Judge", lambda x: x.judges[0])
_OTHER = _Part("other", "", lambda x: x.judges[1])
_ASPECT = _Part("aspect", "Aspect")
_UNITS = _Part("n_units", "Units", lambda x: np.append(x.n_units, x.n_units.sum()), "count")
_PAIRS = _Part("n_pairs", "Pairs", lambda x: x.n_pairs, "count")


def _by_aspect(found: Biases, things: Iterable[object]) -> list[tuple[object, int, str]]:
    """Return a row per thing and aspect, the average last."""
    aspects = found.data.rows if found.data else []
    return [(thing, at, aspect) for thing in things for at, aspect in enumerate(aspects)]


def _sheet(
    name: str,
    title: str,
    rows: Iterable[tuple[object, int, str]],
    parts: Sequence[_Part],
    *notes: str,
) -> Sheet | None:
    """Return a sheet; None without rows. A column without a value, or of a single aspect, is not printed."""
    cells = [{k: v for part in parts for k, v in part.cells(*row).items()} for row in rows]
    if not cells:
        return None
    frame = pd.DataFrame(cells)
    shown = [p for p in parts if p.title and frame[p.name].notna().any()]
    if len(set(frame["aspect"])) == 1:
        shown = [p for p in shown if p is not _ASPECT]
    columns = tuple(Column(p.name, p.title, p.form, *p.ends) for p in shown)
    return Sheet(name, title, frame, columns, notes)


def verbosity_sheet(found: Biases) -> Sheet | None:
    """Return what length is worth to each judge; None if lengths are not known."""
    return _sheet(
        "verbosity",
        "Verbosity: what length is worth, given the truth",
        _by_aspect(found, found.verbosity),
        (
            _JUDGE,
            _ASPECT,
            _number("doubling", "Points for twice the length", lambda v: v.doubling.best),
            _number("plain", "Given the raw ratings", lambda v: v.doubling.plain),
            _number("of_truth", "In people's ratings", lambda v: v.of_truth),
            _UNITS,
        ),
        "Coefficient of the binary logarithm of the length in score ~ length + truth + "
        f"{found.clustered_by}: points of the judge's scale for a text twice as long that people rate "
        "alike (and, where the judge has a family among the generators, that is of it as much).",
        given_truth_note(found),
        "In people's ratings: what twice the length is worth to people themselves (truth ~ length + "
        f"{found.clustered_by}).",
    )


def self_preference_sheet(found: Biases) -> Sheet | None:
    """Return what each judge gives its own family of models; None if no judge has one among several."""
    return _sheet(
        "self_preference",
        "Self-preference: the own family against others, given the truth",
        _by_aspect(found, found.self_preference),
        (
            _JUDGE,
            _Part("family", "Family", lambda s: s.family),
            _Part("own", "Its generators", lambda s: ", ".join(s.own)),
            _ASPECT,
            _number("points", "Points for the own family", lambda s: s.points.best),
            _number("plain", "Given the raw ratings", lambda s: s.points.plain),
            _number("beyond", "Beyond judges of other families", lambda s: s.beyond_others),
            _Part("others", "", lambda s: ", ".join(s.others)),
            _UNITS,
        ),
        *self_preference_notes(found),
        given_truth_note(found),
        FAMILY_NOTE,
    )


def scale_sheet(found: Biases) -> Sheet | None:
    """Return how each judge uses the scale; None if no judge's scores are ratings on it."""
    ranges = {r.judge: r for r in found.range_use}

    def used(name: str) -> Callable[[Any], object]:
        return lambda x: getattr(ranges.get(x.judge), name, None)

    return _sheet(
        "scale",
        "Leniency, range use and central tendency",
        _by_aspect(found, found.leniency),
        (
            _JUDGE,
            _ASPECT,
            _number("difference", "Mean of score − truth", lambda x: x.difference),
            _number("spread", "Spread / truth", lambda x: x.spread),
            _number("entropy", "Entropy / truth", used("entropy")),
            _Part("levels", "Levels", used("levels"), "count"),
            _Part("levels_of_truth", "Levels of the truth", used("levels_of_truth"), "count"),
            _number("middle", "In the middle", used("middle"), "share"),
            _number("middle_of_truth", "Truth in the middle", used("middle_of_truth"), "share"),
            _UNITS,
        ),
        "Of judges whose scores are ratings on the truth's scale. Spread: standard deviation of the "
        "scores by that of the truth; below 1 the judge keeps to the middle, and noise of its own makes "
        "it larger.",
        "Entropy over the levels of the scale by the truth's: below 1 less of the scale is used. In the "
        "middle: share of scores on the middle level, or on the two of them.",
    )


def wording_sheet(
    found: Biases, ranks: Mapping[str, int], signatures: Mapping[str, Mapping[str, Any]]
) -> Sheet | None:
    """Return how far judges with different prompts are apart; None if there are none."""
    return _sheet(
        "wording",
        "Sensitivity to the wording of the prompt",
        _by_aspect(found, found.wording),
        (
            _FIRST,
            _OTHER,
            _Part("prompts", "Prompts", lambda b: _prompts(b.judges, signatures)),
            _ASPECT,
            _number("distance", "Mean absolute difference", lambda b: b.distance),
            _number("shift", "Second − first", lambda b: b.shift),
            _number("correlation", "Pearson's r", lambda b: b.correlation, "hundred"),
            _Part("tau", "τ of generators", lambda b: b.tau, "hundred"),
            _Part(
                "ranks",
                "Rank",
                lambda b: " → ".join(str(ranks.get(j, "–")) for j in b.judges) if ranks else None,
            ),
            _UNITS,
        ),
        "Pairs of evaluators whose signatures differ in the prompt alone, on the units that both scored; "
        "coefficients × 100. τ: Kendall's τ-b of the generators' mean scores. Rank: on the leaderboard.",
    )


def repeatability_sheet(found: Biases) -> Sheet | None:
    """Return how far repetitions agree; None if there are none."""
    return _sheet(
        "repeatability",
        "Repeatability",
        _by_aspect(found, found.repeatability),
        (
            _Part("judge", "Judge", lambda b: " / ".join(b.judges)),
            _Part("n_replicates", "Repetitions", lambda b: len(b.judges), "count"),
            _ASPECT,
            _number("identical", "Identical", lambda b: b.identical, "share"),
            _number("distance", "Mean absolute difference", lambda b: b.distance),
            _number("icc", "ICC(2, 1)", lambda b: b.icc, "hundred"),
            _number("shift", "Largest shift", lambda b: b.shift),
            _UNITS,
        ),
        "Evaluators whose signatures differ in the replicate alone, on the units that all of them "
        "scored. Identical: units on which all give the same score. ICC(2, 1): absolute agreement, × "
        "100. Shift: the difference of two repetitions' means, the largest if there are several.",
    )


def position_sheet(found: Biases) -> Sheet | None:
    """Return what the order of a pair does to verdicts; None without verdicts."""
    effects = {(e.judge, e.aspect): e for e in found.pairwise}

    def effect(name: str) -> Callable[[Any], object]:
        return lambda p: getattr(effects.get((p.judge, p.aspect)), name, None)

    return _sheet(
        "position",
        "Position: what the order of a pair does",
        [(p, 0, p.aspect) for p in found.position],
        (
            _JUDGE,
            _ASPECT,
            _PAIRS,
            _number("flips", "Flips", lambda p: p.flips, "share"),
            _number("first", "Shown first wins", lambda p: p.first, "share"),
            _number("ties", "Ties", lambda p: p.ties, "share"),
            _number("length", "Twice the length", effect("length")),
            _number("family", "Own family", effect("family")),
            _Part("n_left_out", "Left out", lambda p: p.n_left_out, "count"),
        ),
        "A flip is a pair on which the two orders differ. Shown first wins: of decided verdicts, by the "
        "text shown first; 50 % without a bias. Ties: of all verdicts.",
        "Only pairs with an answer in both orders count; others are left out.",
        "Twice the length, own family: what it adds to a text's share of a win (0 to 1), the mean over "
        "both orders, given the difference of the truth (regression through the origin of differences).",
    )


def verdicts_between_sheet(found: Biases, signatures: Mapping[str, Mapping[str, Any]]) -> Sheet | None:
    """Return how far verdicts differ with the prompt, or when asked again; None if there are none."""

    def differ_in(b: Any) -> str:  # noqa: ANN401 - a lambda of two lines
        return f"prompt: {_prompts(b.judges, signatures)}" if b.differ_in == PROMPT else str(b.differ_in)

    return _sheet(
        "verdicts_between",
        "Verdicts in other words, and when asked again",
        [(b, 0, b.aspect) for b in found.verdicts_between],
        (
            _FIRST,
            _OTHER._replace(title="Other"),
            _Part("differ_in", "They differ in", differ_in),
            _ASPECT,
            _number("identical", "Same verdicts", lambda b: b.identical, "share"),
            _number("shift", "Second − first", lambda b: b.shift),
            _PAIRS,
        ),
        "Pairwise evaluators whose signatures differ in the prompt or the replicate alone, on the pairs "
        "that both answered in both orders. Same verdicts: order by order. Second − first: of the share "
        "of verdicts for the text shown first, a tie half a one.",
    )


def _prompts(judges: Sequence[str], signatures: Mapping[str, Mapping[str, Any]]) -> str:
    """Return names and versions of the judges' prompts."""
    prompts = [signatures.get(judge, {}).get("prompt", {}) for judge in judges]
    return " / ".join(" ".join(str(p[k]) for k in ("name", "version") if k in p) for p in prompts)
