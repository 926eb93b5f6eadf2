"""Data sets of the Hugging Face hub; the libraries for it are slow to import and are loaded on first use."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from metaeval.base.errors import DataError, nearest, one_of, sound
from metaeval.base.files import to_read
from metaeval.base.parallel import within
from metaeval.base.progress import progress
from metaeval.data.tables.formats import ALL_SUFFIXES, read_any
from metaeval.data.tables.several import as_one
from metaeval.data.tables.table import Quote, Table, arrow_frame, from_frame

_PREFIX = re.compile(r"hf:/+(datasets/)?")  # a `Path` made of hf://owner/name has one slash
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+(@[\w./-]+)?")
_ANSWERS, _DOWNLOAD = 30.0, 3600.0  # seconds for the hub to say anything, and to give a data set
_TOO_MANY = 429  # the hub's library would wait for minutes
FILE = "dataset.yaml"
"""The manifest of a data set."""
_TABLES = (
    *("explanations", "ratings", "scores", "users", "labels", "runs"),
    *("items", "histories", "profiles", "duels", "slates"),
    *("log", "pairs", "test", "synthetic"),
)
_SAVED = ("dataset_dict.json", "state.json")
"""What ``save_to_disk`` leaves in a folder."""
_FILES = ["README.md", FILE, *(f"{table}.*" for table in _TABLES)]


def hub_name(path: str | os.PathLike[str]) -> str | None:
    """Return the hub name that ``path`` is (with ``@`` and a revision, if it has one), or None for a path.

    A misspelt local path must not cause a download, so anything inside an existing folder is a path,
    and so is what another folder here has by that name.
    """
    text = str(path)
    if (prefix := _PREFIX.match(text)) is not None:
        return text[prefix.end() :]
    local = Path(path)
    is_file = local.suffix.lower() in ALL_SUFFIXES
    if is_file or local.exists() or local.parent.exists() or not _NAME.fullmatch(text):
        return None
    return None if _beside(local) else text


def _beside(path: Path) -> list[str]:
    """Return the places in folders here that have the name of a path."""
    return [str(p) for p in Path().glob(f"*/{glob.escape(path.name)}")]


def is_data_set(source: str) -> bool:
    """Say whether a folder or hub name holds a data set in our layout."""
    name, path = hub_name(to_read(source)), Path(to_read(source))
    if name is None:
        return (path / FILE).is_file() or all((path / f).exists() for f in (_SAVED[0], "explanations"))
    return _has_manifest(name)


def _has_manifest(name: str) -> bool:
    """Say whether the hub has a data set in our layout; raise `DataError` if it does not answer."""
    import huggingface_hub

    repository, revision = _split(name)
    given = {"repo_type": "dataset", "revision": revision}
    try:
        with progress(f"no folder {name!r} here: asking the hub"):
            return within(_ANSWERS, lambda: huggingface_hub.file_exists(repository, FILE, **given))
    except Exception as error:  # whoever loads it says what else is wrong
        busy = getattr(getattr(error, "response", None), "status_code", None) == _TOO_MANY
        if busy or "Timeout" in type(error).__name__:  # of whichever HTTP library the hub's has
            raise DataError(_not_loaded(name, error)) from error
        return False


def hub_folder(name: str) -> Path:
    """Download a data-set folder of the hub, once (the hub's cache keeps it), and return its path.

    ``name`` is ``owner/name``, with ``@`` and a branch, tag or commit if it is not to be the newest. What
    cannot be reached, or is no data set in our layout, is a `DataError`.
    """
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
    from huggingface_hub.utils.tqdm import disable_progress_bars

    if not sys.stderr.isatty():
        disable_progress_bars()
    repository, revision = _split(name)
    # The error of the HTTP library that this version of the hub's library uses, such as for a missing proxy.
    http_error: type[Exception] = HfHubHTTPError.__mro__[1]
    _has_manifest(name)
    download = partial(huggingface_hub.snapshot_download, repository, repo_type="dataset", revision=revision)
    try:
        found = within(_DOWNLOAD, lambda: download(allow_patterns=_FILES))
    except (http_error, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        raise DataError(_not_loaded(name, error)) from error
    folder = Path(found)
    if not (folder / FILE).is_file():
        raise DataError(
            f"the hub data set {name!r} has no {FILE}, so it is another kind of table; import it with: "
            f"metaeval data import table hf://{name} --map MAP.yaml --out FOLDER"
        )
    return folder


def hub_table(source: str, split: str | None = None, cache: Path | None = None) -> Table:
    """Load one table with the ``datasets`` library: of the hub, or of a local folder of data files.

    ``split`` may be left out if there is only one; ``cache`` is where the library keeps its copy.
    """
    import datasets

    datasets.disable_progress_bars()
    local = Path(source).is_dir()
    name, revision = (source, None) if local else _split(source)
    try:
        if local and any((Path(source) / saved).is_file() for saved in _SAVED):
            found = datasets.load_from_disk(source)
        else:
            given = {"revision": revision, "cache_dir": None if cache is None else str(cache)}
            _ = local or _has_manifest(source)
            found = within(_DOWNLOAD, lambda: datasets.load_dataset(name, **given))
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        tables = [p for p in Path(source).iterdir() if p.suffix.lower() in ALL_SUFFIXES] if local else []
        such = f"; name a table in it, such as {str(min(tables))!r}" if tables else ""
        raise DataError(_not_loaded(source, error, "folder" if local else "hub data set") + such) from error
    one = isinstance(found, datasets.Dataset)
    return dataset_table(found, source) if one else split_table(found, split, source)


def any_tables(
    sources: Sequence[str | os.PathLike[str]],
    split: str | None = None,
    cache: Path | None = None,
    quote: Quote | None = None,
    *,
    below: bool = False,
) -> Table:
    """Return one or several tables as one; see `any_table` and `metaeval.data.tables.several`."""
    names = [Path(file).stem if sheet is None else sheet for file, sheet in map(in_workbook, sources)]
    return as_one([any_table(source, split, cache, quote) for source in sources], names, below=below)


def any_table(
    source: str | os.PathLike[str],
    split: str | None = None,
    cache: Path | None = None,
    quote: Quote | None = None,
) -> Table:
    """Return a table: a file, or what `hub_table` loads; raise `DataError` with what is wrong with it.

    ``split`` is that of a data set, or the sheet of a workbook, which may also stand in ``source``:
    ``survey.xlsx#GPT``; ``quote`` is that of `read_any`.
    """
    source, split = in_workbook(source, split)
    name, path = hub_name(source), Path(source)
    if name is not None or path.is_dir():
        return hub_table(name or str(path), split, cache)
    if not path.exists():
        near = [str(p) for p in path.parent.iterdir()] if path.parent.is_dir() else _beside(path)
        raise DataError(f"the table {str(path)!r} does not exist{nearest(str(path), near)}")
    return sound(read_any(path, split, quote))


def in_workbook(source: str | os.PathLike[str], split: str | None = None) -> tuple[str, str | None]:
    """Return the file and the sheet that ``survey.xlsx#GPT`` names; of any other source, as it is."""
    path, _, sheet = str(source).rpartition("#")
    named = path and not Path(source).exists() and Path(path).is_file()
    return (path, sheet) if named else (str(source), split)


def split_table(found: Mapping[Any, Any], split: str | None, source: str) -> Table:
    """Return one split of a ``datasets.DatasetDict`` as a table; see `hub_table`."""
    splits = [str(s) for s in found]
    if split is None and len(splits) > 1:
        raise DataError(f"{source!r} has the splits {', '.join(splits)}; name one as `split` in the map")
    chosen = splits[0] if split is None else split
    one_of(chosen, splits, f"{source!r} has no split", "there are", error=DataError)
    return dataset_table(found[chosen], source)


def dataset_table(dataset: Any, source: str) -> Table:  # noqa: ANN401 - the library publishes no types
    """Return a ``datasets.Dataset`` as a table, with the names of class labels."""
    from datasets import ClassLabel

    frame = arrow_frame(dataset.with_format("arrow")[:])
    for name, feature in dataset.features.items():
        if isinstance(feature, ClassLabel):
            # -1 stands for a label that is not known.
            names = [*feature.names, None]
            frame[name] = [None if code is None else names[int(code)] for code in frame[name]]
    return from_frame(frame, source)


def _split(name: str) -> tuple[str, str | None]:
    """Split a name into repository and revision."""
    repository, _, revision = name.partition("@")
    return repository, revision or None


def _not_loaded(name: str, error: Exception, what: str = "hub data set") -> str:
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    repository, revision = _split(name)
    causes = (error, error.__cause__)
    if any(isinstance(cause, RepositoryNotFoundError) for cause in causes):
        reason = f"the hub has none of the name {repository!r}, or it is private and you are not logged in"
    elif any(isinstance(cause, RevisionNotFoundError) for cause in causes):
        reason = f"it has no branch, tag or commit {revision!r}"
    else:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        reason = reason.removeprefix("Got: ")
    told = f"the {what} {name!r} could not be loaded: {reason}"
    if what == "folder":
        return told
    near = nearest(repository, [str(p) for p in Path().glob("*/*") if p.is_dir()])
    return f"{told}; there is no folder {repository!r} either{near}"
