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


def _openai_error(parameter: str, code: str, message: str) -> Act:
    error = {"message": message, "type": "invalid_request_error", "param": parameter, "code": code}
    return Act("status", status=400, body={"error": error})


def reasoning(body: dict[str, Any], _before: int) -> Act:
    """OpenAI's reasoning models; the thought is shown as DeepSeek and vLLM show it."""
    if "max_tokens" in body:
        return _openai_error(
            "max_tokens",
            "unsupported_parameter",
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
        )
    if body.get("temperature", 1) != 1:
        return _openai_error(
            "temperature",
            "unsupported_value",
            f"Unsupported value: 'temperature' does not support {body['temperature']} with this model. Only "
            "the default (1) value is supported.",
        )
    limit = body.get("max_completion_tokens", 1000)
    spent = min(limit, _THOUGHT_TOKENS)
    shown = {"reasoning_content": THOUGHT}
    if limit <= _THOUGHT_TOKENS:
        return Act(text="", finish_reason="length", message=shown, usage=_usage(spent, spent))
    return Act(message=shown, usage=_usage(spent, spent + 10))


def _usage(thought: int, completion: int) -> dict[str, Any]:
    details = {"reasoning_tokens": thought}
    return {
        "prompt_tokens": 100,
        "completion_tokens": completion,
        "total_tokens": 100 + completion,
        "completion_tokens_details": details,
    }


def anthropic(body: dict[str, Any], _before: int) -> Act:
    """Anthropic's compatible endpoint with a model that takes no temperature."""
    if "temperature" in body:
        error = {"type": "invalid_request_error", "message": "`temperature` is deprecated for this model."}
        return Act("status", status=400, body={"type": "error", "error": error})
    return Act(text="Summary: 3")


def gemini(body: dict[str, Any], _before: int) -> Act:
    """Gemini's compatible endpoint: it knows its fields alone, and counts thought in the total alone."""
    known = {"model", "messages", "temperature", "max_tokens", "max_completion_tokens", "response_format"}
    unknown = sorted(body.keys() - known)
    if unknown:
        said = "\n".join(
            f'Invalid JSON payload received. Unknown name "{n}": Cannot find field.' for n in unknown
        )
        error = {"code": 400, "message": said, "status": "INVALID_ARGUMENT"}
        return Act("status", status=400, body=json.dumps([{"error": error}]))
    return Act(usage={"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 200})


def llama_cpp(body: dict[str, Any], _before: int) -> Act:
    """An older llama.cpp, and its forks."""
    wanted = body.get("response_format", {}).get("type", "text")
    if wanted not in ("text", "json_object"):
        said = f'response_format type must be one of "text" or "json_object", but got: {wanted}'
        return Act(
            "status", status=500, body={"error": {"code": 500, "message": said, "type": "server_error"}}
        )
    return Act(text='{"a": 3}' if wanted == "json_object" else "a: 3")


def llama_cpp_words(body: dict[str, Any], before: int) -> Act:
    """A build of llama.cpp without grammars: it fails at a JSON object too."""
    if body.get("response_format", {}).get("type") == "json_object":
        said = "Failed to parse grammar"
        return Act(
            "status", status=500, body={"error": {"code": 500, "message": said, "type": "server_error"}}
        )
    return llama_cpp(body, before)


def says_json(body: dict[str, Any], _before: int) -> Act:
    """OpenAI's older models: no schema, and a JSON object only where the prompt has the word."""
    wanted = body.get("response_format", {}).get("type")
    if wanted == "json_schema":
        return _openai_error(
            "response_format",
            "",
            "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
        )
    if wanted == "json_object" and "json" not in body["messages"][-1]["content"].lower():
        return _openai_error(
            "messages",
            "",
            "'messages' must contain the word 'json' in some form, to use 'response_format' of type "
            "'json_object'.",
        )
    return Act(text='{"a": 3}' if wanted else "a: 3")


def no_logprobs(body: dict[str, Any], _before: int) -> Act:
    """OpenAI's reasoning models, which tell no probabilities."""
    if body.get("logprobs"):
        return Act(
            "status",
            status=403,
            body={
                "error": {
                    "message": "You are not allowed to request logprobs from this model.",
                    "type": "invalid_request_error",
                    "param": None,
                    "code": None,
                }
            },
        )
    return Act()


def no_json(body: dict[str, Any], before: int) -> Act:
    """A server that takes no ``response_format`` at all, as vLLM and others say it."""
    if "response_format" in body:
        detail = [
            {
                "type": "extra_forbidden",
                "loc": ["body", "response_format"],
                "msg": "Extra inputs are not permitted",
            }
        ]
        return Act("status", status=422, body={"detail": detail})
    return llama_cpp(body, before)
