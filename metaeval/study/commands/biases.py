"""A finished run → the sheets of its judges' biases."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import pandas as pd

from metaeval.analysis.agreement.measures import on_scale
from metaeval.base.counts import graphemes
from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.formulas import read_csv
from metaeval.base.keys import author_key
from metaeval.base.records import Kind
from metaeval.engine.sheet import Sheet
from metaeval.kinds.details import made_of
from metaeval.kinds.kind import kind_named
from metaeval.runs.finished import OpenRun, open_run
from metaeval.runs.folder import RANKING, read_output
from metaeval.study.plan import data_of
from metaeval.trust.bias.bias import BiasData, JudgedUnits, pairs_of
from metaeval.trust.bias.biases import bias_sheets, measure
from metaeval.trust.bias.self_preference import family_of, model_family, own_generators

NO_FAMILY = "none"
"""Given for a name that belongs to no family."""
_COUNTED = "grapheme clusters"


def biases_of(
    folder: str | os.PathLike[str],
    judges: Sequence[str] = (),
    *,
    families: Mapping[str, str] | None = None,
    length: str | None = None,
    data: str | os.PathLike[str] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> list[Sheet]:
    """Measure and test the biases of the judges of a finished run.

    The options are those of `metaeval biases`. Families override those of `trust.bias.self_preference`.
    The data set is read only to count lengths.
    """
    run = open_run(folder, rated=True)
    names, pairwise = judges_of(run, judges)
    author = author_key(run.nouns)
    generators = tuple(sorted(run.truth[author].astype(str).unique())) if author else ()
    every = [*names, *pairwise]
    family_of_each = families_of(run, every, generators, families or {})
    texts, notes = lengths_of(run, length, data)
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
            resamples,
            seed,
        )
    )
    notes += _without_family(family_of_each, every, generators)
    if units and (others := ", ".join(j for j in units.judges if j not in units.rates)):
        notes.append(f"Leniency and range use need ratings on the truth's scale. Left out: {others}.")
    notes += run.record.data.scale.averaged
    sheets = bias_sheets(measured, ranking, run.board, notes=notes, simulated=run.scores.simulation)
    if not sheets:
        raise MetaevalError(
            f"nothing can be measured for {', '.join(every)}: there is no unit with a score and a rating, "
            "and no pair with a verdict in both orders; name other evaluators with --judge"
        )
    return sheets


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
    run: OpenRun, name: str | None = None, data: str | os.PathLike[str] | None = None
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
