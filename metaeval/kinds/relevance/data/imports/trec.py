"""Files in TREC's formats → a collection: labels of any number of raters, and runs of systems."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, Problem
from metaeval.base.records import Scale
from metaeval.evaluators.recorded import ORIGINS
from metaeval.kinds.relevance.data.collection import KEYS, USER
from metaeval.kinds.relevance.data.imports.collecting import collected
from metaeval.kinds.relevance.data.loading import refuse_if_in_the_way
from metaeval.kinds.relevance.data.manifest import QUESTION
from metaeval.sources.tables.table import read_table
from metaeval.sources.trec.qrels import judge_files, read_qrels
from metaeval.sources.trec.runs import read_runs, run_files

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from metaeval.kinds.files.loading import Imported
    from metaeval.kinds.relevance.data.collection import Collection
    from metaeval.sources.tables.table import Table
    from metaeval.sources.trec.runs import SystemRuns

_LISTED = 20  # systems in a note


def import_collection(
    qrels: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    runs: Sequence[str | os.PathLike[str]] = (),
    items: str | os.PathLike[str] | None = None,
    histories: str | os.PathLike[str] | None = None,
    profiles: str | os.PathLike[str] | None = None,
    scale: tuple[float, float] | None = None,
    labels: Mapping[int, str] | None = None,
    relevant: int | None = None,
    depth: int = 0,
    statement: str = QUESTION,
    name: str | None = None,
    force: bool = False,
) -> Imported[Collection]:
    """Make a collection of files.

    Parameters
    ----------
    qrels
        Files of labels: ``NAME=FILE``, or a file or pattern, whose raters have the names of their files. The
        first is of people: each of its labels must be on the scale. The others are models; a label of theirs
        that is not on the scale is kept and counts as missing, as does what is no number.
    out
        The folder to write.
    runs
        Run files, or folders of them; a system has the name in the last field of its lines. Users that no
        label is about are left out.
    items, histories, profiles
        Tables (CSV, TSV, JSONL, Parquet) with ``item_id``, with both, and with ``user_id``.
    scale
        The least and the greatest label; as people gave them, and 0, if left out.
    labels
        Label → its name.
    relevant
        The lowest label that counts as relevant; the second of the scale if left out.
    depth
        The first how many items of each list are judged even if no one labelled them.
    statement
        What raters were asked.
    name
        Of the data set; the name of the folder, if None.

    Raises
    ------
    DataError
        With every problem found, with file and line.
    """
    refuse_if_in_the_way(Path(out), force=force)
    raters = _raters(qrels)
    people = next(iter(raters))
    given, problems = _labels(raters)
    ends, notes = _scale(given[people], people, scale)
    problems += [
        Problem(
            raters[people].name, line, "label", f"the label {label!r} is not on the scale; allowed are {ends}"
        )
        for line, label, number in given[people][["line", "given", "label"]].itertuples(index=False)
        if number not in ends
    ]
    files = run_files(runs)
    found, wrong = read_runs(files) if files else (None, [])
    problems += wrong
    tables: dict[str, Table | pd.DataFrame] = {}
    for kind, place in (("items", items), ("histories", histories), ("profiles", profiles)):
        if place is not None:
            table, wrong = read_table(Path(place))
            problems += wrong
            if table is not None:
                tables[kind] = table
    if problems:
        raise DataError(problems)
    notes += filter(None, (_odd(rater, frame, given[people], people, ends) for rater, frame in given.items()))
    labelled = pd.concat(given.values(), ignore_index=True)[[*KEYS, "rater", "label"]]
    tables["labels"] = labelled
    if found is not None:
        tables["runs"], told = _known_users(found, labelled[USER].drop_duplicates())
        notes += told
    origins = {
        rater: {"tool": "qrels", "file": file.name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
        for rater, file in raters.items()
    }
    about = {
        "name": name or Path(out).resolve().name,
        "source": f"qrels file {raters[people].name}"
        + (f" and {counted(len(files), 'run file')}" if files else ""),
        "statement": statement,
        "scale": {"min": ends.min, "max": ends.max},
        "labels": {str(label): called for label, called in (labels or {}).items()},
        "relevant": int(ends.min) + 1 if relevant is None else relevant,
        "depth": depth,
        "models": list(raters)[1:],
        "extra": {ORIGINS: origins},
    }
    return collected(about, tables, out, notes=notes, force=force)


def _raters(given: Sequence[str | os.PathLike[str]]) -> dict[str, Path]:
    """Return the file of each rater, in the order given."""
    found: dict[str, Path] = {}
    for text in map(str, given):
        name, sign, file = text.partition("=")
        named = bool(sign) and not Path(text).is_file()
        if named and not (name.strip() and Path(file).is_file()):
            raise DataError(f"there is no qrels file {file!r}; give NAME=FILE, such as human=human.qrels")
        for rater, path in ({name.strip(): Path(file)} if named else _stems(text)).items():
            if found.setdefault(rater, path).resolve() != path.resolve():
                raise DataError(
                    f"{str(found[rater])!r} and {str(path)!r} would both be the rater {rater!r}; "
                    "name one as NAME=FILE"
                )
    if not found:
        raise DataError("no labels are given; name at least one qrels file, such as human=human.qrels")
    return found


def _stems(pattern: str) -> dict[str, Path]:
    """Return the files that a pattern means, by their names without suffixes."""
    return {Path(path.name.removesuffix(".gz")).stem: path for path in judge_files([pattern]).values()}


def _labels(raters: Mapping[str, Path]) -> tuple[dict[str, pd.DataFrame], list[Problem]]:
    """Return the key columns, ``rater``, ``label``, ``given`` (as it was) and ``line`` of each rater."""
    frames, problems = {}, []
    for rater, file in raters.items():
        frame, found = read_qrels(file)
        problems += found
        frame = frame.rename(columns={"query": KEYS[0], "document": KEYS[1], "label": "given"})
        numbers = pd.to_numeric(frame["given"], errors="coerce").astype(float)
        frames[rater] = frame.assign(rater=rater, label=numbers.where(np.isfinite(numbers)))
    return frames, problems


def _scale(people: pd.DataFrame, rater: str, given: tuple[float, float] | None) -> tuple[Scale, list[str]]:
    if given is not None:
        return Scale(*given), []
    whole = people["label"][people["label"] % 1 == 0]
    low = min([0.0, *whole])
    high = max([low + 1, *whole])
    ends = Scale(low, high)
    return ends, [f"the scale is taken from the labels of {rater!r}: {ends}; --scale gives another"]


def _odd(rater: str, frame: pd.DataFrame, truth: pd.DataFrame, people: str, scale: Scale) -> str:
    """Return what is odd about a rater's labels, as a line; empty if nothing is."""
    labels = frame["label"]
    on_scale = labels.map(lambda n: n in scale)
    both = len(frame[[*KEYS]].merge(truth[[*KEYS]]))
    counts = {
        "not on the scale": int((~on_scale & labels.notna()).sum()),
        "no number": int(labels.isna().sum()),
        f"missing of what {people!r} labelled": len(truth) - both,
        f"on pairs that {people!r} did not label": len(frame) - both,
    }
    told = ", ".join(f"{n:,} {what}" for what, n in counts.items() if n)
    return told and f"{rater}: {counted(int(on_scale.sum()), 'label')} on the scale, {told}"


