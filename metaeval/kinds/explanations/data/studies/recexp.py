"""The explanation study of RecSys 2024 (Zhang et al., *Large Language Models as Evaluators for Recommendation
Explanations*) from its four released files.

The users' ids in the released pickle are personal data. They are compared, replaced by those of
``df_explanation_selected.csv`` and not kept: neither in the data set nor in the text of an error.
"""  # noqa: D205

from __future__ import annotations

import html
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, Problem, sound
from metaeval.base.progress import progress
from metaeval.base.records import USER_RATER
from metaeval.kinds.explanations.data.check import build
from metaeval.kinds.explanations.data.explanation_set import KEYS
from metaeval.kinds.explanations.data.folder import refuse_if_in_the_way, save
from metaeval.kinds.explanations.data.manifest import Manifest
from metaeval.kinds.files.manifest import ScaleModel
from metaeval.sources.download import download
from metaeval.sources.tables.columns import number_column
from metaeval.sources.tables.pickles import read_frame
from metaeval.sources.tables.table import Table, from_frame, read_table

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet

PICKLE, SELECTED, ANNOTATED, PROFILES = FILES = (
    "df_explanation.pkl",
    "df_explanation_selected.csv",
    "third_party.csv",
    "user_demo.csv",
)

_COMMIT = "6c2f3eb"
BASE_URL = f"https://github.com/Xiaoyu-SZ/LLMasEvaluator/raw/{_COMMIT}/data/"
DIGESTS: Mapping[str, str] = {
    PICKLE: "8ecb15590dad73a68c07ca7addb3eee70ddb5a8ba875d5776ecc0cb11fa46183",
    SELECTED: "2b58ccce486103155fcf078bc9bd0815761969312f405cc84d23218a8e4aa791",
    ANNOTATED: "bd03812b80a440bd7b9f3d3304247fc366e7c423f93d6ce984c772d4ea5f8751",
    PROFILES: "1ab75811ac0244ac8e24d36ec15404290591f2b4125e35ba792ed36721cd950a",
}

_ASPECTS = {  # the statements of section 2.2.2 of the paper
    "persuasiveness": "This explanation is convincing to me",
    "transparency": "Based on this explanation, I understand why this movie is recommended",
    "accuracy": "This explanation is consistent with my interests",
    "satisfaction": "I am satisfied with this explanation",
}
# The columns of the aspects: of the users' ratings, and of the annotators', before the name of one.
_OWN = {aspect: aspect for aspect in _ASPECTS} | {"accuracy": "interest_accuracy"}
_THEIRS = {aspect: aspect for aspect in _ASPECTS} | {"satisfaction": "satisfactory"}
_ANNOTATORS = ("1", "2")
_ITEM = ["movie_id", "explanation_type"]
_NEEDED = {
    PICKLE: ["user_id", *_ITEM, "movie_title", "explanation", "self_explanation", *_OWN.values()],
    SELECTED: ["user_id", *_ITEM],
    ANNOTATED: [*_ITEM, *(f"{column}_{a}" for a in _ANNOTATORS for column in _THEIRS.values())],
    PROFILES: ["user_id", "gender", "user_movie_interest", "peryear", "total"],
}


def fetch_recexp(
    out: str | os.PathLike[str],
    *,
    base_url: str = BASE_URL,
    digests: Mapping[str, str] = DIGESTS,
    force: bool = False,
) -> ExplanationSet:
    """Download the files of the RecSys 2024 explanation study and make a data set of them at ``out``.

    The files are in a temporary folder, which is removed after the import: the pickle holds personal data.

    Parameters
    ----------
    base_url
        Where the files are; ends with a slash.
    digests
        Name of each file → its SHA-256.

    Raises
    ------
    DataError
        If a file cannot be had, or is not the one that was released; nothing is written then.
    """
    refuse_if_in_the_way(Path(out), force=force)
    with tempfile.TemporaryDirectory(prefix="metaeval-fetch-") as folder:
        with progress("downloading", len(digests)) as advance:
            for name, digest in digests.items():
                download(base_url + name, digest, Path(folder) / name)
                advance()
        return import_recexp(folder, out, force=force)


def import_recexp(
    source: str | os.PathLike[str], out: str | os.PathLike[str], *, force: bool = False
) -> ExplanationSet:
    """Make a data set of the four released files in the folder ``source``, write it to ``out`` and return it.

    It has the texts as people saw them (HTML removed), the user's own explanation as ``reference``, the
    ratings of the user and of the annotators ``1`` and ``2``, and the profiles of those who took part. A
    rating that a user did not give stays missing.

    Raises
    ------
    DataError
        If a file is missing or not laid out as released, or ``out`` is in the way.
    """
    refuse_if_in_the_way(Path(out), force=force)
    data = _read(Path(source))
    save(data, out, force=force)
    return data


