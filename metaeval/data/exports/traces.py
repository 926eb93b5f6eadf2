"""Traces, and what was said of them: Langfuse, LangSmith, MLflow, Phoenix, OpenTelemetry, TruLens, Weave.

A tool states who said a value: Langfuse by the source ``ANNOTATION`` (``API`` and ``EVAL`` are scores),
LangSmith by the source ``app``, MLflow by ``HUMAN`` (``LLM_JUDGE`` and ``CODE`` are scores), Phoenix by the
kind ``HUMAN``, Weave by annotations and thumbs, which have a creator. No attribute of OpenTelemetry's
conventions says it; ``gen_ai.evaluation.source: human`` is taken for a person. TruLens does not say more than
the feedback's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from metaeval.data.exports.export import (
    METADATA,
    OWN,
    Judged,
    Mark,
    Record,
    flat,
    has,
    judged,
    named_numbers,
    number_of,
    text_in,
    tool,
)
from metaeval.data.exports.shape import is_given, of_json, opened, shape

_NUMBERS = ("NUMERIC", "BOOLEAN")
_OF, _INTERFACE = "traceId", "of the interface"
_BOTH = "put traces and scores (`GET /api/public/traces` and `/scores`) into one folder, and name the folder"
_IDS = f"scores of which the page of traces has the ids alone; {_BOTH}"
_NO_TRACE = f"scores whose trace, and with it the text, is not in the file; {_BOTH}"
_NO_SOURCE = f"scores of the interface's export, which does not say who gave them; {_BOTH}"
_is_trace, _is_langfuse_score = has("input", "output"), has(f"{_OF} value")


def _is_of_langfuse(record: Record) -> bool:
    trace = has("input output")(record) and isinstance(opened(record.get("scores")), list)
    return trace or _is_of_interface(record) or has(f"{_OF} name value source")(record)


def _is_of_interface(record: Record) -> bool:
    return has("input output bookmarked sessionId")(record) and "scores" not in record


def _langfuse_record(record: dict[str, Any]) -> object:
    """Return a score as one of its trace; mark what is of the interface."""
    if _is_langfuse_score(record):
        return {"id": record[_OF], "scores": [record]}
    return record | ({_INTERFACE: True} if _is_of_interface(record) else {})


@tool(
    "Langfuse",
    "`GET /api/public/traces/ID` of each trace, or a folder of traces and scores",
    _is_of_langfuse,
    shape("id", scores=[shape("name") | str]),
    ("data",),
    _langfuse_record,
)
def langfuse(records: Sequence[Record]) -> Iterator[Judged]:
    """Read traces or observations with scores, or both of them apart; fields are those of the public API."""
    there: dict[str, Record] = {}
    for record in records:
        if _is_trace(record) and (_INTERFACE not in record or record["id"] not in there):
            there[record["id"]] = record
    alone: dict[str, list[Any]] = {}
    for record in records:
        for score in () if _is_trace(record) else record["scores"]:
            if not isinstance(score, str):
                of = score.get("observationId")
                alone.setdefault(str(of if of in there else record["id"]), []).append(score)
    for name, record in there.items():
        given = opened(record.get("input"))
        scores = [*record["scores"], *alone.pop(name, [])]
        marks = [_score(score) for score in scores if not isinstance(score, str)]
        unread = [_IDS] if scores and not marks else [_NO_SOURCE] if _INTERFACE in record else []
        told = {"user_id": record.get("userId"), "failed": record.get("level") == "ERROR", "unread": unread}
        places = (given, opened(record.get("metadata")), record)
        yield judged(name, given, record.get("output"), marks, *places, **told)
    for name, scores in alone.items():
        yield Judged(name, {}, [_score(score) for score in scores], "output", unread=[_NO_TRACE])


def _score(score: Record) -> Mark:
    """Return what a score says by its `dataType`: the ``value`` of a word is no number that anybody gave."""
    value, word, kind = score.get("value"), score.get("stringValue"), score.get("dataType")
    if value is None or (kind not in _NUMBERS and (kind or word)):
        value = word or (value if isinstance(value, str) else None)
    who, source = score.get("authorUserId"), str(score.get("source", "api"))
    return Mark.by(who, source.lower(), score["name"], value, person=source == "ANNOTATION")


_STATS = "feedback_stats"
_AVERAGES = (
    "the averages in feedback_stats, which are over all sources, people and tools, and so nobody's; add the "
    "list `feedback` to each run: client.list_feedback(run_ids=[run.id])"
)
_PARTS = {part: shape() for part in ("inputs", "reference_outputs", "reference", _STATS)}


@tool(
    "LangSmith",
    "runs with their feedback: `client.list_runs(…)`, or `to_pandas()` of an experiment",
    has("inputs outputs feedback", f"inputs outputs {_STATS}", nested=True),
    shape(feedback=[shape("key", feedback_source=shape(metadata=shape()))], **_PARTS),
)
def langsmith(records: Sequence[Record]) -> Iterator[Judged]:
    """Read runs with feedback, or an experiment's table, whose columns are scores."""
    for n, record in enumerate(records):
        extra = opened(record.get("extra")) or {}
        inputs, reference = record["inputs"], record["reference_outputs"] or record["reference"]
        made = record.get("outputs") or {k: v for k, v in record.items() if k.startswith("outputs.")}
        yield judged(
            record.get("id") or n,
            inputs,
            made,
            [*_feedback(record), *named_numbers(reference)],
            inputs,
            extra.get("metadata") if isinstance(extra, Mapping) else None,
            {k: v for k, v in record.items() if k != "reference"},
            text="outputs",
            item_title=text_in({k: v for k, v in inputs.items() if k not in OWN}),
            reference=text_in({k: v for k, v in reference.items() if number_of(v) is None}),
            failed=record.get("error"),
            unread=[_AVERAGES] if record[_STATS] and not record["feedback"] else [],
        )


