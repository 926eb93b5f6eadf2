"""Finished runs → sheets: what changed between them, and which differences between their scores are real."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.errors import MetaevalError, nearest
from metaeval.base.records import AVERAGE
from metaeval.engine.comparison import By, Tests, compare_prepared
from metaeval.engine.correlation import correlate
from metaeval.engine.policy import prepare
from metaeval.engine.ranking import ranking
from metaeval.runs.changes import evaluator_changes, run_changes
from metaeval.runs.joint import join_runs
from metaeval.runs.sheets import pairs_sheet, side_by_side

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from metaeval.base.records import Correlations
    from metaeval.engine.comparison import Comparisons
    from metaeval.engine.sheet import Sheet
    from metaeval.runs.joint import JoinedRuns


def compare_runs(
    folders: Sequence[str | os.PathLike[str]],
    *,
    by: str | By | None = None,
    correction: str | None = None,
    permutations: int | None = None,
    seed: int | None = None,
    all_pairs: bool = False,
    policy_of: str | os.PathLike[str] | None = None,
) -> list[Sheet]:
    """Compare the evaluators of one finished run, or several runs, by paired tests.

    Runs are compared on the units that all of them have, under one policy; each run's scores are those that
    it wrote.

    Parameters
    ----------
    folders
        Of the runs, the oldest first. They go by the names of their folders.
    by
        The column that is tested, as a `By` or as ``aspect,level,coefficient``; what is left out is as in the
        study that rules.
    correction, permutations, seed
        Of the tests, as for `metaeval.compare`; as in the study that rules, if left out.
    all_pairs
        Whether every two evaluators of all runs are tested, too.
    policy_of
        The run that rules, by folder or name: its policy, intervals and tests hold for all. The first one, if
        left out; then the policies must be the same.

    Returns
    -------
    list of Sheet
        Of one run ``tests``: every two evaluators. Of several ``changes`` (see `run_changes`) and ``runs``
        (see `side_by_side`). With ``all_pairs`` also ``ranking``, with clusters of rank, and ``tests``.

    Raises
    ------
    RunFolderError
        If a folder holds no finished run.
    MetaevalError
        If the runs cannot be compared, or an option is wrong.
    """
    joined = join_runs(folders, policy_of=policy_of)
    options = joined.study.tests or {}
    given = {"correction": correction, "permutations": permutations, "seed": seed}
    asked = {**options, **{k: v for k, v in given.items() if v is not None}}
    tests = Tests.model_validate(asked)
    column = _column(joined, by)
    sheets: list[Sheet] = []
    several = len(joined.runs) > 1
    result = _correlated(joined, column) if several or all_pairs else None
    if several and result is not None:
        sheets += _across(joined, result, column, tests)
    if not several or all_pairs:
        sheets += _every_two(joined, result, column, tests)
    return sheets


def _across(joined: JoinedRuns, result: Correlations, by: By, tests: Tests) -> list[Sheet]:
    records = joined.records
    changed = {
        name: list(dict.fromkeys(key.partition(".")[0] for key in evaluator_changes(records, name)))
        for name in joined.columns
    }
    data = prepare(joined.scores, joined.truth, joined.policy(by.level, by.coefficient))
    return [
        run_changes(records, joined.notes),
        side_by_side(data, result, joined.columns, by, tests, changed=changed, notes=joined.notes),
    ]


def _every_two(joined: JoinedRuns, result: Correlations | None, by: By, tests: Tests) -> list[Sheet]:
    found = _kept_tests(joined, by, tests)
    if found is None:
        data = prepare(joined.scores, joined.truth, joined.policy(by.level, by.coefficient))
        found = compare_prepared(data, by, tests)
    pairs = pairs_sheet(found, simulated=joined.scores.simulation)
    return [pairs] if result is None else [ranking(result, by=by, tests=found), pairs]


def _kept_tests(joined: JoinedRuns, by: By, tests: Tests) -> Comparisons | None:
    """Return the tests that a single run wrote, if they are the ones that are asked for."""
    if len(joined.runs) > 1:
        return None
    (run,) = joined.runs.values()
    options = run.record.study.tests
    same = options is not None and Tests(**options) == tests
    return run.tests() if same and by == run.record.study.by else None


def _correlated(joined: JoinedRuns, by: By) -> Correlations:
    """Correlate the scores of all runs with the truth that they share, with the intervals of the study."""
    policy = joined.policy(by.level, by.coefficient)
    return correlate(
        joined.scores,
        joined.truth,
        levels=policy.levels,
        coefficients=policy.coefficients,
        missing=policy.missing,
        undefined_groups=policy.undefined,
        units="common" if policy.common else "own",
        bootstrap=joined.study.bootstrap,
    )


def _column(joined: JoinedRuns, wanted: str | By | None) -> By:
    """Read ``aspect,level,coefficient``; what is left out is as in the study, as far as all runs have it."""
    known = [*joined.aspects, AVERAGE]
    standard = joined.study.by
    if standard.aspect not in known:
        standard = standard._replace(aspect=known[0] if len(joined.aspects) == 1 else AVERAGE)
    by = wanted if isinstance(wanted, By) else By.read(wanted, standard)
    if by.aspect not in known:
        raise MetaevalError(
            f"no aspect {by.aspect!r} is in all runs{nearest(by.aspect, known)} (in all: {', '.join(known)})"
        )
    return by
