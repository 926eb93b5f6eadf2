"""Data sets of the Hugging Face hub; the libraries for it are slow to import and are loaded on first use."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.errors import DataError, nearest
from metaeval.sources.tables import Table, arrow_frame, from_frame

if TYPE_CHECKING:
    import os

_PREFIX = "hf://"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


def hub_name(path: str | os.PathLike[str]) -> str | None:
    """Return the hub name that ``path`` is, or None if it is a path of this machine.

    A misspelt local path must not send anybody to the network, so what lies under a folder that is there is
    a path.
    """
    text = str(path)
    if text.startswith(_PREFIX):
        return text.removeprefix(_PREFIX).removeprefix("datasets/")
    local = Path(path)
    if local.exists() or local.parent.exists() or not _NAME.fullmatch(text):
        return None
    return text


def hub_folder(name: str) -> Path:
    """Download a data-set folder of the hub, once (the hub's cache keeps it), and return its path."""
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    files = ["dataset.yaml", "*.parquet", "*.csv", "*.jsonl"]
    try:
        return Path(huggingface_hub.snapshot_download(name, repo_type="dataset", allow_patterns=files))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        raise DataError(_not_loaded(name, error)) from error


def hub_table(source: str, split: str | None = None, cache: Path | None = None) -> Table:
    """Load one table with the ``datasets`` library.

    Parameters
    ----------
    source
        A name on the hub, or a local folder of data files.
    split
        Which split; may be left out if there is one only.
    cache
        Where the library keeps its copy; its own place if left out.

    Raises
    ------
    DataError
        If the data set or the split is not there.
    """
    import datasets

    datasets.disable_progress_bars()
    try:
        found = datasets.load_dataset(source, cache_dir=None if cache is None else str(cache))
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        raise DataError(_not_loaded(source, error)) from error
    splits = [str(s) for s in found]
    if split is None and len(splits) > 1:
        raise DataError(f"{source!r} has the splits {', '.join(splits)}; name one as `split` in the map")
    chosen = splits[0] if split is None else split
    if chosen not in splits:
        raise DataError(
            f"{source!r} has no split {chosen!r}{nearest(chosen, splits)}; there are: {', '.join(splits)}"
        )
    return from_frame(arrow_frame(found[chosen].with_format("arrow")[:]), source)


def _not_loaded(name: str, error: Exception) -> str:
    reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    return f"the hub data set {name!r} could not be loaded: {reason}"
