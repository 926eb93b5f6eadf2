"""What is wrong with a file or an option is one sentence, wherever it was given."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field, field_validator

from metaeval.base.errors import MetaevalError
from metaeval.base.validation import Count, Options, Strict, read_model


class Engine(Options):
    called = "engine"
    cylinders: Count = 4
    fuel: Literal["petrol", "diesel"] | None = None
    litres: Annotated[int | float | None, Field(gt=0, description="a number above 0")] = None


class Car(Strict):
    name: str
    engine: Engine = Engine()
    doors: list[int] = Field(default_factory=list)
    owner: str | Engine | None = None

    @field_validator("doors")
    @classmethod
    def _even(cls, doors: list[int]) -> list[int]:
        if len(doors) % 2:
            raise ValueError("must be even")
        return doors


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            {"cilinders": 2},
            "engine: 'cilinders' is not allowed (allowed: cylinders, fuel, litres); did you mean",
        ),
        (
            {"fuel": "disel"},
            "engine fuel: 'disel' is not allowed (allowed: petrol, diesel); did you mean 'diesel'?",
        ),
        ({"cylinders": 0}, "engine cylinders is 0; give a whole number, 1 or more"),
        ({"cylinders": True}, "engine cylinders is True; give a whole number"),
        ({"litres": "two"}, "engine litres is 'two'; give a number above 0"),
        (7, "engine must be a mapping, not 7"),
        ({"litres": float("nan")}, "engine litres is nan; give a number above 0"),
    ],
)
def test_options_of_python(given: object, says: str) -> None:
    with pytest.raises(MetaevalError) as caught:
        Engine.model_validate(given)
    assert str(caught.value).startswith(says)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name: a\nengin: {}", ["line 2: unknown key 'engin'; did you mean 'engine'?"]),
        ("name: a\nengine: {zzz: 1}", ["line 2: unknown key 'zzz' (known keys: cylinders, fuel, litres)"]),
        ("doors: []", ["the key 'name' is missing"]),
        ("name: a\nengine:\n  fuel: gas\n  litres: big", [
            "line 3: engine.fuel: 'gas' is not allowed (allowed: petrol, diesel)",
            "line 4: engine.litres must be a number, not 'big'",
        ]),
        ("name: a\nengine:\n  cylinders: 0", ["line 3: engine.cylinders: 0: it must be greater than 0"]),
        ("name: 7", ["line 1: name must be text, not 7; put it in quotes"]),
        ("name: a\ndoors: [1]", ["line 2: doors: must be even"]),
        ("name: a\ndoors: [one]", ["line 2: doors.0 must be a whole number, not 'one'"]),
        ("name: a\nowner: 7", ["line 2: owner must be text or a mapping from keys to values, not 7"]),
        ("- a", ["must hold keys and values, such as `name: my study`"]),
    ],
)  # fmt: skip
def test_files(tmp_path: Path, text: str, says: list[str]) -> None:
    path = tmp_path / "car.yaml"
    path.write_text(text, encoding="utf-8")
    found, problems = read_model(path, Car)
    assert found is None
    assert [p.message for p in problems] == says
    assert {p.file for p in problems} == {"car.yaml"}
