"""Biases that are planted in judges, from the study file to the sheets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.runs.finished import open_run
from metaeval.trust.bias.biases import biases_of, families_of, judges_of, lengths_of

MANIFEST = """\
name: planted
licence: CC0
source: drawn
language: en
simulated: true
aspects: {clear: I understand why, fitting: It fits my taste}
scale: {min: 1, max: 5, integer: true}
"""
STUDY = """\
dataset: planted
evaluators:
  clean: "Judge('simulated/clean,weight=0,noise=0.15')"
  again: "Judge('simulated/clean,weight=0,noise=0.15', replicate=1)"
  reworded: "Judge('simulated/clean,weight=0,noise=0.15', prompt='single-aspect')"
  wordy: "Judge('simulated/wordy,weight=0,length_bias=0.1')"
  selfish: "Recorded('gpt-selfish')"
  fair: "Recorded('claude-fair')"
  placed: "Pairwise('simulated/placed,weight=0,first_bias=0.5')"
  placed_again: "Pairwise('simulated/placed,weight=0,first_bias=0.5', replicate=1)"
  unplaced: "Pairwise('simulated/unplaced,weight=0')"
  length: "Length()"
bootstrap: {resamples: 20}
tests: {permutations: 200}
details: false
"""


def write_planted(folder: Path) -> None:
    """Write 20 users who saw 3 items by 3 generators, two recorded judges, and two annotators."""
    rng = np.random.default_rng(7)
    users, items, generators = range(20), range(3), ("gpt-4", "claude-3", "template")
    texts, ratings, scores = [], [], []
    for u in users:
        for i in items:
            for generator in generators:
                unit = {"user_id": f"u{u:02}", "item_id": f"i{u}-{i}", "generator": generator}
                words = int(np.exp(rng.uniform(1.2, 4)))
                texts.append(
                    {**unit, "explanation": " ".join(rng.permutation(["good", "film", "a"] * words))}
                )
                for aspect in ("clear", "fitting"):
                    quality = rng.normal(3, 1)
                    for rater, noise in (("user", 0.5), ("1", 0.5), ("2", 0.5)):
                        rating = int(np.clip(round(quality + rng.normal(0, noise)), 1, 5))
                        ratings.append({**unit, "rater": rater, "aspect": aspect, "rating": rating})
                    for name, bias in (("gpt-selfish", 1.0), ("claude-fair", 0.0)):
                        score = 1 + 0.6 * quality + bias * (generator == "gpt-4") + rng.normal(0, 0.4)
                        scores.append({**unit, "evaluator": name, "aspect": aspect, "score": score})
    folder.mkdir()
    (folder / "dataset.yaml").write_text(MANIFEST, encoding="utf-8")
    for name, rows in (("explanations", texts), ("ratings", ratings), ("scores", scores)):
        pd.DataFrame(rows).to_csv(folder / f"{name}.csv", index=False)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run; nothing here writes into it."""
    folder = tmp_path_factory.mktemp("biases")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("METAEVAL_STORE", str(folder / "replies.sqlite"))
        write_planted(folder / "planted")
        (folder / "s.yaml").write_text(STUDY, encoding="utf-8")
        return folder / me.run("s.yaml", "out").folder


JUDGES = ("clean", "again", "reworded", "wordy", "selfish", "fair", "placed", "placed_again", "unplaced")


@pytest.fixture(scope="module")
def sheets(run: Path) -> dict[str, pd.DataFrame]:
    found = biases_of(run, JUDGES, resamples=2000)
    return {sheet.name: sheet.frame for sheet in found}


def found_of(sheets: dict[str, pd.DataFrame], judge: str, bias: str) -> pd.DataFrame:
    tests = sheets["biases"]
    return tests[(tests["judge"] == judge) & (tests["bias"] == bias)]


@pytest.mark.slow
def test_a_planted_length_bias_is_found_and_as_large_as_it_was_planted(sheets) -> None:
    (wordy,) = found_of(sheets, "wordy", "verbosity").itertuples()
    assert wordy.found == "scores longer texts higher"
    # 0.1 of a scale of 4 points for each doubling; at the ends of the scale there is no room for all of it.
    assert 0.3 < wordy.estimate < 0.45
    for judge in ("clean", "again", "reworded", "fair"):
        (clean,) = found_of(sheets, judge, "verbosity").itertuples()
        assert clean.found == "no bias found"