def _feedback(record: Record) -> Iterator[Mark]:
    for given in record["feedback"]:
        source, value = given["feedback_source"], given.get("value")
        kind = str(source.get("type", "api"))
        who = source.get("user_name") or source.get("user_id") or source["metadata"].get("model")
        score = given.get("score") if given.get("score") is not None else value
        yield Mark.by(who, kind, given["key"], score, value, person=kind == "app")
    for column, value in record.items():
        if column.startswith("feedback."):
            key = column.removeprefix("feedback.")
            yield Mark(key, value, key)


_RATINGS = {"yes": 1.0, "no": 0.0}
"""MLflow's own ratings (`CategoricalRating`): passed, and not."""


def _is_of_mlflow(record: Record) -> bool:
    info = opened(record.get("info"))
    in_trace = isinstance(info, Mapping) and has("assessments", "trace_id")(info)
    return in_trace or has("trace_id assessments")(record)


def _mlflow_trace(record: dict[str, Any]) -> object:
    """Return a row of a frame as the trace that it is of, whose spans and assessments may be columns."""
    whole = opened(record.get("trace"))
    if isinstance(whole, dict) and "info" in whole:
        return whole
    spans = opened(record.get("spans")) or []
    return record if "info" in record else {"info": record, "data": {"spans": spans}}


_ASSESSMENT = shape("assessment_name", source=shape(), feedback=shape(), expectation=shape())


@tool(
    "MLflow",
    "`trace.to_json()` of each trace, one per line, or frames of traces",
    _is_of_mlflow,
    shape(info=shape("trace_id", assessments=[_ASSESSMENT]), data=shape(spans=[shape(attributes=shape())])),
    first=_mlflow_trace,
)
def mlflow(records: Sequence[Record]) -> Iterator[Judged]:
    """Read traces with assessments."""
    for record in records:
        info = record["info"]
        roots = [span["attributes"] for span in record["data"]["spans"] if not span.get("parent_span_id")]
        own = roots[0] if roots else {}
        given = of_json(own.get("mlflow.spanInputs") or info.get("request") or info.get("request_preview"))
        made = own.get("mlflow.spanOutputs") or info.get("response") or info.get("response_preview")
        more = [opened(info.get(k)) for k in ("tags", "trace_metadata", "request_metadata")]
        user = more[1].get("mlflow.trace.user") if isinstance(more[1], Mapping) else None
        told = {"text": "response", "user_id": user, "failed": info.get("state") == "ERROR"}
        marks = [_assessment(given) for given in info["assessments"] if given.get("valid", True)]
        yield judged(info["trace_id"], given, of_json(made), marks, given, *more, **told)


def _assessment(given: Record) -> Mark:
    kind, who = str(given["source"].get("source_type")), given["source"].get("source_id")
    found = given["feedback"] or given["expectation"]
    value, name = found.get("value"), given["assessment_name"]
    value = _RATINGS.get(value, value) if isinstance(value, str) else value
    return Mark.by(who, kind, name, value, person=kind == "HUMAN", failed=found.get("error"))


_FOLDER = "put spans and span annotations into one folder, and name the folder"
_NO_ANNOTATION = f"annotations, which a file of spans has not; {_FOLDER}"
_NO_SPAN = f"annotations whose span, and with it the text, is not in the file; {_FOLDER}"


def _phoenix_span(record: dict[str, Any]) -> object:
    """Return an annotation, which a frame calls `annotation_name`, as one of a span."""
    if "annotator_kind" not in record:
        return record
    name = {"name": record["annotation_name"]} if record.get("annotation_name") else {}
    return {"annotations": [record | name]}


