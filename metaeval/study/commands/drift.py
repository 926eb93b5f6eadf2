"""Two finished runs → whether the judge changed between them, or the system."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pandas as pd

from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.keys import key_columns
from metaeval.engine.sheet import Sheet
from metaeval.kinds.kind import kind_named
from metaeval.runs.command import show_in_report
from metaeval.runs.finished import OpenRun, open_run
from metaeval.study.plan import data_of
from metaeval.trust.calibration.record import changes, identity
from metaeval.trust.gate.drift import drift_sheets

Place = str | os.PathLike[str] | None


def drift_of(
    then: str | os.PathLike[str],
    now: str | os.PathLike[str],
    evaluators: Sequence[str] = (),
    *,
    data: Place = None,
    old_data: Place = None,
    cluster: str | None = None,
) -> list[Sheet]:
    """Split the change of scores between two runs; the options are those of `metaeval drift`."""
    old, new = open_run(then), open_run(now)
    known = [name for name in new.scores.evaluators if name in old.scores.evaluators]
    for name in evaluators:
        one_of(name, known, "the two runs have no evaluator")
    names = list(evaluators) or [name for name in new.judges if name in known]
    if not names:
        raise MetaevalError(
            "no judge is in both runs; name what is in both with --evaluator "
            f"({', '.join(known) or 'nothing is'})"
        )
    anchors = anchor_units(old, new, data, old_data)
    by = {noun: key for key, noun in new.nouns.items()} | {"unit": ""}
    key = by[one_of(cluster, list(by), "units cannot be clustered by", "but by")] if cluster else new.cluster
    known_changes = {
        name: changes(*(identity(run.scores.signatures[name]) for run in (old, new))) for name in names
    }
    sheets = drift_sheets(
        *(old.scores.frame, new.scores.frame, anchors, names),
        cluster=key,
        limits=_limits(new),
        notes=[
            f"Known to have changed of {n}: {'; '.join(c) or 'nothing'}." for n, c in known_changes.items()
        ],
        simulated=new.scores.simulation.among(names),
    )
    if not sheets:
        raise MetaevalError("no judge has scores of one aspect in both runs")
    show_in_report(new.folder, "drift", sheets)
    return sheets


def anchor_units(old: OpenRun, new: OpenRun, data: Place = None, old_data: Place = None) -> pd.DataFrame:
    """Return the units that have the same keys and texts in two runs; `MetaevalError` if none has.

    Data sets are loaded, from where the studies or ``data`` and ``old_data`` say, if they are not the same.
    """
    keys = list(key_columns(new.truth))
    for a, b in ((list(key_columns(old.truth)), keys), (_limits(old), _limits(new))):
        if a != b:
            raise MetaevalError(f"{old.folder} and {new.folder} cannot be compared: {a} is not {b}")
    if old.record.data.fingerprint == new.record.data.fingerprint:
        return new.scores.frame[keys].astype(str).drop_duplicates()
    texts = []
    for run, place in ((old, old_data), (new, data)):
        loaded = data_of(run, place)
        view = kind_named(run.record.study.kind).unit_view(loaded, ())
        shown = {f"text {i}": list(part.texts) for i, part in enumerate(view.texts)}
        if not shown:
            raise MetaevalError(f"the units of {run.folder} have no texts, so none are known to be the same")
        units = loaded.units[keys].astype(str).assign(**shown).fillna("")
        texts.append(units.drop_duplicates(keys))
    both: pd.DataFrame = texts[0].merge(texts[1], on=list(texts[0].columns))
    if both.empty:
        raise MetaevalError(
            f"no unit has the same keys and texts in {old.folder} and {new.folder}: judge some texts in "
            "both, as anchors"
        )
    return both.loc[:, keys]


def _limits(run: OpenRun) -> tuple[float, float]:
    return float(run.record.data.scale.min), float(run.record.data.scale.max)
