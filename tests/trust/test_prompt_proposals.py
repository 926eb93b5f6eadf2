"""Which units a proposer is shown, and what is read of what it writes."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.base.records import Kind, ScoreTable
from metaeval.kinds.index import kind_named
from metaeval.llm.prompts.template import load_prompt
from metaeval.trust.prompt_proposals import as_prompt, disputed_units, prompt_text


@pytest.mark.parametrize(("factor", "severity"), [(1.0, 0.0), (0.5, -1.0)])
def test_the_most_disputed_units_come_first_however_severe_the_judge(
    tiny: Path, factor: float, severity: float
) -> None:
    data = me.load(tiny)
    keys = list(data.keys)
    own = data.ratings[data.ratings["rater"] == "user"].dropna(subset=["rating"])
    truth = own[[*keys, "aspect", "rating"]].reset_index(drop=True)
    wrong = [3, 11]  # rows that the judge has as the opposite
    said = truth["rating"].where(~truth.index.isin(wrong), 9 * (3 - truth["rating"]) + 3.1)
    frame = truth.assign(evaluator="j", score=factor * said + severity, status="ok")
    reasons = data.ratings.assign(reason=[f"because {i}" for i in range(len(data.ratings))])
    object.__setattr__(data, "ratings", reasons)
    view = kind_named(data.kind).unit_view(data, list(data.aspects))
    scores = ScoreTable(frame.drop(columns="rating"), {"j": {}}, {"j": Kind.JUDGE})
    found = disputed_units(scores, truth, data, view, aspects=data.aspects, most=2)
    rows = truth.loc[wrong]
    expected = {
        data.explanations.merge(pd.DataFrame([row[keys]]), on=keys)["explanation"][0]
        for _, row in rows.iterrows()
    }
    assert {unit.texts["explanation"] for unit in found} <= expected
    assert len(found) == 2
    for unit in found:
        assert all(reason.startswith("because ") for reason in unit.reasons)
        assert set(unit.people) == set(unit.judge) <= set(data.aspects)
        assert f"people: {', '.join(f'{a} {v:g}' for a, v in unit.people.items())}" in str(unit)


def test_a_prompt_is_read_from_what_surrounds_it(tmp_path: Path) -> None:
    text = prompt_text("rubric")
    file = tmp_path / "candidate-1.md"
    file.write_text(
        as_prompt(f"Here it is:\r\n\r\n```markdown\r\n{text}\r\n```\r\n", file.stem), encoding="utf-8"
    )
    read, before = load_prompt(file), load_prompt("rubric")
    assert (read.name, read.parts, read.rubric) == ("candidate-1", before.parts, before.rubric)
    for nothing in (None, "", "---\nname: x", "No."):
        with pytest.raises(MetaevalError, match="not the text of a prompt file"):
            as_prompt(nothing, "x")
