"""Runs real evaluations of inspect_ai, offline; ``python inspect_evals.py FOLDER`` writes their logs."""

from __future__ import annotations

import sys

from inspect_ai import Task, eval_async
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score, includes, mean, scorer
from inspect_ai.solver import solver

UNITS = [
    ("u1", "007", "a", "One text"),
    ("u1", "007", "b", "Another text"),
    ("u2", 8, "a", "A text, with a comma"),
]


@solver
def says_it_again():
    """Take the explanation for the answer; calling the mock model would need a tokenizer from the network."""

    async def solve(state, _generate):
        if state.metadata.get("item_id") == 8:
            raise RuntimeError("the server gave up")
        state.output = ModelOutput.from_content("mockllm/model", state.input_text)
        return state

    return solve


@scorer(metrics={"clarity": [mean()], "Brevity": [mean()]})
def rubric():
    async def score(state, _target):
        if state.metadata["generator"] == "b":
            return Score.unscored(reason="refusal")
        return Score(value={"clarity": 0.1 + 0.2, "Brevity": 1, "trust": None})

    return score


@scorer(metrics=[mean()])
def trust():
    async def score(state, _target):
        return Score(value="P" if state.epoch == 1 else 1 / 3)

    return score


@scorer(metrics=[mean()])
def words():
    async def score(_state, _target):
        return Score(value="rather good")

    return score


def samples():
    return MemoryDataset(
        [
            Sample(
                input=text,
                target="One",
                id=f"{user}|{item}|{generator}",
                metadata={"user_id": user, "item_id": item, "generator": generator, "score": "mine"},
            )
            for user, item, generator, text in UNITS
        ]
    )


async def main(folder: str) -> None:
    tasks = {
        "graded": Task(samples(), solver=says_it_again(), scorer=[includes(), rubric()], name="graded"),
        "aspects": Task(samples(), solver=says_it_again(), scorer=[trust()], epochs=2, name="aspects"),
        "words": Task(samples(), solver=says_it_again(), scorer=[words()], name="words"),
    }
    for name, task in tasks.items():
        for form in ("eval", "json") if name == "graded" else ("eval",):
            await eval_async(
                task,
                model="mockllm/model",
                log_dir=f"{folder}/{name}",
                log_format=form,
                fail_on_error=False,
            )


if __name__ == "__main__":
    import asyncio

    asyncio.run(main(sys.argv[1]))
