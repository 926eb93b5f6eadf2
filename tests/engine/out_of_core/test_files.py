"""The connection: what it leaves behind, what it says, and that it is no must."""

import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

import metaeval as me
from metaeval.base.errors import DataError, MissingExtraError
from metaeval.engine.out_of_core.files import database, quoted, text
from tests.engine.out_of_core.test_passes import written
from tests.engine.test_correlation import study


def test_temporary_files_go_at_the_end(tmp_path, monkeypatch):
    pytest.importorskip("duckdb")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with database() as db:
        ((own,),) = db.rows("SELECT current_setting('temp_directory')")
        assert Path(own).parent == tmp_path
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("way", ["rows", "table", "batches"])
def test_an_interrupt_stops_a_query_at_once(way):
    pytest.importorskip("duckdb")
    endless = "SELECT sum(hash(a.range + b.range) % 7) AS s FROM range(10_000_000_000) a, range(1000) b"
    with database() as db:
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            list(getattr(db, way)(endless))
        assert time.monotonic() - started < 20
        timer.join()
        assert db.rows("SELECT 1") == [(1,)]  # it can be used again


def test_without_the_extra_one_sentence_says_how_to_get_it(tmp_path, monkeypatch):
    scores, truth = study()
    given = written(tmp_path / "scores", scores)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(
        MissingExtraError, match=r"^engine 'duckdb' needs .*: pip install 'metaeval\[duckdb\]'$"
    ):
        me.correlate(given, truth, engine="duckdb")
    assert len(me.correlate(given, truth))  # what fits in memory needs no extra


def test_names_and_texts_stay_what_they_are():
    pytest.importorskip("duckdb")
    name, value = 'a "b"; DROP TABLE x --', "it's'; --"
    with database() as db:
        assert db.table(f"SELECT {text(value)} AS {quoted(name)}").to_pydict() == {name: [value]}
        with pytest.raises(DataError, match=r"^DuckDB cannot read the table: .*nothing"):
            db.rows("FROM nothing")
