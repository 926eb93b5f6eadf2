"""pytest: a study that is run by a test, and a gate that a test passes.

``pytest`` finds this module by itself. ``@pytest.mark.metaeval("study.yaml", min=["clear=3.5"])`` runs a
study for a test that takes `metaeval_run`, and fails it with the gate's table; `metaeval_gate` checks a run.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from metaeval.study.results import Run
    from metaeval.trust.gate.checks import GateResult

    Gate = Callable[..., GateResult]

_MARK = (
    "metaeval(study, baseline=None, min=(), max_drop=(), **options): run a study; with thresholds, gate it"
)


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line("markers", _MARK)


@pytest.fixture
def metaeval_gate() -> Gate:
    """Return a function that gates a run, with the options of `metaeval gate`.

    ``metaeval_gate(run, baseline="baselines/main.json", min=["clear=3.5"], max_drop=["0.2"])``. The test
    fails with the gate's table unless every check passes; ``inconclusive="pass"`` accepts too few units.
    """
    return _gate


def _gate(
    run: Run | Path | str,
    *,
    baseline: Path | str | None = None,
    min: tuple[str, ...] | list[str] = (),  # noqa: A002 - as the command's option
    max_drop: tuple[str, ...] | list[str] = (),
    inconclusive: str = "fail",
    accept_judge_change: bool = False,
    **options: Any,  # noqa: ANN401 - those of `GateRequest`
) -> GateResult:
    from metaeval.base.errors import MetaevalError
    from metaeval.reports.sheets import render
    from metaeval.trust.gate.checks import gate_sheet
    from metaeval.trust.gate.rules import read_thresholds
    from metaeval.trust.gate.run import GateRequest, gate_run

    try:
        options |= {"max_drop": read_thresholds(max_drop, "max_drop")}
        request = GateRequest(least=read_thresholds(min, "min"), **options)
        place = Path(getattr(run, "folder", run))  # type: ignore[arg-type]
        known = None if baseline is None else Path(baseline)
        result = gate_run(place, request, known, accept_judge_change=accept_judge_change)
    except MetaevalError as error:
        pytest.fail(str(error), pytrace=False)
    accepted = {"pass", "inconclusive"} if inconclusive == "pass" else {"pass"}
    if result.verdict not in accepted:
        pytest.fail(f"{result.verdict}\n\n{render([gate_sheet(result)], 'txt')}", pytrace=False)
    return result


@pytest.fixture
def metaeval_run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    """Run the study that the test's mark names; with thresholds in the mark, the gate comes first."""
    import metaeval as me
    from metaeval.base.errors import MetaevalError

    mark = request.node.get_closest_marker("metaeval")
    if mark is None or len(mark.args) != 1:
        pytest.fail("name the study of this test: @pytest.mark.metaeval('study.yaml')", pytrace=False)
    try:
        return me.run(mark.args[0], out=tmp_path / "run")
    except MetaevalError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Gate the run of a mark with thresholds; failing in a fixture, the test would be an error."""
    mark = item.get_closest_marker("metaeval")
    run = getattr(item, "funcargs", {}).get("metaeval_run")
    if mark is not None and mark.kwargs and run is not None:
        _gate(run, **mark.kwargs)
