"""Regret by task, against that of chance, and by how similar the two slates are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd

from metaeval.base.records import Kind
from metaeval.base.spec import EvaluatorSpec
from metaeval.engine.figure import COLOURS, Figure, first_choices
from metaeval.engine.measures import MeasuredUnits
from metaeval.engine.order.paired_tests import Tests
from metaeval.engine.sheet import Column, Sheet, columns, value_text
from metaeval.kinds.kind import SEEN, Ordering
from metaeval.kinds.slates.measures import (
    ACCURACY,
    REGRET,
    UNITS,
    WEIGHTED,
    DuelCells,
    SlatesScored,
    chance_by_user,
    measured,
    regret_by_user,
)
from metaeval.kinds.table import INTERVALS, KindTable
from metaeval.stats.agreement.raters import LabelAgreement
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.bootstrap import each
from metaeval.stats.resampling.cluster_sums import ClusterSums, Stack, Statistic, mean_of, ratio
from metaeval.stats.resampling.paired import sign_test
from metaeval.stats.resampling.significance import benjamini_hochberg, holm
from metaeval.stats.resampling.weights import EQUAL, Swaps, one_thread

_REGRET = (
    "Regret: the utility of the better slate less that of the preferred one; the mean over duels in both "
    "orders, by user, then over users. A tie is the mean of both."
)
_SKILL = "Chance: the expected regret of verdicts at random on these duels; skill: 1 - regret / chance."
P_NOTE = (
    "p: of no difference, in tests that swap the verdicts of both by user, corrected over all rows (single "
    "p-values are in the file)."
)
_ACCURACY = (
    "Accuracy: verdicts for the better slate, users alike; weighted: by the gap between the utilities. "
    "Duels of equal utility count in neither. A tie is half right."
)
EVALUATOR, TASK, P = Column("evaluator", "Evaluator"), Column("task", "Task"), Column("p_corrected", "p", "p")
_USERS, _CHANCE = Column("n_users", "Users", "count"), Column("chance", "Chance", "decimal")
ESTIMATE = Column("regret", "Regret", "decimal", "ci_low", "ci_high")
REGRET_AXIS: dict[str, Any] = {"title": "regret", "scale": {"zero": True}}


def regret_table(scored: SlatesScored) -> pd.DataFrame:
    """Return a row per evaluator and task: the measures of a board, and the regret against that of chance.

    ``chance`` is the expected regret of verdicts at random on these duels, ``skill`` one less the ratio of
    the regret to it, ``difference`` the regret less it; its p-value is that of a test which swaps the two by
    user, corrected over all rows.
    """
    cells, board, tests = scored.cells, scored.board, scored.study.tests
    rows: list[dict[str, Any]] = []
    for task in cells.parts:
        units = cells.units(task)
        if not cells.use(task).any():
            continue
        regret, accuracy, weighted = (
            board.of({"task": task, "measure": m.name}).reset_index() for m in (REGRET, ACCURACY, WEIGHTED)
        )
        own, chance = regret_by_user(units), chance_by_user(units)
        skill = ClusterSums(np.stack([own, chance + 0 * own]), lambda sums: 1 - ratio(sums[0], sums[1]))
        for e, compared in enumerate(tested(cells, units, own - chance, tests, skill=skill)):
            rows.append(
                {
                    "evaluator": regret["evaluator"][e],
                    "task": task,
                    "regret": regret["estimate"][e],
                    "ci_low": regret["ci_low"][e],
                    "ci_high": regret["ci_high"][e],
                    "accuracy": accuracy["estimate"][e],
                    "weighted_accuracy": weighted["estimate"][e],
                    "n_duels": _n_duels(cells, task),
                    "n_users": units.clusters.n,
                    "chance": float(chance.mean()),
                    **compared,
                    "n_missing": regret["n_missing"][e],
                }
            )
    return corrected(rows, tests)


BY_TASK = KindTable(
    "regret.csv",
    "Regret by task",
    (
        EVALUATOR,
        TASK,
        ESTIMATE,
        _CHANCE,
        Column("skill", "Skill", "hundredths", "skill_low", "skill_high"),
        P,
        *columns("share", accuracy="Accuracy", weighted_accuracy="Weighted accuracy"),
        Column("n_duels", "Duels", "count"),
        _USERS,
    ),
    regret_table,
    (_REGRET, _SKILL, P_NOTE, _ACCURACY, INTERVALS),
)


def ordering(scored: SlatesScored, names: Sequence[str]) -> Iterator[tuple[str, Ordering]]:
    """Yield how judges order slates: the skill of their verdicts, at least `SEEN` of what chance loses."""
    frame = scored.table(BY_TASK)
    for name, own in frame[frame["evaluator"].isin(names)].groupby("evaluator", sort=False):
        low, high = own["skill_low"].min(), own["skill_high"].min()  # of the task that goes worst
        usable: Literal["yes", "no", "unknown"] = "yes" if low >= SEEN else "no" if high < SEEN else "unknown"
        said = []
        for row in own.to_dict("records"):
            skill, *ends = (
                value_text(round(row[f"skill{e}"], 2), "hundredths") for e in ("", "_low", "_high")
            )
            said.append(f"{row['task']} {skill} [{', '.join(ends)}]")
        answer = f"skill {'; '.join(said)} (0: as by chance, 1: always the better slate)"
        yield str(name), Ordering("Does it order slates as users do?", answer, _ORDERS[usable], usable)


_ORDERS = {
    "yes": f"it keeps {SEEN:.0%} or more of what a choice at random loses",
    "no": f"it loses more than {1 - SEEN:.0%} of what a choice at random loses",
    "unknown": f"whether it keeps {SEEN:.0%} of what a choice at random loses is open: more users decide",
}


def difficulty_table(scored: SlatesScored) -> pd.DataFrame:
    """Return the regret of each evaluator by task and quantile of the similarity of the two slates.

    The bins are those of all duels of a task, whoever has verdicts on them; quantiles that are equal make one
    bin. Empty if no similarity is known.
    """
    cells, bins = scored.cells, scored.study.difficulty
    similarity = cells.table["similarity"].to_numpy(dtype=float)
    rows: list[dict[str, Any]] = []
    for task, (_, duels) in cells.parts.items():
        of_task = similarity[duels]
        units, own = cells.units(task), similarity[cells.use(task)]
        if np.isnan(of_task).all() or np.isnan(own).all():
            continue
        edges = np.unique(np.nanquantile(of_task, np.linspace(0, 1, bins + 1)))
        place = np.clip(np.searchsorted(edges, own, side="right") - 1, 0, max(0, len(edges) - 2))
        binned = {at: ~np.isnan(own) & (place == at) for at in np.unique(place[~np.isnan(own)]).tolist()}
        sums = {at: units.among(chosen).sums(REGRET) for at, chosen in binned.items()}
        statistics = Stack([ClusterSums(of_bin, REGRET.of_sums) for of_bin in sums.values()])
        found = iter(each(cells.estimate(statistics, units.clusters.n, REGRET.bounds)))
        for at, chosen in binned.items():
            users = sums[at][1, 0] > 0
            shared = {
                "task": task,
                "difficulty": at + 1,
                "similarity": float(own[chosen].mean()),
                "similarity_low": float(own[chosen].min()),
                "similarity_high": float(own[chosen].max()),
            }
            more = {
                "chance": float(chance_by_user(units.among(chosen))[users].mean()),
                "n_units": int(chosen.sum()),
                "n_users": int(users.sum()),
            }
            for name in cells.evaluators:
                one = next(found)
                regret = {"regret": one.value, "ci_low": one.low, "ci_high": one.high}
                rows.append({"evaluator": name, **shared, **regret, **more})
    return pd.DataFrame(rows)


BY_DIFFICULTY = KindTable(
    "regret_by_difficulty.csv",
    "Regret by difficulty",
    (
        EVALUATOR,
        TASK,
        Column("difficulty", "Difficulty", "count"),
        Column("similarity", "Similarity", "hundredths"),
        ESTIMATE,
        _CHANCE,
        Column("n_units", "Verdicts", "count"),
        _USERS,
    ),
    difficulty_table,
    ("Difficulty: quantiles of the similarity of the two slates, 1 for the least alike.", _SKILL, INTERVALS),
)


def tested(
    cells: DuelCells, units: MeasuredUnits, of_users: Floats, tests: Tests | None, **more: ClusterSums
) -> Iterator[dict[str, float]]:
    """Yield the cells of each row of differences by user: its mean, and the p-value of that being 0.

    ``more`` has further statistics of each row, which come first.
    """
    exact, n = np.where(np.abs(of_users) < EQUAL, 0.0, of_users), units.clusters.n
    names = [*more, "difference"]
    mean = ClusterSums(np.stack([exact, np.ones_like(exact)]), lambda sums: ratio(sums[0], sums[1]))
    found = each(cells.estimate(Stack([*more.values(), mean]), units.clusters.n))
    p = np.full(len(exact), np.nan)
    if tests:
        with one_thread():
            p = sign_test(exact, Swaps(n, tests.permutations, tests.seed))
    for i, value in enumerate(p.tolist()):
        row: dict[str, float] = {}
        for name, one in zip(names, found[i :: len(p)], strict=True):
            row |= one.row(name)
        yield {**row, "p": value}


def corrected(rows: Sequence[dict[str, Any]], tests: Tests | None) -> pd.DataFrame:
    """Return a table with p-values corrected over all rows behind those of single tests."""
    frame = pd.DataFrame(rows)
    if len(frame):
        correct = {"holm": holm, "bh": benjamini_hochberg}.get(tests.correction if tests else "none")
        p = frame["p"].to_numpy()
        frame.insert(list(frame).index("p") + 1, "p_corrected", correct(p) if correct else p)
    return frame


def _n_duels(cells: DuelCells, task: str) -> int:
    """Return how many duels enter, in whichever order."""
    entering = cells.table.loc[cells.use(task), ["user_id", "duel"]]
    return int((~entering.duplicated()).sum())


def _with_similarity(scored: SlatesScored) -> pd.DataFrame:
    """Return regret with a label of each task."""
    units = scored.table(UNITS)
    mean = units[measured(units)].groupby("task", observed=True)[["similarity"]].mean().reset_index()
    frame: pd.DataFrame = scored.table(BY_TASK).merge(mean)
    return frame.assign(
        label=[
            task if np.isnan(similarity) else f"{task}, similarity {similarity:.2f}"
            for task, similarity in zip(frame["task"], frame["similarity"], strict=True)
        ],
    )


def _task_chart(sheet: Sheet, _first: Mapping[str, str]) -> Figure:
    import altair as alt

    from metaeval.engine.charts import ROWS, layered, scale_of, tooltip

    tasks = [str(task) for task in sheet.frame["label"].unique()]
    legend = {"orient": "top", "columns": 3}
    colour = alt.Color("label:N", title=None, scale=scale_of(tasks, COLOURS), legend=legend)
    x, beside = alt.X("regret:Q", **REGRET_AXIS), alt.YOffset("label:N", sort=tasks)
    best_first = alt.EncodingSortField("regret", "mean")
    rows = ROWS.encode(y=alt.Y("evaluator:N", title=None, sort=best_first), color=colour)
    lines = tooltip(evaluator="evaluator", label="task", regret=("regret", ".4f"), skill=("skill", ".2f"))
    chance = ROWS.mark_rule(strokeDash=[4, 3], strokeWidth=1.5)
    chart = layered(
        "The regret of every evaluator, by task, with intervals and chance.",
        rows.mark_rule(strokeWidth=2, opacity=0.6).encode(x="ci_low:Q", x2="ci_high", yOffset=beside),
        rows.mark_point(filled=True, size=60, opacity=1).encode(x=x, yOffset=beside, tooltip=lines),
        chance.encode(x=alt.X("mean(chance):Q", **REGRET_AXIS), color=colour),
        height=alt.Step(12 * len(tasks) + 8, **{"for": "position"}),
    )
    return Figure(sheet, chart, finding=_least_regret)


def _difficulty_chart(sheet: Sheet, first: Mapping[str, str]) -> Figure:
    import altair as alt

    from metaeval.engine.charts import DASHED, ROWS, curves, tooltip

    x = alt.X("similarity:Q", title="similarity of the two slates", scale={"zero": False})
    numbers = {"regret": ("regret", ".4f"), "chance": ("chance", ".4f")}
    lines = tooltip(evaluator="evaluator", similarity=("similarity", ".2f"), **numbers)
    y, chance = alt.Y("regret:Q", **REGRET_AXIS), ROWS.mark_line(**DASHED).encode(x=x, y="chance:Q")
    said, ends = "The regret of each evaluator by how similar the two slates are.", ("ci_low", "ci_high")
    chart = curves(said, sheet.frame, x, y, ends, lines, over=[chance], lower_is_better=True)
    return Figure(sheet, chart, first_choices(sheet.frame, first, ["task"]), finding=_least_regret)


def _least_regret(rows: pd.DataFrame) -> str:
    """Say which evaluator loses least, on average over what is drawn, and what chance loses."""
    means = rows.groupby("evaluator", sort=False, observed=True)[["regret", "chance"]].mean().dropna()
    if means.empty:
        return ""
    best = means.reset_index().sort_values("regret", kind="stable").iloc[0]
    regret, chance = (value_text(best[c], "decimal") for c in ("regret", "chance"))
    return f"{best['evaluator']} has the least regret on average, {regret}; verdicts at random have {chance}"


_DRAWN = (EVALUATOR, TASK, Column("similarity", "Similarity", "hundredths"), ESTIMATE, _CHANCE)
TASK_FIGURE = KindTable(
    "regret_by_task",
    "Regret by task",
    _DRAWN,
    _with_similarity,
    ("The dashed lines are chance in each task, verdicts at random.",),
    _task_chart,
)
DIFFICULTY_FIGURE = KindTable(
    "regret_by_difficulty",
    "Regret by difficulty",
    _DRAWN,
    lambda scored: scored.table(BY_DIFFICULTY),
    ("Quantiles of similarity, each at its mean. The dashed line is chance, verdicts at random.",),
    _difficulty_chart,
)


_VERDICTS = 3  # the second, a tie, the first


def judges_of(cells: DuelCells) -> list[str]:
    """Return the evaluators that are judges, functions, or recorded from elsewhere."""
    kinds, wanted = cells.matched.scores.kinds, (Kind.JUDGE, Kind.RECORDED, Kind.FUNCTION)
    return [name for name in cells.evaluators if kinds.get(name) in wanted]


def agreement_table(scored: SlatesScored) -> pd.DataFrame:
    """Return of every two judges the share of same verdicts and Cohen's kappa, by task, with intervals."""
    cells = scored.cells
    rows: list[dict[str, Any]] = []
    for task in cells.parts:
        units = cells.units(task)
        codes = {
            name: (np.sign(scores) + 1).astype(np.int64)
            for name, scores in zip(cells.evaluators, units.scores, strict=True)
            if name in judges_of(cells) and len(scores) and not np.isnan(scores).any()
        }
        of_unit, n = units.clusters.of_unit, units.clusters.n
        pairs, statistics = [*combinations(codes, 2)], list[Statistic]()
        for one, other in pairs:
            both = codes[one], codes[other]
            said = np.stack([np.equal(*both), np.ones(len(of_unit))]).astype(float)
            share = mean_of(*(np.bincount(of_unit, v, n).astype(float)[None] for v in said))
            statistics += [share, LabelAgreement.of(*both, _VERDICTS, units.clusters)]
        if not pairs:
            continue
        found = each(cells.estimate(Stack(statistics), units.clusters.n, (-1.0, 1.0)))
        step = len(found) // len(pairs)
        for at, (one, other) in enumerate(pairs):
            same, kappa, *_ = found[step * at :]
            cut = {**same.row("same"), **kappa.row("kappa")}
            rows.append({"first": one, "second": other, "task": task, **cut, "n_units": len(of_unit)})
    return pd.DataFrame(rows)