_ANNOTATION = shape("name", "annotator_kind", result=shape())


@tool(
    "Phoenix",
    "spans and span annotations, as JSON lines or in one folder",
    has("span_kind context", "annotator_kind", nested=True),
    shape(context=shape(), attributes=shape(), annotations=[_ANNOTATION]),
    ("data",),
    _phoenix_span,
)
def phoenix(records: Sequence[Record]) -> Iterator[Judged]:
    """Read spans and their annotations, or spans that hold their annotations."""
    marks: dict[str, list[Mark]] = {}
    for record in records:
        for given in record["annotations"]:
            span = given.get("span_id") or record["context"].get("span_id")
            marks.setdefault(str(span), []).append(_annotation(given))
    done: set[str] = set()
    for record in records:
        span = str(record["context"].get("span_id"))
        if not record["context"] or span in done or (marks and span not in marks):
            continue  # an annotation, a span that stands in the file twice, or one that nobody annotated
        done.add(span)
        attributes = _paths(record["attributes"])
        given = opened(attributes.get("input.value"))
        beside = {k.removeprefix("metadata."): v for k, v in attributes.items() if k.startswith("metadata.")}
        yield judged(
            span,
            given,
            attributes.get("output.value"),
            marks.get(span, ()),
            *(given, opened(attributes.get("metadata")), beside),
            user_id=attributes.get("user.id"),
            failed=record.get("status_code") == "ERROR",
            unread=[] if marks else [_NO_ANNOTATION],
        )
    yield from (Judged(span, {}, marks[span], unread=[_NO_SPAN]) for span in marks if span not in done)


def _paths(attributes: Record, name: str = "") -> dict[str, Any]:
    """Return attributes by their paths, those that hold others, too."""
    found: dict[str, Any] = {}
    for key, value in attributes.items():
        found[f"{name}{key}"] = value
        found |= _paths(value, f"{name}{key}.") if isinstance(value, Mapping) else {}
    return found


def _annotation(given: Record) -> Mark:
    score, label, kind = given["result"].get("score"), given["result"].get("label"), given["annotator_kind"]
    who, value = given.get("user_id") or given.get("identifier"), label if score is None else score
    return Mark.by(who, kind.lower(), given["name"], value, label, person=kind == "HUMAN")


_PREFIX = "gen_ai.evaluation."
_WHO = ("evaluator.id", f"{_PREFIX}evaluator", "user.name")


def _is_of_opentelemetry(record: Record) -> bool:
    names = (_event(record), *_attributes(record.get("attributes")))
    return any(name.startswith("gen_ai.") for name in names)


def _event(record: Record) -> str:
    """Return the name of an event."""
    named = _attributes(record.get("attributes")).get("event.name")
    return str(record.get("eventName") or record.get("name") or named)


def _attributes(given: object) -> dict[str, Any]:
    """Return attributes, of which OTLP makes a list of keys and values, as an object."""
    if isinstance(given, Mapping):
        return dict(given)
    listed = given if isinstance(given, list) else ()
    return {str(a["key"]): _value(a.get("value")) for a in listed if isinstance(a, Mapping) and "key" in a}


def _value(given: Any) -> Any:  # noqa: ANN401 - one of OTLP's types
    kind, value = next(iter(given.items()), ("", "")) if isinstance(given, Mapping) else ("", given)
    inner = value.get("values") if isinstance(value, Mapping) else None
    if kind == "kvlistValue":
        return _attributes(inner)
    if kind == "arrayValue":
        return [_value(v) for v in inner] if isinstance(inner, list) else []
    return value


@tool(
    "OpenTelemetry",
    "events of `gen_ai.*`, and spans, as JSON lines (OTLP)",
    _is_of_opentelemetry,
    shape(attributes=shape() | list[shape("key")]),  # type: ignore[misc]
    ("resourceLogs.scopeLogs.logRecords", "resourceSpans.scopeSpans.spans"),
)
def opentelemetry(records: Sequence[Record]) -> Iterator[Judged]:
    """Read events and spans.

    A result has a score by its name; the event with the messages, or the span of the events, has the text.
    What has an `error.type` failed.
    """
    marks: dict[str, list[Mark]] = {}
    told: dict[str, dict[str, Any]] = {}
    failed: set[str] = set()
    for record in records:
        event, of = _event(record), _attributes(record["attributes"])
        name = str(of.get("gen_ai.response.id") or record.get("spanId") or record.get("traceId"))
        error = of.get("error.type")
        if event == f"{_PREFIX}result":
            score = of.get(f"{_PREFIX}score.value", label := of.get(f"{_PREFIX}score.label"))
            aspect = str(of.get(f"{_PREFIX}name", "evaluation"))
            person = of.get(f"{_PREFIX}source") == "human"
            who = next((of[k] for k in _WHO if of.get(k)), None)
            mark = Mark.by(who, "human" if person else "evaluation", aspect, score, label, person=person)
            marks.setdefault(name, []).append(replace(mark, failed=error))
        elif _is_of_opentelemetry(record):
            told.setdefault(name, {}).update({k: v for k, v in of.items() if is_given(v)})
            failed |= {name} if error else set()
    yield from (Judged(name, {}, marks[name], "output") for name in marks if name not in told)
    for name, of in told.items():
        model = of.get("gen_ai.response.model") or of.get("gen_ai.request.model")
        user = {"user_id": of.get("user.id") or of.get("enduser.id"), "generator": model}
        given, made = of.get("gen_ai.input.messages"), of.get("gen_ai.output.messages")
        yield judged(name, given, made, marks.get(name, ()), of, failed=name in failed, **user)


