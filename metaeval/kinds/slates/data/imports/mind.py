"""MIND → duels: a user's last impression with a click gives the candidates; clicks are the gains."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, Problem
from metaeval.data.tables.table import Table, read_headerless
from metaeval.kinds.slates.data.imports.collecting import Candidates, importer_of_duels, refuse_lines
from metaeval.kinds.slates.data.sampling import GAIN, Sampling
from metaeval.kinds.slates.data.slate_set import ITEM, USER, Domain
from metaeval.stats.resampling.weights import drawn

NEWS = Domain(
    platform="a large news site",
    noun="news article",
    plural="news articles",
    liked="click",
    popularity="widely read, newsworthy articles",
    diversity="different sections and topics",
)
_BEHAVIORS = ("impression_id", USER, "time", "history", "impressions")
_NEWS = (ITEM, "category", "subcategory", "title", "abstract", "url", "title_entities", "abstract_entities")
_FIELDS = ("title", "category", "subcategory", "abstract")


@importer_of_duels
def import_mind(folder: Path, how: Sampling) -> Candidates:
    """Read a release of MIND: the folder of ``behaviors.tsv`` and ``news.tsv``.

    The candidates are all articles of the user's last impression in which some were clicked and some not; the
    history is the one that stands beside it. An article that is in the history is no candidate.

    `DataError` is raised with the first wrong line, and how many there are; or if no duel can be made.
    """
    news, wrong = _read(folder / "news.tsv", _NEWS)
    refuse_lines(wrong)
    last = _last(_impressions(folder / "behaviors.tsv"), how)
    notes = [f"{counted(len(last), 'user')} with an impression of {how.size} articles, some of them clicked"]
    last = last[last[USER].isin(drawn(last[USER], how.users, how.seed))]
    shown = _items(last, "impressions")
    shown[GAIN] = shown[ITEM].str.endswith("-1").astype(float)
    shown[ITEM] = shown[ITEM].str[:-2]
    shown = shown.sort_values(GAIN, ascending=False, kind="stable").drop_duplicates([USER, ITEM])
    read = _items(last, "history").drop_duplicates(keep="last")
    seen = pd.MultiIndex.from_frame(shown[[USER, ITEM]]).isin(pd.MultiIndex.from_frame(read))
    items = news.frame[[ITEM, *_FIELDS]].drop_duplicates(ITEM)
    about = {
        "licence": "Microsoft Research License Terms",
        "source": f"MIND (Wu et al. 2020), {folder.resolve().name}",
        "language": "en",
        "domain": NEWS._asdict(),
    }
    past = read.groupby(USER, sort=False).tail(how.history)
    return Candidates(about, shown[~seen], past, items, notes=notes)


def _read(path: Path, columns: tuple[str, ...]) -> tuple[Table, list[Problem]]:
    table, problems = read_headerless(path, columns)
    if table is None:
        raise DataError(problems)
    return table, problems


def _impressions(path: Path) -> pd.DataFrame:
    """Return the impressions in the order of time; raise `DataError` with the first wrong line."""
    table, problems = _read(path, _BEHAVIORS)
    frame = table.frame
    frame["when"] = pd.to_datetime(frame["time"], format="%m/%d/%Y %I:%M:%S %p", errors="coerce")
    listed = frame["impressions"].str.fullmatch(r"\s*\S+-[01](?:\s+\S+-[01])*\s*")
    for column, right, example in (
        (USER, frame[USER] != "", "U13740"),
        ("time", frame["when"].notna(), "11/15/2019 8:55:22 AM"),
        ("impressions", listed, "N55689-1 N35729-0, with 1 for a click and 0 for none"),
    ):
        wrong = (~right.to_numpy(dtype=bool)).nonzero()[0]
        given = frame[column].iloc[wrong].str[:40]
        problems += [
            table.problem(i, column, f"is {text!r}; write it as {example}")
            for i, text in zip(wrong.tolist(), given, strict=True)
        ]
    refuse_lines(sorted(problems, key=lambda problem: problem.row or 0))
    return frame.sort_values("when", kind="stable")


def _last(impressions: pd.DataFrame, how: Sampling) -> pd.DataFrame:
    """Return each user's last impression of enough articles of which some were clicked and some not."""
    shown = impressions["impressions"]
    mixed = shown.str.contains(r"-1(?:\s|$)") & shown.str.contains(r"-0(?:\s|$)")
    long = shown.str.count(r"\S+") >= how.size
    return impressions[mixed & long].drop_duplicates(USER, keep="last")


def _items(impressions: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a row per user and item of a list."""
    return impressions[[USER]].assign(**{ITEM: impressions[column].str.split()}).explode(ITEM).dropna()
