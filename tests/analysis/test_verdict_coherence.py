"""Coherence of verdicts: judges made by hand, chance by formula and by simulation, and real verdicts."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metaeval.analysis import verdict_axioms as axioms
from metaeval.analysis.verdict_coherence import COLUMNS, coherence, orders_of
from metaeval.data.verdicts.verdict_table import import_verdicts
from metaeval.trust.verdicts.commands import coherence_of
from tests.analysis.verdicts.looped import kept_and_asked
from tests.examples import examples

NAMES = [f"slate{i}" for i in range(6)]


def asked(judge, groups=8, repeats=2, names=NAMES):
    """Ask a judge for every pair in both orders, and for identical sides."""
    rows = [
        {"cluster": group, "group": group, "repeat": repeat, "first": one, "second": other}
        for group in range(groups)
        for repeat in range(repeats)
        for one, other in [*itertools.permutations(names, 2), *((name, name) for name in names)]
    ]
    frame = pd.DataFrame(rows).assign(evaluator="judge", task="all")
    return frame.assign(winner=[judge(row.first, row.second) for row in frame.itertuples()])


def shares(frame, column="estimate"):
    return coherence(frame, resamples=100).set_index("axiom")[column].to_dict()


def oracle(one, other):
    return "tie" if one == other else "first" if one < other else "second"


def test_an_oracle_keeps_to_all_axioms():
    found = coherence(asked(oracle), resamples=100)
    assert list(found.columns) == list(COLUMNS)
    kept = found.set_index("axiom")["estimate"].drop("first_position")
    assert set(kept) == {1.0}
    assert shares(asked(oracle))["first_position"] == 0.5
    n = found.set_index("axiom")["n"]
    assert n["transitivity"] == 8 * 20
    assert n["asymmetry"] == 8 * 2 * 15
    assert n["repeatability"] == 8 * 30
    assert n["irreflexivity"] == 8 * 2 * 6


def test_a_judge_of_the_first_position_has_no_order():
    found = shares(asked(lambda _one, _other: "first"))
    assert found.pop("transitivity_any_order") == 0.75  # both orders contradict each other: a coin
    assert found == {"asymmetry": 0.0, "repeatability": 1.0, "irreflexivity": 0.0, "first_position": 1.0}


def test_a_cyclic_judge_has_nothing_but_cycles():
    def cyclic(one, other):
        return "first" if (int(other[-1]) - int(one[-1])) % 3 == 1 else "second"

    frame = asked(cyclic, names=NAMES[:3])
    found = coherence(frame[frame["first"] != frame["second"]], resamples=100).set_index("axiom")
    assert found["estimate"]["transitivity"] == 0.0
    assert found["in_cycles"]["transitivity"] == 1.0
    assert found["expected"]["transitivity"] == pytest.approx(0.75)  # all are of equal strength
    assert found["estimate"]["asymmetry"] == 1.0


@pytest.mark.parametrize("shown", [itertools.combinations, itertools.permutations])  # one order, or both
@pytest.mark.parametrize("repeats", [1, 2])
@pytest.mark.parametrize("ties", [0.0, 0.3])
def test_chance_is_what_a_random_judge_reaches(ties, repeats, shown):
    rng = np.random.default_rng(repeats)
    group, repeat = (pd.DataFrame({name: range(n)}) for name, n in (("cluster", 250), ("repeat", repeats)))
    pairs_shown = pd.DataFrame([*shown(NAMES[:5], 2)], columns=["first", "second"])
    rows = group.merge(repeat, how="cross").merge(pairs_shown, how="cross").assign(group="")
    winner = rng.choice(["first", "second", "tie"], len(rows), p=[(1 - ties) / 2, (1 - ties) / 2, ties])
    found = coherence(rows.assign(evaluator="coin", task="all", winner=winner), resamples=400)
    found = found[found["n"] >= 100].set_index("axiom")  # few triples are decided that are asked again
    assert ("asymmetry" in found.index) == (shown is itertools.permutations)
    assert ("repeatability" in found.index) == (repeats > 1)
    assert "transitivity" in found.index or ties or (shown is itertools.permutations and repeats > 1)
    error = (found["ci_high"] - found["ci_low"]) / (2 * 1.96)  # the Monte Carlo error of each share
    assert (error[[name for name in error.index if not name.startswith("transitivity")]] < 0.02).all()
    assert ((found["estimate"] - found["chance"]).abs() < 4 * error).all()


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_transitivity_in_any_order_is_the_mean_over_all_draws_of_one_verdict_per_pair(seed):
    rng = np.random.default_rng(seed)
    names, rows = NAMES[:4], []
    for pair in itertools.combinations(names, 2):
        for repeat in range(rng.integers(1, 4)):
            first, second = rng.permutation(pair)
            winner = str(rng.choice(["first", "second", "tie"], p=[0.45, 0.45, 0.1]))
            rows.append({"first": first, "second": second, "repeat": str(repeat), "winner": winner})
    frame = pd.DataFrame(rows).assign(evaluator="j", task="all", cluster="c", group="g")
    found = coherence(frame, resamples=2).set_index("axiom")
    said: dict[frozenset[str], list[str]] = {}
    for row in rows:
        said.setdefault(frozenset((row["first"], row["second"])), []).append(row.get(row["winner"], ""))
    kept = of = 0.0
    for triple in itertools.combinations(names, 3):
        draws = list(
            itertools.product(*(said[frozenset(side)] for side in itertools.combinations(triple, 2)))
        )
        of += sum(all(draw) for draw in draws) / len(draws)
        kept += sum(all(draw) and len(set(draw)) < 3 for draw in draws) / len(draws)
    if of:
        assert found.loc["transitivity_any_order", "estimate"] == pytest.approx(kept / of, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "ties"), [(1, 0.0), (6, 0.0), (7, 0.0), (40, 0.0), (9, 0.5)])
def test_identical_sides_are_even_by_chance_as_the_formula_says(n, ties):
    """The estimate of a coin is below 1, for no sample is even."""
    rng = np.random.default_rng(n)
    rows = pd.DataFrame({"cluster": np.arange(120 * n) % n, "group": 0, "repeat": 0})
    rows = rows.assign(evaluator=np.arange(120 * n) // n, task="all", first="a", second="a")
    p = [(1 - ties) / 2, (1 - ties) / 2, ties]
    found = coherence(rows.assign(winner=rng.choice(["first", "second", "tie"], len(rows), p=p)), resamples=1)
    apart = found["estimate"] - found["chance"]
    assert abs(apart.mean()) <= 4 * apart.std() / np.sqrt(len(apart)) + 1e-9
    coins = stats.binom(n, 0.5)
    if not ties:
        exact = coins.expect(lambda heads: 1 - np.abs(2 * heads / n - 1))
        assert found["chance"].to_numpy() == pytest.approx(exact)


asked_rows = st.lists(
    st.fixed_dictionaries(
        {
            "cluster": st.sampled_from("xy"),
            "group": st.sampled_from("gh"),
            "repeat": st.sampled_from([1, 2]),
            "first": st.sampled_from("abcd"),
            "second": st.sampled_from("abcd"),
            "winner": st.sampled_from(["first", "second", "first", "second", "tie", ""]),
        }
    ),
    min_size=1,
    max_size=80,
)


@settings(max_examples=examples(50))
@given(rows=asked_rows, block=st.sampled_from([1, 10, 10**6]), seed=st.integers(0, 10))
def test_counts_are_those_of_loops(rows, block, seed):
    frame = pd.DataFrame(rows).assign(evaluator="judge", task="all")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(axioms, "_ROWS", block)
        found = coherence(frame, resamples=20).set_index("axiom")
    found = found.drop("transitivity_any_order", errors="ignore")  # which has a test of its own
    expected = kept_and_asked(rows)
    assert found["n"].to_dict() == {axiom: of for axiom, (_, of) in expected.items()}
    for axiom, (kept, of) in expected.items():
        share = 1 - abs(2 * kept / of - 1) if axiom == "irreflexivity" else kept / of
        assert found["estimate"][axiom] == pytest.approx(share)
    mixed = coherence(frame.sample(frac=1, random_state=seed), resamples=20).set_index("axiom")
    pd.testing.assert_frame_equal(mixed.loc[found.index], found)


@pytest.mark.slow
def test_an_even_share_is_within_its_interval():
    """A fair coin on identical sides keeps to irreflexivity in full, though no sample shows it."""
    rng = np.random.default_rng(1)
    held = []
    for _ in range(100):
        rows = pd.DataFrame({"cluster": range(40), "group": 0, "repeat": 0, "first": "a", "second": "a"})
        rows = rows.assign(evaluator="j", task="all", winner=rng.choice(["first", "second"], 40))
        (found,) = coherence(rows, resamples=200).itertuples()
        held.append(found.ci_low <= 1 <= found.ci_high)
    assert 0.88 <= np.mean(held) <= 1


def test_many_users_of_whom_some_have_nothing_asked_keep_their_intervals():
    """Axioms of many users share their resamples; a share's interval is as wide as by its own users."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"cluster": np.arange(900), "group": 0, "repeat": 0, "first": "a", "second": "b"})
    rows = rows.assign(evaluator="j", task="all")
    sides = ["first", "second", "tie"]
    found = coherence(rows.assign(winner=rng.choice(sides, 900, p=[0.6, 0.2, 0.2])), resamples=4_000)
    row = found.set_index("axiom").loc["first_position"]
    assert 600 < row["n_clusters"] < 800
    p = row["estimate"]
    error = np.sqrt(p * (1 - p) / row["n_clusters"])
    assert row["ci_high"] - row["ci_low"] == pytest.approx(2 * 1.96 * error, rel=0.1)
    first = coherence(rows.assign(winner=rng.choice(["first", "tie"], 900, p=[0.8, 0.2])), resamples=20)
    (exact,) = first.itertuples()
    assert (exact.estimate, exact.ci_high) == (1, 1)
    low = 0.025 ** (1 / exact.n_clusters)  # Clopper and Pearson's, of those that were asked
    assert exact.ci_low == pytest.approx(low)


