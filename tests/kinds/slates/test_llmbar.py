"""LLMBar's recorded verdicts as duels of slates of one item each, worth 1 or 0: 4 judges × 5 prompts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from metaeval.analysis.verdict_coherence import coherence, orders_of
from metaeval.data.verdicts.verdict_table import import_verdicts
from metaeval.kinds.slates.data.slate_set import SlateSet
from metaeval.kinds.slates.measures import DuelCells, verdict_rows
from tests.kinds.slates.studies import duels, scored

PAIR = ["subset", "pair_id"]
OUTPUTS = ("output_1", "output_2")


@pytest.fixture(scope="module")
def recorded(real_data: Path) -> pd.DataFrame:
    """The released verdicts, with what was shown first and second, and who won: 1, 2, or 0 for no verdict."""
    found = pd.read_csv(real_data / "llmbar" / "verdicts.csv", dtype=str, keep_default_na=False)
    swapped = found["swapped"] == "True"
    sides = {"first": np.where(swapped, *OUTPUTS[::-1]), "second": np.where(swapped, *OUTPUTS)}
    return found.assign(**sides, winner=found["winner"].replace("", "0").astype(int))


@pytest.fixture(scope="module")
def pairs(real_data: Path) -> SlateSet:
    """One user per pair, and one duel per user; the better output is worth 1."""
    gold = pd.read_json(real_data / "llmbar" / "pairs.jsonl", lines=True, dtype={"pair_id": str})
    names = gold["subset"] + " " + gold["pair_id"]
    worth = gold["gold"].map({1: (1.0, 0.0), 2: (0.0, 1.0)})
    rows = zip(names, gold["subset"], worth, strict=True)
    return duels([(name, subset, *OUTPUTS, *utilities) for name, subset, utilities in rows])


@pytest.mark.slow
def test_regret_and_asymmetry_of_every_judge_and_prompt(recorded: pd.DataFrame, pairs: SlateSet) -> None:
    units = pairs.table[["user_id", "order"]]
    verdicts, same, agree = {}, {}, {}
    for (judge, prompt), own in recorded.groupby(["judge", "prompt"]):
        user, swapped = own["subset"] + " " + own["pair_id"], own["swapped"] == "True"
        shown = own["winner"].map({1: 1.0, 2: -1.0, 0: np.nan}) * np.where(swapped, -1, 1)
        order = swapped.map({False: "first", True: "second"})
        index = pd.MultiIndex.from_arrays([user, order])
        verdicts[f"{judge} {prompt}"] = (
            pd.Series(shown.to_numpy(), index).reindex(pd.MultiIndex.from_frame(units)).to_numpy()
        )
        both = own.set_index([*PAIR, "swapped"])["winner"]
        alike = both.xs("False", level="swapped") == (other := both.xs("True", level="swapped"))
        for subset in own["subset"].unique():
            same[f"{judge} {prompt}", subset] = int((alike & (other > 0))[subset].sum())
            agree[f"{judge} {prompt}", subset] = int(alike[subset].sum())
    assert len(verdicts) == 20
    for name, given in verdicts.items():
        alone = scored(pairs, {name: given}, bootstrap=None, tests=None)
        cells = DuelCells(alone)
        board = cells.board().frame.set_index(["measure", "task"])["estimate"]
        assert board["regret"].to_dict() == pytest.approx((1 - board["accuracy"]).to_dict())
        known = pd.Series(given == np.sign(pairs.ratings["rating"])).where(~np.isnan(given))
        right = known.astype(float).groupby([pairs.table["task"], pairs.table["user_id"]]).mean()
        assert board["accuracy"].to_dict() == pytest.approx(right.groupby(level=0).mean().to_dict())
        found = coherence(verdict_rows(alone.matched.aligned, cells.table), resamples=1)
        asymmetry = found[found["axiom"] == "asymmetry"].set_index("task")
        for task, row in asymmetry.iterrows():
            assert round(row["estimate"] * row["n"]) == same[name, task]
    assert same["GPT-4 Vanilla", "Natural"] == 95  # published, as is: right in 95 and in 96
    # Of the 100 counts, 12 are higher, by 18 pairs in all, if two replies without a verdict agree.
    higher = {key: agree[key] - same[key] for key in same if agree[key] > same[key]}
    assert (len(same), len(higher), sum(higher.values())) == (100, 12, 18)
    assert {name.split()[0] for name, _ in higher} == {"PaLM2"}


@pytest.mark.slow
def test_raw_replies_give_the_same_but_where_the_release_contradicts_them(
    recorded: pd.DataFrame, tmp_path: Path
) -> None:
    """PaLM2 with a chain of thought says one output is better, and 143 times the other one is released."""
    recorded.to_csv(tmp_path / "verdicts.csv", index=False)
    (tmp_path / "map.yaml").write_text(
        "columns: {judge: [judge, prompt], task: subset, group: [subset, pair_id], first: first,"
        " second: second, reply: completion}\nchoices: {first: Output (a), second: Output (b)}\n"
        # Two of the five prompts ask for reasons, which end with "Therefore, Output (a) is better."
        r"reply: '(Output \([ab]\))(?: is better|\s*\z)'" + "\n"
    )
    read = orders_of(import_verdicts(tmp_path / "verdicts.csv", tmp_path / "map.yaml", again=True))
    won = np.where(recorded["winner"] == 1, *OUTPUTS)
    released = read.assign(winner=np.where(won == recorded["first"], "first", "second"))
    released.loc[recorded["winner"].to_numpy() == 0, "winner"] = ""
    counts = []
    for verdicts in (read, released):
        found = coherence(verdicts, resamples=1)
        found = found[found["axiom"] == "asymmetry"].set_index(["evaluator", "task"])
        counts.append((found["estimate"] * found["n"]).round())
    more = counts[0] - counts[1]
    assert len(more) == 100
    assert set(more[more != 0].index.get_level_values("evaluator")) == {"PaLM2 CoT"}
    assert more["PaLM2 CoT"].sum() == 92
