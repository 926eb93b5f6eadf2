"""The Compose file keeps to its specification; no container is needed."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from ruamel.yaml import YAML

from tests.docs.commands import EXTRAS
from tests.docs.pages import DOCS
from tests.llm.postgres import PASSWORD

pytestmark = pytest.mark.slow

FILE = DOCS / "examples" / "compose.yaml"
GIVEN = {"HEAD": "127.0.0.1", "PGPASSWORD": PASSWORD, "RAY_AUTH_TOKEN": "of-the-tests" * 4}
"""What ``.env`` must say."""
_VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?::(?P<sign>[?-])(?P<word>[^}]*))?\}")


def filled(given: Mapping[str, str]) -> Any:
    """Read the file as Compose does: with variables in place."""

    def value(found: re.Match[str]) -> str:
        name = found["name"]
        if name in given:
            return given[name]
        assert found["sign"] == "-", f"{name} has no value: {found['word']}"
        return found["word"]

    text = "\n".join(line for line in FILE.read_text(encoding="utf-8").splitlines() if line[:1] != "#")
    return YAML(typ="safe").load(_VARIABLE.sub(value, text))


def valid(file: Path) -> bool:
    """Say whether a file is one by the schema of the Compose specification."""
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(file)]
    return subprocess.run(check, capture_output=True, check=False).returncode == 0


def test_it_is_a_compose_file(tmp_path: Path) -> None:
    assert valid(FILE)
    wrong = tmp_path / "compose.yaml"
    wrong.write_text(FILE.read_text(encoding="utf-8").replace("condition:", "conditions:"), encoding="utf-8")
    assert not valid(wrong)


@pytest.mark.parametrize("name", GIVEN)
def test_what_must_be_given_has_no_default(name: str) -> None:
    filled(GIVEN)
    with pytest.raises(AssertionError, match=f"{name} has no value"):
        filled({other: value for other, value in GIVEN.items() if other != name})


def test_images_are_of_versions_that_the_extras_take() -> None:
    services = filled(GIVEN)["services"]
    (wanted,) = map(Requirement, EXTRAS["ray"])
    tag = re.search(r"FROM rayproject/ray:([\d.]+)-", services["head"]["build"]["dockerfile_inline"])
    assert tag is not None
    assert wanted.specifier.contains(tag[1])
    assert services["worker"]["build"] == services["head"]["build"]