def test_missing_verdicts_are_left_out_and_counted():
    frame = asked(oracle, groups=2)
    frame.loc[frame.index[:10], "winner"] = ""
    assert set(shares(frame, "n_missing").values()) == {10}
    assert shares(frame)["asymmetry"] == 1.0


@pytest.mark.slow
def test_preferences_of_a_tournament(real_data, tmp_path):
    """27,463 verdicts of GPT-4o, of which many pairs were asked once."""
    (tmp_path / "map.yaml").write_text(
        "columns: {group: query, first: first, second: second, winner: winner}"
    )
    pd.read_csv(real_data / "prefs" / "dl19.csv.gz", dtype=str).to_csv(tmp_path / "prefs.csv", index=False)
    [sheet] = coherence_of(tmp_path / "prefs.csv", tmp_path / "map.yaml", resamples=50)
    row = sheet.frame.set_index("axiom").loc["transitivity"]
    assert row["n"] == 22_578
    assert row["estimate"] == pytest.approx(1 - 730 / 22_578)
    assert row["ci_low"] < row["estimate"] < row["ci_high"]


MAP = "columns: {judge: who, first: a, second: b, winner: won}\n"
TABLE = "who,a,b,won\nx,p,q,p\nx,q,p,second\ny,p,q,tie\ny,q,p,\n"


