"""Download one file and check its SHA-256."""

from __future__ import annotations

import logging
from pathlib import Path

from metaeval.base.errors import DataError

_TIMEOUT = 30.0  # seconds without a byte
_CHUNK = 1 << 16  # bytes


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
        pooch.retrieve(url, f"sha256:{sha256}", path.name, path.parent, downloader=_stream)
    except (exceptions.RequestException, ValueError) as error:
        match error:
            case exceptions.HTTPError():
                answer = error.response
                status = "an error" if answer is None else f"status {answer.status_code}"
                said = f"{url} answered with {status}; try again later"
            case exceptions.ChunkedEncodingError() | exceptions.ContentDecodingError():
                said = f"the download of {url} broke off; try again"
            case exceptions.ConnectionError() | exceptions.Timeout():
                said = f"{url} cannot be reached; check the network, or import files you have"
            case exceptions.RequestException():
                said = f"{url} cannot be downloaded: {type(error).__name__}"
            case _:
                digest = f"its SHA-256 is not {sha256[:12]}…"
                said = f"{url} is not the file that was released: {digest}; it was not used"
        raise DataError(said) from error


def _stream(url: str, target: str, _: object) -> None:
    """Download ``url`` to the file ``target``; pooch's downloader leaves the connection open on errors."""
    import requests

    with requests.get(url, stream=True, timeout=_TIMEOUT) as response, Path(target).open("wb") as file:
        response.raise_for_status()
        for chunk in response.iter_content(_CHUNK):
            file.write(chunk)
