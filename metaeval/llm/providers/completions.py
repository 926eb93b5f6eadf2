"""Servers of raw completions: they take one text as it is, with a family's markup in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from metaeval.llm.providers.openai import OpenAIClient

if TYPE_CHECKING:
    from metaeval.llm.calls.request import Request


class CompletionsClient(OpenAIClient):
    """OpenAI's older completions, as vLLM, llama.cpp and TGI have them."""

    path: ClassVar[str] = "completions"

    @classmethod
    def body(cls, request: Request) -> dict[str, Any]:
        """Return what is sent: the messages joined to one text, and the number of alternatives to tokens."""
        parameters = dict(request.parameters)
        if parameters.get("logprobs") is True:
            parameters["logprobs"] = parameters.pop("top_logprobs", 1)
        text = "".join(message.content for message in request.messages)
        return {**cls.reply_format(request), **parameters, "prompt": text}

    @classmethod
    def message(cls, choice: dict[str, Any]) -> dict[str, Any]:
        """Return a choice's text as a message, its probabilities in the form of chat completions."""
        listed = choice.get("logprobs") or {}
        if "tokens" in listed:
            rows = zip(listed["tokens"], listed["token_logprobs"], listed["top_logprobs"], strict=True)
            choice["logprobs"] = {"content": [_place(token, value, top) for token, value, top in rows]}
        return {"content": choice.get("text")}


def _place(token: str, logprob: float, top: dict[str, float] | None) -> dict[str, Any]:
    beside = [{"token": other, "logprob": value} for other, value in (top or {}).items()]
    return {"token": token, "logprob": logprob, "top_logprobs": beside}
