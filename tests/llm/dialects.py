"""Servers that speak OpenAI's language in their own way: what each refuses, and in which words.

The words are those of the providers' own answers, as people report them. Anthropic's endpoint says of itself
that it ignores ``seed`` and ``response_format``.
"""

from __future__ import annotations

import json
from typing import Any

from tests.llm.server import Act

THOUGHT = "Let me see. Summary: 1 would be harsh."
_THOUGHT_TOKENS = 90


def _refusal(message: str, status: int = 400, kind: str = "invalid_request_error", **more: Any) -> Act:
    return Act("status", status=status, body={"error": {"message": message, "type": kind, **more}})


def _format(body: dict[str, Any]) -> str:
    return str(body.get("response_format", {}).get("type", "text"))


def reasoning(body: dict[str, Any], _before: int) -> Act:
    """OpenAI's reasoning models; the thought is shown as DeepSeek and vLLM show it."""
    if "max_tokens" in body:
        return _refusal(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            param="max_tokens",
            code="unsupported_parameter",
        )
    if body.get("temperature", 1) != 1:
        return _refusal(
            f"Unsupported value: 'temperature' does not support {body['temperature']} with this model. Only "
            "the default (1) value is supported.",
            param="temperature",
            code="unsupported_value",
        )
    limit = body.get("max_completion_tokens", 1000)
    spent = min(limit, _THOUGHT_TOKENS)
    shown = {"reasoning_content": THOUGHT}
    if limit <= _THOUGHT_TOKENS:
        return Act(text="", finish_reason="length", message=shown, usage=_usage(spent, spent))
    return Act(message=shown, usage=_usage(spent, spent + 10))


def _usage(thought: int, completion: int) -> dict[str, Any]:
    counts = {"prompt_tokens": 100, "completion_tokens": completion, "total_tokens": 100 + completion}
    return {**counts, "completion_tokens_details": {"reasoning_tokens": thought}}


def anthropic(body: dict[str, Any], _before: int) -> Act:
    """Anthropic's compatible endpoint with a model that takes no temperature."""
    if "temperature" in body:
        return _refusal("`temperature` is deprecated for this model.")
    return Act(text="Summary: 3")


def gemini(body: dict[str, Any], _before: int) -> Act:
    """Gemini's compatible endpoint: it knows its fields alone, and counts thought in the total alone."""
    known = {"model", "messages", "temperature", "max_tokens", "max_completion_tokens", "response_format"}
    lines = [
        f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
        for name in sorted(body.keys() - known)
    ]
    if lines:
        error = {"code": 400, "message": "\n".join(lines), "status": "INVALID_ARGUMENT"}
        return Act("status", status=400, body=json.dumps([{"error": error}]))
    return Act(usage={"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 200})


def llama_cpp(body: dict[str, Any], _before: int) -> Act:
    """An older llama.cpp, and its forks."""
    wanted = _format(body)
    if wanted not in ("text", "json_object"):
        message = f'response_format type must be one of "text" or "json_object", but got: {wanted}'
        return _refusal(message, 500, "server_error", code=500)
    return Act(text='{"a": 3}' if wanted == "json_object" else "a: 3")


def llama_cpp_words(body: dict[str, Any], before: int) -> Act:
    """A build of llama.cpp without grammars: it fails at a JSON object too."""
    if _format(body) == "json_object":
        return _refusal("Failed to parse grammar", 500, "server_error", code=500)
    return llama_cpp(body, before)


def says_json(body: dict[str, Any], _before: int) -> Act:
    """OpenAI's older models: no schema, and a JSON object only where the prompt has the word."""
    wanted = _format(body)
    if wanted == "json_schema":
        return _refusal(
            "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
            param="response_format",
            code="",
        )
    if wanted == "json_object" and "json" not in body["messages"][-1]["content"].lower():
        return _refusal(
            "'messages' must contain the word 'json' in some form, to use 'response_format' of type "
            "'json_object'.",
            param="messages",
            code="",
        )
    return Act(text='{"a": 3}' if wanted != "text" else "a: 3")


def no_logprobs(body: dict[str, Any], _before: int) -> Act:
    """OpenAI's reasoning models, which tell no probabilities."""
    if body.get("logprobs"):
        return _refusal(
            "You are not allowed to request logprobs from this model.", 403, param=None, code=None
        )
    return Act()


def pydantic(body: dict[str, Any], _before: int) -> Act:
    """A server of FastAPI, such as llama-cpp-python's: it knows two types of the format."""
    wanted = _format(body)
    if wanted in ("text", "json_object"):
        return Act(text='{"a": 3}')
    known = "'text' or 'json_object'"
    detail = {"type": "literal_error", "loc": ["body", "response_format", "type"], "ctx": {"expected": known}}
    detail |= {"msg": f"Input should be {known}", "input": body["messages"][0]["content"]}
    return Act("status", status=422, body={"detail": [detail]})


def pydantic_words(body: dict[str, Any], before: int) -> Act:
    """The same behind a handler that makes it an error of the server's, in Python's own words."""
    act = pydantic(body, before)
    if act.kind == "answer":
        return act
    return _refusal(str(act.body["detail"]).replace("[", "(").replace("]", ")"), 500, "internal_server_error")


def strict(body: dict[str, Any], before: int) -> Act:
    """OpenAI's first models with schemas: fewer keywords than JSON schemas have."""
    if _format(body) != "json_schema":
        return llama_cpp(body, before)
    where = "In context=('properties', 'a'), 'maximum' is not permitted."
    return _refusal(f"Invalid schema for response_format 'reply': {where}", param="response_format")


def no_json(body: dict[str, Any], before: int) -> Act:
    """A server that takes no ``response_format`` at all, as vLLM and others say it."""
    if "response_format" in body:
        message = "Extra inputs are not permitted"
        detail = {"type": "extra_forbidden", "loc": ["body", "response_format"], "msg": message}
        return Act("status", status=422, body={"detail": [detail]})
    return llama_cpp(body, before)