def test_a_planted_family_bias_is_found(sheets) -> None:
    (selfish,) = found_of(sheets, "selfish", "self-preference").itertuples()
    assert selfish.found == "favours its own family"
    assert selfish.ci_low < 1 < selfish.ci_high
    (fair,) = found_of(sheets, "fair", "self-preference").itertuples()
    assert fair.found == "no bias found"
    of_selfish = sheets["self_preference"].query("judge == 'selfish' and aspect == 'average'").iloc[0]
    assert of_selfish["own"] == "gpt-4"
    assert of_selfish["others"] == "fair"
    assert of_selfish["beyond_ci_low"] < 1 < of_selfish["beyond_ci_high"]
    # What selfish gives its own family is not held against fair.
    of_fair = sheets["self_preference"].query("judge == 'fair' and aspect == 'average'").iloc[0]
    assert of_fair["beyond_ci_low"] < 0 < of_fair["beyond_ci_high"]


def test_a_planted_position_bias_is_found(sheets) -> None:
    assert set(found_of(sheets, "placed", "position")["found"]) == {"prefers the first"}
    assert set(found_of(sheets, "unplaced", "position")["found"]) == {"no bias found"}
    place = sheets["position"].set_index(["judge", "aspect"])
    assert (place.loc["placed", "first"] > 0.65).all()
    assert (place["n_pairs"] == 180).all()  # 20 users, 3 items, 3 pairs of generators


def test_repetitions_and_wordings_are_known_by_their_signatures(sheets) -> None:
    assert set(sheets["repeatability"]["judge"]) == {"clean / again"}
    assert set(zip(sheets["wording"]["judge"], sheets["wording"]["other"], strict=True)) == {
        ("clean", "reworded")
    }
    average = sheets["repeatability"].set_index("aspect").loc["average"]
    assert 0.2 < average["identical"] < 0.8
    assert abs(average["icc"]) < 0.2  # its scores are noise


def test_the_leaderboard_stands_beside(run: Path, sheets) -> None:
    ranking = pd.read_csv(run / "ranking.csv").set_index("evaluator")
    board = sheets["judges"].set_index("judge")
    assert set(board.index) == set(JUDGES)
    assert (board["rank"] == ranking["rank"].reindex(board.index)).all()
    assert board.loc["wordy", "found"].startswith("scores longer texts higher")
    assert board.loc["placed", "flips"] > board.loc["unplaced", "flips"]
    average = sheets["repeatability"].set_index("aspect").loc["average"]
    assert board.loc["clean", "repeatability"] == board.loc["again", "repeatability"] == average["identical"]
    assert board["wording"].notna().sum() == 2  # clean and reworded


def test_verdicts_that_are_asked_for_again_are_compared(sheets) -> None:
    between = sheets["verdicts_between"]
    assert set(zip(between["judge"], between["other"], between["differ_in"], strict=True)) == {
        ("placed", "placed_again", "replicate")
    }
    assert ((between["identical"] > 0.5) & (between["identical"] < 0.95)).all()
    tests = found_of(sheets, "placed / placed_again", "repeatability")
    assert list(tests["found"]) == ["no bias found"] * 2


def test_judges_are_the_default_and_pairwise_ones_are_judged_by_their_verdicts(run: Path) -> None:
    assert judges_of(open_run(run)) == (
        ["clean", "again", "reworded", "wordy"],
        ["placed", "placed_again", "unplaced"],
    )


def test_families_by_name_and_as_said(run: Path) -> None:
    opened = open_run(run)
    generators = ("gpt-4", "claude-3", "template")
    plain = families_of(opened, ["fair", "clean"], generators, {})
    assert plain == {
        "gpt-4": "openai",
        "claude-3": "anthropic",
        "template": None,
        "fair": "anthropic",  # it is Recorded('claude-fair')
        "clean": None,
    }
    said = families_of(opened, ["fair"], generators, {"template": "ours", "gpt-4": "none"})
    assert said["template"] == "ours"
    assert said["gpt-4"] is None
    with pytest.raises(MetaevalError, match=r"is called 'gpt4'; did you mean 'gpt-4'"):
        families_of(opened, ["fair"], generators, {"gpt4": "openai"})


def test_lengths_come_from_the_run_or_from_its_data_set(
    run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    opened = open_run(run)
    of_run, _ = lengths_of(opened)
    signatures = {n: s for n, s in opened.scores.signatures.items() if n != "length"}
    object.__setattr__(opened.scores, "signatures", signatures)
    monkeypatch.chdir(run.parent)
    of_data, told = lengths_of(opened)
    assert told == []
    pd.testing.assert_frame_equal(of_run.reset_index(drop=True), of_data.reset_index(drop=True))
    moved = (run.parent / "planted").rename(tmp_path / "moved")
    nothing, (told,) = lengths_of(opened)
    assert nothing is None
    assert "Verbosity is left out" in told
    elsewhere, _ = lengths_of(opened, data=moved)
    moved.rename(run.parent / "planted")
    assert len(elsewhere) == len(of_data)
