"""Remove API keys from responses of providers, however they are encoded."""

from __future__ import annotations

import base64
import functools
import html
import json
import re

_IN_A_KEY = "sk-", "bearer"
_LIKE_A_KEY = re.compile(r"(?i)\b(bearer\s+|sk-)[\w.~+/*-]{6,}")
_SHORTEST = 8  # characters; self-hosted servers take words such as EMPTY, which are no secret
_ESCAPED = re.compile(r"\\(?:[uU]00|[xX][0-9a-fA-F]|[^\w\s\"])|%[0-9a-fA-F]|&[#\w]")


def scrub(text: str, secret: str) -> str:
    """Return a text without the key, and without anything that looks like a key.

    The key is found as it is, in base64 and in hexadecimal, each with any characters escaped as in JSON, URLs
    and HTML, up to twice.
    """
    if len(secret) >= _SHORTEST:
        forms, pattern = _search(secret)
        if any(form in text for form in forms) or _ESCAPED.search(text):
            text = pattern.sub("[key]", text)
    folded = text.casefold()  # most texts hold neither, and the pattern takes far longer to say so
    return _LIKE_A_KEY.sub(r"\1[key]", text) if any(part in folded for part in _IN_A_KEY) else text


@functools.lru_cache(maxsize=8)
def _search(secret: str) -> tuple[list[str], re.Pattern[str]]:
    """Return the encodings of a key, and a pattern that also finds them escaped."""
    digits = secret.encode().hex()
    forms = [secret, json.dumps(secret)[1:-1], digits, digits.upper(), *_in_base64(secret.encode())]
    forms = list(dict.fromkeys(forms))
    first = "".join(sorted({re.escape(form[0]) for form in forms}))
    found = "|".join("".join(map(_escaped, form)) for form in forms)
    return forms, re.compile(rf"(?=[{first}\\%&])(?:{found})")  # most places are passed over at once


def _in_base64(secret: bytes) -> list[str]:
    """Return the base64 text of a key inside a longer one, for each of the three alignments."""
    forms = []
    for offset in range(3):
        bits = 8 * (offset + len(secret))
        encoded = base64.b64encode(bytes(offset) + secret).decode()[-(-8 * offset // 6) : bits // 6]
        forms += [encoded, encoded.replace("+", "-").replace("/", "_")]
    return forms


def _escaped(character: str) -> str:
    """Return a pattern of all ways to write a character."""
    code = ord(character)
    named = html.escape(character)[1:] if html.escape(character) != character else "(?!)"
    plain = re.escape(character)
    bare = "|" + plain if not character.isalnum() else ""
    return (
        rf"(?:{plain}|\\{{1,4}}(?:u00(?i:{code:02x})|x(?i:{code:02x}){bare})"
        rf"|%(?:25){{0,2}}(?i:{code:02x})|&(?:amp;)?(?:{named}|\#0*{code};|\#[xX]0*(?i:{code:x});))"
    )