def _members(specs: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each majority with each of its members that is an evaluator of the study itself."""
    names = {spec: name for name, spec in specs.items()}
    for name, text in specs.items():
        spec = EvaluatorSpec.parse(text)
        if spec.name == "Majority":
            yield from ((name, names[str(part)]) for part in spec.parts if str(part) in names)


def majority_table(scored: SlatesScored) -> pd.DataFrame:
    """Return by how much the regret of majorities differs from that of each member."""
    cells, tests = scored.cells, scored.study.tests
    pairs = list(_members(scored.study.specs))
    at = np.array([[cells.evaluators.index(name) for name in pair] for pair in pairs]).reshape(-1, 2)
    rows: list[dict[str, Any]] = []
    for task in cells.parts if pairs else ():
        units = cells.units(task)
        if not cells.use(task).any():
            continue
        own = regret_by_user(units)
        found = tested(cells, units, own[at[:, 0]] - own[at[:, 1]], tests)
        for (ensemble, member), (e, m), difference in zip(pairs, at, found, strict=True):
            both = {"regret": own[e].mean(), "member_regret": own[m].mean()}
            rows.append({"ensemble": ensemble, "member": member, "task": task, **both, **difference})
    return corrected(rows, tests)


AGREEMENT = KindTable(
    "judge_agreement.csv",
    "Agreement among judges",
    (
        Column("first", "Judge"),
        Column("second", "and judge"),
        TASK,
        Column("same", "Same verdict", "share", "same_low", "same_high"),
        Column("kappa", "Kappa", "hundredths", "kappa_low", "kappa_high"),
        Column("n_units", "Verdicts", "count"),
    ),
    agreement_table,
    ("Verdicts in both orders; kappa is Cohen's, a tie being a verdict of its own.", INTERVALS),
)
MAJORITY = KindTable(
    "majority.csv",
    "Majorities against their members",
    (
        Column("ensemble", "Majority"),
        Column("member", "Member"),
        TASK,
        *columns("decimal", regret="Regret", member_regret="of the member"),
        Column("difference", "Difference", "decimal", "difference_low", "difference_high"),
        P,
    ),
    majority_table,
    ("Difference: below 0, the majority has less regret than the member.", P_NOTE, INTERVALS),
)
