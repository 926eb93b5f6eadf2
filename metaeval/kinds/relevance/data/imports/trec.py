"""Files in TREC's formats → a collection: labels of any number of raters, and runs of systems."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, Problem
from metaeval.base.records import Scale
from metaeval.data.imports import Files
from metaeval.data.tables.table import Table, read_table
from metaeval.data.trec import SystemRuns, judge_files, read_qrels, read_runs, run_files
from metaeval.evaluators.recorded import ORIGINS
from metaeval.kinds.relevance.data.collection import KEYS, RELEVANCE, USER
from metaeval.kinds.relevance.data.loading import QUESTION, importer_of_labels

_LISTED = 20  # systems in a note
_SLIPS = 0.01  # share of a model's labels off people's scale, from which on it has a scale of its own


@importer_of_labels
def import_collection(
    qrels: Sequence[str | os.PathLike[str]],
    *,
    runs: Sequence[str | os.PathLike[str]] = (),
    items: str | os.PathLike[str] | None = None,
    histories: str | os.PathLike[str] | None = None,
    profiles: str | os.PathLike[str] | None = None,
    scale: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
    labels: Mapping[int, str] | None = None,
    relevant: float | None = None,
    unjudged: float | None = None,
    depth: int = 0,
    drawn: int = 0,
    statement: str = QUESTION,
    aspects: Mapping[str, str] | None = None,
    columns: Mapping[str, str] | None = None,
) -> Files:
    """Make a collection of files.

    Parameters
    ----------
    qrels
        Files of labels: ``NAME=FILE``, or a file or pattern, whose raters have the names of their files. The
        first is of people, the others are models. What is no number counts as missing.
    runs
        Run files, or folders of them; a system has the name in the last field of its lines. Users that no
        label is about are left out.
    items, histories, profiles
        Tables (CSV, TSV, JSONL, Parquet) with ``item_id``, with both, and with ``user_id``.
    scale
        The least and the greatest label of people, or a mapping from raters to theirs. If left out, they are
        taken from the labels of the rater, and 0. A model of which at most 1 % of the labels are not on
        people's scale has that scale, and these labels count as missing; any other has a scale of its own.
    labels
        Label → its name.
    relevant
        The lowest label of people that counts as relevant; 1 if left out, or of fractions the lowest above 0.
        By a scale of its own, each label above the lowest and above 0 is relevant.
    unjudged
        The label, such as -1, that says that nobody judged: its rows are left out.
    depth
        The first how many items of each list are judged even if no one labelled them.
    drawn
        How many of the items in a user's lists are judged, too, drawn at random.
    statement
        What raters were asked.
    aspects
        Further aspects, such as familiarity → what raters were asked. The labels of one are given as
        ``NAME:ASPECT=FILE``; people's say its scale, unless ``scale`` has one of that name.
    columns
        Of labels and runs that are tables (CSV, TSV), field → its column: ``query``, ``document`` and
        ``label``; ``user_id``, ``item_id``, ``rank``, ``score`` and ``system``.

    Raises
    ------
    DataError
        With every problem found, with file and line.
    """
    if drawn and not runs:
        raise DataError("drawn items come from the lists of systems; give --runs")
    every = _raters(qrels)
    raters, of_aspects, further = _by_aspect(every, aspects or {})
    people = next(iter(raters))
    labels_of, problems = _labels(every, columns, unjudged)
    beside = {name: labels_of.pop(name) for name in of_aspects}
    truth = labels_of[people]
    given = scale if isinstance(scale, Mapping) else {people: scale} if scale else {}
    wanted = {rater or people: ends for rater, ends in given.items()}
    if unknown := sorted(wanted.keys() - every.keys()):
        raise DataError(f"--scale names {unknown[0]!r}; the raters are {', '.join(map(repr, every))}")
    ends = _scale(truth, wanted.get(people))
    notes = [f"the scale is taken from the labels of {people!r}: {ends}; --scale gives another"]
    message = "the label {!r} is not on the scale; allowed are {}"
    off = truth[[number not in ends for number in truth["label"]]]
    problems += [
        Problem(raters[people].name, line, "label", message.format(text, ends))
        for line, text in zip(off["line"], off["text"], strict=True)
    ]
    scales = {
        rater: own
        for rater, frame in labels_of.items()
        if (own := _scale(frame, wanted.get(rater))) != ends
        and (rater in wanted or _off(frame, ends).mean() > _SLIPS)
    }
    files = run_files(runs)
    system_runs, wrong = read_runs(files, columns) if files else (None, [])
    problems += wrong
    tables, wrong = _known({"items": items, "histories": histories, "profiles": profiles})
    problems += wrong
    if problems:
        raise DataError(problems)
    notes = [] if people in wanted else notes
    above = truth["label"][truth["label"] > 0]
    lowest = relevant if relevant is not None else 1 if ends.integer or above.empty else float(above.min())
    if relevant is None and (ends.min < 0 or not ends.integer):
        notes.append(
            f"relevant is a label of {lowest:g} or more, never one below 0; --relevant gives another"
        )
    notes += [f"labels of {unjudged:g} mean not judged, and are left out"] if unjudged is not None else []
    if (truth["label"] == -1).any():
        notes.append("-1 is a label like others; --unjudged=-1 says that it means not judged")
    notes += filter(None, (_odd(r, f, truth, people, scales.get(r, ends)) for r, f in labels_of.items()))
    says = "a scale of its own, {}; --scale {}=MIN:MAX gives another"
    notes += [f"{rater}: {says.format(own, rater)}" for rater, own in scales.items()]
    parts = [f.assign(rater=of_aspects[n][0], aspect=of_aspects[n][2]) for n, f in beside.items()]
    labelled = pd.concat(
        [*(f.assign(aspect=RELEVANCE) for f in labels_of.values()), *parts], ignore_index=True
    )
    tables["labels"] = labelled[[*KEYS, "rater", "label", *(["aspect"] if beside else [])]]
    if system_runs is not None:
        tables["runs"], more = _known_users(system_runs, labelled[USER].drop_duplicates())
        notes += more
    origins = {
        rater: {"tool": "qrels", "file": file.name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
        for rater, file in every.items()
    }
    with_runs = f" and {counted(len(files), 'run file')}" if files else ""
    about = {
        "source": f"qrels file {raters[people].name}{with_runs}",
        "statement": statement,
        "scale": _facts(ends),
        "aspects": {
            aspect: {"statement": said, "scale": _facts(_scale(beside[name], wanted.get(name)))}
            for aspect, (name, said) in further.items()
        },
        "labels": {str(label): called for label, called in (labels or {}).items()},
        "relevant": int(lowest) if float(lowest).is_integer() else lowest,
        "depth": depth,
        "drawn": drawn,
        "models": list(dict.fromkeys([*raters, *(rater for rater, *_ in of_aspects.values())]))[1:],
        "scales": {rater: _facts(own) for rater, own in scales.items()},
        "extra": {ORIGINS: origins},
    }
    return Files(about, tables, notes)


def _known(
    places: Mapping[str, str | os.PathLike[str] | None],
) -> tuple[dict[str, Table | pd.DataFrame], list[Problem]]:
    """Return the tables of what is known of items and users, by their kind, and every problem."""
    read = {kind: read_table(Path(place)) for kind, place in places.items() if place is not None}
    tables: dict[str, Table | pd.DataFrame] = {kind: t for kind, (t, _) in read.items() if t is not None}
    return tables, [problem for _, wrong in read.values() for problem in wrong]


def _raters(places: Sequence[str | os.PathLike[str]]) -> dict[str, Path]:
    """Return the file of each rater, in the order given."""
    raters: dict[str, Path] = {}
    for text in map(str, places):
        name, sign, file = text.partition("=")
        named = bool(sign) and not Path(text).is_file()
        if named and not (name.strip() and Path(file).is_file()):
            raise DataError(f"there is no qrels file {file!r}; give NAME=FILE, such as human=human.qrels")
        for rater, path in ({name.strip(): Path(file)} if named else _stems(text)).items():
            if (other := raters.setdefault(rater, path)).resolve() != path.resolve():
                both = f"{str(other)!r} and {str(path)!r} would both be the rater {rater!r}"
                raise DataError(f"{both}; name one as NAME=FILE")
    if not raters:
        raise DataError("no labels are given; name at least one qrels file, such as human=human.qrels")
    return raters


def _by_aspect(
    every: Mapping[str, Path], aspects: Mapping[str, str]
) -> tuple[dict[str, Path], dict[str, tuple[str, str, str]], dict[str, tuple[str, str]]]:
    """Return the files of relevance; rater, ``:`` and aspect of the others; aspect → people's name, question.

    Raises `DataError` if people have no labels of relevance, or of an aspect.
    """
    others = {name: parts for name in every if (parts := name.rpartition(":"))[2] in aspects}
    raters = {name: file for name, file in every.items() if name not in others}
    if not raters:
        raise DataError("no labels of relevance are given; name one as NAME=FILE, such as human=human.qrels")
    further = {aspect: (f"{next(iter(raters))}:{aspect}", said) for aspect, said in aspects.items()}
    if lacking := [name for name, _ in further.values() if name not in others]:
        raise DataError(f"people have no labels of an aspect; give --qrels {lacking[0]}=FILE")
    return raters, others, further


def _stems(pattern: str) -> dict[str, Path]:
    """Return the files that a pattern means, by their names without suffixes."""
    return {Path(path.name.removesuffix(".gz")).stem: path for path in judge_files([pattern]).values()}


def _labels(
    raters: Mapping[str, Path], columns: Mapping[str, str] | None, unjudged: float | None
) -> tuple[dict[str, pd.DataFrame], list[Problem]]:
    """Return the key columns, ``rater``, ``label``, ``text`` (as it was) and ``line`` of each rater."""
    frames, problems = {}, []
    for rater, file in raters.items():
        frame, wrong = read_qrels(file, columns)
        problems += wrong
        frame = frame.rename(columns={"query": KEYS[0], "document": KEYS[1], "label": "text"})
        numbers = pd.to_numeric(frame["text"], errors="coerce").astype(float)
        frame = frame.assign(rater=rater, label=numbers.where(np.isfinite(numbers)))
        frames[rater] = frame if unjudged is None else frame[numbers != unjudged].reset_index(drop=True)
    return frames, problems


def _scale(frame: pd.DataFrame, wanted: tuple[float, float] | None) -> Scale:
    """Return the scale that is wanted, or that of the labels; of numbers, if any label is a fraction."""
    labels = frame["label"].dropna()
    low = min([0.0, *labels])
    least, most = wanted or (low, max([1.0, *labels]))
    return Scale(least, most, bool((labels % 1 == 0).all()))


def _facts(scale: Scale) -> dict[str, object]:
    return {"min": scale.min, "max": scale.max, "integer": scale.integer}


def _off(frame: pd.DataFrame, scale: Scale) -> pd.Series[bool]:
    """Say which labels are numbers that are not on a scale."""
    return frame["label"].map(lambda number: number not in scale) & frame["label"].notna()


def _odd(rater: str, frame: pd.DataFrame, truth: pd.DataFrame, people: str, scale: Scale) -> str:
    """Return what is odd about a rater's labels, as a line; empty if nothing is."""
    n_off, n_none = int(_off(frame, scale).sum()), int(frame["label"].isna().sum())
    both = len(frame[[*KEYS]].merge(truth[[*KEYS]]))
    counts = {
        "not on the scale": n_off,
        "no number": n_none,
        f"missing of what {people!r} labelled": len(truth) - both,
        f"on pairs that {people!r} did not label": len(frame) - both,
    }
    odd = ", ".join(f"{n:,} {what}" for what, n in counts.items() if n)
    return odd and f"{rater}: {counted(len(frame) - n_off - n_none, 'label')} on the scale, {odd}"


