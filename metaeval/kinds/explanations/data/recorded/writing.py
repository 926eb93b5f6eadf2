"""Add scores to a data set on disk: write a new folder, or replace two files, both or none."""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.base.errors import DataError
from metaeval.base.files import replacing
from metaeval.base.resources import to_read
from metaeval.evaluators.recorded import ORIGINS
from metaeval.kinds.explanations.data.folder import (
    FORMATS,
    checked_by,
    read_folder,
    refuse_if_in_the_way,
    save,
)
from metaeval.kinds.explanations.data.manifest import Manifest, read_manifest
from metaeval.kinds.explanations.data.recorded.adding import ScoreImport, join_scores
from metaeval.kinds.files.folder import set_in
from metaeval.sources.hub.repository import FILE, hub_folder, hub_name

if TYPE_CHECKING:
    import os

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
    from metaeval.kinds.explanations.data.folder import Format


def import_scores(
    folder: str | os.PathLike[str],
    source: str | os.PathLike[str],
    *,
    tool: str,
    map_file: str | os.PathLike[str] | None = None,
    evaluator: str | None = None,
    out: str | os.PathLike[str] | None = None,
    replace: bool = False,
    force: bool = False,
) -> ScoreImport:
    """Add the scores of another tool to a data set on disk.

    Parameters
    ----------
    folder
        The data set; with ``out`` it may be one of the hub.
    source, tool, map_file, evaluator, replace
        As of `metaeval.kinds.explanations.data.recorded.add_scores`.
    out
        The data-set folder to write; if None, the scores are added to ``folder`` itself, whose other files do
        not change.
    force
        Replace a data set that is at ``out``.

    Raises
    ------
    DataError
        With every problem found; nothing is written then.
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
    data, problems = read_folder(held)
    if data is None:
        raise DataError(problems, listed_by=checked_by(folder))
    made = join_scores(data, source, tool=tool, map_file=map_file, evaluator=evaluator, replace=replace)
    if out is None:
        _write_into(made.data, held)
    else:
        save(made.data, out, _format(held, "explanations"), force=force)
    return made


def _format(folder: Path, *kinds: str) -> Format:
    """Return the format of the first table of ``kinds`` that is there."""
    return next(f for kind in kinds for f in FORMATS if (folder / f"{kind}.{f}").is_file())


def _write_into(data: ExplanationSet, folder: Path) -> None:
    scores = f"scores.{_format(folder, 'scores', 'ratings')}"
    with (
        tempfile.TemporaryDirectory() as made,
        # The inner file is renamed first: scores without an origin are better than an origin without scores.
        replacing(folder / FILE) as new_manifest,
        replacing(folder / scores) as new_scores,
    ):
        whole = save(data, Path(made) / "whole", _format(folder, "scores", "ratings"))
        shutil.copyfile(whole / scores, new_scores)
        new_manifest.write_text(_manifest(data, folder), encoding="utf-8", newline="\n")


def _manifest(data: ExplanationSet, folder: Path) -> str:
    """Return the text of ``dataset.yaml`` with the origins; its comments are kept where possible."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    yaml = YAML()
    yaml.width = 110
    yaml.preserve_quotes = True
    stream = io.StringIO()
    try:
        tree: Any = yaml.load((folder / FILE).read_text(encoding="utf-8-sig"))
        tree.setdefault("extra", {})[ORIGINS] = data.extra[ORIGINS]
        yaml.dump(tree, stream)
    except (YAMLError, TypeError, AttributeError):
        return Manifest.of(data).to_yaml()
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / FILE).write_text(stream.getvalue(), encoding="utf-8", newline="\n")
        same = read_manifest(Path(name))[0] == Manifest.of(data)
    return stream.getvalue() if same else Manifest.of(data).to_yaml()