def _known_users(runs: SystemRuns, users: pd.Series[str]) -> tuple[pd.DataFrame, list[str]]:
    """Return the lists of users that have labels, and what is odd about the runs."""
    frame, notes = runs.frame, []
    known = frame[USER].isin(users)
    lists = frame.loc[known].groupby("system")[USER].nunique()
    per_system = lists.reindex(frame["system"].unique(), fill_value=0)
    if (per_system == 0).any():
        named = frame.drop_duplicates("system").set_index("system")["file"]
        message = "names none of the users of the qrels; give the runs for these users"
        raise DataError([Problem(named[s], None, None, message) for s in per_system.index[per_system == 0]])
    if not known.all():
        first = frame.loc[~known].iloc[0]
        unknown = frame.loc[~known, USER].nunique()
        notes.append(
            f"{first['file']}, row {first['line']}: no qrels file has the user {first[USER]!r}; "
            f"{counted(int((~known).sum()), 'line')} of {counted(unknown, 'such user')} are left out"
        )
    lacking = (len(users) - per_system).loc[lambda n: n > 0].sort_values(ascending=False, kind="stable")
    if len(lacking):
        notes.append(
            f"no list for some of the {len(users):,} users, which count as 0 there: "
            f"{_listed(lacking, 'user')}"
        )
    if len(runs.ties):
        notes.append(
            f"{counted(int(runs.ties.sum()), 'tie')} of scores in {counted(len(runs.ties), 'system')}: "
            "broken by the order of the file if its lines are in the order of the scores, else by rank"
        )
    if len(runs.contradicting):
        notes.append(
            f"scores contradict ranks, so the scores are used: {_listed(runs.contradicting, 'user')}"
        )
    columns = ["system", *KEYS, "rank", "score"]
    return frame.loc[known, columns].reset_index(drop=True), notes


def _listed(counts: pd.Series[int], noun: str) -> str:
    told = [f"{name} ({counted(int(n), noun)})" for name, n in counts.iloc[:_LISTED].items()]
    more = len(counts) - _LISTED
    return ", ".join(told) + (f" and {more:,} more" if more > 0 else "")
