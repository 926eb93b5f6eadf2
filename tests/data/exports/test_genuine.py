"""Exports that the tools themselves made, from ../shared/data: right roles, or one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

import metaeval as me
from metaeval.cli import main
from metaeval.data.exports.known import files_of, recognised
from metaeval.data.proposals.roles import read_roles
from metaeval.kinds.explanations.data.imports.table import data_set

TWO = ["anna", "ben"]
LANGFUSE = ["clanna0000xyz", "clben0000xyz"]
MAILS = ["anna@uni.de", "ben@uni.de"]
NUMBERED = ["rater 1", "rater 2"]
BOTH = ["claude", "gpt-5"]

RIGHT: dict[str, tuple[list[str], dict[str, int], list[str]]] = {
    "argilla/hf_disk": (NUMBERED, {"helpfulness": 48, "clarity": 48}, ["gpt-5"]),
    "argilla/hf_real.csv": (NUMBERED, {"helpfulness": 48, "clarity": 48}, ["gpt-5"]),
    "deepeval/.latest_test_run.json": (["human"], {"rating": 24, "Helpfulness": 24}, ["Clarity", "fake-gpt"]),
    "deepeval/result.json": (["human"], {"rating": 24, "Helpfulness": 24}, ["Clarity", "fake-gpt"]),
    "inspect/epochs.eval": (["human"], {"helpfulness": 24, "clarity": 24}, ["rubric"]),
    "inspect/logdir": (["human"], {"human": 24}, ["length", "model_graded_qa"]),
    "inspect/samples_df.csv": (["human"], {"human": 24}, ["length", "model_graded_qa"]),
    "labelstudio/export.json": (["1", "2"], {"helpfulness": 48, "clarity": 48}, []),
    "labelstudio/snapshot.json": (MAILS, {"helpfulness": 48, "clarity": 48}, BOTH),
    "langfuse": (
        LANGFUSE,
        {"helpfulness": 48, "clarity": 48},
        ["claude-clarity", "claude-helpfulness", "eval"],
    ),
    "langsmith/experiment.csv": (["human"], {"helpfulness": 24}, ["clarity", "helpfulness"]),
    "langsmith/runs_feedback.json": (NUMBERED, {"helpfulness": 48, "clarity": 48}, ["auto_eval", "gpt-5"]),
    "mlflow/eval_results.csv": (["root"], {"helpfulness": 24}, ["gpt-5"]),
    "mlflow/traces.jsonl": (MAILS, {"helpfulness": 48, "clarity": 48}, [*BOTH, "length"]),
    "mlflow/traces_df.csv": (MAILS, {"helpfulness": 48, "clarity": 48}, [*BOTH, "length"]),
    "mlflow/yesno.jsonl": (TWO, {"relevance": 48}, BOTH),
    "otel/logs.jsonl": (TWO, {"helpfulness": 48, "clarity": 48}, BOTH),
    "otel/spans_logs.jsonl": (TWO, {"helpfulness": 48, "clarity": 48}, BOTH),
    "phoenix": (TWO, {"helpfulness": 48, "clarity": 48}, BOTH),
    "phoenix/both.jsonl": (TWO, {"helpfulness": 48, "clarity": 48}, BOTH),
    "promptfoo/table.json": (["human"], {"rating": 24}, ["clarity", "helpfulness", "length"]),
    "ragas/ragas_human.csv": (["human"], {"helpfulness": 24, "clarity": 24}, ["clarity", "helpfulness"]),
    "trulens/records1.csv": (["human"], {"feedback": 12}, ["helpfulness"]),
}
"""File → people, ratings of each aspect, judges."""

TOLD = {
    "langfuse/scores.json": "scores whose trace, and with it the text, is not in the file; put traces and",
    "langfuse/traces_list_page.json": "scores of which the page of traces has the ids alone; put traces and",
    "langfuse/ui_export_traces.json": "the interface's export, which does not say who gave them; put",
    "langsmith/runs.json": "the averages in feedback_stats, which are over all sources, people and tools",
    "phoenix/annotations_df.json": "annotations whose span, and with it the text, is not in the file; put",
    "phoenix/api_annotations.json": "annotations whose span, and with it the text, is not in the file; put",
    "phoenix/api_spans.json": "annotations, which a file of spans has not; put spans",
    "promptfoo/one.csv": "has no ratings of people (scores of tools: length, helpfulness, clarity)",
    "promptfoo/results.csv": "has no ratings of people (scores of tools: length, helpfulness, clarity)",
}
"""File → what its one sentence says."""


@pytest.mark.parametrize("name", RIGHT)
def test_a_genuine_export_ends_in_the_right_roles(name: str, real_data: Path, tmp_path: Path) -> None:
    people, rated, judges = RIGHT[name]
    place, out = str(real_data / "exports" / name), tmp_path / "out"
    assert main(["init", place, "--yes", "--out", str(out)]) == 0
    data = me.load(out / "data")
    assert [*data.raters] == people
    ratings = data.ratings[data.ratings["rating"].notna()]
    assert ratings["aspect"].value_counts().to_dict() == rated
    assert sorted({*(() if data.scores is None else data.scores["evaluator"])}) == judges
    assert data.explanations["item_id"].nunique() == 12
    assert [*data.explanations["generator"].value_counts()] == [12, 12]
    assert len({*data.explanations["explanation"]}) == 24
    assert not data.explanations["explanation"].str.startswith('"').any()


@pytest.mark.parametrize("name", TOLD)
def test_a_genuine_export_without_people_ends_in_one_sentence(
    name: str, real_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["init", str(real_data / "exports" / name), "--yes", "--out", str(out)]) == 2
    said = capsys.readouterr()
    assert TOLD[name] in said.err
    assert said.err.count("\n") == 1
    assert not out.exists()


def test_every_genuine_export_is_tried(real_data: Path) -> None:
    folder = real_data / "exports"
    own = {folder / "own", folder / "argilla" / "hf_disk", folder / "inspect" / "logdir"}
    files = {
        p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and not own & {*p.parents}
    }
    assert files - {*RIGHT, *TOLD} == {"README.md"}


def test_a_batch_of_mturk_is_of_its_workers(real_data: Path) -> None:
    known = recognised(str(real_data / "exports/own/Batch_5012345_batch_results.csv"))
    assert known is not None
    made = data_set(files_of(*known, "made"))
    assert made.data.scores is None
    (said,) = [
        note for note in made.notes if "nobody is named for it: gpt4_score (4, 3, 5, …; 1 to 5;" in note
    ]
    role = read_roles(said.partition("--column ")[2].partition(";")[0])
    scores = data_set(files_of(*known, "made", roles=role)).data.scores
    assert scores is not None
    assert {*scores["evaluator"]} == {"gpt4_score"}
    roles = {"system": "generator", "gpt4_score": "tool:gpt-4"}
    data = data_set(files_of(*known, "made", roles=roles)).data
    assert len(data.raters) == 9
    assert [*data.explanations["generator"].value_counts()] == [6, 6]
    assert data.scores is not None
    assert {*data.scores["evaluator"]} == {"gpt-4"}
