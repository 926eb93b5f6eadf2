"""Download the released files of a public study, pinned by commit and SHA-256, and import them."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.base.errors import DataError
from metaeval.base.progress import progress
from metaeval.kinds.explanations.data.folder import refuse_if_in_the_way
from metaeval.kinds.explanations.data.studies.recexp import (
    ANNOTATED,
    PICKLE,
    PROFILES,
    SELECTED,
    import_recexp,
)

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
_TIMEOUT = 30.0  # seconds without a byte
_CHUNK = 1 << 16  # bytes


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


def download(url: str, sha256: str, path: Path) -> None:
    """Download one file and check its digest; ``path`` is written in full or not at all.

    Raises
    ------
    DataError
        If there is no connection, the server refuses, the download breaks off or the digest differs.
    """
    import pooch
    from requests import exceptions

    pooch.get_logger().setLevel(logging.WARNING)
    try:
        pooch.retrieve(
            url,
            known_hash=f"sha256:{sha256}",
            fname=path.name,
            path=path.parent,
            downloader=_stream,
        )
    except exceptions.HTTPError as error:
        status = "an error" if error.response is None else f"status {error.response.status_code}"
        raise DataError(f"{url} was answered with {status}; try again later") from error
    except (exceptions.ChunkedEncodingError, exceptions.ContentDecodingError) as error:
        raise DataError(f"the download of {url} broke off; try again") from error
    except (exceptions.ConnectionError, exceptions.Timeout) as error:
        raise DataError(
            f"{url} cannot be reached; look whether there is a network, or import files you have"
        ) from error
    except exceptions.RequestException as error:
        raise DataError(f"{url} cannot be downloaded: {type(error).__name__}") from error
    except ValueError as error:
        raise DataError(
            f"{url} is not the file that was released: its SHA-256 is not {sha256[:12]}…; it was not used"
        ) from error


def _stream(url: str, target: str, _: object) -> None:
    """Download ``url`` to the file ``target``; pooch's downloader leaves the connection open on errors."""
    import requests

    with requests.get(url, stream=True, timeout=_TIMEOUT) as response, Path(target).open("wb") as file:
        response.raise_for_status()
        for chunk in response.iter_content(_CHUNK):
            file.write(chunk)
