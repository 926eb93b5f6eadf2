"""A key that comes back in any form, on any path, is in no file, log or message."""

from __future__ import annotations

import base64
import html
import json
import logging
import re
import string
import urllib.parse
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.base.errors import StoppedError
from metaeval.llm.calls.limits import Limits
from metaeval.llm.calls.request import Message, Request
from metaeval.llm.calls.scrub import scrub
from metaeval.llm.store.replies import Store
from tests.llm.asking import running
from tests.llm.raw_server import completion, http, serving_raw

KEY = 'sk-Zq/7+x"=&\\4711-never'
FORMS: dict[str, str] = {
    "plain": KEY,
    "json": json.dumps(KEY)[1:-1],
    "json, slashes too": json.dumps(KEY)[1:-1].replace("/", "\\/"),
    "json twice": json.dumps(json.dumps(KEY))[1:-1],
    "every character": "".join(f"\\u{ord(c):04x}" for c in KEY),
    "every character, capitals": "".join(f"\\u{ord(c):04X}" for c in KEY),
    "some characters": KEY.replace("q", "\\u0071").replace("-", "%2d"),
    "url": urllib.parse.quote(KEY, safe=""),
    "url, small": re.sub("%..", lambda m: m[0].lower(), urllib.parse.quote(KEY, safe="")),
    "url twice": urllib.parse.quote(urllib.parse.quote(KEY, safe=""), safe=""),
    "url, every character": "".join(f"%{ord(c):02X}" for c in KEY),
    "html": html.escape(KEY),
    "html, every character": "".join(f"&#{ord(c)};" for c in KEY),
    "base64": base64.b64encode(KEY.encode()).decode(),
    "base64 of a header": base64.b64encode(f"Bearer {KEY}".encode()).decode(),
    "base64 of a user": base64.b64encode(f"me:{KEY}".encode()).decode(),
    "base64 for urls": base64.urlsafe_b64encode(f"k={KEY}".encode()).decode(),
    "base64 in a url": urllib.parse.quote(base64.b64encode(KEY.encode()).decode()),
    "hexadecimal": KEY.encode().hex(),
}
KEYS = st.text(string.ascii_letters + string.digits + "-_./+=~", min_size=8, max_size=60)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("the key my secret/1 is wrong", "the key [key] is wrong"),
        ("Incorrect API key: sk-abcdef123456", "Incorrect API key: sk-[key]"),
        ("Authorization: Bearer abcdefgh", "Authorization: Bearer [key]"),
        ("a risk-based task", "a risk-based task"),
    ],
)
def test_scrub(text: str, clean: str) -> None:
    assert scrub(text, "my secret/1") == clean


def test_a_word_that_is_no_secret_stays() -> None:
    assert scrub('{"EMPTY": 1}', "EMPTY") == '{"EMPTY": 1}'
    assert scrub('{"text": "x"}', "") == '{"text": "x"}'


def hidden(text: str) -> list[str]:
    """Return the forms in which a text still holds most of the key."""
    return [name for name, form in FORMS.items() if form[3:-4] in text]


@pytest.mark.parametrize("name", FORMS)
def test_every_form(name: str) -> None:
    clean = scrub(f'{{"message": "it was {FORMS[name]}, and Grüße"}}', KEY)
    assert "[key]" in clean
    assert hidden(clean) == []
    assert clean.startswith('{"message": "it was ')
    assert clean.endswith(', and Grüße"}')


@given(KEYS, st.data())
def test_any_mixture_of_escapes(key: str, data: st.DataObject) -> None:
    ways = [
        lambda c: c,
        lambda c: f"\\u{ord(c):04x}",
        lambda c: f"\\\\u{ord(c):04X}",
        lambda c: f"%{ord(c):02x}",
        lambda c: f"%25{ord(c):02X}",
        lambda c: f"&#{ord(c)};",
        lambda c: f"&#x{ord(c):X};",
        lambda c: c if c.isalnum() else f"\\{c}",
    ]
    written = "".join(data.draw(st.sampled_from(ways))(c) for c in key)
    assert scrub(f"<{written}>", key) == "<[key]>"


@pytest.mark.parametrize(
    "begin", [*(f"{s}{k}-" for s in "sS\u017f" for k in "kK\u212a"), "beArer ", "BEARER\t"]
)
def test_what_looks_like_a_key_in_any_letters(begin: str) -> None:
    assert scrub(f"{begin}Zq7x4711", "") == f"{begin}[key]"


@given(st.text(max_size=300))
def test_nothing_else_is_changed(text: str) -> None:
    if "sk-" not in text.lower() and "bearer" not in text.lower():
        assert scrub(text, "a key that is not there: 4711") == text


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["openai", "dashscope"])
def test_no_form_of_it_reaches_the_store_the_log_or_a_message(
    store: Store, provider: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for variable in ("OPENAI_API_KEY", "DASHSCOPE_API_KEY"):
        monkeypatch.setenv(variable, KEY)
    forms = list(FORMS.values())

    def answer(request: str) -> Any:
        number = int(request.rpartition("number ")[2].partition("!")[0])
        form = forms[number % len(forms)]
        said = {"code": form, "type": form, "message": f"{'x' * (490 - number)} {form}"}
        choice = {"message": {"content": f"3 {form}", "refusal": form}, "finish_reason": form}
        return [
            http(completion(f"Your key is {form}", model=form, system_fingerprint=form), f"X-Key: {form}"),
            http(completion(choices=[choice], output={"choices": [choice]})),
            # As it is, with what JSON would make of it the other way round.
            http(b'{"error": {"message": "' + form.encode() + b'"}, "message": "' + form.encode() + b'"}'),
            http(json.dumps({"error": said, **said}).encode(), status="400 Bad Request"),
            http(form.encode(), status="500 Oh"),
            http(b"", f"Location: http://x/?key={form}", status="302 Found"),
            f"HTTP/1.1 {form}\r\n\r\n".encode(),
            http(form.encode(), "Content-Type: text/html"),
        ][number // len(forms)]

    asked = [Message("user", f"This is number {i}!") for i in range(8 * len(forms))]
    messages: list[str] = []
    with serving_raw(answer) as server:
        address = server.dashscope if provider == "dashscope" else server.openai
        for start in range(0, len(asked), 2):  # a few at a time: no run is stopped by what all of them say
            todo = [Request(provider, "m", (m,), {}, address) for m in asked[start : start + 2]]
            try:
                messages += map(str, running(todo, store, limits=Limits(retries=0, patience_seconds=0.1)))
            except StoppedError as stopped:
                messages.append(str(stopped))
        assert len(server.log) == len(asked)
    rows = store.rows("SELECT * FROM replies")
    assert len(rows) == len(asked)
    assert hidden("\n".join(messages)) == []
    assert hidden("\n".join(str(value) for row in rows for value in row)) == []
    assert hidden(caplog.text) == []


@given(KEYS, st.binary(max_size=7), st.binary(max_size=7), st.booleans())
def test_base64_at_any_place(key: str, before: bytes, after: bytes, urlsafe: bool) -> None:
    encode = base64.urlsafe_b64encode if urlsafe else base64.b64encode
    clean = scrub(f"x {encode(before + key.encode() + after).decode()} y", key)
    # What is left of it stands for no more than what was around the key, and a character at either end.
    rest = clean.replace("[key]", " ").split()
    assert max(map(len, rest)) <= (len(before) + len(after) + 4) * 4 / 3 + 2
    assert "[key]" in clean
