"""YAML files that are not what they seem."""

from __future__ import annotations

from pathlib import Path

from metaeval.base.yaml_lines import read_yaml


def test_an_alias_is_followed(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("a: &x [1, two]\nb: *x\n", encoding="utf-8")
    assert read_yaml(file)[0] == {"a": [1, "two"], "b": [1, "two"]}
