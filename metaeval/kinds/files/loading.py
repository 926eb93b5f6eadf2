"""Load a data set of any kind: from a folder or the hub; or say all that is wrong with it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

from metaeval.base.counts import counted, plural_of
from metaeval.base.errors import DataError
from metaeval.kinds.files.folder import checked_by, folder_of, kind_of
from metaeval.kinds.kind import kind_named

if TYPE_CHECKING:
    import datasets
    import pandas as pd

    from metaeval.base.errors import Problem
    from metaeval.base.records import DataOfKind, DataSet

D = TypeVar("D", bound="DataSet")


class Inspection(NamedTuple):
    """The outcome of a check: a data set, or every problem found."""

    data: DataOfKind | None
    problems: tuple[Problem, ...]

    def lines(self) -> list[str]:
        """Return one line per problem, or the summary if there is none."""
        return [str(p) for p in self.problems] if self.data is None else [summary(self.data)]

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain JSON values."""
        found: dict[str, Any] = {
            "ok": self.data is not None,
            "problems": [p._asdict() for p in self.problems],
        }
        if self.data is not None:
            found |= {
                "name": self.data.name,
                "simulated": self.data.simulated,
                "counts": {plural_of(k).replace(" ", "_"): v for k, v in self.data.counts.items()},
                "fingerprint": self.data.fingerprint,
            }
        return found


class Imported(NamedTuple, Generic[D]):
    """A data set, and what is odd about the files it is made of."""

    data: D
    notes: tuple[str, ...]

    def lines(self) -> list[str]:
        """Return a summary in one line, and one line per note."""
        return [summary(self.data), *self.notes]


def load(
    path: str | os.PathLike[str] | datasets.DatasetDict | datasets.Dataset | pd.DataFrame | DataSet,
    map: Mapping[str, Any] | str | os.PathLike[str] | None = None,  # noqa: A002 - the word of the command line
) -> DataOfKind:
    """Load a data set.

    Parameters
    ----------
    path
        A data-set folder, a folder that ``DatasetDict.save_to_disk`` wrote, the ``datasets.DatasetDict``
        itself (see `metaeval.to_datasets`), or the name of a data set on the Hugging Face hub:
        ``hf://owner/name``, with ``@`` and a branch, tag or commit if it is not to be the newest.
        ``owner/name`` does as well, unless it begins with the name of a folder that is there.
        ``data/sample`` is the sample that ships with the package, unless there is such a folder.
        Or a table with one row per rating: a DataFrame, a ``datasets.Dataset`` or a file, with the columns
        ``user_id`` (left out in a study without users), ``item_id``, ``generator``, ``rater``, ``aspect``,
        ``rating`` and, if there are any, ``explanation``, ``item_title``, ``reference``, ….
        A data set is returned as it is.
    map
        Which column is what, for a table with other columns, a DataFrame too: a mapping, or the path of a map
        file; see `metaeval.from_table`.

    Raises
    ------
    DataError
        With every problem found in its ``problems``.
    """
    if hasattr(path, "units") and hasattr(path, "fingerprint"):
        return path
    if map is not None or _is_table(path):
        from metaeval.kinds.explanations.data.tables.memory import from_table

        return from_table(cast("Any", path), map)
    found = inspect(cast("Any", path))
    if found.data is None:
        raise DataError(found.problems, listed_by=checked_by(path))
    return found.data


def _is_table(given: object) -> bool:
    if isinstance(given, str | os.PathLike):
        return Path(given).is_file()
    import pandas as pd

    named = hasattr(given, "column_names") and not isinstance(given, Mapping)  # a datasets.Dataset
    return named or isinstance(given, pd.DataFrame)


def inspect(path: str | os.PathLike[str] | datasets.DatasetDict) -> Inspection:
    """Return the data set that `load` takes, or everything that is wrong with it."""
    place: Any = folder_of(path) if isinstance(path, str | os.PathLike) else path
    try:
        return Inspection(kind_named(kind_of(place)).load(place), ())
    except DataError as error:
        if not error.problems:
            raise
        return Inspection(None, error.problems)


def summary(data: DataSet) -> str:
    """Return the counts as one line; it says so if the study is simulated."""
    told = (counted(n, what) for what, n in data.counts.items())
    return f"{data.name}{' (simulated)' if data.simulated else ''}: {', '.join(told)}"
