"""What a run used, as BibTeX: data set, evaluators, measures, tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from metaeval.runs.folder import read_record
from metaeval.runs.record import Record

REFERENCES = Path(__file__).with_name("references.bib")
_ENTRY = re.compile(r"^@\w+\{.*?^\}$", re.MULTILINE | re.DOTALL)
_KEYWORDS = re.compile(r",\n +keywords = \{(.*)\}")
_WORD = re.compile(r"[^\W\d]\w*")


def citations(folder: Path) -> str:
    """Return the BibTeX entries of what the run in a folder used, each with a stable key.

    A data set without a known reference is an entry of its name and its ``source``.

    Raises
    ------
    RunFolderError
        If the folder holds no run.
    """
    record = read_record(folder)
    used = {"metaeval", *_words(record)}
    found = []
    for entry in _ENTRY.findall(REFERENCES.read_text(encoding="utf-8")):
        keywords = _KEYWORDS.search(entry)
        if keywords is not None and used & set(keywords[1].split(", ")):
            found.append(_KEYWORDS.sub("", entry))
    name, source = record.data.name, record.data.source
    if source and name not in REFERENCES.read_text(encoding="utf-8"):
        found.append(f"@misc{{data,\n  title = {{{name}}},\n  howpublished = {{{source}}}\n}}")
    return "\n\n".join(found) + "\n"


def _words(record: Record) -> Iterator[str]:
    """Yield the words of a run's record that an entry may name."""
    study = record.study.model_dump()
    yield from (study["kind"], record.data.name)
    for part in (
        record.truth.spec,
        *study["evaluators"].values(),
        study.get("coefficients"),
        study.get("measures"),
    ):
        yield from _WORD.findall(str(part))
    if study.get("bootstrap"):
        yield "bootstrap"
    if study.get("tests"):
        yield from ("tests", str(study["tests"]["correction"]))
