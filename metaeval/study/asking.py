"""The judges of a study: what they are allowed, and what asking them would take."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval import evaluators
from metaeval.errors import RunFolderError
from metaeval.evaluators.judging import Judging, judging
from metaeval.llm.limits import Budget, Limits
from metaeval.llm.price import Prices, tokens_about
from metaeval.llm.prompt import joined
from metaeval.llm.store import Store, default_path
from metaeval.study.file import make_study
from metaeval.study.folder import SCORES, VERDICTS, read_output, read_record

if TYPE_CHECKING:
    import os
    from contextlib import AbstractContextManager

    from metaeval.evaluators.asking import ModelEvaluator
    from metaeval.study.file import JudgingOptions, Study
    from metaeval.study.plan import Plan

_BATCH = 2_000


def judging_of(study: Study, *, offline: bool = False) -> AbstractContextManager[Judging]:
    """Return the block inside which the judges of a study score."""
    options = study.judging
    return judging(
        options.store,
        limits=_limits(options),
        budget=Budget(options.max_usd, options.max_calls),
        prices=_prices(options),
        offline=offline,
    )


def _limits(options: JudgingOptions) -> Limits:
    given: dict[str, Any] = {
        "requests_per_minute": options.requests_per_minute,
        "tokens_per_minute": options.tokens_per_minute,
    }
    if options.concurrency is not None:
        given["in_flight"] = options.concurrency
    return Limits(**given)


def _prices(options: JudgingOptions) -> Prices:
    return Prices({model: price.model_dump(exclude_none=True) for model, price in options.prices.items()})


@dataclass(frozen=True, slots=True)
class Estimate:
    """What asking one judge would take; nothing was sent to find out."""

    judge: str
    requests: int
    """Different ones: what is equal is asked once."""
    in_store: int
    """Requests among them whose reply is there already."""
    tokens: int
    """About how many tokens the prompts of the others have."""
    usd: float | None
    """What the others cost at most, first attempts; None if the price is not known."""
    prompt: str
    """The prompt of the first request."""


def estimates(todo: Plan) -> list[Estimate]:
    """Return what the judges of a study would take, those inside ensembles too."""
    judges = evaluators.judges_of(evaluators.resolve(_specs(todo)).values())
    if not judges:
        return []
    prices = _prices(todo.study.judging)
    path = Path(todo.study.judging.store) if todo.study.judging.store else default_path()
    if not path.exists():
        return [_estimate(judge, todo, prices, None) for judge in judges]
    with Store(path) as store:
        return [_estimate(judge, todo, prices, store) for judge in judges]


def _specs(todo: Plan) -> dict[str, str]:
    return {name: str(spec) for name, spec in todo.evaluators.items()}


def _estimate(judge: ModelEvaluator, todo: Plan, prices: Prices, store: Store | None) -> Estimate:
    in_store = tokens = 0
    usd: float | None = 0.0
    prompt = ""
    met: set[str] = set()  # what is equal is asked once
    questions = judge.questions(todo.data, todo.aspects)
    while asked := [q.request for q in itertools.islice(questions, _BATCH)]:
        prompt = prompt or joined(asked[0].messages)
        batch = [r for r in {r.key: r for r in asked}.values() if r.key not in met]
        met.update(r.key for r in batch)
        found = store.get_many(r.key for r in batch) if store else {}
        for request in batch:
            if request.key in found:
                in_store += 1
                continue
            tokens += tokens_about(request)
            most = prices.at_most(request)
            usd = None if usd is None or most is None else usd + most
    return Estimate(str(judge.spec), len(met), in_store, tokens, usd, prompt)


def export_run(
    folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    store: str | os.PathLike[str] | None = None,
) -> int:
    """Write the replies that a finished run used as JSON Lines, earlier attempts too; return how many.

    They are taken from ``store``, or from that of the run's study if it is left out.

    Raises
    ------
    MetaevalError
        If it is no finished run, no judge was in it, or its store is not there.
    """
    import pandas as pd

    from metaeval.llm.request import key_of
    from metaeval.llm.store_tools import export_jsonl, requests_of

    record = read_record(Path(folder))
    frames = [
        pd.read_parquet(read_output(Path(folder), name))
        for name in (SCORES, VERDICTS)
        if name in (SCORES, *record.get("outputs", {}))
    ]
    if "call" not in frames[0]:
        raise RunFolderError(f"no judge was in the run in {folder}, so it used no replies")
    calls = [call for call in pd.concat([f["call"] for f in frames]).dropna().unique() if call]
    study = make_study(record["study"])
    with Store(store or study.judging.store, create=False) as opened:
        keys: list[str] = []
        for start in range(0, len(calls), _BATCH):
            chunk = calls[start : start + _BATCH]
            requests = requests_of(opened, chunk)
            for key in chunk:
                request = requests.get(key, {"attempt": 0})
                keys += [key_of({**request, "attempt": n}) for n in range(request["attempt"])]
                keys.append(key)
        return export_jsonl(opened, path, keys)
