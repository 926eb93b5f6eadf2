"""The sealed test: clusters that a study keeps apart before anything is scored, until one is chosen.

The clusters are drawn by their names and the seed of the study, so that other rows, evaluators or prompts
draw the same, and a greater share seals those of a smaller one and more.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from metaeval.base.counts import counted, plural_of
from metaeval.base.keys import cluster_columns
from metaeval.base.records import DataOfKind
from metaeval.data.units import KeyedUnits
from metaeval.engine.intervals import Bootstrap
from metaeval.kinds.index import kind_named
from metaeval.kinds.kind import StudyKind
from metaeval.kinds.study import Study, unknown_word
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS
from metaeval.stats.resampling.weights import drawn

if TYPE_CHECKING:
    import pandas as pd


class Parted(NamedTuple):
    """The data of a study in two."""

    open: DataOfKind
    """What everything but the sealed test sees."""
    sealed: DataOfKind | None
    """The other clusters; None if the study seals none."""


def parted(study: Study, data: DataOfKind) -> Parted:
    """Part the data of a study, without what it excludes, into what is open and what is sealed.

    `StudyError` is raised if there is no such column, if it parts a cluster, or if a side has fewer than six
    clusters.
    """
    kind = kind_named(study.kind)
    if study.sealed is None:
        return Parted(kind.chosen(study, data), None)
    column = sealed_column(study, data)
    of_unit = data.units[column].astype(str)
    names = sorted(of_unit.unique())
    apart = _drawn(study, names) if isinstance(study.sealed, float) else _named(study, kind, data, column)
    check_sides(study, column, len(names) - len(apart), len(apart))
    kept, sealed = data.without(column, apart), data.without(column, sorted({*names} - {*apart}))
    kept, sealed = (kind.chosen(study, part) for part in (kept, sealed))
    # A judge is shown the same examples on both sides: no rating that is sealed.
    return Parted(kept, replace(sealed, examples=kept) if isinstance(sealed, KeyedUnits) else sealed)


def sealed_column(study: Study, data: DataOfKind) -> str:
    """Return the key column whose values are sealed whole: the one by which the study resamples."""
    by = study.bootstrap.cluster if study.bootstrap else None
    return cluster_columns(data.keys).get(by or "", data.cluster)


def digest_of_clusters(data: DataOfKind, column: str) -> str:
    """Return a SHA-256 of the names of the clusters of a data set, which tells whether others are sealed."""
    names = sorted(data.units[column].astype(str).unique())
    return hashlib.sha256("\x1f".join([column, *names]).encode("utf-8", "surrogatepass")).hexdigest()


def check_sides(study: Study, column: str, kept: int, sealed: int) -> None:
    """Raise `StudyError` if a side has fewer than six clusters."""
    if min(kept, sealed) >= FEWEST_CLUSTERS:
        return
    one = column.removesuffix("_id")
    raise study.error(
        f"sealed leaves {counted(kept, one)} to choose by and {sealed:,} for the test; each side needs "
        f"{FEWEST_CLUSTERS} {plural_of(one)} or more with a truth",
        "sealed",
    )


def _drawn(study: Study, names: list[str]) -> list[str]:
    share = study.sealed
    assert isinstance(share, float)  # noqa: S101 - the caller has seen to it
    count = round(share * len(names))
    return drawn(names, count, (study.bootstrap or Bootstrap()).seed) if count else []


def _named(study: Study, kind: StudyKind, data: DataOfKind, cluster: str) -> list[str]:
    """Return the clusters that have the sealed values of a column."""
    assert isinstance(study.sealed, dict)  # noqa: S101 - the caller has seen to it
    ((column, values),) = study.sealed.items()
    with study.errors_at("sealed", column):
        known: pd.DataFrame = kind.column(data, column)
    by = [c for c in known if c != "category"]
    category = data.units[by].astype(str).merge(known.drop_duplicates(by), how="left", on=by)["category"]
    have = sorted({str(value) for value in category.dropna()})
    for at, value in enumerate(values):
        if value not in have:
            raise study.error(unknown_word(column, value, have), "sealed", column, at)
    of_cluster = category.isin(values).groupby(data.units[cluster].astype(str).to_numpy())
    apart = of_cluster.any()
    both = apart.index[apart & ~of_cluster.all()]
    if len(both):
        raise study.error(
            f"the {cluster.removesuffix('_id')} {both[0]!r} has units with and without these values of "
            f"{column}; what is sealed is sealed whole",
            "sealed",
            column,
        )
    return [str(name) for name in apart.index[apart]]
