"""A provider's files and batches, through the ``openai`` SDK."""

from __future__ import annotations

import contextlib
import importlib
import json
from typing import IO, TYPE_CHECKING, Final, NamedTuple, Self
from urllib.parse import urlsplit, urlunsplit

import httpx2
import openai

from metaeval.llm.calls.client import CallError, RejectedError, RetryableError
from metaeval.llm.calls.scrub import scrub
from metaeval.llm.providers import batching_of, key_for
from metaeval.llm.providers.openai import NO_KEY
from metaeval.llm.providers.wire import LONGEST_BODY, MISREAD, answered, read_headers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openai.types import Batch, FileObject

    from metaeval.llm.calls.limits import Limits
    from metaeval.llm.calls.request import Request
    from metaeval.llm.providers.openai import OpenAIClient

_PATH: Final = "/v1/chat/completions"
_METADATA = "metaeval"
_TRIES = 3  # of what may be asked for twice
_OF_UPLOAD = 600.0  # seconds
_PAGE = 100
_OVER = ("completed", "failed", "expired", "cancelled")
_TOO_MANY = 429


class FullError(RetryableError):
    """The provider has no room for a batch; it was not made."""


class State(NamedTuple):
    """How far a batch is."""

    over: str = ""
    """How it ended; empty while more may come of it."""
    done: int = 0
    """Requests that were answered, or failed."""
    files: tuple[str, ...] = ()
    """Names of the files of results."""
    errors: tuple[tuple[str, str], ...] = ()
    """Code and message of what is wrong with the batch as a whole."""


class Endpoint:
    """The batches of one provider at one address; every method may raise `CallError`.

    Parameters
    ----------
    provider, address
        As of the requests.
    limits
        Time limits of one try.
    """

    def __init__(self, provider: str, address: str, limits: Limits) -> None:
        self.takes = batching_of(provider)
        module, _, name = self.takes.client.partition(":")
        self.client: type[OpenAIClient] = getattr(importlib.import_module(module), name)
        self._key = key_for(provider, address)
        parts = urlsplit(address)
        path = self.takes.path or parts.path
        self._http = openai.DefaultHttpxClient(follow_redirects=False)
        self._sdk = openai.OpenAI(
            api_key=self._key or NO_KEY,
            base_url=urlunsplit((parts.scheme, parts.netloc, path, "", "")),
            max_retries=_TRIES,
            timeout=openai.Timeout(limits.reply_seconds, connect=limits.connect_seconds),
            http_client=self._http,
        )
        # Once only: whether the server has done what it gave no answer to is looked up.
        self._once = self._sdk.with_options(max_retries=0)
        self._of_upload = openai.Timeout(_OF_UPLOAD, connect=limits.connect_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def line(self, request: Request, key: str) -> bytes:
        """Return the line of a file for a request, named by a key."""
        body = {"model": request.model, **self.client.body(request)}
        row = {"custom_id": key, "method": "POST", "url": _PATH, "body": body}
        return json.dumps(row, ensure_ascii=False).encode() + b"\n"

    def upload(self, name: str, file: IO[bytes]) -> str:
        """Send a file, and return the provider's name for it."""
        with self._errors():
            given = _file_name(name), file
            return _name(self._once.files.create(file=given, purpose="batch", timeout=self._of_upload))

    def create(self, name: str, file: str, digest: str) -> str:
        """Make a batch of an uploaded file, and return the provider's name for it.

        ``name`` and the digest of the file go into its metadata, by which `find` finds it again.

        Raises
        ------
        FullError
            If there is no room for it.
        """
        with self._errors():
            made = self._once.batches.create(
                input_file_id=file,
                endpoint=_PATH,
                completion_window="24h",
                metadata={_METADATA: name, "sha256": digest, "ds_name": _file_name(name)},
            )
            return _name(made)

    def find(self, name: str, file: str) -> str | None:
        """Return the provider's name of the batch that we called so, or made of this file."""
        with self._errors():
            for made in self._sdk.batches.list(limit=_PAGE):
                if (made.metadata or {}).get(_METADATA) == name or made.input_file_id == file:
                    return made.id
        return None

    def delete_files(self, name: str) -> None:
        """Delete the files that were uploaded for the batch that we called so."""
        with self._errors():
            there = [
                one.id for one in self._sdk.files.list(purpose="batch") if one.filename == _file_name(name)
            ]
            for file in there:
                with contextlib.suppress(openai.NotFoundError):  # it was deleted by a call without an answer
                    self._sdk.files.delete(file)

    def state(self, batch: str) -> State:
        """Return how far a batch is."""
        with self._errors():
            given = self._sdk.batches.retrieve(batch)
            files = (given.output_file_id, given.error_file_id)
            counts = given.request_counts
            errors = (given.errors.data if given.errors else None) or ()
            return State(
                given.status if given.status in _OVER else "",
                counts.completed + counts.failed if counts else 0,
                tuple(filter(None, files)),
                tuple((str(error.code), self._without_key(str(error.message))) for error in errors),
            )

    def lines(self, file: str) -> Iterator[str]:
        """Yield the lines of a file of results, without the key."""
        with (
            self._errors(),
            self._sdk.files.with_streaming_response.content(file) as response,
        ):
            rest = b""
            for chunk in response.iter_bytes():
                *whole, rest = (rest + chunk).split(b"\n")
                yield from (self._text(line) for line in whole)
                if len(rest) > LONGEST_BODY:
                    rest = b"x"  # with what follows it is no JSON, and so no result
            yield self._text(rest)

    def _without_key(self, text: str) -> str:
        return scrub(text, self._key)

    def _text(self, line: bytes) -> str:
        return self._without_key(line.decode("utf-8", "replace"))

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise what goes wrong as a `CallError`, without the key."""
        try:
            yield
        except CallError:
            raise
        except openai.APIStatusError as error:
            got = error.response
            body = self._without_key(got.text)
            try:
                answered(got.status_code, body, read_headers(got.headers, self._key), self.client.denied)
            except RetryableError as wrong:
                if got.status_code == _TOO_MANY:
                    raise FullError(str(wrong), wrong.code) from None
                raise
            raise RejectedError(" ".join(body.split())[:300], str(got.status_code)) from None
        except (openai.OpenAIError, httpx2.HTTPError, *MISREAD) as error:
            cause = error.__cause__ or error
            said = " ".join(scrub(f"{type(cause).__name__}: {cause}", self._key).split())[:300]
            raise RetryableError(f"no usable answer ({said})", "connection") from None


def _name(made: FileObject | Batch) -> str:
    """Return the provider's name of what was made; the SDK does not see to it that there is one."""
    if not isinstance(made.id, str) or not made.id:
        raise ValueError("it has no id")
    return made.id


def _file_name(name: str) -> str:
    return f"metaeval-{name}.jsonl"
