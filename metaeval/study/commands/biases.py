"""A finished run → the sheets of its judges' biases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.analysis.agreement.distributions import on_scale
from metaeval.base.counts import graphemes
from metaeval.base.errors import MetaevalError, nearest
from metaeval.base.formulas import read_csv
from metaeval.base.keys import author_key
from metaeval.base.records import Kind
from metaeval.base.yaml_lines import read_yaml
from metaeval.kinds.details import made_of
from metaeval.kinds.kind import kind_named
from metaeval.runs.finished import open_run
from metaeval.runs.folder import RANKING, read_output
from metaeval.study.commands.dataset import data_of
from metaeval.trust.bias.arrays import JudgedUnits
from metaeval.trust.bias.biases import Verdicts, measure
from metaeval.trust.bias.families import family_of, model_family
from metaeval.trust.bias.self_preference import own_generators
from metaeval.trust.bias.sheets import bias_sheets
from metaeval.trust.bias.verdicts.position import pairs_of

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from metaeval.engine.sheet import Sheet
    from metaeval.runs.finished import OpenRun

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

    The options are those of `metaeval biases`. Families override those of `metaeval.trust.bias.families`.
    The data set is read only to count lengths.

    Raises
    ------
    MetaevalError
        For an unknown name, and if there is no judge or nothing to measure.
    """
    run = open_run(folder, rated=True)
    names, pairwise = judges_of(run, judges)
    author = author_key(run.nouns)
    generators = tuple(sorted(run.truth[author].astype(str).unique())) if author else ()
    of = families_of(run, [*names, *pairwise], generators, families or {})
    texts, told = lengths_of(run, length, data)
    measured = _judged(run, names, texts) if names else None
    verdicts = None
    if pairwise and run.verdicts is not None:
        wanted = run.verdicts[run.verdicts["evaluator"].isin(pairwise)]
        verdicts = Verdicts(tuple(pairs_of(wanted, run.cluster)), run.truth, texts, generators)
    found = measure(
        measured,
        verdicts,
        signatures=run.scores.signatures,
        families=of,
        clustered_by=run.nouns[run.cluster],
        resamples=resamples,
        seed=seed,
    )
    ranking = read_output(run.folder, RANKING) if RANKING in run.record.outputs else None
    sheets = bias_sheets(
        found,
        None if ranking is None else read_csv(ranking, ("rank", "estimate", "ci_low", "ci_high")),
        run.board,
        signatures=run.scores.signatures,
        said=[
            *told,
            *_without_family(of, [*names, *pairwise], generators),
            *_not_ratings(measured),
            *run.record.data.scale.averaged,
        ],
        simulated=run.scores.simulation,
    )
    if not sheets:
        raise MetaevalError(
            f"nothing can be measured for {', '.join([*names, *pairwise])}: there is no unit with a score "
            "and "
            "a rating, and no pair with a verdict in both orders; name other evaluators with --judge"
        )
    return sheets


def judges_of(run: OpenRun, wanted: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """Return the pointwise judges whose scores are measured, and the pairwise ones whose verdicts are."""
    known = list(run.scores.evaluators)
    of_pairs = [] if run.verdicts is None else [str(e) for e in run.verdicts["evaluator"].unique()]
    for name in wanted:
        if name not in [*known, *of_pairs]:
            raise MetaevalError(f"the run has no evaluator {name!r}{nearest(name, [*known, *of_pairs])}")
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
    run: OpenRun, judges: Sequence[str], generators: Sequence[str], said: Mapping[str, str]
) -> dict[str, str | None]:
    """Return the family of models of each judge and generator: as given, or by its model or name."""
    known = [*judges, *generators]
    for name in said:
        if name not in known:
            raise MetaevalError(
                f"{name!r} has a family, but is neither one of the judges nor a generator"
                f"{nearest(name, known)} (they are: {', '.join(known)})"
            )
    plain = {name: None if family.casefold() == NO_FAMILY else family for name, family in said.items()}
    found: dict[str, str | None] = {g: family_of(g, plain) for g in generators}
    for judge in judges:
        model = run.scores.signatures.get(judge, {}).get("model")
        recorded = run.scores.kinds.get(judge) in (Kind.RECORDED, Kind.FUNCTION)
        if judge in plain:
            found[judge] = plain[judge]
        elif model is not None:
            found[judge] = model_family(str(model))
        else:
            # A short name may hide the recorded evaluator; people and ensembles are of no family.
            found[judge] = family_of(run.record.evaluators[judge].spec) if recorded else None
    return found


def said_families(pairs: Sequence[str], path: str | os.PathLike[str] | None = None) -> dict[str, str]:
    """Read families from a YAML file, then from texts such as ``gpt-4o=openai``, which override it."""
    found: dict[str, str] = {}
    if path is not None:
        content, _ = read_yaml(path)
        if not isinstance(content, dict) or not all(isinstance(v, str) for v in content.values()):
            raise MetaevalError(
                f"{path} must hold a line 'name: family' for each generator or judge, such as "
                "'gpt-4o: openai'"
            )
        found |= {str(k): str(v) for k, v in content.items()}
    for pair in pairs:
        name, _, family = (part.strip() for part in pair.rpartition("="))
        if not (name and family):
            raise MetaevalError(f"--family {pair!r} must be a name and its family, such as gpt-4o=openai")
        found[name] = family
    return found


def lengths_of(
    run: OpenRun, name: str | None = None, data: str | os.PathLike[str] | None = None
) -> tuple[pd.DataFrame | None, list[str]]:
    """Return the length of each text (key columns and ``length``); or None, and a sentence that says why."""
    known = list(run.scores.evaluators)
    if name is not None and name not in known:
        raise MetaevalError(f"the run has no evaluator {name!r} that measures length{nearest(name, known)}")
    counts = [n for n, s in run.scores.signatures.items() if s.get("counted") == _COUNTED]
    counted = name or next(iter(counts), None)
    keys = list(run.scores.keys)
    if counted is not None:
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
    told = f"Verbosity is left out: {why}; a study with Length() among its evaluators keeps the lengths"
    return None, [f"{told}, or name the evaluator that measures length with --length."]


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


def _not_ratings(data: JudgedUnits | None) -> list[str]:
    """Name the judges whose use of the scale is not measured."""
    others = ", ".join(j for j in data.judges if j not in data.rates) if data else ""
    told = f"Leniency and range use need ratings on the truth's scale. Left out: {others}."
    return [told] if others else []