@tool(
    "TruLens",
    "`session.get_records_and_feedback()[0]`, as CSV or JSON",
    has("record_id input output app_id", "record_id input output app_name"),
    shape("record_id"),
)
def trulens(records: Sequence[Record]) -> Iterator[Judged]:
    """Read feedback, which has a second column with its calls; versions of one app are generators."""
    columns = dict.fromkeys(c for record in records for c in record)
    feedback = [c for c in columns if f"{c}_calls" in columns]
    apps = [[str(record[k]) for k in ("app_name", "app_version") if record.get(k)] for record in records]
    named = {app[0] for app in apps if app}
    versions = len({*map(tuple, apps)}) > len(named)
    for record, app in zip(records, apps, strict=True):
        system = app[1:] if versions and len(named) == 1 else app[: 2 if versions else 1]
        told, given = opened(record.get("record_json")), of_json(record.get("input"))
        marks = [Mark(name, record.get(name), name) for name in feedback]
        failed = isinstance(told, Mapping) and told.get("main_error")
        by, meta = " ".join(system) or record.get("app_id"), opened(record.get("meta"))
        made = of_json(record.get("output"))
        yield judged(record["record_id"], given, made, marks, meta, generator=by, failed=failed)


_REACTIONS = {"👍": 1.0, "👎": 0.0}
_NO_INPUTS = ("self", "model")
_SAID = shape("feedback_type", payload=shape())


@tool(
    "Weave",
    "calls with feedback, as JSON or JSON lines",
    has("op_name summary", "op_name feedback"),
    shape("id", summary=shape(weave=shape(feedback=[_SAID])), feedback=[_SAID]),
)
def weave(records: Sequence[Record]) -> Iterator[Judged]:
    """Read calls with their feedback.

    That of scorers (`wandb.runnable.*`), and the scores of an evaluation, are scores; feedback of one's own
    type is by nobody that is named.
    """
    for record in records:
        inputs, made = record.get("inputs"), record.get("output")
        if isinstance(inputs, Mapping):
            inputs = {k: v for k, v in inputs.items() if k not in _NO_INPUTS}
        scores: Record = {}
        if "predict_and_score" in str(record.get("op_name")) and isinstance(made, Mapping):
            scores, made = made.get("scores") or {}, made.get("output", made.get("model_output"))
        example = inputs.get("example") if isinstance(inputs, Mapping) else None
        said = (record["summary"].get("weave") or {}).get("feedback") or record["feedback"]
        marks = [mark for given in said for mark in _call_feedback(given)]
        marks += [Mark(k.rpartition(".")[2], v, k.partition(".")[0]) for k, v in flat(scores).items()]
        places, failed = (record.get("attributes"), inputs, example), record.get("exception")
        yield judged(record["id"], inputs, made, marks, *places, failed=failed)


def _call_feedback(given: Record) -> Iterator[Mark]:
    kind, payload = given["feedback_type"], given["payload"]
    who = given.get("creator") or given.get("wb_user_id")
    if kind.startswith("wandb.annotation."):
        name = kind.removeprefix("wandb.annotation.")
        yield Mark.by(who, "annotator", name, payload.get("value"), person=True)
    elif kind.startswith("wandb.reaction"):
        thumb = _REACTIONS.get(str(payload.get("emoji"))[:1])
        yield Mark.by(who, "annotator", "reaction", thumb, person=True)
    elif kind.startswith("wandb.runnable."):
        scorer = kind.removeprefix("wandb.runnable.")
        for name, value in flat(payload.get("output"), scorer).items():
            yield Mark(name.rpartition(".")[2], value, scorer)
    elif not kind.startswith("wandb."):
        for value in (v for k, v in flat(payload).items() if k in ("value", "score", "rating")):
            yield Mark(kind, value, METADATA)
