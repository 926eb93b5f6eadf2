"""``metaeval gate``, as it is typed: from texts, by way of a simulated model, to a verdict."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from junitparser import JUnitXml

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.cli.trust import gate
from metaeval.kinds.explanations.data.loading import save
from tests.study.runs import QUICK
from tests.tiny import write_study

USERS, ITEMS = 24, 4
SENTENCE = "You liked the quiet films by this director, and this one is as quiet and as well acted. "


def texts(items: int = ITEMS, users: int = USERS) -> pd.DataFrame:
    rows = [
        {
            "user_id": f"u{u:02}",
            "item_id": f"i{i}",
            "generator": "ours",
            "explanation": f"{SENTENCE}User {u} may like film {i}.",
            "genre": "drama" if i % 2 else "comedy",
        }
        for u in range(users)
        for i in range(items)
    ]
    return pd.DataFrame(rows)


def judged(
    folder: Path, name: str, explanations: pd.DataFrame, model: str = "one,noise=0.05", **keys: str
) -> Path:
    """Save a data set, run the judge over it, and return the run folder."""
    units = explanations[["user_id", "item_id", "generator"]]
    ratings = [
        units.assign(rater="user", aspect=a, rating=[float(1 + (n + k) % 5) for n in range(len(units))])
        for k, a in enumerate(("clear", "fitting"))
    ]
    data = me.from_frames(explanations, pd.concat(ratings, ignore_index=True))
    save(data, folder / f"data-{name}", "csv")
    study = {
        **QUICK,
        "dataset": str(folder / f"data-{name}"),
        "evaluators": f"{{judge: \"Judge('simulated/{model}')\", Length(): Length()}}",
        "judging": f"{{store: {folder / 'replies.sqlite'}}}",
        **keys,
    }
    return me.run(write_study(folder / f"{name}.yaml", **study), folder / name).folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of the accepted system, of the same judged again, of a worse one, and of a few units."""
    folder = tmp_path_factory.mktemp("gate")
    judged(folder, "accepted", texts())
    judged(folder, "again", texts())
    judged(folder, "worse", texts().assign(explanation=lambda f: f["explanation"].str[-24:]))
    reworded = texts().assign(explanation=lambda f: f["explanation"].str.replace("may like", "could like"))
    judged(folder, "reworded", reworded)
    judged(folder, "few", reworded[reworded["user_id"] < "u03"].reset_index(drop=True))
    return folder


