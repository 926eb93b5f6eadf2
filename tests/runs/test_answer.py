"""The answer of a run: what its sentences say, and say not, of boards made up for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from metaeval.base.records import Kind, Scale
from metaeval.engine.board import Board, BoardDimension
from metaeval.engine.order.paired_tests import Comparisons
from metaeval.engine.order.ranking import PeopleLine
from metaeval.engine.order.ranks import Rank, Ranks
from metaeval.runs.answer import RunAnswer, add_found, answer_of, read_answer
from metaeval.runs.folder import ANSWER, RECORD, read_record
from metaeval.runs.record import DataFacts, EvaluatorFacts, Record, StudyFacts, TruthFacts
from tests.study.runs import tiny_run
from tests.tiny import write_tiny

SPECS = {
    "Random(seed=0)": Kind.BASELINE,
    "Length()": Kind.BASELINE,
    "ROUGE('L')": Kind.REFERENCE,
    "Annotator('1')": Kind.ANNOTATOR,
    "Judge('a/model')": Kind.JUDGE,
}
AT = {"coefficient": "pearson"}


def record(truth: str = "User()", kinds: Mapping[str, Kind] = SPECS) -> Record:
    data = DataFacts(
        name="tiny",
        fingerprint="0",
        simulated=False,
        licence="",
        source="",
        units=4,
        scale=Scale(1, 5),
        keys=["user_id"],
        cluster="user_id",
        nouns={"user_id": "user"},
    )
    evaluators = {n: EvaluatorFacts(spec=n, kind=k, signature={}, scores={}) for n, k in kinds.items()}
    return Record(
        layout=1,
        metaeval="0",
        study=StudyFacts(),
        data=data,
        truth=TruthFacts(spec=truth, signature={}),
        evaluators=evaluators,
    )


def board(estimates: Sequence[float], kinds: Mapping[str, Kind] = SPECS, **options: Any) -> Board:
    frame = pd.DataFrame({"evaluator": [*kinds], **AT, "estimate": estimates})
    dimension = BoardDimension("coefficient", {"pearson": "Pearson's r"})
    how: dict[str, Any] = {"estimate": "{coefficient}", "relation": "with the truth", "form": "hundred"}
    ends = {"ci_low": frame["estimate"] - 0.1, "ci_high": frame["estimate"] + 0.1}
    return Board(frame.assign(**ends), (dimension,), **how | options, kinds=kinds)


def shown(
    estimates: Sequence[float], worse: Sequence[tuple[str, str]], n: int = 20, tool: Sequence[float] = ()
) -> Comparisons:
    """Return tests that show the first of each pair to be worse than the second."""
    names, size = [*SPECS], len(SPECS)
    p = np.ones((size, size))
    for one, other in worse:
        i, j = names.index(one), names.index(other)
        p[i, j] = p[j, i] = 0.01
    difference = np.subtract.outer(np.array(estimates), np.array(estimates))
    nothing = np.full((size, size), np.nan)
    of = {name: Rank(p_best_tool=p) for name, p in zip(names, tool or [None] * size, strict=True)}
    ranks = Ranks(of, 0.05, "user", n, 0, refused="" if tool else "there are few")
    policy = {"alpha": 0.05, "n_clusters": n, "ranks": ranks.record(), "correction": "holm"}
    return Comparisons(AT, tuple(names), difference, p, p, p, nothing, nothing, policy)


ESTIMATES = [0.0, 0.1, 0.3, 0.4, 0.2]
WORSE = [("Random(seed=0)", "ROUGE('L')"), ("Length()", "ROUGE('L')")]


def said(*args: Any, truth: str = "User()", **options: Any) -> str:
    return " ".join(answer_of(*args, AT, record(truth), **options).sentences)


def test_the_best_tool_what_may_be_as_good_the_baselines_and_people() -> None:
    tests = shown(ESTIMATES, [*WORSE, ("ROUGE('L')", "Annotator('1')")])
    assert said(board(ESTIMATES), tests=tests) == (
        "Of 4 tools, ROUGE-L agrees best with the users (Pearson's r × 100 = 30.00), but no lead over "
        "Judge a/model is shown: either may be the best tool. Random is shown to be beaten by 1 of the 3 "
        "other tools, Length by 1 of the 3 other tools. None reaches the 40.00 of Annotator 1."
    )


def test_people_who_are_not_shown_to_be_better_are_said_not_to_be() -> None:
    told = said(board(ESTIMATES), tests=shown(ESTIMATES, WORSE))
    assert told.endswith("None reaches the 40.00 of Annotator 1; whether ROUGE-L is worse is open.")
    ahead = [0.0, 0.1, 0.5, 0.4, 0.2]
    told = said(board(ahead), tests=shown(ahead, WORSE))
    assert told.endswith("ROUGE-L reaches the 40.00 of Annotator 1, and is not shown to be better.")


def test_who_may_be_the_best_is_as_the_ranks_of_tools_say() -> None:
    tests = shown(ESTIMATES, WORSE, tool=[0.01, 0.2, 0.8, None, 0.02])  # type: ignore[list-item]
    answer = answer_of(board(ESTIMATES), AT, record(), tests=tests)
    assert answer.may_be_best == ["ROUGE-L", "Length"]
    only = shown(ESTIMATES, WORSE, tool=[0.01, 0.02, 0.8, None, 0.02])  # type: ignore[list-item]
    assert "and is shown to be better than every other" in said(board(ESTIMATES), tests=only)


def test_nothing_is_shown_without_tests_or_with_few_clusters() -> None:
    untested = said(board(ESTIMATES))
    assert untested == (
        "Of 4 tools, ROUGE-L agrees best with the users (Pearson's r × 100 = 30.00). None reaches the 40.00 "
        "of Annotator 1."
    )
    few = said(board(ESTIMATES), tests=shown(ESTIMATES, WORSE, n=4))
    assert "Whether it is better than another cannot be told: 4 users are too few for any test" in few
    assert "Shown" not in few
    assert "lead" not in few


@pytest.mark.parametrize(("low", "shows"), [(-0.03, False), (0.02, True)])
def test_where_people_do_not_agree_nothing_shows_quality(low: float, shows: bool) -> None:
    kinds = {name: kind for name, kind in SPECS.items() if kind != Kind.ANNOTATOR}
    line = PeopleLine("annotator 1 against the mean of 2 and 3", AT, 0.012, low, 0.05, among=True)
    of = board([0.0, 0.1, 0.3, 0.2], kinds)
    told = " ".join(
        answer_of(of, AT, record("Mean(Annotator('1'), Annotator('2'))", kinds), people=[line]).sentences
    )
    assert ("nothing here shows quality" in told) is not shows
    assert ("People reach Pearson's r × 100 = 1.20 [2.00, 5.00]" in told) is shows
    assert "with Annotators (mean of 2)" in told


def test_an_error_is_best_where_it_is_lowest_and_equals_are_named() -> None:
    of = board(
        [0.3, 0.2, 0.1, 0.2, 0.1],
        estimate="regret",
        relation="against",
        form="decimal",
        higher_is_better=False,
    )
    assert said(of).startswith("Of 4 tools, ROUGE-L and Judge a/model have the lowest regret (0.1000).")
    nothing = board([np.nan] * len(SPECS))
    assert said(nothing) == "No evaluator has an estimate here."


def test_a_judge_has_a_line_of_trust_and_what_is_still_to_be_run(tmp_path: Path) -> None:
    write_tiny(tmp_path / "tiny")
    judge = '["Judge(\'simulated/one\')", "Random(seed=0)"]'
    run = tiny_run(tmp_path, "run", evaluators=judge, judging=f"{{store: {tmp_path / 'replies.sqlite'}}}")
    answer = read_answer(run)
    assert answer.lines[0] == " ".join(answer.sentences)
    names = list(answer.judges)
    assert all(": run `metaeval audit` before trusting it" in line for line in answer.lines[1:])
    changed = add_found(run, "calibrate", {names[0]: "cannot serve as a gate: agrees too little"})
    assert read_answer(run) == changed
    (line,) = changed.trust(names[:1])
    assert ": cannot serve as a gate: agrees too little; still to be run: `metaeval" in line
    assert RunAnswer.model_validate_json((run / ANSWER).read_text()).best == answer.best
    assert read_record(run).outputs[ANSWER]
    assert (run / RECORD).is_file()
