"""All biases of judges: one correction for all tests, and their sheets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd

from metaeval.analysis.agreement.measures import on_scale
from metaeval.base.counts import counted, graphemes
from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.formulas import read_csv
from metaeval.base.keys import author_key
from metaeval.base.records import Kind
from metaeval.engine.board import Board
from metaeval.engine.sentences import made_from
from metaeval.engine.sheet import Column, Form, Sheet
from metaeval.kinds.details import made_of
from metaeval.kinds.index import kind_named
from metaeval.runs.command import Judges, Names, Place, Printed, Resamples, Seed, Typed, command
from metaeval.runs.finished import OpenRun
from metaeval.runs.folder import RANKING, read_output
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS, TOO_FEW, few_note, holm
from metaeval.stats.resampling.weights import one_thread
from metaeval.study.plan import data_of
from metaeval.trust.bias.between import REPEATABILITY, WORDING
from metaeval.trust.bias.bias import ABOUT, Bias, BiasData, Biases, JudgedUnits, Test, TestedNumber, pairs_of
from metaeval.trust.bias.given_truth import given_truth_note
from metaeval.trust.bias.position import POSITION
from metaeval.trust.bias.scale_use import SCALE_USE
from metaeval.trust.bias.self_preference import SELF_PREFERENCE, family_of, model_family, own_generators
from metaeval.trust.bias.verbosity import VERBOSITY
from metaeval.trust.bias.verdicts_between import VERDICTS_BETWEEN

ALPHA = 0.05
NO_FAMILY = "none"
"""Given for a name that belongs to no family."""
_COUNTED = "grapheme clusters"
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
) -> list[Sheet]:
    """Return ``judges`` (beside the leaderboard), ``biases`` (the tests) and the sheet of each bias.

    ``ranking`` is the leaderboard (``rank``, ``evaluator``, the dimensions of the board, ``estimate``,
    ``ci_low``, ``ci_high``) of the ``board``; None without one. ``notes`` say what was left out and why.
    """
    sheets = [_judges(found, ranking, board), _tests(found, notes), *(b.sheet(found) for b in BIASES)]
    return [sheet for sheet in sheets if sheet]


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
    return Sheet("judges", title, frame, tuple(columns), tuple(notes), about=ABOUT)


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
    return Sheet("biases", "Biases of the judges, tested", frame, columns, notes, about=ABOUT)


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


class Biasing(Typed):
    """Which biases are measured."""

    judges: Judges = ()
    """Evaluator to check; may be given again.  [default: the run's judges]"""
    families: Annotated[Names, "--family NAME=FAMILY"] = ()
    """Model family of a generator or judge ('none' for none); may be given again.  [default: by its name]"""
    length: Annotated[str | None, "NAME"] = None
    """Evaluator that measures length.  [default: Length()]"""
    data: Path | None = None
    """Data-set folder, to measure lengths.  [default: the study's]"""
    resamples: Resamples = 10_000
    seed: Seed = 0


@command("biases", rated=True, view="biases", calibrated=True)
def biases_of(run: OpenRun, how: Biasing) -> Printed:
    """Measure and test the biases of the judges of the finished run in the folder RUN.

    Biases are position (of pairwise judges), verbosity, self-preference, leniency, range use, central
    tendency, sensitivity to the wording of the prompt, and repeatability. Each is a number with an interval
    and a test. The run's report.html shows them afterwards.
    """
    measured, ranking, notes = measured_of(run, how)
    sheets = bias_sheets(measured, ranking, run.board, notes=notes)
    if not sheets:
        names = [name for of in judges_of(run, how.judges) for name in of]
        raise MetaevalError(
            f"nothing can be measured for {', '.join(names)}: there is no unit with a score and a rating, "
            "and no pair with a verdict in both orders; name other evaluators with --judge"
        )
    return Printed(sheets, found=_clauses(measured.tests))


def measured_of(run: OpenRun, how: Biasing) -> tuple[Biases, pd.DataFrame | None, list[str]]:
    """Return the biases of judges of a run, its leaderboard, and sentences on what was left out."""
    names, pairwise = judges_of(run, how.judges)
    author = author_key(run.nouns)
    generators = tuple(sorted(run.truth[author].astype(str).unique())) if author else ()
    every = [*names, *pairwise]
    family_of_each = families_of(run, every, generators, read_families(how.families))
    texts, notes = lengths_of(run, how.length, how.data)
    units = _judged(run, names, texts) if names else None
    verdicts, ranking = run.verdicts if pairwise else None, None
    of_pairs = None if verdicts is None else verdicts[verdicts["evaluator"].isin(pairwise)]
    if RANKING in run.record.outputs:
        ranking = read_csv(read_output(run.folder, RANKING), ("rank", "estimate", "ci_low", "ci_high"))
    measured = measure(
        BiasData(
            units,
            () if of_pairs is None else tuple(pairs_of(of_pairs, run.cluster)),
            run.truth,
            texts,
            generators,
            run.scores.signatures,
            family_of_each,
            {} if ranking is None else dict(zip(ranking["evaluator"], ranking["rank"], strict=True)),
            run.nouns[run.cluster],
            how.resamples,
            how.seed,
        )
    )
    notes += _without_family(family_of_each, every, generators)
    if units and (others := ", ".join(j for j in units.judges if j not in units.rates)):
        notes.append(f"Leniency and range use need ratings on the truth's scale. Left out: {others}.")
    return measured, ranking, [*notes, *run.record.data.scale.averaged]


def _clauses(tests: Sequence[Test]) -> dict[str, str]:
    """Say in a clause which biases each judge has."""
    clauses = {}
    for name in dict.fromkeys(t.judge for t in tests if " / " not in t.judge):
        own = [t for t in tests if t.judge == name]
        biases = {t.found: f"{t.found} ({t.estimate:.2f})" for t in own if t.has_bias}
        none = TOO_FEW if all(t.found == TOO_FEW for t in own) else "none is shown"
        clauses[name] = ", ".join(biases.values()) if biases else f"biases: {none}"
    return clauses


def judges_of(run: OpenRun, wanted: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """Return the pointwise judges whose scores are measured, and the pairwise ones whose verdicts are."""
    known = list(run.scores.evaluators)
    of_pairs = [] if run.verdicts is None else [str(e) for e in run.verdicts["evaluator"].unique()]
    for name in wanted:
        one_of(name, [*known, *of_pairs], "the run has no evaluator")
    names = list(dict.fromkeys(wanted)) or run.judges
    pairwise = [n for n in of_pairs if n in names or not wanted]
    if not (names or pairwise):
        others = [n for n in known if run.scores.kinds.get(n) != Kind.BASELINE]
        raise MetaevalError(
            f"the run has no judges; name the evaluators to check with --judge ({', '.join(others)})"
        )
    # The scores of a pairwise evaluator are made of its verdicts, which tell more.
    return [n for n in names if n not in of_pairs], pairwise


def families_of(
    run: OpenRun, judges: Sequence[str], generators: Sequence[str], stated: Mapping[str, str]
) -> dict[str, str | None]:
    """Return the family of models of each judge and generator: as given, or by its model or name."""
    known = [*judges, *generators]
    for name in stated:
        one_of(name, known, "neither a judge nor a generator is called", "they are")
    families_given = {
        name: None if family.casefold() == NO_FAMILY else family for name, family in stated.items()
    }
    families: dict[str, str | None] = {g: family_of(g, families_given) for g in generators}
    for judge in judges:
        model = run.scores.signatures.get(judge, {}).get("model")
        if judge in families_given:
            families[judge] = families_given[judge]
        elif model is not None:
            families[judge] = model_family(str(model))
        else:
            # A short name may hide the recorded evaluator; people and ensembles are of no family.
            recorded = run.scores.kinds.get(judge) in (Kind.RECORDED, Kind.FUNCTION)
            families[judge] = family_of(run.record.evaluators[judge].spec) if recorded else None
    return families


def read_families(pairs: Sequence[str]) -> dict[str, str]:
    """Read families from texts such as ``gpt-4o=openai``."""
    families: dict[str, str] = {}
    for pair in pairs:
        name, _, family = (part.strip() for part in pair.rpartition("="))
        if not (name and family):
            raise MetaevalError(f"--family {pair!r} must be a name and its family, such as gpt-4o=openai")
        families[name] = family
    return families


def lengths_of(
    run: OpenRun, name: str | None = None, data: Place | None = None
) -> tuple[pd.DataFrame | None, list[str]]:
    """Return the length of each text (key columns and ``length``); or None, and a sentence that says why."""
    if name is not None:
        one_of(name, run.scores.evaluators, "the run has no evaluator")
    counts = [n for n, s in run.scores.signatures.items() if s.get("counted") == _COUNTED]
    keys = list(run.scores.keys)
    if (counted := name or next(iter(counts), None)) is not None:
        frame = run.scores.frame
        frame = frame[frame["evaluator"] == counted].rename(columns={"score": "length"})
        return frame[[*keys, "length"]].drop_duplicates(keys), []
    try:
        loaded = data_of(run, data)
    except MetaevalError as error:
        if data is not None:
            raise
        why = f"the lengths of the texts are not known ({error})"
    else:
        texts = kind_named(run.record.study.kind).unit_view(loaded, ()).texts
        if texts:
            lengths = [float("nan") if t is None else float(graphemes(t)) for t in texts[0].texts]
            return loaded.units.assign(length=lengths), []
        why = "the units of the run have no texts"
    reason = f"Verbosity is left out: {why}; a study with Length() among its evaluators keeps the lengths"
    return None, [f"{reason}, or name the evaluator that measures length with --length."]


def _judged(run: OpenRun, names: Sequence[str], length: pd.DataFrame | None) -> JudgedUnits:
    scale = run.record.data.scale
    own = run.scores.frame[run.scores.frame["evaluator"].isin(list(names))]
    return JudgedUnits.matched(
        own,
        run.truth,
        names,
        cluster=run.cluster,
        called=run.nouns,
        length=length,
        second=_other_people(run, names),
        scale=scale,
        rates=frozenset(on_scale(own, scale, run.scores.kinds)),
    )


def _other_people(run: OpenRun, names: Sequence[str]) -> pd.DataFrame | None:
    """Return the ratings of annotators who are part of neither the truth nor a measured judge."""
    if run.raters is None:
        return None
    specs = [run.record.truth.spec, *(run.record.evaluators[n].spec for n in names)]
    used = {str(a) for spec in specs for a in made_of(spec).annotators}
    others = run.raters[~run.raters["rater"].astype(str).isin(sorted(used))]
    return others if len(others) else None


def _without_family(
    of: Mapping[str, str | None], judges: Sequence[str], generators: Sequence[str]
) -> list[str]:
    """Name the judges whose self-preference is not measured, and why."""
    if not generators:
        return ["Self-preference is left out: the run has no generators."]
    unknown = ", ".join(j for j in judges if of[j] is None)
    alone = [j for j in judges if of[j] is not None and not own_generators(generators, of[j], of)]
    named = ", ".join(f"{j} ({of[j]})" for j in alone)
    why = {"no generator, or every one, is of the family": named}
    why["the family is unknown; give it with --family"] = unknown
    return [f"Self-preference is left out where {reason}: {names}." for reason, names in why.items() if names]