@pytest.fixture
def typed(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return the exit code and what was printed, of a command typed where the runs are."""
    shutil.copytree(runs, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")

    def run(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(gate, ["--format", "md", *arguments], catch_exceptions=False)
        return done.exit_code, done.stdout

    return run


@pytest.fixture
def accepted(typed):
    code, out = typed(
        "accepted", "--min", "2", "--max-drop", "0.5", "--by", "genre", "--write-baseline", "b/main.json"
    )
    assert (code, out) == (0, "b/main.json\nb/main.units.csv\n")
    return typed


@pytest.mark.slow
def test_the_same_judge_twice_passes(accepted) -> None:
    code, out = accepted("again", "--baseline", "b/main.json")
    assert code == 0
    assert "## Gate by judge: pass" in out
    assert out.count("| pass |") == 12
    assert "the same texts, and the same judge" in out
    assert "The judge is uncalibrated" in out
    code, out = accepted("reworded", "--baseline", "b/main.json")
    assert code == 0
    assert "the same texts" not in out


@pytest.mark.slow
def test_a_worse_generator_fails(accepted) -> None:
    code, out = accepted("worse", "--baseline", "b/main.json", "--junit", "j.xml", "--summary", "s.md")
    assert code == 1
    assert "| fail | clear | all | drop ≤ 0.5 |" in out
    (suite,) = JUnitXml.fromfile("j.xml")
    assert suite.failures >= 6
    summary = Path("s.md").read_text(encoding="utf-8")
    assert summary.startswith("# Gate: FAIL")
    assert "SIMULATED" in summary
    before = Path("j.xml").read_bytes()
    accepted("worse", "--baseline", "b/main.json", "--junit", "j.xml")
    assert Path("j.xml").read_bytes() == before


def test_too_few_units_are_inconclusive(accepted) -> None:
    code, out = accepted("few", "--baseline", "b/main.json", "--max-drop", "0.1", "--json")
    assert code == 4
    found = json.loads(out)
    assert found["verdict"] == "inconclusive"
    assert {c["verdict"] for c in found["checks"] if c["kind"] == "drop"} == {"inconclusive"}
    assert (
        min(c["smallest_effect"] for c in found["checks"] if c["kind"] == "drop" and c["smallest_effect"])
        > 0.1
    )


def test_a_run_is_a_baseline_too(typed) -> None:
    code, out = typed("worse", "--baseline", "accepted", "--max-drop", "clear=0.5", "--by", "genre")
    assert code == 1
    assert out.count("| fail |") == 3
    assert typed("again", "--baseline", "accepted", "--max-drop", "0.01")[0] == 0


@pytest.mark.slow
def test_a_bar_is_lowered_in_the_file_alone(accepted) -> None:
    with pytest.raises(MetaevalError, match=r"a mean of 1.5 for clear instead of 2 is less strict"):
        accepted("again", "--baseline", "b/main.json", "--min", "1.5")
    with pytest.raises(MetaevalError, match=r"a drop of up to 1 for clear/comedy instead of 0.5"):
        accepted("again", "--baseline", "b/main.json", "--max-drop", "clear/comedy=1")
    assert accepted("again", "--baseline", "b/main.json", "--min", "4.9")[0] == 1
    before = Path("b/main.json").read_text(encoding="utf-8")
    _, out = accepted("again", "--min", "1.5", "--write-baseline", "b/main.json")
    assert "LOWERED: a mean of 1.5 for clear instead of 2" in out
    after = Path("b/main.json").read_text(encoding="utf-8")
    changed = [(a, b) for a, b in zip(before.splitlines(), after.splitlines(), strict=True) if a != b]
    assert changed == [('      "*": 2.0', '      "*": 1.5')]
    # What nobody speaks of stays: accepting a run keeps its thresholds.
    accepted("again", "--write-baseline", "b/main.json")
    assert Path("b/main.json").read_text(encoding="utf-8") == after


@pytest.mark.slow
def test_a_judge_that_changed_is_not_compared_silently(accepted, runs: Path, tmp_path: Path) -> None:
    other = str(judged(tmp_path, "other", texts(), "two,noise=0.05"))
    with pytest.raises(
        MetaevalError,
        match=r"is not the one of the baseline: the model changed .simulated/one.* → simulated/two",
    ):
        accepted(other, "--baseline", "b/main.json")
    code, out = accepted(other, "--baseline", "b/main.json", "--accept-judge-change")
    assert code in {0, 1, 4}
    assert "THE JUDGE CHANGED since the baseline: the model changed (simulated/one" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["again"], "there is nothing to check"),
        (["again", "--min", "2", "--by", "gnre"], "has no column 'gnre'; did you mean 'genre'"),
        (["again", "--min", "2", "--evaluator", "jugde"], "has no evaluator 'jugde'; did you mean 'judge'"),
        (["again", "--min", "2", "--generator", "theirs"], "no generator 'theirs'.*it has: ours"),
        (["again", "--min", "claer=2"], "did you mean 'clear'"),
        (["again", "--min", "2", "--by", "genre", "--data", "data-worse"], "is not the one that the run"),
        (["none", "--min", "2"], "there is no run folder none"),
        (["again", "--min", "2", "--write-baseline", "accepted"], "is a folder; give the name of a file"),
        (["again", "--min", "2", "--baseline", "b/none.json"], "there is no baseline"),
        (
            ["again", "--baseline", "b/main.json", "--by", "item_id"],
            "checks by 'genre', and --by says 'item_id'",
        ),
    ],
)
def test_what_is_wrong_is_said(accepted, arguments: list[str], message: str) -> None:
    with pytest.raises(MetaevalError, match=message):
        accepted(*arguments)
