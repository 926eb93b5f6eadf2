"""The tables of an analysis of ensembles."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from metaeval.analysis.ensemble_subsets import Ensembles, Unit
from metaeval.base.counts import plural_of
from metaeval.base.records import AVERAGE
from metaeval.engine.sentences import NO_BOOTSTRAP
from metaeval.engine.sheet import Column, Form, Sheet

_COSTS: dict[Unit, tuple[str, Form]] = {
    "usd": ("USD per unit", "usd"),
    "tokens": ("tokens per unit", "number"),
    "judges": ("cost (judges)", "count"),
}

_COST_NOTES: dict[Unit, str] = {
    "usd": "The cost of an ensemble is the sum of its judges' USD for one unit on all aspects of the run.",
    "tokens": (
        "The judges are free, or a price is unknown (`judging.prices` sets it): tokens stand for the cost."
    ),
    "judges": "The cost of a judge is unknown: the number of judges stands for the cost.",
}
_NOISIER = (
    "Generators' means over a fold are noisier than over all, which lowers accuracy there. Optimism is not "
    "affected."
)
_UNEQUAL = 3.0  # ratio of standard deviations from which on one judge dominates a mean


def ensemble_sheets(found: Ensembles) -> list[Sheet]:
    """Return the tables: by size, by judge, errors, frontier and choices."""
    return [
        _sizes(found),
        _contributions(found),
        _errors(found),
        _frontier(found),
        _choices(found),
    ]


def _sizes(found: Ensembles) -> Sheet:
    frame = found.sizes.assign(
        best_judges=[_named(best) for best in found.sizes["best_judges"]],
        who=[_who(best, found.judges) for best in found.sizes["best_judges"]],
    )
    columns = (
        Column("level", "Level"),
        Column("aspect", "Aspect"),
        Column("n_judges", "Judges", "count"),
        Column("n_subsets", "Subsets", "count"),
        *([Column("n_undefined", "undefined", "count")] if frame["n_undefined"].any() else []),
        *(Column(name, name, "hundred") for name in ("mean", "best", "worst", "spread")),
        Column("who", "best ensemble", keep=True),
    )
    notes = (
        *_what(found),
        *_unequal(found),
        "Spread is the standard deviation over the subsets of a size.",
        (
            "The best of many subsets looks better than it is: the table of choices shows its value on "
            "held-out data."
        ),
    )
    return Sheet("sizes", "Ensembles by size", frame, columns, notes)


def _contributions(found: Ensembles) -> Sheet:
    cost, form = _COSTS[found.costs.unit]
    undefined = found.sizes.loc[found.sizes["aspect"] == found.aspects[-1], "n_undefined"].any()
    columns = (
        Column("level", "Level"),
        Column("judge", "Judge"),
        Column("alone", "alone", "hundred"),
        Column("shapley", "Shapley value", "hundred"),
        Column("joining", "mean gain", "hundred"),
        Column("cost", cost, form),
    )
    notes = (
        *_what(found),
        _aspect(found),
        (
            f"Shapley values split the accuracy of all {len(found.judges)} judges among them; no judge at "
            "all counts as 0."
        ),
        "Mean gain: the gain when the judge joins one or more others, the mean over subsets.",
        *(["An undefined accuracy counts as 0."] if undefined else []),
        _COST_NOTES[found.costs.unit],
    )
    return Sheet("judges", "Contribution of each judge", found.contributions, columns, notes)


def _errors(found: Ensembles) -> Sheet:
    columns = (
        Column("aspect", "Aspect"),
        Column("n_judges", "Judges", "count"),
        Column("mean_correlation", "mean correlation of errors", "hundred"),
        Column("effective", "effective number", "number"),
    )
    notes = (
        "An error is the standardised score minus the standardised truth, over all units.",
        (
            "Effective number: n / (1 + (n - 1) × mean correlation) (Kish 1965), the number of judges with "
            "independent errors that are as good as these n."
        ),
        "Weak judges miss the same parts of the truth, which is a shared error.",
        *(["The average is over the aspects' mean correlations."] if AVERAGE in found.aspects else []),
    )
    return Sheet("errors", "Correlation of the judges' errors", found.errors, columns, notes)


def _frontier(found: Ensembles) -> Sheet:
    cost, form = _COSTS[found.costs.unit]
    columns = (
        Column("level", "Level"),
        Column("cost", cost, form),
        Column("n_judges", "Judges", "count"),
        Column("accuracy", "accuracy", "hundred", "ci_low", "ci_high"),
        Column("p", "p", "p"),
        Column("mark", "against the best"),
        Column("who", "ensemble", keep=True),
    )
    rows = []
    for point in found.points.to_dict("records"):
        marks = [
            *(["the best"] if point["best"] else []),
            *(["significantly worse"] if point["worse"] else []),
            *(["cheapest not significantly worse"] if point["cheapest"] else []),
        ]
        judges = point["judges"]
        row = {**point, "judges": _named(judges), "n_judges": len(judges)}
        rows.append({**row, "mark": "; ".join(marks), "who": _who(judges, found.judges)})
    how = found.how
    notes = (
        *_what(found),
        _aspect(found),
        "The Pareto frontier: no ensemble that costs the same or less is more accurate.",
        *_no_users(found),
        (
            f"Intervals of {how.confidence:.0%} and p from {how.resamples:,} bootstrap resamples of the "
            f"{found.n_clusters} {plural_of(found.cluster)} (seed {how.seed})."
        ),
        (
            f"p is one-sided, of being as good as the best; at {how.alpha:g} or below, an ensemble is "
            "significantly worse. It is not corrected for the number of ensembles."
        ),
        *([NO_BOOTSTRAP] if found.between else []),
        _COST_NOTES[found.costs.unit],
    )
    return Sheet("frontier", "Accuracy and cost", pd.DataFrame(rows), columns, notes)


def _choices(found: Ensembles) -> Sheet:
    cost, form = _COSTS[found.costs.unit]
    people = plural_of(found.cluster)
    columns = (
        Column("level", "Level"),
        Column("rule", "choice"),
        Column("in_sample", f"on the {people} that chose it", "hundred"),
        Column("cross_fitted", f"on held-out {people}", "hundred"),
        Column("optimism", "optimism", "hundred"),
        Column("same", "same choice", "share"),
        Column("cost", cost, form),
        Column("cross_fitted_cost", f"{cost}, held out", "number" if form == "count" else form),
        Column("who", "ensemble chosen on all", keep=True),
    )
    rows = [
        {**c, "judges": _named(c["judges"]), "who": _who(c["judges"], found.judges)}
        for c in found.choices.to_dict("records")
    ]
    how = found.how
    folds = min(how.folds, found.n_clusters)
    notes = (
        *_what(found),
        _aspect(found),
        *_no_users(found),
        (
            f"Held out: the {found.n_clusters} {people} are split at random into {folds} folds, "
            f"{how.repeats} times (seed {how.seed}). An ensemble is chosen without a fold and evaluated on "
            "it; means over the folds."
        ),
        (
            f"Optimism: on the same folds, the accuracy of the ensemble chosen on all {people} minus that "
            "of the ensembles chosen without the fold."
        ),
        *([_NOISIER] if found.between else []),
        "Same choice: how often the ensemble chosen without a fold is the one chosen on all.",
        (
            "The test of the cheapest is made anew without each fold, with "
            f"{how.resamples_in_fold:,} resamples: fewer {people} prove less, so that it may choose cheaper "
            "ensembles."
        ),
        _COST_NOTES[found.costs.unit],
    )
    return Sheet(
        "choices",
        f"Ensembles chosen on some {people} and evaluated on others",
        pd.DataFrame(rows),
        columns,
        notes,
    )


def _what(found: Ensembles) -> list[str]:
    """Define accuracy, and count the units."""
    fewest, most = min(found.n_units), max(found.n_units)
    units = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
    missing = (
        f" Scores missing: {found.n_missing:,}, filled or dropped as in the study before means are taken; "
        "Mean(...) in a study is missing if a part is."
        if found.n_missing
        else ""
    )
    return [
        (
            f"Accuracy is Pearson's r × 100 of the mean of the judges' scores with the truth, on the "
            f"{units} units that all {len(found.judges)} judges have.{missing}"
        )
    ]


def _aspect(found: Ensembles) -> str:
    *rest, last = found.aspects
    return f"By the average over {len(rest)} aspects." if rest else f"By the aspect {last}."


def _unequal(found: Ensembles) -> list[str]:
    """Warn of scores on unlike scales."""
    if found.unequal < _UNEQUAL:
        return []
    return [
        (
            f"The scores of one judge spread {found.unequal:.3g} times as widely as those of another, and "
            "dominate a mean of the two."
        )
    ]


def _no_users(found: Ensembles) -> list[str]:
    if found.has_users:
        return []
    return [f"The data have no users: {plural_of(found.cluster)} are resampled and held out instead."]


def _who(members: Sequence[str], judges: Sequence[str]) -> str:
    """Name the members of an ensemble, or the other judges if these are fewer."""
    others = [j for j in judges if j not in members]
    if not others:
        return f"all {len(judges)}"
    return _named(members) if len(members) <= len(others) + 2 else f"all but {_named(others)}"


def _named(members: Sequence[str]) -> str:
    return " + ".join(members)
