"""Messages as raw text: whose turn it is, and that no material changes it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.llm.prompts.syntax import MARKUPS, marked_up

TOLD = [("system", "Judge."), ("user", "A history."), ("user", "Two lists.")]
WANTED = {
    "llama": "<|start_header_id|>system<|end_header_id|>\n\nJudge.<|eot_id|>"
    "<|start_header_id|>user<|end_header_id|>\n\nA history.\n\nTwo lists.<|eot_id|>"
    "<|start_header_id|>assistant<|end_header_id|>\n\n",
    "mistral": "[INST] Judge.\n\nA history.\n\nTwo lists. [/INST]",
    "qwen": "<|im_start|>system\nJudge.<|im_end|>\n<|im_start|>user\nA history.\n\nTwo lists.<|im_end|>\n"
    "<|im_start|>assistant\n",
    "gemma": "<start_of_turn>user\nJudge.\n\nA history.\n\nTwo lists.<end_of_turn>\n<start_of_turn>model\n",
}
"""As the templates of Llama 3, Mistral-7B-Instruct-v0.2, Qwen2.5 and Gemma 2 have it, but the beginning."""
TOKENS = {
    "llama": (
        *("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
        *("<|eom_id|>", "<|python_tag|>", "<|finetune_right_pad_id|>", "<|reserved_special_token_7|>"),
    ),
    "mistral": (
        "<s>",
        "</s>",
        "<unk>",
        "[INST]",
        "[/INST]",
        "[TOOL_CALLS]",
        "[/TOOL_RESULTS]",
        "[control_8]",
    ),
    "qwen": ("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|vision_start|>", "<think>", "</think>"),
    "gemma": ("<bos>", "<eos>", "<pad>", "<start_of_turn>", "<end_of_turn>", "<unused5>", "[multimodal]"),
}
"""What the tokenizers of the families take for marks."""
PARTS = ("<", "<|", "|>", ">", "[", "]", "/", "eot_id", "s", "INST", " ", "\n", "Film", "user")


def raw(messages: Iterable[tuple[str, str]], family: str) -> str:
    return "".join(text for _, text in marked_up(messages, family))


@pytest.mark.parametrize("family", MARKUPS)
def test_the_text_is_as_the_family_writes_it(family: str) -> None:
    assert raw(TOLD, family) == WANTED[family]
    assert [role for role, _ in marked_up(TOLD, family)] == ["system", "user", "user"]
    asked, said = (MARKUPS[family].turns[role] for role in ("user", "assistant"))
    more = raw([("user", "One?"), ("assistant", "A"), ("user", "Two?")], family)
    assert f"One?{asked[1]}{said[0]}A{said[1]}{asked[0]}Two?" in more


@pytest.mark.parametrize("family", MARKUPS)
@given(data=st.data())
def test_no_material_ends_a_turn_or_begins_one(family: str, data: st.DataObject) -> None:
    texts = st.lists(st.sampled_from((*TOKENS[family], *PARTS))).map("".join)
    told = [(role, data.draw(texts)) for role, _ in TOLD]
    found, plain = raw(told, family), raw([(role, "") for role, _ in TOLD], family)
    for token in TOKENS[family]:
        assert found.count(token) == plain.count(token)
    # Nothing is lost: between the marks stands what was told, but for blanks.
    for _, text in told:
        assert "".join(text.split()) in "".join(found.split())
