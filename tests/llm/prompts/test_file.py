"""Headers that were made to use a machine up: each is refused in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from metaeval.cli import main
from metaeval.llm.prompts.template import load_prompt
from tests.llm.prompts.test_template import HEADER, write

ALIASES = "".join(f"{chr(98 + i)}: &{chr(98 + i)} [" + f"*{chr(97 + i)}, " * 9 + "]\n" for i in range(12))
BOMBS = {
    "aliases of aliases": f"a: &a [x, x, x]\n{ALIASES}",
    "aliases as a description": "description: &a [x, x]\n" + ALIASES,
    "merges of merges": "a: &a {k1: 1, k2: 2}\n" + ALIASES.replace("[", "{<<: [").replace("]", "]}"),
    "an alias in itself": "scale: &a [*a]\ndescription: *a\n",
    "nested deeply": "a: " + "[" * 1_000 + "\n",
    "nested mappings": "a: " + "{a: " * 3_000 + "\n",
    "a number of many digits": "version: " + "9" * 100_000 + "\n",
}


@pytest.mark.slow
@pytest.mark.timeout(30)
@pytest.mark.parametrize("kind", BOMBS)
def test_a_header_made_to_grow(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    path = write(tmp_path, f"---\n{BOMBS[kind]}---\n{{{{ explanation }}}}\n")
    assert main(["prompts", "check", str(path)]) in {1, 2}
    said = capsys.readouterr()
    assert len(said.out + said.err) < 4_000
    assert "header" in said.out + said.err or "YAML" in said.out + said.err


def test_an_alias_may_be_used(tmp_path: Path) -> None:
    header = HEADER.replace("placeholders:", "placeholders: &p").replace("---\n", "---\n", 1)
    assert load_prompt(write(tmp_path, header + "{{ question }}{{ hint or '' }}")).required == ("question",)
