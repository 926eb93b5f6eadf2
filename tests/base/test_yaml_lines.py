"""YAML files that are not what they seem."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from metaeval.base.yaml_lines import YamlError, read_yaml

if TYPE_CHECKING:
    from pathlib import Path


def test_aliases_of_aliases_are_refused_before_they_fill_the_memory(tmp_path: Path) -> None:
    lines = ["a0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 10)]
    file = tmp_path / "bomb.yaml"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(YamlError, match="holds more than 100,000 values"):
        read_yaml(file)


def test_an_alias_is_followed(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("a: &x [1, two]\nb: *x\n", encoding="utf-8")
    assert read_yaml(file)[0] == {"a": [1, "two"], "b": [1, "two"]}
