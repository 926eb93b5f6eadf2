"""A study on a store in PostgreSQL: the results are those of a file, and nobody learns the password."""

from __future__ import annotations

import base64
import logging
from pathlib import Path
from urllib.parse import quote

import pytest

from metaeval.cli import main
from metaeval.llm.store.replies import Store
from metaeval.study.pipeline import rerun
from tests.llm.postgres import PASSWORD, Postgres
from tests.study.runs import QUICK
from tests.tiny import write_study

JUDGES = "[\"Judge('simulated/a,unparsed=0.3')\", \"Pairwise('simulated/b')\", \"Annotator('1')\"]"
FORMS = (
    PASSWORD,
    quote(PASSWORD, safe=""),
    quote(PASSWORD),
    base64.b64encode(PASSWORD.encode()).decode()[:-4],
    PASSWORD.encode().hex(),
    PASSWORD.encode("unicode_escape").decode(),
)


def readable(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def told_in(text: str) -> list[str]:
    return [form for form in FORMS if form in text]


@pytest.mark.slow
@pytest.mark.parametrize("named_in", ["study", "environment"])
def test_a_study_is_the_same_and_its_password_is_nowhere(
    tiny: Path,
    postgres: Postgres,
    named_in: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    place = postgres.new()
    alone = write_study(tiny.parent / "alone.yaml", **{**QUICK, "evaluators": JUDGES})
    assert main(["run", str(alone), "--out", "alone"]) == 0
    monkeypatch.setenv("METAEVAL_STORE", place)
    given = {**QUICK, "evaluators": JUDGES}
    if named_in == "study":
        given["judging"] = f"{{store: {place!r}, max_calls: 1000, study_id: shared}}"
    study = write_study(tiny.parent / "study.yaml", **given)
    run = ["run", str(study), "--out", "out"]
    assert main([*run, "--dry-run", "--json"]) == 0
    assert main([*run, "--json"]) == 0
    capsys.readouterr()
    assert main(run) == 0
    assert "Finished already" in capsys.readouterr().out
    if named_in == "study":  # the run folder has no password: it comes from the environment
        rerun("out", offline=True)
        assert main(["store", "export", "replies.jsonl", "--run", "out"]) == 0
    for name in ("leaderboard.csv", "correlations.csv"):
        assert (Path("out") / name).read_bytes() == (Path("alone") / name).read_bytes()
    with Store(place) as shared, Store(tiny.parent / "replies.sqlite") as file:
        kept = "SELECT key FROM replies ORDER BY key"
        assert shared.rows(kept) == file.rows(kept)  # nothing of the store is in a key
        of_store = "SELECT tablename FROM pg_tables WHERE schemaname = 'metaeval'"
        tables = [name for (name,) in shared.rows(of_store)]
        assert {"replies", "texts", "claims"} <= set(tables)
        for table in tables:
            for row in shared.rows(f"SELECT * FROM {table}"):  # noqa: S608 - their names
                assert not told_in(" ".join(map(readable, row)))
    assert main(["store", "info", "--store", postgres.address("nowhere")]) == 2
    assert main(["store", "copy", place, str(tiny.parent / "copy.sqlite")]) == 0
    monkeypatch.setenv("METAEVAL_STORE", postgres.address("postgres", password=f"{PASSWORD}?"))
    assert main(["store", "info"]) == 2
    captured = capsys.readouterr()
    assert not told_in(captured.out + captured.err + caplog.text)
    written = [path for path in tiny.parent.rglob("*") if path.is_file() and path != study]
    assert len(written) > 20
    for path in written:
        assert not told_in(path.read_bytes().decode(errors="replace")), path