def _known_users(runs: SystemRuns, users: pd.Series[str]) -> tuple[pd.DataFrame, list[str]]:
    """Return the lists of users that have labels, and what is odd about the runs."""
    frame, notes = runs.frame, []
    known = frame[USER].isin(users)
    per_system = frame[USER].where(known).groupby(frame["system"], sort=False).nunique()
    if (per_system == 0).any():
        files = frame.groupby("system", sort=False)["file"].first()[per_system == 0]
        message = "names none of the users of the qrels; give the runs for these users"
        raise DataError([Problem(file, None, None, message) for file in files])
    if not known.all():
        first = frame.loc[~known].iloc[0]
        unknown = frame.loc[~known, USER].nunique()
        notes.append(
            f"{first['file']}, row {first['line']}: no qrels file has the user {first[USER]!r}; "
            f"{counted(int((~known).sum()), 'line')} of {counted(unknown, 'such user')} are left out"
        )
    lacking = (len(users) - per_system).loc[lambda n: n > 0].sort_values(ascending=False, kind="stable")
    if len(lacking):
        some = f"no list for some of the {len(users):,} users, which count as 0 there"
        notes.append(f"{some}: {_listed(lacking)}")
    if len(runs.ties):
        notes.append(
            f"{counted(int(runs.ties.sum()), 'tie')} of scores in {counted(len(runs.ties), 'system')}: "
            "broken by the order of the file if its lines are in the order of the scores, else by rank"
        )
    if len(runs.contradicting):
        notes.append(f"scores contradict ranks, so the scores are used: {_listed(runs.contradicting)}")
    if len(runs.masked):
        items = ", ".join(f"{name} ({counted(int(n), 'item')})" for name, n in runs.masked.items())
        notes.append(f"a score of -inf is no recommendation, and is left out: {items}")
    columns = ["system", *KEYS, "rank", "score"]
    return frame.loc[known, columns].reset_index(drop=True), notes


def _listed(counts: pd.Series[int]) -> str:
    first = [f"{name} ({counted(int(n), 'user')})" for name, n in counts.iloc[:_LISTED].items()]
    more = len(counts) - _LISTED
    return ", ".join(first) + (f" and {more:,} more" if more > 0 else "")
