"""Files from their pinned address: whole and as they were released, or not there."""

from __future__ import annotations

import hashlib
from pathlib import Path

import requests

from metaeval.base.errors import DataError

_TIMEOUT = 30.0  # seconds without a byte
_CHUNK = 1 << 16  # bytes
_HAS_ALL = 416  # a server's answer to who asks for what comes after the end


def download(url: str, sha256: str, path: Path) -> None:
    """Download one file, check its digest, and write ``path`` in full or not at all.

    What came before a download broke off is kept beside it, and the next one goes on from there. `DataError`
    is raised if there is no connection, the server refuses, the download breaks off or the digest differs.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        _stream(url, part)
    except requests.RequestException as error:
        said = "cannot be downloaded; check the network and try again, or import files you have"
        raise DataError(f"{url} {said} ({type(error).__name__})") from error
    if sha256_of(part) != sha256:
        part.unlink()
        raise DataError(
            f"{url} is not the file that was released: its SHA-256 is not {sha256[:12]}…; it was not used"
        )
    part.replace(path)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _stream(url: str, part: Path) -> None:
    """Append what is missing to ``part``, or write it anew where the server sends only whole files."""
    have = part.stat().st_size if part.is_file() else 0
    asked = {"Accept-Encoding": "identity", **({"Range": f"bytes={have}-"} if have else {})}
    with requests.get(url, headers=asked, stream=True, timeout=_TIMEOUT) as response:
        if have and response.status_code == _HAS_ALL:
            return
        response.raise_for_status()
        with part.open("ab" if response.status_code == requests.codes.partial_content else "wb") as file:
            for chunk in response.iter_content(_CHUNK):
                file.write(chunk)
