"""A provider's files and batches, through the ``openai`` SDK."""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import tempfile
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Concatenate, Final, NamedTuple, ParamSpec, Self, TypeVar
from urllib.parse import urlsplit, urlunsplit

import httpx2
import openai
from openai.types import Batch, FileObject

from metaeval.base.parallel import within
from metaeval.llm.calls.client import TOO_MANY, CallError, RejectedError, RetryableError
from metaeval.llm.calls.request import Request
from metaeval.llm.calls.scrub import scrub
from metaeval.llm.providers import CONNECT_SECONDS, batching_of, key_for
from metaeval.llm.providers.openai import NO_KEY, OpenAIClient
from metaeval.llm.providers.wire import MISREAD, answered, read_headers

if TYPE_CHECKING:
    from metaeval.llm.calls.limits import Limits

P = ParamSpec("P")
T = TypeVar("T")

_PATH: Final = "/v1/chat/completions"
_METADATA = "metaeval"
_TRIES = 3  # of what may be asked for twice
_SLOWEST = 250_000.0  # bytes of a file per second
_PAGE = 100
_OVER = ("completed", "failed", "expired", "cancelled")


class FullError(RetryableError):
    """The provider says that it has no room for a batch."""


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


def _in_time(ask: Callable[Concatenate[Endpoint, P], T]) -> Callable[Concatenate[Endpoint, P], T]:
    """Have a method raise `CallError` only, and end in the time of a reply; longer as its file moves on."""

    @functools.wraps(ask)
    def bounded(self: Endpoint, /, *args: P.args, **kwargs: P.kwargs) -> T:
        files = [arg for arg in args if hasattr(arg, "tell")]
        with self._errors():
            return within(
                self._seconds,
                lambda: ask(self, *args, **kwargs),
                lambda: sum(file.tell() for file in files) / _SLOWEST,
            )

    return bounded


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
            timeout=openai.Timeout(limits.reply_seconds, connect=CONNECT_SECONDS),
            http_client=self._http,
        )
        # Once only: whether the server has done what it gave no answer to is looked up.
        self._once = self._sdk.with_options(max_retries=0)
        self._seconds = limits.reply_seconds

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def line(self, request: Request, key: str) -> bytes:
        """Return the line of a file for a request, named by a key."""
        body = {"model": request.model, **self.client.body(request)}
        row = {"custom_id": key, "method": "POST", "url": _PATH, "body": body}
        return json.dumps(row, ensure_ascii=False).encode() + b"\n"

    @_in_time
    def upload(self, name: str, file: IO[bytes]) -> str:
        """Send a file, and return the provider's name for it."""
        return _name(self._once.files.create(file=(_file_name(name), file), purpose="batch"))

    @_in_time
    def create(self, name: str, file: str) -> str:
        """Make a batch of an uploaded file, and return the provider's name for it.

        ``name`` goes into its metadata, by which `find` finds it again.

        Raises
        ------
        FullError
            If there is no room for it.
        RejectedError, DeniedError
            If there is none, since the request is wrong; after any other error there may be one.
        """
        metadata = {_METADATA: name, "ds_name": _file_name(name)}
        return _name(
            self._once.batches.create(
                input_file_id=file, endpoint=_PATH, completion_window="24h", metadata=metadata
            )
        )

    @_in_time
    def find(self, name: str, file: str) -> str | None:
        """Return the provider's name of the batch that we called so, or made of this file; "" is none."""
        for made in self._sdk.batches.list(limit=_PAGE):
            if (made.metadata or {}).get(_METADATA) == name or (file and made.input_file_id == file):
                return made.id
        return None

    @_in_time
    def delete_files(self, name: str) -> None:
        """Delete the files that were uploaded for the batch that we called so."""
        uploaded = self._sdk.files.list(purpose="batch")
        for file in [one.id for one in uploaded if one.filename == _file_name(name)]:
            with contextlib.suppress(openai.NotFoundError):  # it was deleted by a call without an answer
                self._sdk.files.delete(file)

    @_in_time
    def state(self, batch: str) -> State:
        """Return how far a batch is."""
        now = self._sdk.batches.retrieve(batch)
        errors = (now.errors.data if now.errors else None) or ()
        return State(
            now.status if now.status in _OVER else "",
            now.request_counts.completed + now.request_counts.failed if now.request_counts else 0,
            tuple(filter(None, (now.output_file_id, now.error_file_id))),
            tuple((str(error.code), self._without_key(str(error.message))) for error in errors),
        )

    def lines(self, file: str) -> Iterator[str]:
        """Yield the lines of a file of results, without the key."""
        with tempfile.TemporaryFile() as kept:
            self._fetch(file, kept)
            kept.seek(0)
            for line in kept:
                yield self._without_key(line.decode("utf-8", "replace").lstrip("\ufeff"))

    @_in_time
    def _fetch(self, file: str, into: IO[bytes]) -> None:
        with self._sdk.files.with_streaming_response.content(file) as response:
            for chunk in response.iter_bytes():
                into.write(chunk)

    def _without_key(self, text: str) -> str:
        return scrub(text, self._key)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise what goes wrong as a `CallError`, without the key."""
        try:
            yield
        except CallError:
            raise
        except TimeoutError as error:
            raise RetryableError(
                f"the server of batches brings nothing to an end ({error})", "timeout"
            ) from None
        except openai.APIStatusError as error:
            got = error.response
            body = self._without_key(got.text)
            try:
                answered(got.status_code, body, read_headers(got.headers, self._key), self.client.denied)
            except RetryableError as wrong:
                if got.status_code == TOO_MANY:
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
