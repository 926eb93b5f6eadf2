"""Download the released files of a public study, pinned by commit and SHA-256, and import them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.base.progress import progress
from metaeval.kinds.explanations.data.folder import refuse_if_in_the_way
from metaeval.kinds.explanations.data.studies.recexp import (
    ANNOTATED,
    PICKLE,
    PROFILES,
    SELECTED,
    import_recexp,
)
from metaeval.sources.download import download

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet

COMMIT = "6c2f3eb"
BASE_URL = f"https://github.com/Xiaoyu-SZ/LLMasEvaluator/raw/{COMMIT}/data/"
DIGESTS: Mapping[str, str] = {
    PICKLE: "8ecb15590dad73a68c07ca7addb3eee70ddb5a8ba875d5776ecc0cb11fa46183",
    SELECTED: "2b58ccce486103155fcf078bc9bd0815761969312f405cc84d23218a8e4aa791",
    ANNOTATED: "bd03812b80a440bd7b9f3d3304247fc366e7c423f93d6ce984c772d4ea5f8751",
    PROFILES: "1ab75811ac0244ac8e24d36ec15404290591f2b4125e35ba792ed36721cd950a",
}


def fetch_recexp(
    out: str | os.PathLike[str],
    *,
    base_url: str = BASE_URL,
    digests: Mapping[str, str] = DIGESTS,
    force: bool = False,
) -> ExplanationSet:
    """Download the files of the RecSys 2024 explanation study and make a data set of them.

    The files are in a temporary folder, which is removed after the import: the pickle holds personal data.

    Parameters
    ----------
    out
        The data-set folder to write.
    base_url
        Where the files are; ends with a slash.
    digests
        Name of each file → its SHA-256.
    force
        Replace a data set that is there.

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
