"""Standard errors as AlpacaEval prints them, win rates at equal lengths, and strengths by evalica."""

from __future__ import annotations

import gzip
from pathlib import Path

import evalica
import numpy as np
import pandas as pd
import pytest

from metaeval.data.verdicts.verdict_table import import_verdicts
from metaeval.stats.ranking.comparisons import (
    GRAPHS,
    LUCE,
    Games,
    graph_strengths,
    length_controlled_rate,
    win_rate_errors,
)
from metaeval.trust.verdicts.commands import pairwise_of
from metaeval.trust.verdicts.strengths import pairwise_sheets

MAP = """\
columns: {first: generator_1, second: generator_2, judge: annotator, group: index}
preference: {column: preference, first: 1, second: 2}
lengths: [length_1, length_2]
"""


def alpaca(real_data: Path, tmp_path: Path, judge: str, more: str = "") -> pd.DataFrame:
    packed = real_data / "alpaca" / f"alpaca_eval_{judge}.jsonl.gz"
    (tmp_path / "a.jsonl").write_bytes(gzip.decompress(packed.read_bytes()))
    (tmp_path / "map.yaml").write_text(MAP + more, encoding="utf-8")
    return import_verdicts(tmp_path / "a.jsonl", tmp_path / "map.yaml")


def test_win_rates_wins_and_errors_are_those_of_alpacaeval(real_data: Path, tmp_path: Path) -> None:
    verdicts = alpaca(real_data, tmp_path, "gpt4_turbo_fn")
    published = pd.read_csv(real_data / "alpaca" / "published_gpt4_turbo_fn.csv", index_col=0)
    sheets = {s.name: s for s in pairwise_sheets(verdicts, resamples=10)}
    rows = sheets["ranking"].frame.query("evaluator == 'alpaca_eval_gpt4_turbo_fn'").set_index("generator")
    both = published.index.intersection(rows.index)
    assert len(both) >= 3
    for name, printed in published.loc[both].iterrows():
        found = rows.loc[name]
        assert 100 * found["win_rate"] == pytest.approx(printed["win_rate"], abs=1e-9)
        assert 100 * found["win_rate_se"] == pytest.approx(printed["standard_error"], abs=1e-9)
        counts = ["n_wins", "n_wins_base", "n_draws", "n_total"]
        assert found[["won", "lost", "ties", "pairs"]].tolist() == printed[counts].tolist()
    lengths = (
        sheets["length-controlled"].frame.query("opponent == 'gpt4_1106_preview'").set_index("generator")
    )
    for name in both:  # all of them are shorter than what they are compared with
        assert lengths.loc[name, "longer"] == pytest.approx(published.loc[name, "avg_length"] - 2049, abs=1)
        if lengths.loc[name, "longer"] < -100:
            assert lengths.loc[name, "controlled"] > lengths.loc[name, "win_rate"]


def test_win_rates_of_the_judge_that_reasons_are_alpacaevals_too(real_data: Path, tmp_path: Path) -> None:
    printed = {"gpt4": 20.0, "cohere": 17.267080745341616, "gemini-pro": 17.039800995024876}
    where = f"where: {{model: [{', '.join(printed)}]}}\n"  # the file also has a model against itself
    ranking = pairwise_sheets(alpaca(real_data, tmp_path, "cot_gpt4_turbo_fn", where), resamples=10)[1]
    found = ranking.frame.set_index("generator")
    assert (100 * found.loc[[*printed], "win_rate"]).to_dict() == pytest.approx(printed)
    assert found.loc["gemini-pro", "failed"] == 1


def test_a_preference_counts_with_its_fraction(tmp_path: Path) -> None:
    said = pd.DataFrame({"index": range(60), "generator_1": "base", "generator_2": "new", "annotator": "j"})
    rng = np.random.default_rng(5)
    said["preference"], said[["length_1", "length_2"]] = (
        1 + rng.beta(0.4, 0.6, 60),
        rng.integers(9, 99, (60, 2)),
    )
    said.to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "map.yaml").write_text(MAP, encoding="utf-8")
    verdicts = import_verdicts(tmp_path / "a.csv", tmp_path / "map.yaml")
    sheets = {s.name: s for s in pairwise_sheets(verdicts, graphs=("counting",), resamples=10)}
    found = sheets["ranking"].frame.set_index("generator").loc["new"]
    won = said["preference"] - 1  # as AlpacaEval's weighted annotators count
    assert [found["win_rate"], found["win_rate_se"]] == pytest.approx([won.mean(), won.sem()])
    assert found["won"] == (won > 0.5).sum()
    assert sheets["graphs"].frame.set_index("generator").loc["new", "counting"] == pytest.approx(won.sum())
    rate = sheets["length-controlled"].frame.set_index("generator").loc["new", "win_rate"]
    assert rate == pytest.approx(won.mean())


@pytest.mark.parametrize("strength", [-0.8, 0.0, 0.8])
def test_a_planted_effect_of_length_is_taken_out(strength: float) -> None:
    rng = np.random.default_rng(7)
    longer = rng.normal(400, 300, 20_000)  # the first player's texts are longer nearly always
    share = 1 / (1 + np.exp(-(strength + 1.5 * np.tanh(longer / longer.std()))))
    won = (rng.random(len(share)) < share).astype(float)
    [found] = length_controlled_rate(won, longer, np.ones((len(won), 1)))
    assert won.mean() > found + 0.1
    assert found == pytest.approx(1 / (1 + np.exp(-strength)), abs=0.03)
    [other] = length_controlled_rate(1 - won, -longer, np.ones((len(won), 1)))
    assert other == pytest.approx(1 - found, abs=1e-9)


