"""A data set as a folder: ``dataset.yaml`` and its tables."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args

import pandas as pd

from metaeval.base.errors import DataError, Problem, nearest, one_of, sound
from metaeval.base.files import path_of, replacing, to_read
from metaeval.base.validation import model_of, read_model
from metaeval.base.yaml_lines import YamlError, read_yaml
from metaeval.data.hub import FILE, hub_folder, hub_name
from metaeval.data.labels import LABELLED_PAIRS, LABELLING, LABELLING_LOCK, update_labels
from metaeval.data.manifest import FORMATS, DataManifest, Format, write_table
from metaeval.data.tables.table import Table, from_frame, read_table

D = TypeVar("D")
_KIND = "explanations"
"""The kind of a data set that does not say which."""


def checked_by(path: object) -> str:
    """Return the command that lists what is wrong with a data set on disk or on the hub."""
    # What is in memory has no name that a command could be given.
    return f"metaeval data check {shlex.quote(str(path))}" if isinstance(path, str | os.PathLike) else ""


def folder_of(path: str | os.PathLike[str]) -> Path:
    """Return the folder of a data set: a local one, a shipped one, or one from the hub."""
    name = hub_name(path := to_read(path))
    return set_in(path) if name is None else hub_folder(name)


def set_in(path: str | os.PathLike[str]) -> Path:
    """Return a folder, or the data set ``data`` in one that `metaeval init` made."""
    folder = Path(path)
    inner = folder / "data"
    return inner if (inner / FILE).is_file() and not (folder / FILE).is_file() else folder


@dataclass(frozen=True, slots=True)
class DataFolder(Generic[D]):
    """How the data sets of a kind lie in a folder."""

    manifest: type[DataManifest]
    """What ``dataset.yaml`` may say."""
    tables: tuple[str, ...]
    """The names of the tables, without suffixes, and then those that may not be missing."""
    needed: tuple[str, ...]
    build: Callable[[Any, Mapping[str, Table]], tuple[D | None, list[Problem]]]
    """Makes a data set of a manifest and tables, or says every problem."""
    frames: Callable[[D], Mapping[str, pd.DataFrame | None]]
    """Name of a table → its frame, or None, of a data set."""
    folders: tuple[str, ...] = ()
    """Names of folders that may lie beside the tables."""

    def read(self, folder: Path, held: Mapping[str, Table] | None = None) -> tuple[D | None, list[Problem]]:
        """Return the data set in a folder and no problem, or None and every problem found.

        ``held`` are tables that are not read from the folder.
        """
        if not folder.is_dir():
            if folder.exists():
                raise DataError(f"the data set {str(folder)!r} is a file; name the folder it lies in")
            near = [p.name for p in folder.parent.iterdir() if p.is_dir()] if folder.parent.is_dir() else []
            raise DataError(f"the data set {str(folder)!r} does not exist{nearest(folder.name, near)}")
        update_labels(folder)
        if (folder / FILE).is_file():
            if (given := kind_of(folder)) != self._kind:
                raise DataError(
                    f"{str(folder)!r} holds a data set of kind {given!r}; give one of {self._kind}"
                )
            manifest, problems = read_model(folder / FILE, self.manifest)
        else:
            if inside := [p for p in sorted(folder.iterdir()) if (p / FILE).is_file()]:
                raise DataError(
                    f"{str(folder)!r} is no data set, but {str(inside[0])!r} in it is one; name that"
                )
            hint = nearest(FILE, [p.name for p in folder.iterdir() if p.suffix in {".yaml", ".yml"}])
            message = f"is missing; a data set is a folder with it{hint}"
            manifest, problems = None, [Problem(FILE, None, None, message)]
        tables: dict[str, Table] = dict(held or {})
        for kind in (k for k in self.tables if k not in tables):
            path, found = self._find(folder, kind)
            problems += found
            if path is not None:
                table, found = read_table(path)
                problems += found
                if table is not None:
                    tables[kind] = table
        if manifest is None or any(kind not in tables for kind in self.needed):
            return None, problems
        data, found = self.build(manifest, tables)
        problems += found
        return (None if problems else data), problems

    def load(self, place: str | os.PathLike[str]) -> D:
        """Load a data set from its folder, or from the hub; `DataError` has every problem found."""
        return sound(self.read(folder_of(place)), listed_by=checked_by(place))

    def make(self, about: Mapping[str, Any], tables: Mapping[str, Table | pd.DataFrame]) -> D:
        """Return a data set of what is in memory; `DataError` has every problem found.

        ``about`` has the keys of ``dataset.yaml``, without ``kind``; ``tables`` name → table, as read or a
        frame.
        """
        manifest = model_of({"kind": self._kind, **about}, self.manifest)
        made = {k: t if isinstance(t, Table) else from_frame(t, k) for k, t in tables.items()}
        return sound(self.build(manifest, made))

    @property
    def _kind(self) -> str:
        (kind,) = get_args(self.manifest.model_fields["kind"].annotation)
        return str(kind)

    def _find(self, folder: Path, kind: str) -> tuple[Path | None, list[Problem]]:
        paths = [p for f in FORMATS if (p := folder / f"{kind}.{f}").is_file()]
        if len(paths) > 1:
            both = " and ".join(p.name for p in paths)
            return None, [Problem(paths[0].name, None, None, f"{both} both exist; keep one")]
        if not paths and kind in self.needed:
            name, others = f"{kind}.csv", " or ".join(f"{kind}.{f}" for f in FORMATS if f != "csv")
            hint = nearest(name, [p.name for p in folder.iterdir() if p.stem not in self.tables])
            return None, [Problem(name, None, None, f"is missing; it may also be {others}{hint}")]
        return (paths[0] if paths else None), []

    def save(
        self,
        data: D,
        folder: str | os.PathLike[str],
        format: Format = "parquet",  # noqa: A002 the word a caller expects
        *,
        force: bool = False,
    ) -> Path:
        """Write a data set; the folder is there in full or not at all.

        `DataError` is raised if the folder is in the way, or the format is none of the three.
        """
        one_of(format, FORMATS, "unknown format", "allowed", error=DataError)
        target = path_of(folder, "the folder of a data set")
        with self._new_folder(target, force=force) as temporary:
            text = self.manifest.of(data).to_yaml()
            (temporary / FILE).write_text(text, encoding="utf-8", newline="\n")
            for kind, frame in self.frames(data).items():
                if frame is not None:
                    write_table(frame, temporary / f"{kind}.{format}")
        return target

    def put(self, folder: Path, table: str, frame: pd.DataFrame, *, force: bool = False) -> Path:
        """Write a table into a data set that is there, in the format of its first table; return the file.

        `DataError` is raised if there is such a table, and it is not to be replaced.
        """
        there, _ = self._find(folder, table)
        if there is not None and not force:
            raise DataError(f"{there} is there already; replace it with --force")
        first, _ = self._find(folder, self.needed[0])
        path = folder / f"{table}{first.suffix if first else '.csv'}"
        with replacing(path) as temporary:
            write_table(frame, temporary)
        if there is not None and there != path:
            there.unlink()
        return path

    def refuse_if_in_the_way(self, target: Path, *, force: bool) -> None:
        """Raise `DataError` if a data set may not be written to ``target``; called before long work, too."""
        if not target.exists():
            return
        if not target.is_dir():
            raise DataError(f"{str(target)!r} is a file; give a folder that does not exist yet")
        names = {p.name for p in target.iterdir()}
        own = {FILE, LABELLING_LOCK, *self.folders}
        foreign = sorted(names - own - {f"{k}.{f}" for k in self.tables for f in FORMATS})
        if foreign or (names and FILE not in names):
            held = foreign[0] if foreign else sorted(names)[0]
            labels = held in {LABELLING, *(f"{LABELLED_PAIRS}.{f}" for f in FORMATS)}
            what = "with labels that people gave" if labels else "which is not part of a data set"
            raise DataError(f"the folder {str(target)!r} holds {held!r}, {what}; give another folder")
        if names and not force:
            raise DataError(f"the folder {str(target)!r} holds a data set already; replace it with --force")

    @contextlib.contextmanager
    def _new_folder(self, target: Path, *, force: bool) -> Iterator[Path]:
        self.refuse_if_in_the_way(target, force=force)
        target = target.resolve()
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
            temporary.mkdir()
        except OSError as error:
            raise DataError(f"the folder {str(target)!r} cannot be made: {error.strerror}") from error
        old = temporary.with_suffix(".old")
        try:
            yield temporary
            self.refuse_if_in_the_way(target, force=force)
            if target.exists():
                target.rename(old)
            try:
                temporary.rename(target)
            except OSError:
                if old.exists():
                    old.rename(target)
                raise
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
            shutil.rmtree(old, ignore_errors=True)


def kind_of(place: object) -> object:
    """Return the kind of the data set in a folder, or of a map; explanations, if it does not say which."""
    try:
        file = place / FILE if isinstance(place, Path) and place.is_dir() else place
        content, _ = read_yaml(file) if isinstance(file, Path) else (None, None)
    except YamlError:  # which the kind reports, with everything else that is wrong
        content = None
    return content.get("kind", _KIND) if isinstance(content, dict) else _KIND
