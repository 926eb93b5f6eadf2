"""The bundled sample is what its generator makes, and says that it is simulated."""

from __future__ import annotations

import subprocess
import sys

import pytest

from metaeval.kinds.explanations.data import loading
from tests.conftest import ROOT


def test_the_generator_makes_the_committed_bytes(sample, tmp_path):
    script = ROOT / "data" / "make_sample.py"
    done = subprocess.run(
        [sys.executable, script, tmp_path / "new"], capture_output=True, text=True, check=True
    )
    assert "(simulated)" in done.stdout
    made = {p.name: p.read_bytes() for p in (tmp_path / "new").iterdir()}
    assert made == {p.name: p.read_bytes() for p in sample.iterdir()}
    assert sum(map(len, made.values())) < 300_000


@pytest.fixture(scope="module")
def data(sample):
    return loading.load(sample)


def test_what_it_holds(data):
    counts = data.counts
    assert data.simulated
    assert (counts["user"], counts["generator"], counts["aspect"], counts["rater"]) == (22, 6, 4, 3)
    assert 0 < counts["missing rating"] < 50
    assert set(data.users["language"]) == {"en", "zh"}
    chinese = data.explanations["reference"].str.contains(r"[\u4e00-\u9fff]")
    assert 0.4 < chinese.mean() < 0.6
