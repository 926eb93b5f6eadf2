"""Small finished runs to compare and to look at."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import metaeval as me
from tests.tiny import FEW, write_study, write_tiny

QUICK = {
    **FEW,
    "evaluators": '["Random(seed=0)", "Length()", "Annotator(\'1\')", "Recorded(\'Judge & Co_1\')"]',
    "missing": "{truth: 3, score: 0}",
}
WIDE = {"levels": "", "coefficients": ""}
"""All levels and coefficients."""


def tiny_run(folder: Path, name: str, **keys: str) -> Path:
    """Run a study of the data set ``tiny`` in ``folder`` into its subfolder ``name``."""
    study = write_study(folder / f"{name}.yaml", **{**QUICK, "dataset": str(folder / "tiny"), **keys})
    return me.run(study, folder / name).folder


@contextlib.contextmanager
def tiny_in(folder: Path) -> Iterator[Path]:
    """Work in a folder with the data set ``tiny`` and a store of its own, for what many tests share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("METAEVAL_STORE", str(folder / "replies.sqlite"))
        write_tiny(folder / "tiny")
        yield folder
