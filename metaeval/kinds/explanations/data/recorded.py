"""Add scores of other tools to a data set in memory, or on disk: a new folder, or two files, both or none."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, nearest, one_of, sound
from metaeval.base.files import replacing, to_read
from metaeval.base.records import Status
from metaeval.data.exports import inspect_logs, promptfoo
from metaeval.data.folder import checked_by, set_in
from metaeval.data.hub import FILE, hub_folder, hub_name, in_workbook
from metaeval.data.joining import join
from metaeval.data.manifest import FORMATS
from metaeval.data.recording import (
    ASPECT,
    EVALUATOR,
    SCORE,
    Recording,
    ScoreMap,
    read_plain,
    read_score_map,
)
from metaeval.evaluators.recorded import ORIGINS
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
from metaeval.kinds.explanations.data.loading import FOLDER, read_folder, refuse_if_in_the_way, save

Reader: TypeAlias = "Callable[[Sequence[str], ScoreMap, Mapping[str, str]], Recording]"
"""Reads a tool's file, or several tables, given the map, and the name or code of each aspect → its name."""

READERS: dict[str, Reader] = {"promptfoo": promptfoo.read, "inspect": inspect_logs.read, "table": read_plain}


@dataclasses.dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a data set an evaluator has scored."""

    evaluator: str
    aspects: tuple[str, ...]
    """The aspects it scored; ``""`` stands for all."""
    scored: int
    """Units that have a score for each of these aspects."""
    units: int
    statuses: Mapping[str, int]
    """Units that lack a score, by reason (the first, if aspects differ)."""

    def __str__(self) -> str:
        names = ", ".join(a or "all aspects" for a in self.aspects)
        failed = "".join(f", {n:,} {status}" for status, n in self.statuses.items())
        return (
            f"Recorded({self.evaluator!r}) ({names}): "
            f"{self.scored:,} of {self.units:,} units have a score{failed}"
        )


@dataclasses.dataclass(frozen=True, slots=True)
class ScoreImport:
    """What `metaeval.kinds.explanations.data.recorded` added to a data set."""

    data: ExplanationSet
    """The data set with the scores."""
    coverage: tuple[Coverage, ...]
    """Of each evaluator that was added, by name."""
    unused: tuple[str, ...]
    """Names of scores that are neither aspects of the data set nor named in the map."""

    def lines(self) -> list[str]:
        """Return a line per evaluator, and one about scores that were not used."""
        spare = f"not used, because the data set has no such aspect: {', '.join(map(repr, self.unused))}"
        return [*map(str, self.coverage), *([spare] if self.unused else [])]

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain JSON values."""
        return {
            "evaluators": [dataclasses.asdict(c) for c in self.coverage],
            "unused": list(self.unused),
            "fingerprint": self.data.fingerprint,
        }


Sources: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"


def _joined(
    data: ExplanationSet,
    source: Sources,
    tool: str,
    map_file: str | os.PathLike[str] | None,
    evaluator: str | None,
    *,
    replace: bool,
) -> ScoreImport:
    """Return ``data`` with the scores of ``source``, and their coverage; see `add_scores`."""
    one_of(tool, READERS, "unknown tool", "allowed", error=DataError)
    sources = [str(source)] if isinstance(source, str | os.PathLike) else [*map(str, source)]
    for name in sources:
        _check_there(name, tool)
    score_map = read_score_map(None if map_file is None else Path(map_file), evaluator)
    map_name = "the map" if map_file is None else Path(map_file).name
    frames: list[pd.DataFrame] = []
    origins: dict[str, dict[str, str]] = {}
    unused: tuple[str, ...] = ()
    for names in [sources] if tool == "table" else [[name] for name in sources]:
        recording = READERS[tool](names, score_map, score_map.aspect_names(data))
        frame, spare = join(recording, score_map, data, map_name)
        origin = _origin(names, tool, recording.version)
        for name in dict.fromkeys(map(str, frame[EVALUATOR])):
            if origins.setdefault(name, origin) is not origin:
                raise DataError(
                    f"{origins[name]['file']} and {origin['file']} both have scores of {name!r}; tell them "
                    "apart with --evaluator, such as '{model} {scorer}', or add them one by one"
                )
        frames.append(frame)
        unused += tuple(name for name in spare if name not in unused)
    frame = pd.concat(frames, ignore_index=True)
    scores, extra = _merged(data, frame, [*origins], replace=replace), _with_origins(data, origins)
    made = dataclasses.replace(data, scores=scores, extra=extra)
    return ScoreImport(made, tuple(_coverage(frame, data, n) for n in origins), unused)


def _check_there(name: str, tool: str) -> None:
    file, _ = in_workbook(name)
    if not (tool == "table" and hub_name(name) is not None) and not Path(file).exists():
        folder = Path(name).parent
        near = [p.name for p in folder.iterdir()] if folder.is_dir() else []
        raise DataError(f"the file {name!r} does not exist{nearest(Path(name).name, near)}")
    if tool != "table" and Path(name).is_dir():
        raise DataError(f"{name!r} is a folder; give the file that {tool} wrote")


def _origin(names: Sequence[str], tool: str, version: str) -> dict[str, str]:
    """Return what the manifest says of where scores are from; of several files, the digest of all."""
    files = [Path(in_workbook(name)[0]) for name in names]
    called = [name if hub_name(name) is not None else Path(name).name for name in names]
    origin = {"tool": tool, "file": " + ".join(called)} | ({"version": version} if version else {})
    if all(file.is_file() for file in files):
        origin["sha256"] = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    return origin


