"""What an optional library is needed for says, in one sentence, how to install it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from metaeval.base.errors import MissingExtraError
from metaeval.cli import cli
from metaeval.integrations.mcp_server import Tools, server_of
from metaeval.integrations.mlflow_log import log_audit
from metaeval.judging.cluster import workers_of
from metaeval.judging.settings import JudgingOptions
from metaeval.kinds.explanations.text.texts import check_tokenizer
from metaeval.kinds.known_items import text_vectors
from metaeval.kinds.registry import build
from metaeval.llm.store.replies import database_at
from metaeval.reports.drawing import check_drawing
from metaeval.stats.ranking.comparisons import Games, graph_strengths
from tests.docs.commands import EXTRAS

OURS = {"docs", "lint", "release", "test"}
"""Extras that only developers need."""


def _log(tmp_path: Path, sample: Path) -> None:
    (tmp_path / "log.eval").touch()
    words = [
        "data",
        "add-scores",
        sample,
        tmp_path / "log.eval",
        "--from",
        "inspect",
        "--out",
        tmp_path / "a",
    ]
    cli.main(list(map(str, words)), standalone_mode=False)


_NO_GAME = Games(np.zeros(0, int), np.zeros(0, int), np.zeros(0), 0)
NEEDS: dict[str, tuple[str, str, Callable[[Path, Path], object]]] = {
    "crowd": ("crowdkit", "DawidSkene", lambda *_: build("DawidSkene(Annotator('1'))").check(None, ())),
    "exposure": ("sklearn", "similarity by TF-IDF", lambda *_: text_vectors(["a"])),
    "embeddings": ("sentence_transformers", "embeddings by 'x'", lambda *_: text_vectors(["a"], "x")),
    "figures": ("vl_convert", "drawing figures", lambda *_: check_drawing()),
    "inspect": ("inspect_ai.log", "reading a log of inspect", _log),
    "ja": ("MeCab", "tokenize='ja-mecab'", lambda *_: check_tokenizer("ja-mecab")),
    "ko": ("mecab_ko", "tokenize='ko-mecab'", lambda *_: check_tokenizer("ko-mecab")),
    "mcp": ("mcp", "`metaeval mcp`", lambda *_: server_of(Tools.here({}, 0))),
    "mlflow": ("mlflow", "log_audit", lambda place, _: log_audit(place)),
    "pairs": (
        "evalica",
        "strengths by eigen",
        lambda *_: graph_strengths("eigen", _NO_GAME, np.ones((0, 1))),
    ),
    "postgres": ("psycopg", "a store in PostgreSQL", lambda *_: database_at("postgresql://h/d")),
    "ray": ("ray", "engine 'ray'", lambda *_: workers_of(JudgingOptions(), "ray")),
}
"""A library of each extra, what needs it in words, and how that is done."""


@pytest.mark.parametrize("extra", sorted({*EXTRAS} - OURS))
def test_a_missing_library_is_answered_with_the_install_command(
    extra: str, tmp_path: Path, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, what, need = NEEDS[extra]
    for name in [
        n for n in sys.modules if n.split(".")[0] == library or n.startswith("metaeval.llm.store.postgres")
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError) as said:
        need(tmp_path, sample)
    wanted = f"{what} needs an optional library; install it with: pip install 'metaeval[{extra}]'"
    assert str(said.value) == wanted
