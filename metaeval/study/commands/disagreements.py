"""A finished run → where a panel of its judges splits, its gain, and a table for people to label."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.analysis.agreement.distributions import on_scale
from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.keys import noun
from metaeval.base.records import FIRST, SECOND, TIE
from metaeval.engine.alignment.policy import whole_number
from metaeval.evaluators.verdicts import pair_keys
from metaeval.kinds.files.labels import LabelTable
from metaeval.kinds.kind import kind_named
from metaeval.runs.finished import open_run
from metaeval.study.commands.analyses import judges_of
from metaeval.study.commands.dataset import data_of
from metaeval.trust.labelling.golden import ticket
from metaeval.trust.labelling.golden_files import TEXT, UNIT, column_of, shown_units
from metaeval.trust.labelling.label_session import LabelSession
from metaeval.trust.labelling.spreadsheet import write_sheet
from metaeval.trust.panel.gain import COEFFICIENT, Fitting, panel_gains
from metaeval.trust.panel.sheets import SCORE, agreement_sheet, disagreements_sheet, gain_sheet, split_units

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import pandas as pd

    from metaeval.engine.sheet import Sheet
    from metaeval.runs.finished import OpenRun


def disagreements_of(
    folder: str | os.PathLike[str],
    judges: Sequence[str] = (),
    *,
    aspects: Sequence[str] = (),
    levels: Sequence[str] = (),
    n: int = 50,
    resamples: int = 1_000,
    seed: int = 0,
) -> list[Sheet]:
    """Say where a panel of judges of a finished run splits, and what it gains over its best member.

    The options are those of `metaeval disagreements`.

    Returns
    -------
    list of Sheet
        ``disagreements``, ``panel`` and ``gain``; see `metaeval.trust.panel.sheets`.

    Raises
    ------
    MetaevalError
        For an unknown name, and members that do not score on the truth's scale.
    """
    whole_number("n", n, least=1)
    run = open_run(folder)
    members = judges_of(run, judges)
    units = _units(run, members, aspects)
    how = Fitting(resamples=resamples, seed=seed, cluster=noun(run.cluster))
    data = run.prepared(levels=levels or None, coefficients=[COEFFICIENT], evaluators=members)
    gains = [g for g in panel_gains(data, how) if not aspects or g.aspect in aspects]
    simulated = run.scores.simulation.among(members)
    return [
        disagreements_sheet(units, members, n, called=run.nouns, simulated=simulated),
        agreement_sheet(units, members, simulated=simulated),
        gain_sheet(gains, how, run.nouns[run.cluster], between=data.between, simulated=simulated),
    ]


def labels_of_disagreements(
    folder: str | os.PathLike[str],
    sheet: Sheet,
    path: str | os.PathLike[str],
    *,
    aspects: Sequence[str] = (),
    data: str | os.PathLike[str] | None = None,
    with_scores: bool = False,
) -> int:
    """Write the units of the sheet ``disagreements`` to a CSV file for people to label; return how many.

    It has the columns of `metaeval golden export`, so that `metaeval golden import` takes it back. People who
    see the members' scores lean towards them.

    Raises
    ------
    MetaevalError
        If the file is there already, or the data set is not there, is another one, or has no texts.
    """
    if Path(path).exists():
        raise MetaevalError(f"{path} is there already, maybe with labels; give another name with --labels")
    run = open_run(folder)
    found = data_of(run, data)
    if TEXT not in getattr(found, "explanations", found.units):
        raise MetaevalError(f"data set {found.name!r} has no explanation texts, so there is nothing to label")
    asked = list(aspects or run.record.study.aspects)
    scores = [c for c in sheet.frame.columns if c.startswith(SCORE)] if with_scores else []
    texts = [c for c in (*found.keys, "item_title", TEXT) if c in found.explanations]
    units = shown_units(found, texts)
    n, rows = len(found.keys), []
    for listed in sheet.frame[[*found.keys, *scores]].itertuples(index=False, name=None):
        given = ["" if math.isnan(v) else f"{v:.15g}" for v in listed[n:]]
        rows.append([*units[tuple(map(str, listed[:n]))], *("" for _ in asked), *given])
    write_sheet(path, [UNIT, *texts, *(column_of(found, a) for a in asked), *scores], rows)
    return len(rows)


def session_of_disagreements(
    folder: str | os.PathLike[str],
    judges: Sequence[str] = (),
    *,
    rater: str,
    aspects: Sequence[str] = (),
    n: int = 50,
    data: str | os.PathLike[str] | None = None,
) -> LabelSession:
    """Open what a panel splits on most for a person to label, the most disputed unit first.

    The labels go into ``labels.csv`` of the run folder, so that the data set stays the one that was scored.
    Of pairwise judges, or a single one, these are the pairs on which their verdicts differ, and the labels go
    into ``labelled_pairs.csv``.

    Raises
    ------
    MetaevalError
        As of `disagreements_of`; if the data set is not there or is another one, or the rater has no name.
    """
    run = open_run(folder)
    found, kind = data_of(run, data), kind_named(run.record.study.kind)
    if (pairwise := _pairwise(run, judges)) and (of_pairs := kind.of_pairs(found)):
        asked, (kind, found) = _disputed_pairs(run, pairwise, aspects, n), of_pairs
        table = replace(kind.labels, name="labelled_pairs")
        return LabelSession(kind, found, Path(folder), table, rater=rater, asked=asked)
    listed = _units(run, judges_of(run, judges), aspects).head(n)
    asked = {}
    for *key, aspect in listed[[*found.keys, "aspect"]].itertuples(index=False, name=None):
        asked.setdefault(tuple(map(str, key)), []).append(aspect)
    table = LabelTable("labels", showing=kind.labels.showing)
    return LabelSession(kind, found, Path(folder), table, rater=rater, asked=asked)


def _pairwise(run: OpenRun, judges: Sequence[str]) -> list[str]:
    """Return the judges that are wanted, if all of them are pairwise; else none."""
    known = set() if run.verdicts is None else {*run.verdicts["evaluator"].astype(str)}
    names = list(judges) or run.judges
    return names if known.issuperset(names) else []


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
    asked = spread.index.isin(aspects or known, level="aspect")
    split: dict[Any, float] = spread[(spread > 0) & asked].to_dict()
    if not split:
        raise MetaevalError(f"the verdicts of {', '.join(judges)} do not differ on any pair")

    def rank(name: tuple[str, ...]) -> tuple[float, bytes, int]:
        # Many pairs differ as much: those of all users come mixed, and each with all of its aspects.
        return -round(split[name], 9), ticket("order", name[:-1]), known.index(name[-1])

    found: dict[tuple[str, ...], list[str]] = {}
    for *pair, aspect in sorted(split, key=rank)[:n]:
        for order in (FIRST, SECOND):
            found.setdefault((*pair, order), []).append(aspect)
    return found


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
