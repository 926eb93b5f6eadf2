"""An address is written down without its passwords, however they are written."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from metaeval.base.errors import MetaevalError
from metaeval.judging.settings import JudgingOptions
from metaeval.llm.store.replies import database_at
from metaeval.llm.store.rows import ServerAddress
from tests.examples import examples

SECRETS = st.text(st.characters(codec="utf-8"), max_size=12).map(lambda text: f"Zq7{text}Zq7")
SHAPES = (
    "postgresql://u:{}@h:5432/d",
    "postgres://:{}@h",
    "postgresql://u:{}",
    "postgresql://u@h/d?password={}",
    "postgresql:///d?host=/tmp/x&sslpassword={}&sslmode=require",
    "postgresql://u:{0}@h/d?password={0}&host=x",
    "postgresql://u:x@h/d?unheard_of={}",
)


def told(address: str) -> str:
    """Return all that is said of an address, and of a study that has it."""
    said = [ServerAddress.shown(address)]
    try:
        said.append(database_at(address).name)
        options = JudgingOptions(store=address)
        said += [repr(options), str(options.model_dump())]
    except MetaevalError as error:
        said.append(str(error))
    return "\n".join(said)


@settings(max_examples=examples(50))
@given(shape=st.sampled_from(SHAPES), secret=SECRETS)
def test_no_password_is_told(shape: str, secret: str) -> None:
    assume(not (shape == "postgresql://u:{}" and "@" in secret))  # what follows an @ is a host
    for written in (secret, quote(secret, safe=""), quote(secret)):
        assert "Zq7" not in told(shape.format(written))
    assert "Zq7" not in told(f"  {shape.format(secret)}\nand more")


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("postgresql://h/d", "postgresql://h/d"),
        ("postgresql://u:p@[::1]:5432/d", "postgresql://u@[::1]:5432/d"),
        (
            "postgres://u:p@a:1,b:2/d?target_session_attrs=any",
            "postgres://u@a:1,b:2/d?target_session_attrs=any",
        ),
        ("postgresql://u:p@/d?host=/tmp/x&password=q", "postgresql://u@/d?host=/tmp/x"),
    ],
)
def test_what_is_no_secret_stays(address: str, name: str) -> None:
    assert ServerAddress.shown(address) == name
    assert database_at(address).name == name
    assert JudgingOptions(store=address).model_dump()["store"] == name