def test_the_difficulty_of_instructions_is_taken_out_too(tmp_path: Path) -> None:
    """Twelve systems against a base; on easy instructions, new texts are longer, too."""
    rng, n = np.random.default_rng(11), 800
    easy, rows, truth = rng.normal(0, 1.5, n), [], {}
    for k in range(12):
        strength = -1.5 + 0.2 * k
        longer = 150 * easy + rng.normal(300, 300, n)
        share = 1 / (1 + np.exp(-(strength + 1.0 * np.tanh(longer / longer.std()) + easy)))
        truth[f"m{k:02}"] = (1 / (1 + np.exp(-(strength + easy)))).mean()
        part = pd.DataFrame({"index": range(n), "generator_1": "base", "generator_2": f"m{k:02}"})
        won = (rng.random(n) < share).astype(int)
        rows.append(part.assign(annotator="j", preference=1 + won, length_1=1000, length_2=1000 + longer))
    pd.concat(rows).to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "map.yaml").write_text(MAP, encoding="utf-8")
    verdicts = import_verdicts(tmp_path / "a.csv", tmp_path / "map.yaml")
    found = (
        pairwise_sheets(verdicts, resamples=50)[2].frame.query("opponent == 'base'").set_index("generator")
    )
    off = found[["controlled", "by_difficulty"]].sub(pd.Series(truth), axis=0).abs().mean()
    assert off["by_difficulty"] < 0.06
    assert off["by_difficulty"] < 0.6 * off["controlled"]
    turned = (
        pairwise_sheets(verdicts, resamples=50)[2].frame.query("generator == 'base'").set_index("opponent")
    )
    assert (turned["by_difficulty"] + found["by_difficulty"]).to_numpy() == pytest.approx(1)


def test_weights_stand_for_repeated_pairs_and_certain_wins_stay_finite() -> None:
    rng = np.random.default_rng(3)
    won, longer = rng.integers(0, 2, 30) * 1.0, rng.normal(size=30)
    [twice] = length_controlled_rate(won, longer, np.full((30, 1), 2.0))
    [again] = length_controlled_rate(np.tile(won, 2), np.tile(longer, 2), np.ones((60, 1)))
    assert twice == pytest.approx(again, abs=1e-9)
    [sure] = length_controlled_rate(np.ones(30), longer, np.ones((30, 1)))
    assert 0.9 < sure < 1


def test_errors_of_means_are_those_of_clusters() -> None:
    rng = np.random.default_rng(0)
    user, won = np.repeat(np.arange(12), 5), rng.integers(0, 3, 60) / 2
    games = Games(np.zeros(60, int), np.ones(60, int), won, 2)
    found = win_rate_errors([games.matrix(user, 12)])
    means = np.array([won[user == u].mean() for u in range(12)])
    assert found == pytest.approx([means.std(ddof=1) / np.sqrt(12)] * 2)


@pytest.mark.parametrize("method", [*GRAPHS])
def test_strengths_of_the_graph_are_evalicas(method: str) -> None:
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 4, 80), rng.integers(0, 4, 80)
    use = first != second
    games = Games(first[use], second[use], rng.integers(0, 3, use.sum()) / 2, 5)
    times = rng.integers(0, 3, use.sum())
    again = np.repeat(np.arange(use.sum()), times)
    winner = {1.0: evalica.Winner.X, 0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}
    of = games.take(again)
    solve = getattr(evalica, method.replace("-", "_"))
    scores = solve(of.first.tolist(), of.second.tolist(), [winner[p] for p in of.points]).scores
    scores = scores / scores.sum() if method == LUCE else scores
    [found] = graph_strengths(method, games, times[:, None])
    assert found == pytest.approx(scores.reindex(range(5)).to_numpy(), abs=1e-4, nan_ok=True)


def test_each_order_may_count_by_itself(tmp_path: Path) -> None:
    rows = [
        {"item_id": i, "first": "a", "second": "b", "evaluator": "j", "order": order, "winner": winner}
        for i, both in enumerate(["aa", "ab", "bb", "ab", "a-", "aa", "ab", "bb"])
        for order, winner in zip(("first", "second"), both, strict=True)
    ]
    frame = pd.DataFrame(rows).replace({"winner": {"a": "first", "b": "second", "-": ""}})
    frame.to_csv(tmp_path / "v.csv", index=False)
    rate = {}
    for flips in ("tie", "drop", "each"):
        sheets = {s.name: s for s in pairwise_of(tmp_path / "v.csv", flips=flips, graphs=("counting",))}
        row = sheets["ranking"].frame.set_index("generator").loc["a"]
        rate[flips] = row["win_rate"]
        counted = sheets["graphs"].frame.set_index("generator")["counting"]
    # Seven pairs with two verdicts: two for a, two for b, three flips; and one verdict of an eighth.
    assert rate == {"tie": pytest.approx(3.5 / 7), "drop": pytest.approx(0.5), "each": pytest.approx(8 / 15)}
    assert row[["pairs", "won", "lost", "failed"]].tolist() == [16, 8, 7, 1]
    assert counted["a"] == 8
