"""A run cites what it used, and nothing that it did not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import metaeval as me
from metaeval.kinds.index import KINDS
from metaeval.runs.citation import REFERENCES, citations
from metaeval.runs.folder import RunFolderError
from tests.conftest import ROOT
from tests.tiny import write_study


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cited")
    study = write_study(
        folder / "study.yaml", dataset="data/sample", evaluators="['BLEU(n=4)']", details="false"
    )
    return me.run(study, out=folder / "run").folder


def keys(text: str) -> list[str]:
    return re.findall(r"^@\w+\{(.*),$", text, re.MULTILINE)


def test_it_cites_the_kind_the_evaluators_and_the_measures(run: Path) -> None:
    cited = keys(citations(run))
    assert cited[:2] == ["metaeval", "zhang2024explanations"]
    assert {"papineni2002bleu", "kendall1945ties", "efron1993bootstrap", "holm1979simple"} <= {*cited}
    assert not {"jarvelin2002cumulated", "chhun2022hanna", "lin2004rouge", "benjamini1995controlling"} & {
        *cited
    }


def test_every_reference_has_its_words_and_none_is_printed(run: Path) -> None:
    text = REFERENCES.read_text(encoding="utf-8")
    assert len(keys(text)) == len(set(keys(text))) == text.count("keywords = {")
    assert "keywords" not in citations(run)


def test_a_folder_without_a_run_has_nothing_to_cite(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match=r"it has no run\.json"):
        citations(tmp_path)


TYPES = {"inproceedings": "conference-paper", "article": "article", "misc": "generic"}
"""Of an entry of BibTeX → of a reference of CITATION.cff."""
FIELDS = {"collection-title": "booktitle", "journal": "journal", "url": "url"}
"""A field of CITATION.cff ← that of BibTeX."""


def references() -> list[tuple[set[str], dict[str, Any]]]:
    """Return the keywords of each entry, and the entry as CITATION.cff writes it."""
    found = []
    for sort, body in re.findall(r"^@(\w+)\{(.*?)^\}$", REFERENCES.read_text(encoding="utf-8"), re.M | re.S):
        told = {name: re.sub(r"[{}]", "", value) for name, value in re.findall(r"(\w+) = \{(.*)\}", body)}
        names = [name.split(", ") for name in told["author"].split(" and ")]
        authors = [dict(zip(("family-names", "given-names"), name, strict=False)) for name in names]
        entry = {"type": TYPES.get(sort, sort), "title": told["title"], "authors": authors}
        entry |= {"year": int(told["year"])}
        entry |= {name: told[of] for name, of in FIELDS.items() if of in told}
        found.append((set(told["keywords"].split(", ")), entry))
    return found


def test_the_citation_file_names_the_papers_behind_each_kind() -> None:
    cited = YAML(typ="safe").load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["references"]
    behind = [(words, entry) for words, entry in references() if words & {*KINDS}]
    assert cited == [entry for _, entry in behind]
    assert {*KINDS} <= set().union(*(words for words, _ in behind))
