"""A finished run → where a panel of its judges splits, its gain, and a table for people to label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
from pydantic import Field

from metaeval.analysis.agreement.measures import on_scale
from metaeval.base.counts import few_of, plural_of
from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.keys import noun
from metaeval.base.records import AVERAGE, FIRST, SECOND, TIE
from metaeval.base.spec import printed_name
from metaeval.data.labels import LabelTable
from metaeval.engine.sheet import Sheet, interval_text, value_text
from metaeval.evaluators.verdicts import pair_keys
from metaeval.kinds.index import kind_named
from metaeval.runs.command import Aspects, Judges, Names, Place, Printed, Resamples, Seed, Typed, command
from metaeval.runs.finished import OpenRun, open_run
from metaeval.study.plan import data_of
from metaeval.trust.analyses import panel_of
from metaeval.trust.labelling.golden import ticket, write_sheet
from metaeval.trust.labelling.golden_table import TEXT, UNIT, column_of, shown_units, unit_name
from metaeval.trust.labelling.label_session import LabelSession
from metaeval.trust.panel_gain import (
    COEFFICIENT,
    Fitting,
    agreement_sheet,
    disagreements_sheet,
    gain_sheet,
    panel_gains,
    split_units,
)


class PanelOptions(Typed):
    """Which judges make the panel, and what is listed."""

    judges: Judges = ()
    """Member of the panel; give it once per member.  [default: the run's judges]"""
    n: Annotated[int, Field(ge=1)] = 50
    """Number of units to list."""
    aspects: Aspects = ()
    levels: Annotated[Names, "--level"] = ()
    """Gain at this level only; may be given again."""
    resamples: Resamples = 1_000
    seed: Seed = 0


@command("disagreements")
def disagreements_of(run: OpenRun, how: PanelOptions) -> Printed:
    """List the units of the finished run in the folder RUN on which a panel of judges splits most.

    How far the panel agrees; and what its mean, median and majority gain over its best member, which is
    chosen on some users and judged on others. `metaeval golden import` takes back what people labelled: the
    file of --labels, or labels.csv in the run folder, into which --label writes. Of pairwise judges, --label
    asks for pairs on which verdicts differ, and writes labelled_pairs.csv.
    """
    members = panel_of(run, how.judges)
    units = _units(run, members, how.aspects)
    fitting = Fitting(resamples=how.resamples, seed=how.seed, cluster=noun(run.cluster))
    data = run.prepared(levels=how.levels or None, coefficients=[COEFFICIENT], evaluators=members)
    gains = [g for g in panel_gains(data, fitting) if not how.aspects or g.aspect in how.aspects]
    sheets = [
        disagreements_sheet(units, members, how.n, called={**run.nouns, **run.record.names}),
        agreement_sheet(units, [run.record.names.get(name, name) for name in members]),
        gain_sheet(gains, fitting, run.nouns[run.cluster], between=data.between),
    ]
    people = plural_of(run.nouns[run.cluster])
    return Printed(
        sheets, run.scores.simulation.among(members), say=lambda by_name: _splits(by_name, members, people)
    )


def _splits(sheets: Mapping[str, Sheet], members: Sequence[str], people: str) -> Iterator[str]:
    """Say on how many units the members of a panel differ, where most, and whether their mean gains by it."""
    panel, gain = sheets["panel"], sheets["gain"].frame
    frame, names = panel.frame, [printed_name(name, panel.names) for name in members]
    n, several = int(frame["n_units"].sum()), len(frame) > 1
    differ = round(float((frame["n_units"] * (1 - frame["unanimous"])).sum()))
    most = frame.nsmallest(1, "unanimous").iloc[0]
    what, verb = "scores" if several else "units", "differ" if len(names) == 2 else "do not all say the same"
    where = (
        f", most often for {most['aspect']} ({value_text(1 - most['unanimous'], 'share')})" if several else ""
    )
    share = value_text(differ / n, "share")
    yield f"{few_of(names)} {verb} on {differ:,} of {n:,} {what} ({share}){where}."
    averaged = gain[gain["aspect"] == AVERAGE]
    if gain.empty:
        return
    mean = (averaged if len(averaged) else gain).iloc[0]
    value, low, high = mean[["gain", "ci_low", "ci_high"]].astype(float)
    known = "is shown to be" if low > 0 or high < 0 else "is not shown to be"
    best, gained = printed_name(mean["best"], panel.names), interval_text((value, low, high), "hundred")
    yield (
        f"Their mean {known} {'worse' if high < 0 else 'better'} than the best of them, {best}: it gains "
        f"{gained} in Pearson's r × 100 with the truth ({mean['level']} level, on held-out {people})."
    )


def labels_of_disagreements(
    folder: Place,
    sheet: Sheet,
    path: Place,
    *,
    aspects: Sequence[str] = (),
    data: Place | None = None,
) -> int:
    """Write the units of the sheet ``disagreements`` to a CSV file for people to label; return how many.

    It has the columns of `metaeval golden export`, so that `metaeval golden import` takes it back.
    """
    if Path(path).exists():
        raise MetaevalError(f"{path} is there already, maybe with labels; give another name with --labels")
    run = open_run(folder)
    labelled = data_of(run, data)
    if TEXT not in getattr(labelled, "explanations", labelled.units):
        raise MetaevalError(
            f"data set {labelled.name!r} has no explanation texts, so there is nothing to label"
        )
    columns = [column_of(labelled, aspect) for aspect in aspects or run.record.study.aspects]
    texts = [c for c in (*labelled.keys, "item_title", TEXT) if c in labelled.explanations]
    listed = sheet.frame[list(labelled.keys)].astype(str).itertuples(index=False, name=None)
    units = shown_units(labelled, texts).set_index(UNIT).loc[[*map(unit_name, listed)]].reset_index()
    units[columns] = ""
    write_sheet(path, units)
    return len(units)


def session_of_disagreements(
    folder: Place,
    judges: Sequence[str] = (),
    *,
    rater: str,
    aspects: Sequence[str] = (),
    n: int = 50,
    data: Place | None = None,
) -> LabelSession:
    """Open what a panel splits on most for a person to label, the most disputed unit first.

    The labels go into ``labels.csv`` of the run folder, so that the data set stays the one that was scored.
    Of pairwise judges, or a single one, these are the pairs on which their verdicts differ, and the labels go
    into ``labelled_pairs.csv``.
    """
    run = open_run(folder)
    labelled, kind = data_of(run, data), kind_named(run.record.study.kind)
    names = list(judges) or run.judges
    of_pairs = set() if run.verdicts is None else {*run.verdicts["evaluator"].astype(str)}
    units: dict[tuple[str, ...], list[str]] = {}
    if names and of_pairs.issuperset(names):
        units, (kind, labelled) = _disputed_pairs(run, names, aspects, n), kind.of_pairs(labelled)
        table = replace(kind.labels, name="labelled_pairs")
    else:
        listed = _units(run, panel_of(run, judges), aspects).head(n)
        for *key, aspect in listed[[*labelled.keys, "aspect"]].itertuples(index=False, name=None):
            units.setdefault(tuple(map(str, key)), []).append(aspect)
        table = LabelTable("labels", showing=kind.labels.showing)
    return LabelSession(kind, labelled, Path(folder), table, rater=rater, units=units)


def _disputed_pairs(
    run: OpenRun, judges: Sequence[str], aspects: Sequence[str], n: int
) -> dict[tuple[str, ...], list[str]]:
    """Return the showings of the pairs on which verdicts differ most, each with its aspects."""
    assert run.verdicts is not None  # noqa: S101 - there are pairwise judges
    _check_aspects(run, aspects)
    known = run.record.study.aspects
    verdicts = run.verdicts[run.verdicts["evaluator"].isin(judges)]
    by = [*pair_keys(verdicts), FIRST, SECOND, "aspect"]
    points = verdicts["winner"].astype(str).map({FIRST: 1.0, TIE: 0.5, SECOND: 0.0})
    spread = points.groupby([verdicts[column].astype(str) for column in by]).std(ddof=0)
    wanted = spread.index.isin(aspects or known, level="aspect")
    split: dict[Any, float] = spread[(spread > 0) & wanted].to_dict()
    if not split:
        raise MetaevalError(f"the verdicts of {', '.join(judges)} do not differ on any pair")

    def rank(name: tuple[str, ...]) -> tuple[float, bytes, int]:
        # Many pairs differ as much: those of all users come mixed, and each with all of its aspects.
        return -round(split[name], 9), ticket("order", name[:-1]), known.index(name[-1])

    showings: dict[tuple[str, ...], list[str]] = {}
    for *pair, aspect in sorted(split, key=rank)[:n]:
        for order in (FIRST, SECOND):
            showings.setdefault((*pair, order), []).append(aspect)
    return showings


def _check_aspects(run: OpenRun, aspects: Sequence[str]) -> None:
    for aspect in aspects:
        one_of(aspect, run.record.study.aspects, "there is no aspect", "allowed")


def _units(run: OpenRun, members: Sequence[str], aspects: Sequence[str]) -> pd.DataFrame:
    """Return every unit and aspect with the panel's disagreement, the most disputed first."""
    scale, known = run.record.data.scale, run.record.study.aspects
    _check_aspects(run, aspects)
    own = run.scores.frame[run.scores.frame["evaluator"].isin(list(members))]
    fitting = on_scale(own, scale, run.scores.kinds)
    for name in members:
        if name not in fitting:
            scored = own[(own["evaluator"] == name) & own["score"].notna()]
            scales = [scale.of(aspect) for aspect in scored["aspect"]]
            off = [v for v, on in zip(scored["score"], scales, strict=True) if not on.min <= v <= on.max]
            such = f" (it has {off[0]:.4g})" if off else ""
            what = scale if scale.own else f"from {scale.min:g} to {scale.max:g}"
            raise MetaevalError(
                f"{name} does not score on the scale {what}{such}: its distance from the others is "
                "undefined; leave it out of the panel"
            )
    units = split_units(own[own["aspect"].isin(list(aspects or known))], members, scale)
    if units.empty:
        raise MetaevalError("no unit has a score of two members of the panel; choose others with --judge")
    return units
