"""MLflow: the audit of a finished run as tags, metrics and artefacts of an MLflow run."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.base.errors import needed
from metaeval.base.frames import json_rows
from metaeval.reports.sheets import render
from metaeval.runs.finished import open_run
from metaeval.runs.folder import ANSWER, REPORT, read_output
from metaeval.trust.auditing.page import audit

if TYPE_CHECKING:
    from metaeval.runs.command import Place
    from metaeval.runs.judge_trust import Use

_NUMBERS = {"estimate": "", "ci_low": ".low", "ci_high": ".high"}


def log_audit(run: Place, *, judges: tuple[str, ...] = (), use: Use | None = None) -> str:
    """Audit the judges of a finished run, and log what is found to MLflow; return the id of the MLflow run.

    It goes to the active MLflow run, or to one that is begun and ended. Metrics are the estimate of each
    evaluator in the cell that orders the leaderboard, ``EVALUATOR``, ``EVALUATOR.low`` and
    ``EVALUATOR.high``; tags are the verdicts on judges, ``JUDGE.USE``: yes, no or cannot be told. Artefacts,
    in ``metaeval``, are the audit as ``audit.md`` and ``audit.json``, and the run's report and answer.

    Parameters
    ----------
    run, judges, use
        As of `metaeval.audit`.

    Raises
    ------
    MissingExtraError
        If mlflow is not installed.
    """
    mlflow = needed("mlflow", "log_audit", "mlflow")
    made, opened = audit.made(run, judges=judges, use=use), open_run(run)
    sheets = [sheet for sheet in made.sheets if sheet]
    label = opened.record.named(opened.board).label
    begun = contextlib.nullcontext(mlflow.active_run()) if mlflow.active_run() else mlflow.start_run()
    with begun as active:
        for row in opened.ranking.frame.to_dict("records"):
            known = {mark: row[name] for name, mark in _NUMBERS.items() if row[name] == row[name]}
            mlflow.log_metrics({_key(label(row["evaluator"])) + mark: v for mark, v in known.items()})
        verdicts = sheets[0].frame.to_dict("records")
        mlflow.set_tags({f"{_key(label(v['judge']))}.{v['use']}": v["usable"] for v in verdicts})
        mlflow.log_text(render(sheets, "md", first=list(made.first)), "metaeval/audit.md")
        mlflow.log_dict({sheet.name: json_rows(sheet.frame) for sheet in sheets}, "metaeval/audit.json")
        for name in (REPORT, ANSWER):
            mlflow.log_artifact(str(read_output(Path(run), name)), "metaeval")
        return str(active.info.run_id)


def _key(name: str) -> str:
    """Return a name with the characters that MLflow allows in keys."""
    return re.sub(r"[^\w\-. ]", "_", name)
