"""Families in a study: judges with several prompts, and evaluators by patterns of names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError, StudyError
from metaeval.kinds.family_members import families_of, with_prompts
from metaeval.kinds.reading import make_study
from metaeval.study.results import read_board
from metaeval.trust.analyses import details_of
from metaeval.trust.label_plan import plan_of

THREE = ["multi-aspect", "rubric", "single-aspect"]


def study_of(**keys: Any) -> Any:
    return make_study({"dataset": "somewhere", "evaluators": ["Length()"], **keys})


def test_a_judge_with_several_prompts_is_a_family() -> None:
    named = with_prompts(study_of(evaluators={"mini": f"Judge('a/b', prompt={THREE})", "l": "Length()"}))
    assert named.evaluators == {
        **{f"mini, prompt {p}": f"Judge('a/b', prompt={p!r})" for p in THREE},
        "l": "Length()",
    }
    assert named.family == {"mini": [f"mini, prompt {p}" for p in THREE]}
    listed = with_prompts(study_of(evaluators=["Judge('a/b', prompt='*-aspect')"]))
    assert list(listed.evaluators) == [f"Judge('a/b', prompt='{p}-aspect')" for p in ("multi", "single")]
    words = with_prompts(study_of(evaluators={"words": "Judge('a/b', prompt='multi-aspect*')"}))
    assert words.family == {"words": [f"words, prompt multi-aspect{of}" for of in ("", "-b", "-c", "-d")]}
    plain = study_of(evaluators=["Judge('a/b', prompt='rubric')", "no spec"])
    assert with_prompts(plain) is plain


def test_files_fit_a_pattern_too(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"mine-{name}.md").touch()
    study = with_prompts(study_of(evaluators={"own": f"Judge('a/b', prompt='{tmp_path}/mine-*.md')"}))
    assert list(study.evaluators) == [f"own, prompt {tmp_path}/mine-{name}.md" for name in "ab"]
    with pytest.raises(StudyError, match=r"no prompt fits Judge\('a/b', prompt='rubik\*'\); bundled are "):
        with_prompts(study_of(evaluators=["Judge('a/b', prompt='rubik*')"]))


def test_patterns_of_names() -> None:
    names = ["GPT 1", "GPT 2", "GPT 3", "Orca 1", "GPT *"]
    assert families_of(study_of(family={"gpt": ["GPT *", "Orca 1", "GPT 2", "GPT 3"]}), names) == {
        "gpt": ["GPT *", "Orca 1", "GPT 2", "GPT 3"]
    }
    assert families_of(study_of(family={"gpt": ["GPT *"]}), names[:4]) == {"gpt": names[:3]}
    with pytest.raises(StudyError, match="there is no evaluator 'Mistral \\*'"):
        families_of(study_of(family={"m": ["Mistral *"]}), names)
    with pytest.raises(StudyError, match="the family 'two' has 2 members"):
        families_of(study_of(family={"two": ["GPT 1", "GPT 2"]}), names)


def test_a_run_with_a_family(sample: Path, tmp_path: Path) -> None:
    judge = f"Judge('simulated/one,noise=0.2', prompt={THREE})"
    study = {"dataset": str(sample), "evaluators": {"mini": judge}, "details": True}
    done = me.run(study, tmp_path / "run")
    families, parts = [s for s in details_of(done.folder) if s.name.startswith("famil")]
    [row] = families.frame.to_dict("records")
    assert row["family"] == "mini"
    assert row["n_members"] == 3
    assert row["total_low"] < row["ci_low"] < row["estimate"] < row["ci_high"] < row["total_high"]
    assert families.notes[0].startswith("mini: the standard error is ")
    assert parts.simulated.evaluators
    assert "Families of evaluators" in (done.folder / "details.md").read_text("utf-8")
    [bought] = plan_of(done.folder, buy=True)
    assert bought.frame["purchase"].tolist() == [
        "nothing", "twice the users", "twice the members", "twice the items"
    ]  # fmt: skip
    assert not (done.folder / "plan.csv").exists()
    with pytest.raises(StudyError, match="the family 'mini' has 2 members"):
        me.run(
            {**study, "evaluators": {"mini": f"Judge('simulated/one', prompt={THREE[:2]})"}}, tmp_path / "two"
        )
    assert not (tmp_path / "two").exists()


def test_total_intervals_on_the_leaderboard(sample: Path, tmp_path: Path) -> None:
    judge = f"Judge('simulated/one,noise=0.2', prompt={THREE}, samples=2, temperature=1)"
    study = {
        "dataset": str(sample),
        "evaluators": {"mini": judge, "length": "Length()"},
        "aspects": ["accuracy"],
        "levels": ["dataset"],
        "coefficients": ["pearson"],
        "bootstrap": {"resamples": 200},
        "tests": None,
        "details": False,
    }
    done = me.run({**study, "interval": "total"}, tmp_path / "total")
    plain, total = read_board(done.folder, interval="clusters"), done.leaderboard
    assert plain.ranking
    assert total.ranking
    ends = ["estimate", "ci_low", "ci_high"]
    rows, wide = (of.frame.set_index("evaluator")[ends] for of in (plain.ranking, total.ranking))
    assert rows["estimate"].equals(wide["estimate"])
    assert rows.loc[["length"]].equals(wide.loc[["length"]])
    assert (wide["ci_high"] - wide["ci_low"] > rows["ci_high"] - rows["ci_low"]).drop("length").all()
    text = "Intervals of members of mini are total"
    for board in (total, read_board(done.folder)):
        assert board.ranking
        assert board.ranking.frame.set_index("evaluator")[ends].equals(wide)
        written = [board.to_text(), board.to_markdown(), board.to_latex(), board.to_html()]
        assert all(text in " ".join(each.split()) for each in written)
    assert text not in plain.to_text()
    assert text in (done.folder / "report.html").read_text("utf-8")
    parts = next(s for s in details_of(done.folder) if s.name == "family-components")
    assert parts.frame["se_replies"].iloc[0] < parts.frame["se"].iloc[0]
    with pytest.raises(StudyError, match="total intervals, and there is no family"):
        me.run({**study, "evaluators": ["Length()"], "interval": "total"}, tmp_path / "none")
    me.run({**study, "evaluators": ["Length()"]}, tmp_path / "none")
    with pytest.raises(MetaevalError, match="has no family"):
        read_board(tmp_path / "none", interval="total")
