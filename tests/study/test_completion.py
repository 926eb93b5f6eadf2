"""A finished run is not made again, unless anything that it depends on has changed."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval import base
from metaeval.base.errors import StoppedError
from metaeval.base.records import Kind, ScoreTable
from metaeval.cli import main
from metaeval.evaluators.base import BaseEvaluator
from metaeval.evaluators.grid import OK, Grid
from metaeval.kinds.registry import COMMON
from metaeval.kinds.scoring import Scoring
from metaeval.llm.calls.request import Reply
from metaeval.llm.store.replies import Store
from metaeval.llm.store.rows import StoreConnection, put_held
from metaeval.runs.answer import add_found, kept_judges, read_answer
from metaeval.runs.folder import OUTPUTS, RunFolder, read_record
from metaeval.study import plan as module
from metaeval.study.pipeline import rerun
from tests.conftest import ROOT
from tests.study.runs import QUICK, tiny_in
from tests.tiny import write_study

JUDGES = "[\"Judge('simulated/a,unparsed=0.3')\", \"Pairwise('simulated/b')\", \"Annotator('1')\"]"
STORE = Path("replies.sqlite")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with tiny_in(tmp_path_factory.mktemp("made")) as folder:
        keys = {**QUICK, "evaluators": JUDGES, "judging": "{store: replies.sqlite}"}
        me.run(write_study(Path("s.yaml"), **keys), "out")
        return folder


@pytest.fixture
def study(made: Path, fresh: Callable[[Path], Path]) -> Path:
    """A study that was run into the folder ``out``."""
    return fresh(made) / "s.yaml"


def written(folder: str = "out") -> dict[str, int]:
    """Return when each output was written."""
    return {name: (Path(folder) / name).stat().st_mtime_ns for name in OUTPUTS}


def again(study: Path) -> bool:
    """Run a study once more and say whether it was finished already, seen by its result and its files."""
    before = written() if all((Path("out") / name).exists() for name in OUTPUTS) else {}
    already = me.run(study, "out").already
    assert already == (written() == before)
    return already


@pytest.mark.slow
def test_it_is_read_back_as_it_was_made(study: Path) -> None:
    first = me.run(study, "new")
    second = me.run(study, "new")
    assert (first.already, second.already) == (False, True)
    assert second.record == first.record
    assert second.folder == first.folder
    pd.testing.assert_frame_equal(second.scores.frame, first.scores.frame, check_dtype=False)
    pd.testing.assert_frame_equal(second.scores.verdicts, first.scores.verdicts, check_dtype=False)
    pd.testing.assert_frame_equal(
        second.correlations.frame, first.correlations.frame, check_dtype=False, check_column_type=False
    )
    assert second.scores.signatures == first.scores.signatures
    assert second.leaderboard.to_markdown() == first.leaderboard.to_markdown()
    assert second.leaderboard.to_html() == first.leaderboard.to_html()


def test_the_command_says_so_and_where_the_report_lies(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(study), "--out", "new"]) == 0
    first = capsys.readouterr().out
    assert "Finished already" not in first
    before = written("new")
    assert main(["run", str(study), "--out", "new"]) == 0
    second = capsys.readouterr().out
    lines = second.splitlines()
    (done,) = (line for line in lines if line.startswith("Finished already, 20"))
    assert [line for line in lines if line != done] == first.splitlines()
    assert main(["run", str(study), "--out", "new", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["already_finished"] is True
    assert written("new") == before


@pytest.mark.slow
def test_what_is_replaced_is_said_unless_the_study_is_the_same(
    study: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    assert main(["run", str(study), "--out", "out"]) == 0
    (Path("out") / "report.html").write_text("changed")
    assert main(["run", str(study), "--out", "out"]) == 0
    assert "replaces" not in capsys.readouterr().out
    text = study.read_text(encoding="utf-8")
    study.write_text(f"{text}title: Mine\nunits: own\n", encoding="utf-8")
    assert main(["run", str(study), "--out", "out"]) == 0
    told = capsys.readouterr().out.splitlines()[0]
    assert told.startswith("This run replaces that of 20")
    assert told.endswith(
        " in out, which had other title, units; --out (in Python, out=) with another folder keeps both."
    )
    assert main(["-q", "run", str(study), "--out", "out"]) == 0
    assert caplog.messages == []
    replace_in("tiny/ratings.csv", ",user,clear,1", ",user,clear,2")
    me.run(study, "out")
    assert ["which had other data;" in message for message in caplog.messages] == [True]


def replace_in(path: str, old: str, new: str) -> None:
    text = Path(path).read_text(encoding="utf-8")
    assert old in text
    Path(path).write_text(text.replace(old, new, 1), encoding="utf-8")


def sql(statement: str) -> None:
    with sqlite3.connect(STORE) as connection:
        assert connection.execute(statement).rowcount
    connection.close()


def other_reply(store: Path) -> None:
    """Put another whole reply in the place of the first one of a store."""
    with Store(store) as opened:
        key, request = opened.rows("SELECT key, request FROM replies ORDER BY key LIMIT 1")[0]

        def change(connection: StoreConnection) -> bool:
            connection.execute("DELETE FROM replies WHERE key = ?", (key,))
            return put_held(connection, key, request, ("simulated", "m"), Reply("{}"), created=0.0)

        assert opened.write(change)


CHANGES: dict[str, Callable[[], object]] = {
    "a rating": lambda: replace_in("tiny/ratings.csv", ",1,clear,1", ",1,clear,2"),
    "a text": lambda: replace_in("tiny/explanations.csv", "It is funny.", "It is sad."),
    "the language, which prompts name": lambda: replace_in(
        "tiny/dataset.yaml", "language: en", "language: de"
    ),
    "what is simulated": lambda: replace_in("tiny/dataset.yaml", "simulated: true", "simulated: false"),
    "the title": lambda: replace_in("s.yaml", "dataset:", "title: Mine\ndataset:"),
    "the policy": lambda: replace_in("s.yaml", "score: 0", "score: drop"),
    "a file that is gone": lambda: Path("out/tests.csv").unlink(),
    "a file that was changed": lambda: replace_in("out/correlations.csv", "dataset", "datasets"),
    "the record that is gone": lambda: Path("out/run.json").unlink(),
    "a reply": lambda: other_reply(STORE),
    "a reply that is gone": lambda: sql("DELETE FROM replies WHERE key = (SELECT min(key) FROM replies)"),
    "an earlier attempt that is gone": lambda: sql(
        "DELETE FROM replies WHERE key = (SELECT a.key FROM replies a JOIN replies b ON "
        "b.request = replace(a.request, '\"attempt\":0', '\"attempt\":1') LIMIT 1)"
    ),
    "a store that is gone": STORE.unlink,
}


@pytest.mark.slow
@pytest.mark.parametrize("what", CHANGES)
def test_what_changed_is_done_anew(study: Path, what: str) -> None:
    assert again(study)
    CHANGES[what]()
    assert not again(study)
    assert again(study)


@pytest.mark.slow
def test_a_prompt_of_ones_own_that_changed_is_asked_anew(study: Path) -> None:
    text = (ROOT / "prompts" / "multi-aspect.md").read_text(encoding="utf-8")
    Path("mine.md").write_text(text.replace("name: multi-aspect", "name: mine"), encoding="utf-8")
    write_study(study, **{**QUICK, "evaluators": "[\"Judge('simulated/a', prompt='mine.md')\"]"})
    me.run(study, "out")
    assert again(study)
    replace_in("mine.md", "Put yourself", "Please put yourself")
    assert not again(study)


def test_other_replies_in_the_store_change_nothing(study: Path) -> None:
    other = write_study(
        Path("other.yaml"),
        **{**QUICK, "evaluators": "[\"Judge('simulated/c')\"]", "judging": "{store: replies.sqlite}"},
    )
    me.run(other, "other")
    assert again(study)
    Path("elsewhere").mkdir()
    shutil.copy(STORE, "elsewhere/copy.sqlite")
    STORE.unlink()
    shutil.copy("elsewhere/copy.sqlite", STORE)
    assert again(study)


@pytest.mark.slow
def test_a_judge_inside_an_ensemble_alone_counts_too(tiny: Path, own_store: Path) -> None:
    mean = "Mean(Judge('simulated/a'), Annotator('1'), skip_missing=True)"
    study = write_study(tiny.parent / "s.yaml", **{**QUICK, "evaluators": f'["{mean}"]'})
    me.run(study, "out")
    assert again(study)
    other_reply(own_store)
    assert not again(study)


@pytest.mark.slow
def test_an_offline_run_is_another(study: Path) -> None:
    assert not me.run(study, "out", offline=True).already
    assert me.run(study, "out", offline=True).already
    assert not again(study)


@pytest.mark.slow
def test_reparse_is_always_done(study: Path) -> None:
    before = written()
    assert main(["reparse", "out", "-q"]) == 0
    assert written() != before
    after = written()
    assert not rerun("out").already
    assert written() != after


def test_reparse_keeps_what_was_found_of_a_judge_until_its_scores_are_others(study: Path) -> None:
    judge = "Judge('simulated/a,unparsed=0.3')"
    add_found(Path("out"), "replace", {judge: "may replace a person"})
    assert main(["reparse", "out", "-q"]) == 0
    assert read_answer(Path("out")).judges[judge].found["replace"] == "may replace a person"
    frame = pd.read_parquet("out/scores.parquet")
    frame.loc[frame["evaluator"].eq(judge) & frame["score"].notna(), "score"] = 1.0
    record = read_record(Path("out"))
    table = ScoreTable(frame, record.signatures, record.kinds)
    assert judge not in kept_judges(Path("out"), record, table, pd.read_parquet("out/truth.parquet"))
    replace_in("tiny/ratings.csv", ",1,clear,1", ",1,clear,2")
    assert main(["reparse", "out", "-q"]) == 0
    assert not any(read_answer(Path("out")).judges[judge].found.values())


def test_changed_code_is_run_anew(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "elsewhere" / "metaeval"
    shutil.copytree(ROOT / "metaeval", copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(base, "__file__", str(copy / "base" / "__init__.py"))
    module.code.cache_clear()
    assert again(study)  # the same code in another place
    with (copy / "stats" / "coefficients.py").open("a", encoding="utf-8") as file:
        file.write("\n")
    module.code.cache_clear()
    assert not again(study)
    monkeypatch.undo()
    module.code.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize("study", ["demo", "exposure", "relevance", "slates"])
def test_a_study_that_was_interrupted_is_scored_anew_if_the_code_has_changed(
    study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each kind: parts of a run that broke off are used again by the same code alone."""
    whole, part = Scoring.tables, RunFolder.part
    used: list[str] = []

    def tables(self: Scoring) -> Iterator[tuple[str, Any]]:
        """Score the truth, or one evaluator, and be interrupted."""
        yield next(whole(self))
        if len(self.named) > 1:
            raise KeyboardInterrupt

    def parts(self: RunFolder, key: str) -> Any:
        found = part(self, key)
        used.extend([key] * (found is not None))
        return found

    monkeypatch.setattr(Scoring, "tables", tables)
    monkeypatch.setattr(RunFolder, "part", parts)
    monkeypatch.setenv("METAEVAL_STORE", str(tmp_path / "r.sqlite"))
    found = []
    for code in ("before", "before", "after", "after"):
        monkeypatch.setattr("metaeval.study.pipeline.code", lambda code=code: code)
        used.clear()
        with pytest.raises(StoppedError, match="the scores of 1 of"):
            me.run(ROOT / "studies" / f"{study}.yaml", tmp_path / "out")
        found.append(len(used))
    assert found == [0, 1, 0, 1]


def test_another_version_of_a_library_is_run_anew(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one that this package requires; what else is installed does not matter."""
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    for folder, same in (("some_library-2.0", True), ("Rouge_Score-9.0", False)):
        (tmp_path / "site" / f"{folder}.dist-info").mkdir(parents=True)
        module.libraries.cache_clear()
        module.code.cache_clear()
        assert again(study) == same
    monkeypatch.undo()
    module.libraries.cache_clear()
    module.code.cache_clear()


@dataclass(frozen=True, repr=False)
class Ones(BaseEvaluator):
    """An evaluator whose code lies elsewhere."""

    kind = Kind.BASELINE

    def grid(self, data: me.ExplanationSet, aspects: list[str]) -> Grid:
        shape = (len(data), len(aspects))
        return Grid(np.ones(shape), np.full(shape, OK, np.int8))


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["Ones()", "Mean(Ones(), Annotator('1'))"])
def test_an_evaluator_of_ones_own_is_always_run(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, spec: str
) -> None:
    monkeypatch.setitem(COMMON, "Ones", Ones)
    study = write_study(tiny.parent / "s.yaml", **{**QUICK, "evaluators": f'["{spec}"]'})
    me.run(study, "out")
    assert not again(study)
