"""What commands on verdicts say first: who is ahead, and whether it is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from metaeval.analysis.verdict_axioms import ASYMMETRY
from metaeval.base.counts import listed
from metaeval.base.records import AVERAGE
from metaeval.base.spec import printed_name
from metaeval.engine.sheet import Sheet
from metaeval.evaluators.verdicts import Orders
from metaeval.reports.cells import printed_rows
from metaeval.runs.judge_trust import few_of
from metaeval.trust.verdicts.accuracy import ALL

_ALPHA = 0.05


def ranking_lines(sheet: Sheet) -> list[str]:
    """Say which generator each evaluator ranks first, from the sheet ``ranking``.

    It is shown to be better than the others if its interval lies above all of theirs. Evaluators of which the
    same is said have one line.
    """
    of: dict[str, list[str]] = {}
    for evaluator, rows in sheet.frame.groupby("evaluator", sort=False, observed=True):
        averaged = rows["aspect"] == AVERAGE
        said = _first(rows[averaged] if averaged.any() else rows)
        of.setdefault(said, []).append(printed_name(str(evaluator), sheet.names))
    return [f"By {few_of(names)}, {said}." for said, names in of.items()]


def _first(rows: pd.DataFrame) -> str:
    average = " on average over aspects" if (rows["aspect"] == AVERAGE).all() else ""
    of = f"of {len(rows)} by Bradley–Terry{average}"
    if not (rows["group"] == 1).all():
        return f"which generator is first {of} cannot be told: no pairs connect all of them"
    first, others = rows[rows["bt_rank"] == 1], rows[rows["bt_rank"] > 1]
    names = listed([*first["generator"].map(str)])
    if len(first) > 1:
        return f"{names} are equal, and ranked first {of}"
    if first["bt_low"].item() > others["bt_high"].max():
        return f"{names} is ranked first {of}, and is {_better_than(others)}"
    second = others.sort_values("bt_rank", kind="stable")["generator"].iloc[0]
    return f"{names} is ranked first {of}; whether it is better than {second} cannot be told"


def _better_than(others: pd.DataFrame) -> str:
    return f"shown to be better than {'the' if len(others) == 1 else 'every'} other"


def accuracy_lines(accuracy: Sheet, judges: Sheet | None, orders: Orders) -> Iterator[str]:
    """Say who is right most often on each aspect, from the sheets ``accuracy`` and ``judges``.

    It is shown to be better than another if the p-value of the two, by Holm's correction, is 0.05 or below.
    """
    printed = pd.DataFrame(printed_rows(accuracy), index=accuracy.frame.index)
    frame = accuracy.frame.assign(name=printed["evaluator"], cell=printed["accuracy"])
    frame = frame[(frame["group"] == ALL) & (frame["against"] == "gold")]
    for aspect, rows in frame.groupby("aspect", sort=False, observed=True):
        on = f"{aspect!s}: " if aspect else ""
        best = rows.sort_values("accuracy", ascending=False, kind="stable").iloc[0]
        if judges is None or len(rows) == 1:
            of = "verdicts" if orders == "each" else "pairs"
            yield f"{on}{best['name']} is right in {best['cell']} of {of}."
            continue
        others = _not_worse(judges.frame[judges.frame["aspect"] == aspect], str(best["evaluator"]))
        names = [str(name) for name in rows.loc[rows["evaluator"].isin(others), "name"]]
        shown = f"; whether it is better than {few_of(names)} cannot be told" if names else ""
        yield (
            f"{on}{'of' if on else 'Of'} {len(rows)} judges, {best['name']} is right most often "
            f"({best['cell']}){shown or f', and is {_better_than(rows[1:])}'}."
        )


def _not_worse(pairs: pd.DataFrame, best: str) -> Sequence[str]:
    """Return the judges that are not shown to be worse than one."""
    open_ = pairs[~(pairs["p_holm"] <= _ALPHA)]
    return [
        str(other)
        for one, two in zip(open_["first"], open_["second"], strict=True)
        for name, other in ((one, two), (two, one))
        if name == best
    ]


def coherence_lines(sheet: Sheet) -> Iterator[str]:
    """Say of each task which judge says the same in both orders most often, from the sheet ``coherence``."""
    printed = pd.DataFrame(printed_rows(sheet), index=sheet.frame.index)
    frame = sheet.frame.assign(name=printed["evaluator"], cell=printed["estimate"])
    frame = frame[frame["axiom"] == ASYMMETRY]
    for task, every in frame.groupby("task", sort=False, observed=True):
        rows = every[every["n"] > 0].sort_values("estimate", ascending=False, kind="stable")
        on = f"{task!s}: " if "task" in printed else ""
        names = few_of([str(name) for name in every["name"]])
        if rows.empty:
            yield f"{on}{names}: no pair was seen in both orders, so that contradictions cannot be told."
        elif len(rows) == 1:
            name, share = rows[["name", "cell"]].iloc[0]
            yield f"{on}{name} says the same in both orders of {share} of pairs."
        else:
            (most, high), (least, low) = rows[["name", "cell"]].iloc[[0, -1]].to_numpy()
            yield (
                f"{on}{most} says the same in both orders of the most pairs ({high}), {least} of the fewest "
                f"({low}), of {len(rows)} judges."
            )
