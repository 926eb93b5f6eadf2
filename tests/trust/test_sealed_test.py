"""The sealed test: what is sealed is seen by nothing, and opened once, for the one that was chosen."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError, RunFolderError, StudyError
from metaeval.cli import main
from metaeval.kinds.reading import make_study
from metaeval.kinds.sealing import parted
from metaeval.runs.finished import open_run, open_sealed
from metaeval.runs.folder import read_record
from metaeval.stats.resampling.choice import best_of
from metaeval.study.plan import plan

SHARE, USERS = 0.4, 20


def write_data(
    folder: Path, users: int = USERS, *, own: Mapping[str, float] | None = None, seed: int = 0
) -> Path:
    """Write ratings of 10 units by each user, and scores with as much noise as stated."""
    rng = np.random.default_rng(seed)
    n = users * 10
    user = np.repeat([f"person{k:02d}" for k in range(users)], 10)
    keys = pd.DataFrame({"user_id": user, "item_id": [f"i{k}" for k in range(n)], "generator": "g"})
    rating = rng.integers(1, 6, n)
    folder.mkdir(parents=True)
    (folder / "dataset.yaml").write_text(
        "name: d\nscale: {min: 1, max: 5, integer: true}\naspects: {clear: It is clear.}\n", encoding="utf-8"
    )
    keys.assign(explanation=[f"text {k}" for k in range(n)]).to_csv(folder / "explanations.csv", index=False)
    keys.assign(rater="user", aspect="clear", rating=rating).to_csv(folder / "ratings.csv", index=False)
    frames = [
        keys.assign(evaluator=name, aspect="clear", score=np.round(rating + rng.normal(0, sd, n), 3))
        for name, sd in (own or {"a": 1.0, "b": 1.5, "c": 2.0}).items()
    ]
    pd.concat(frames).to_csv(folder / "scores.csv", index=False)
    people = pd.DataFrame(
        {"user_id": np.unique(user), "split": ["test", "train"] * (users // 2) + ["train"] * (users % 2)}
    )
    people.to_csv(folder / "users.csv", index=False)
    return folder


def study(data: Path, **keys: Any) -> dict[str, Any]:
    plain = {
        "bootstrap": None,
        "tests": None,
        "details": False,
        "levels": ["dataset"],
        "coefficients": ["pearson"],
    }
    return {"dataset": str(data), "evaluators": ["Recorded('*')"], "sealed": SHARE, **plain, **keys}


def rows(sheets: list[Any]) -> dict[str, Any]:
    row: dict[str, Any] = sheets[1].frame.iloc[0].to_dict()
    return row


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_data(tmp_path / "data")


@pytest.fixture
def run(data: Path, tmp_path: Path) -> Path:
    return me.run(study(data), tmp_path / "run").folder


def test_the_rest_sees_none_of_it(run: Path, data: Path, tmp_path: Path) -> None:
    sealed = set(open_sealed(open_run(run)).truth["user_id"])
    assert len(sealed) == round(SHARE * USERS)
    without = study(data, sealed=None, exclude={"user_id": sorted(sealed)})
    same = me.run(without, tmp_path / "without").folder
    record = read_record(run)
    assert {*record.outputs} == {*read_record(same).outputs, "sealed/scores.parquet", "sealed/truth.parquet"}
    for file in read_record(same).outputs:
        if file.endswith(".parquet"):
            pd.testing.assert_frame_equal(pd.read_parquet(run / file), pd.read_parquet(same / file))
        elif file.endswith(".csv"):
            assert (run / file).read_bytes() == (same / file).read_bytes(), file
    assert not any(name in (run / "report.html").read_text(encoding="utf-8") for name in sealed)
    assert record.data.units == 10 * (USERS - len(sealed))
    assert "Sealed: 8 users (80 units) are in no number here." in (run / "leaderboard.md").read_text(
        encoding="utf-8"
    )


def test_the_same_clusters_are_drawn_whatever_the_rows(data: Path) -> None:
    def names(share: object, **keys: Any) -> set[str]:
        made = make_study(study(data, sealed=share, **keys))
        part = parted(made, me.load(data)).sealed
        return set(part.units["user_id"])

    assert names(0.3) < names(0.5)
    assert names(0.3) == names(0.3, evaluators=["Length()"])
    assert names(0.3) != names(0.3, bootstrap={"seed": 1})
    loaded = me.load(data)
    turned = loaded.without("item_id", ["i0"])
    assert set(parted(make_study(study(data, sealed=0.3)), turned).sealed.units["user_id"]) == names(0.3)
    assert names({"split": ["test"]}) == {f"person{k:02d}" for k in range(0, USERS, 2)}
    assert names({"user_id": [f"person{k:02d}" for k in range(7)]}) == {f"person{k:02d}" for k in range(7)}


@pytest.mark.parametrize(
    ("sealed", "why"),
    [
        (0.2, "sealed leaves 16 users to choose by and 4 for the test; each side needs 6 users or more"),
        (0.9, "sealed leaves 2 users to choose by"),
        (1, "sealed is the share of clusters to keep apart"),
        ("half", "sealed is the share of clusters to keep apart"),
        ({"split": ["dev"]}, "no split 'dev'"),
        ({"spilt": ["test"]}, "has no column 'spilt'; did you mean 'split'"),
        ({"item_id": ["i0", "i1"]}, "the user .person00. has units with and without"),
    ],
)
def test_what_cannot_be_sealed(data: Path, tmp_path: Path, sealed: object, why: str) -> None:
    with pytest.raises(StudyError, match=why):
        plan(study(data, sealed=sealed), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_five_users_are_refused(tmp_path: Path) -> None:
    few = write_data(tmp_path / "few", 10)
    with pytest.raises(StudyError, match="5 users to choose by and 5 for the test"):
        plan(study(few, sealed=0.5), tmp_path / "run")


def test_opened_once_for_the_chosen_one(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert any("The sealed users are not opened: --open" in note for note in me.choose(run)[1].notes)
    assert "sealed" not in rows(me.choose(run))
    assert main(["choose", str(run), "--open"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Use a. On these 12 users" in out
    assert "On the 8 sealed users (few users), opened 20" in out
    facts = read_record(run).opened
    assert facts is not None
    assert (facts.evaluator, facts.n) == ("a", 8)
    row = rows(me.choose(run, open=True))
    assert (row["sealed"], row["sealed_low"], row["sealed_high"]) == (facts.estimate, facts.low, facts.high)
    part = open_sealed(open_run(run))
    scores = part.scores.frame.query("evaluator == 'a'")
    both = scores.merge(part.truth)
    assert facts.estimate == pytest.approx(np.corrcoef(both["score"], both["rating"])[0, 1])
    assert read_record(run).opened == facts  # the same record, not another one
    for options in ({"among": ["b", "c"]}, {"statistic": "clear,dataset,kendall"}):
        with pytest.raises(MetaevalError, match=f"opened on {facts.date} for a .* for nothing else"):
            me.choose(run, open=True, **options)
    assert any(
        f"were opened {facts.date} for a (clear, dataset, pearson)" in n for n in me.choose(run)[1].notes
    )


def test_what_was_opened_stays_open_whatever_is_run_again(run: Path, data: Path) -> None:
    me.choose(run, open=True)
    facts = read_record(run).opened
    again = me.run(study(data, evaluators=["Recorded('b')", "Recorded('c')", "Length()"]), run)
    assert not again.already
    assert read_record(run).opened == facts
    with pytest.raises(MetaevalError, match="for nothing else"):
        me.choose(run, open=True)


@pytest.mark.parametrize("other", [None, 0.5, {"split": ["test"]}])
def test_what_is_sealed_in_a_folder_stays(run: Path, data: Path, tmp_path: Path, other: object) -> None:
    before = (run / "run.json").read_bytes()
    with pytest.raises(RunFolderError, match="what is sealed cannot change in a run folder"):
        me.run(study(data, sealed=other), run)
    with pytest.raises(RunFolderError, match="what is sealed cannot change in a run folder"):
        me.run(study(data, bootstrap={"seed": 9, "resamples": 10}), run)
    assert (run / "run.json").read_bytes() == before
    record = json.loads(before)
    stopped = tmp_path / "stopped"
    stopped.mkdir()
    (stopped / "run.json").write_text(json.dumps({**record, "status": "stopped"}), encoding="utf-8")
    with pytest.raises(RunFolderError, match="sealed"):
        me.run(study(data, sealed=other), stopped)


def test_a_run_that_has_seen_it_is_refused(run: Path, data: Path, tmp_path: Path) -> None:
    plain = me.run(study(data, sealed=None), tmp_path / "plain").folder
    other = me.run(study(data, sealed={"split": ["test"]}), tmp_path / "other").folder
    with pytest.raises(RunFolderError, match="sealed none"):
        me.run(study(data), plain)
    with pytest.raises(
        MetaevalError, match="nothing is sealed in plain, and a finished run cannot be sealed"
    ):
        me.choose(plain, open=True)
    with pytest.raises(MetaevalError, match="nothing is sealed in plain"):
        me.choose([run, plain], open=True)
    with pytest.raises(MetaevalError, match="each has seen what the other sealed"):
        me.choose([run, other], open=True)
    assert read_record(run).opened is None
    # Compared side by side, they have the open units of both.
    assert rows(me.choose([run, plain]))["shown"] == pytest.approx(rows(me.choose(run))["shown"])


def test_several_runs_are_opened_together(run: Path, data: Path, tmp_path: Path) -> None:
    two = me.run(study(data, evaluators=["Recorded('b')", "Recorded('c')"]), tmp_path / "two").folder
    alone = Path(shutil.copytree(run, tmp_path / "alone"))
    me.choose([two, run], open=True)
    facts = read_record(run).opened
    assert facts is not None
    assert read_record(two).opened == facts
    with pytest.raises(MetaevalError, match="for nothing else"):
        me.choose(two, open=True)
    assert rows(me.choose(alone, open=True))["sealed"] == pytest.approx(facts.estimate)


def test_a_folder_that_is_in_use(run: Path) -> None:
    from filelock import FileLock

    with FileLock(run / ".lock"), pytest.raises(RunFolderError, match="in use"):
        me.choose(run, open=True)
    assert read_record(run).opened is None


@pytest.mark.parametrize("examples", ["one-shot", "shuffled", "personalized"])
def test_no_example_is_sealed(data: Path, tmp_path: Path, examples: str) -> None:
    """The judge is shown the same examples of open users on both sides; a user's own are the user's."""
    judge = f"Judge('simulated/one,noise=0.3', examples={examples!r})"
    todo = plan(study(data, evaluators=[judge]), tmp_path / "run")
    assert todo.sealed is not None
    (asked,) = todo.scoring.judges
    texts = dict(
        zip(me.load(data).explanations["explanation"], me.load(data).explanations["user_id"], strict=True)
    )
    apart = set(todo.sealed.data.units["user_id"])

    def shown_with(part: Any) -> dict[str, set[str]]:
        of_unit: dict[str, set[str]] = {}
        for unit, question in zip(part.units.index, asked.questions(part, ["clear"]), strict=False):
            said = "\n".join(text for _, text in question.request.messages)
            users = {user for text, user in texts.items() if f"{text}\n" in f"{said}\n" or f'{text}"' in said}
            of_unit[str(unit)] = users
        return of_unit

    opened, sealed = (set().union(*shown_with(part).values()) for part in todo.parts)
    assert not opened & apart
    if examples == "personalized":
        assert sealed <= apart
    else:
        assert sealed - apart <= opened


def test_judged_replies_of_both_sides_are_paid_once(data: Path, tmp_path: Path, own_store: Path) -> None:
    judge = "Judge('simulated/one,noise=0.3')"
    whole = study(data, evaluators=[judge, "Recorded('a')"])
    assert main(["run", str(_file(tmp_path, whole)), "--out", str(tmp_path / "run"), "--dry-run"]) == 0
    run = me.run(whole, tmp_path / "run").folder
    part = open_sealed(open_run(run))
    judged = part.scores.frame.dropna(subset="call")
    assert len(judged) == 80
    exported = tmp_path / "replies.jsonl"
    assert main(["store", "export", "--run", str(run), str(exported)]) in (0, 2)
    before = read_record(run)
    assert me.run(whole, tmp_path / "run").already
    assert main(["reparse", str(run)]) == 0
    after = read_record(run)
    assert (after.sealed, after.outputs["sealed/scores.parquet"]) == (
        before.sealed,
        before.outputs["sealed/scores.parquet"],
    )


def _file(folder: Path, content: Mapping[str, Any]) -> Path:
    path = folder / "study.yaml"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["slates", "exposure", "relevance"])
def test_other_kinds(kind: str, tmp_path: Path) -> None:
    evaluators = {
        "slates": ["Recorded('sharp')", "Recorded('noisy')", "Recorded('careful')"],
        "exposure": ["System('near-best')", "System('taste-2')", "Random(seed=0)"],
        "relevance": ["Labels('judge')", "Labels('popular')", "Random(seed=0)"],
    }
    keys = {"relevance": {"truth": "Labels('human')"}, "exposure": {"recommenders": None}}.get(kind, {})
    content = {
        "kind": kind,
        "dataset": f"data/{kind}",
        "evaluators": evaluators[kind],
        "sealed": SHARE,
        **keys,
    }
    quick = {"bootstrap": None, "tests": None, "details": False}
    run = me.run(
        {k: v for k, v in {**content, **quick}.items() if k != "recommenders"}, tmp_path / "run"
    ).folder
    opened, apart = open_run(run), open_sealed(open_run(run))
    assert not set(opened.truth["user_id"]) & set(apart.truth["user_id"])
    assert set(apart.scores.frame["user_id"]) <= set(apart.truth["user_id"])
    row = rows(me.choose(run, open=True))
    assert row["sealed_low"] < row["sealed"] < row["sealed_high"]
    assert row["sealed"] == pytest.approx(row["fresh"], abs=0.25)


def test_the_interval_is_that_of_one_candidate_that_was_not_searched_for() -> None:
    """A single candidate has no search: its interval is the t interval of its estimate."""
    from metaeval.stats.resampling.choice import half_width

    psi = np.random.default_rng(0).normal(size=(1, 40))
    psi -= psi.mean()
    found = best_of(np.array([0.3]), psi)
    error = (found.fresh - 0.3) / 2
    assert (found.high - found.low) / 2 == pytest.approx(half_width(psi[0], 0.3, apart=error))
    assert half_width(psi[0], 0.3) == pytest.approx(2.0227 * psi[0].std(ddof=1) / np.sqrt(40), rel=1e-4)