def add_scores(
    data: ExplanationSet,
    source: Sources,
    *,
    tool: str,
    map_file: str | os.PathLike[str] | None = None,
    evaluator: str | None = None,
    replace: bool = False,
) -> ExplanationSet:
    """Return a data set with the scores of another tool, each evaluator as ``Recorded('name')``.

    Parameters
    ----------
    data
        The data set whose units were scored. It is not changed.
    source
        The file: of promptfoo ``.jsonl`` or ``.json``, of inspect ``.eval`` or ``.json``, else a CSV, TSV,
        JSONL or Parquet table, or the name of a data set on the hub. Or several: tables are then put
        together as of `metaeval data import table`, files of other tools have evaluators of their own.
    tool
        Who wrote it: ``promptfoo``, ``inspect`` or ``table``.
    map_file
        Maps its names to those of the data set, a YAML file.
        Not needed if keys and aspects have the same names. A key that has one value in the whole data set may
        be absent.
    evaluator
        What to call the evaluator: a text, or a template over the columns of the file, such as
        ``"{provider} {prompt}"``. Overrides the map's.
    replace
        Replace an evaluator that the data set has scores of already.

    Raises
    ------
    DataError
        With every problem in its ``problems``: rows about no unit, scores that are no numbers, aspects that
        are unknown, scores of one unit that differ, an evaluator that is there already.
    MissingExtraError
        If the tool's own library is needed to read the file, and is not installed.
    """
    return _joined(data, source, tool, map_file, evaluator, replace=replace).data


def _merged(data: ExplanationSet, new: pd.DataFrame, names: list[str], *, replace: bool) -> pd.DataFrame:
    """Return the scores of ``data``, then the new ones; ``status`` only if a reason is known."""
    old = data.scores
    plain = new["status"].isin([Status.OK.value, Status.MISSING.value]).all()
    if plain and (old is None or "status" not in old):
        new = new.drop(columns="status")
    if old is None:
        return new
    there = [n for n in names if (old["evaluator"] == n).any()]
    if there and not replace:
        raise DataError(
            f"the data set has scores of {', '.join(map(repr, there))} already; replace them with --replace, "
            "or give the new evaluator another name with --evaluator"
        )
    old = old[~old["evaluator"].isin(names)]
    if "status" in new and "status" not in old:
        old = old.assign(status=np.where(old[SCORE].isna(), Status.MISSING.value, Status.OK.value))
    merged = pd.concat([old, new], ignore_index=True)
    # Further columns of the old rows are empty in the new ones.
    spare = [c for c in merged.columns if c != SCORE]
    return merged.assign(**{c: merged[c].astype(object).where(merged[c].notna(), "") for c in spare})


def _with_origins(data: ExplanationSet, origins: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    of_each = {name: dict(origin) for name, origin in origins.items()}
    return {**data.extra, ORIGINS: {**data.extra.get(ORIGINS, {}), **of_each}}


def _coverage(frame: pd.DataFrame, data: ExplanationSet, evaluator: str) -> Coverage:
    rows = frame[frame[EVALUATOR] == evaluator]
    aspects = tuple(dict.fromkeys(map(str, rows[ASPECT])))
    keys = list(data.keys)
    failed = rows[rows[SCORE].isna()].drop_duplicates(keys)["status"].value_counts()
    scored = rows[rows[SCORE].notna()].groupby(keys).size()
    statuses = {str(status): int(failed[status]) for status in sorted(failed.index)}
    return Coverage(evaluator, aspects, int((scored == len(aspects)).sum()), len(data), statuses)


def import_scores(
    folder: str | os.PathLike[str],
    source: Sources,
    *,
    tool: str,
    map_file: str | os.PathLike[str] | None = None,
    evaluator: str | None = None,
    out: str | os.PathLike[str] | None = None,
    replace: bool = False,
    force: bool = False,
) -> ScoreImport:
    """Add the scores of another tool to a data set on disk.

    It takes what `add_scores` takes in memory. The scores go into ``folder`` itself, whose other files do not
    change, or with ``out`` into a new data set of all; ``folder`` may be one of the hub then, and ``force``
    replaces a data set that is at ``out``. Nothing is written if there is any problem.
    """
    if out is not None:
        folder = to_read(folder)
    name = hub_name(folder)
    if out is not None:
        refuse_if_in_the_way(Path(out), force=force)
    elif name is not None:
        raise DataError(f"the hub data set {name!r} cannot be written to; name a folder with --out")
    elif force:
        raise DataError(
            "--force replaces the data set at --out, and there is no --out; did you mean --replace?"
        )
    held = set_in(folder) if name is None else hub_folder(name)
    data = sound(read_folder(held), listed_by=checked_by(folder))
    made = _joined(data, source, tool, map_file, evaluator, replace=replace)
    if out is None:
        _write_into(made.data, held)
    else:
        save(made.data, out, next(f for f in FORMATS if (held / f"explanations.{f}").is_file()), force=force)
    return made


def _write_into(data: ExplanationSet, folder: Path) -> None:
    # The inner file is renamed first: scores without an origin are better than an origin without scores.
    with replacing(folder / FILE) as new_manifest:
        new_manifest.write_text(_manifest(data, folder), encoding="utf-8", newline="\n")
        if (scores := FOLDER.frames(data)["scores"]) is not None:
            FOLDER.put(folder, "scores", scores, force=True)


def _manifest(data: ExplanationSet, folder: Path) -> str:
    """Return the text of ``dataset.yaml`` with the origins; its comments are kept."""
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.width = 110
    yaml.preserve_quotes = True
    stream = io.StringIO()
    tree: Any = yaml.load((folder / FILE).read_text(encoding="utf-8-sig"))
    tree.setdefault("extra", {})[ORIGINS] = data.extra[ORIGINS]
    yaml.dump(tree, stream)
    return stream.getvalue()