def _read(folder: Path) -> ExplanationSet:
    if not folder.is_dir():
        raise DataError(f"there is no folder {str(folder)!r}; give the one that holds {', '.join(FILES)}")
    absent = [name for name in FILES if not (folder / name).is_file()]
    if absent:
        raise DataError([Problem(name, None, None, f"is not in {str(folder)!r}") for name in absent])
    pickled = from_frame(read_frame(folder / PICKLE), PICKLE)
    selected, annotated, profiles = (
        sound(read_table(folder / name)) for name in (SELECTED, ANNOTATED, PROFILES)
    )
    problems = [
        Problem(table.name, None, column, "is missing; the file is not laid out as released")
        for table in (pickled, selected, annotated, profiles)
        for column in _NEEDED[table.name]
        if column not in table.frame.columns
    ]
    if problems:
        raise DataError(problems)
    _check_alignment(pickled, selected)
    _check_alignment(annotated, selected)
    _check_users(pickled, selected)

    keys = selected.frame[_NEEDED[SELECTED]].set_axis(KEYS, axis="columns")
    explanations = keys.assign(
        explanation=[seen_text(t) for t in pickled.frame["explanation"]],
        item_title=pickled.frame["movie_title"],
        reference=[str(t).strip() for t in pickled.frame["self_explanation"]],
    )
    users = profiles.frame[_NEEDED[PROFILES]].map(html.unescape)
    users = users[users["user_id"].isin(keys["user_id"].unique())].reset_index(drop=True)
    tables = {
        "explanations": from_frame(explanations, SELECTED),
        "ratings": _ratings(keys, pickled, annotated),
        "users": from_frame(users, PROFILES),
    }
    manifest = Manifest(
        name="recexp",
        licence="none stated",
        source=f"data/ of github.com/Xiaoyu-SZ/LLMasEvaluator at {_COMMIT}",
        language="zh",
        aspects=_ASPECTS,
        scale=ScaleModel(min=1, max=5, integer=True),
    )
    return sound(build(manifest, tables))


def seen_text(source: str) -> str:
    """Return the text of an explanation stored as HTML, stripped."""
    from bs4 import BeautifulSoup

    if "<" not in source and "&" not in source:
        return source.strip()
    return str(BeautifulSoup(source, "html.parser").get_text()).strip()


def _check_alignment(table: Table, selected: Table) -> None:
    """Check that item and type agree in every row: rows are matched by position."""
    if len(table.frame) != len(selected.frame):
        raise DataError(
            f"{table.name} has {len(table.frame)} rows and {SELECTED} {len(selected.frame)}; "
            "they must be the same rows in the same order"
        )
    problems = []
    for column in _ITEM:
        differ = table.frame[column].map(str).to_numpy() != selected.frame[column].map(str).to_numpy()
        message = f"differs from the same row of {SELECTED}; the rows must be in one order"
        problems += [table.problem(i, column, message) for i in np.flatnonzero(differ).tolist()]
    if problems:
        raise DataError(problems)


def _check_users(pickled: Table, selected: Table) -> None:
    """Check that both files group the rows by user alike, though their user ids differ."""
    # Users are numbered in the order of first occurrence: equal grouping means equal numbers.
    raw, public = (pd.factorize(t.frame["user_id"].map(str))[0] for t in (pickled, selected))
    for i in np.flatnonzero(raw != public)[:1].tolist():
        raise DataError([pickled.problem(i, "user_id", f"groups the rows otherwise than {SELECTED}")])


def _ratings(keys: pd.DataFrame, pickled: Table, annotated: Table) -> Table:
    parts: list[pd.DataFrame] = []
    labels: list[str] = []
    problems: list[Problem] = []
    for aspect in _ASPECTS:
        columns = [(USER_RATER, pickled, _OWN[aspect])]
        columns += [(a, annotated, f"{_THEIRS[aspect]}_{a}") for a in _ANNOTATORS]
        for rater, table, column in columns:
            numbers, found = number_column(table, column)
            problems += found
            parts.append(keys.assign(rater=rater, aspect=aspect, rating=numbers))
            labels.append(f"{rater}: {aspect}")
    frame = sound((pd.concat(parts, ignore_index=True), problems))
    of_rows = np.repeat(np.array(labels, dtype=object), len(keys))
    return Table("ratings", frame, np.tile(pickled.rows, len(parts)), value_labels=of_rows)
