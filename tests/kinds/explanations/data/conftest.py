from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

MANIFEST = """\
name: tiny
aspects:
  clarity: The text is clear
  trust: I trust the text
scale: {min: 1, max: 5}
"""
EXPLANATIONS = """\
user_id,item_id,generator,explanation
u1,007,a,One text
u1,007,b,Another text
u2,8,a,"A text, with a comma"
"""
RATINGS = """\
user_id,item_id,generator,rater,aspect,rating
u1,007,a,user,clarity,4
u1,007,a,user,trust,
u1,007,b,1,clarity,2
u2,8,a,user,clarity,5
"""


class Maker:
    """Writes a sound, tiny data set; a test spoils one file of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("dataset.yaml", MANIFEST)
        self.write("explanations.csv", EXPLANATIONS)
        self.write("ratings.csv", RATINGS)

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else dedent(content).encode())
        return path

    def replace(self, name: str, old: str, new: str) -> None:
        text = (self.folder / name).read_text(encoding="utf-8")
        assert old in text
        self.write(name, text.replace(old, new, 1))


@pytest.fixture
def tiny(tmp_path: Path) -> Maker:
    folder = tmp_path / "tiny"
    folder.mkdir()
    return Maker(folder)
