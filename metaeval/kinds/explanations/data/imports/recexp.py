"""The explanation study of RecSys 2024 (Zhang et al., *Large Language Models as Evaluators for Recommendation
Explanations*) from its four released files.

The users' ids in the released pickle are personal data. They are not used: the rows of
``df_explanation_selected.csv`` are the same, in the same order, with ids that are none.
"""  # noqa: D205

from __future__ import annotations

import hashlib
import html
import io
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from bs4 import BeautifulSoup

from metaeval.base.errors import DataError, Problem, sound
from metaeval.base.progress import progress
from metaeval.base.records import USER_RATER
from metaeval.data.download import download
from metaeval.data.manifest import RatingScale
from metaeval.data.tables.columns import number_column
from metaeval.data.tables.maps import KEYS
from metaeval.data.tables.table import from_frame, read_table
from metaeval.kinds.explanations.data.check import build
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet, Manifest
from metaeval.kinds.explanations.data.loading import refuse_if_in_the_way, save

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
_IDS_REPLACED = "e8190df6e151ac81a1e272dc9eadca4aad9b22b4e382dddd119e7b05baf729ec"
"""SHA-256 of a copy of the pickle that has the ids of the selected explanations."""

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
_KEYS = ["user_id", "movie_id", "explanation_type"]
_PROFILE = ["user_id", "gender", "user_movie_interest", "peryear", "total"]


def fetch_recexp(
    out: str | os.PathLike[str],
    *,
    base_url: str = BASE_URL,
    digests: Mapping[str, str] = DIGESTS,
    force: bool = False,
) -> ExplanationSet:
    """Download the files of the RecSys 2024 explanation study and make a data set of them at ``out``.

    The files are in a temporary folder, which is removed after the import: the pickle holds personal data.
    They lie below ``base_url``, which ends with a slash; ``digests`` has the SHA-256 of each. `DataError` is
    raised if a file cannot be had, or is not the one that was released; nothing is written then.
    """
    refuse_if_in_the_way(Path(out), force=force)
    with tempfile.TemporaryDirectory(prefix="metaeval-fetch-") as folder:
        with progress("downloading", len(digests)) as advance:
            for name, digest in digests.items():
                download(base_url + name, digest, Path(folder) / name)
                advance()
        return import_recexp(folder, out, force=force, digests=digests)


def import_recexp(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    force: bool = False,
    digests: Mapping[str, str] = DIGESTS,
) -> ExplanationSet:
    """Make a data set of the four released files in the folder ``source``, write it to ``out`` and return it.

    It has the texts as people saw them (HTML removed), the user's own explanation as ``reference``, the
    ratings of the user and of the annotators ``1`` and ``2``, and the profiles of those who took part. A
    rating that a user did not give stays missing.

    `DataError` is raised if a file is missing or not the released one, whose SHA-256 ``digests`` has, or
    ``out`` is in the way.
    """
    refuse_if_in_the_way(Path(out), force=force)
    data = _read(Path(source), digests)
    save(data, out, force=force)
    return data


def _read(folder: Path, digests: Mapping[str, str]) -> ExplanationSet:
    if not folder.is_dir():
        raise DataError(f"there is no folder {str(folder)!r}; give the one that holds {', '.join(FILES)}")
    if absent := [name for name in FILES if not (folder / name).is_file()]:
        raise DataError([Problem(name, None, None, f"is not in {str(folder)!r}") for name in absent])
    content = (folder / PICKLE).read_bytes()  # read once: what is checked is what is loaded
    for name in FILES:
        known = (digests[name], *([_IDS_REPLACED] if name == PICKLE else []))
        read = content if name == PICKLE else (folder / name).read_bytes()
        if hashlib.sha256(read).hexdigest() not in known:
            message = "is not the file that was released; nothing of it was used, get it anew"
            raise DataError([Problem(name, None, None, message)])
    pickled = from_frame(pd.read_pickle(io.BytesIO(content)), PICKLE)  # noqa: S301 - the released file
    selected, annotated, profiles = (
        sound(read_table(folder / name)) for name in (SELECTED, ANNOTATED, PROFILES)
    )
    # The rows of the first three files are the same, in the same order.
    keys = selected.frame[_KEYS].set_axis(KEYS, axis="columns")
    explanations = keys.assign(
        explanation=[seen_text(t) for t in pickled.frame["explanation"]],
        item_title=pickled.frame["movie_title"],
        reference=[str(t).strip() for t in pickled.frame["self_explanation"]],
    )
    users = profiles.frame[_PROFILE].map(html.unescape)
    users = users[users["user_id"].isin(keys["user_id"].unique())].reset_index(drop=True)
    columns = {(USER_RATER, aspect): (pickled, column) for aspect, column in _OWN.items()}
    columns |= {(a, aspect): (annotated, f"{c}_{a}") for a in _ANNOTATORS for aspect, c in _THEIRS.items()}
    ratings = [
        keys.assign(rater=rater, aspect=aspect, rating=sound(number_column(*columns[rater, aspect])))
        for aspect in _ASPECTS
        for rater in (USER_RATER, *_ANNOTATORS)
    ]
    tables = {
        "explanations": from_frame(explanations, SELECTED),
        "ratings": from_frame(pd.concat(ratings), "ratings"),
        "users": from_frame(users, PROFILES),
    }
    manifest = Manifest(
        name="recexp",
        licence="none stated",
        source=f"data/ of github.com/Xiaoyu-SZ/LLMasEvaluator at {_COMMIT}",
        language="zh",
        aspects=_ASPECTS,
        scale=RatingScale(min=1, max=5, integer=True),
    )
    return sound(build(manifest, tables))


def seen_text(source: str) -> str:
    """Return the text of an explanation stored as HTML, stripped."""
    if "<" not in source and "&" not in source:
        return source.strip()
    return str(BeautifulSoup(source, "html.parser").get_text()).strip()