def read(tmp_path, table=TABLE, map_text=MAP):
    (tmp_path / "map.yaml").write_text(map_text)
    (tmp_path / "table.csv").write_text(table)
    return orders_of(import_verdicts(tmp_path / "table.csv", tmp_path / "map.yaml", again=True))


def test_winners_are_names_or_words(tmp_path):
    assert read(tmp_path)["winner"].tolist() == ["first", "second", "tie", ""]
    words = f"{MAP}choices: {{first: [won1, p], second: won2, tie: draw}}\n"
    table = "who,a,b,won\nx,p,q,won2\nx,q,p,p\nx,q,p,draw\n"
    assert read(tmp_path, table, words)["winner"].tolist() == ["second", "second", "tie"]  # p is a name first


def test_verdicts_of_a_run_are_laid_out_as_they_were_shown():
    verdicts = pd.DataFrame(
        {
            "user_id": "u",
            "item_id": "i",
            "first": "a",
            "second": "b",
            "aspect": "",
            "evaluator": "j",
            "order": ["first", "second", "second"],
            "winner": ["first", "first", "tie"],
        }
    )
    found = orders_of(verdicts)
    assert found[["first", "second", "winner"]].to_numpy().tolist() == [
        ["a", "b", "first"],
        ["b", "a", "second"],
        ["b", "a", "tie"],
    ]
    assert set(found["group"]) == {"u i"}
    assert set(found["task"]) == {"all"}


def test_order_effects_are_those_that_were_published_beside_repeatability(real_data, tmp_path):
    """Read from the raw replies; two of gemini-pro's, which the source lost, are read too."""
    (tmp_path / "map.yaml").write_text(
        "columns: {judge: judge, repeat: repeat, group: question, first: first, second: second,"
        " reply: reply}\nchoices: {first: A, second: B, tie: C}\n"
    )
    rows = orders_of(
        import_verdicts(real_data / "position_bias" / "verdicts.csv", tmp_path / "map.yaml", again=True)
    )
    alone = coherence(rows.assign(evaluator=rows["evaluator"] + " " + rows["repeat"]), resamples=50)
    found = alone[alone["axiom"] == "asymmetry"].set_index("evaluator")
    assert (found["estimate"] * 144).round().astype(int).to_dict() == {
        **{f"claude-3-haiku-20240307 {r}": n for r, n in zip("123", (26, 22, 32), strict=True)},
        **{f"gpt-4-0613 {r}": n for r, n in zip("123", (122, 118, 122), strict=True)},
        **{f"gpt-3.5-turbo-1106 {r}": n for r, n in zip("123", (110, 110, 112), strict=True)},
        **{f"gemini-pro {r}": n for r, n in zip("123", (84, 96, 90), strict=True)},
    }
    assert set(found["n"]) == {72}
    assert set(found["n_missing"]) == {0}
