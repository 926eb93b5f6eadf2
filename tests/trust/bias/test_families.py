import pytest

from metaeval.trust.bias.self_preference import family_of, model_family


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("gpt-4o", "openai"),
        ("ChatGPT 3", "openai"),
        ("GPT-2 (tag)", "openai"),
        ("o3-mini", "openai"),
        ("text-davinci-003", "openai"),
        ("Recorded('claude-3-opus')", "anthropic"),
        ("Meta-Llama-3-8B", "llama"),
        ("CodeLlama", "llama"),
        ("Qwen2.5-72B", "qwen"),
        ("deepseek-r1-distill-qwen-7b", "deepseek"),
        ("mixtral_8x7b", "mistral"),
        ("phi3", "phi"),
        ("yi-34b", "yi"),
        ("attr_personal", None),
        ("Yi Sun", None),  # a person
        ("philosopher", None),
        ("go1", None),
        ("", None),
    ],
)
def test_families_by_name(name: str, family: str | None) -> None:
    assert family_of(name) == family


def test_what_is_said_goes_before_the_table() -> None:
    assert family_of("gpt-4o", {"gpt-4o": "ours"}) == "ours"
    assert family_of("gpt-4o", {"gpt-4o": None}) is None
    assert family_of("gpt-4o", {"gpt-4": "ours"}) == "openai"


def test_the_provider_of_a_model_is_not_its_family() -> None:
    assert model_family("openai/llama-3") == "llama"
    assert model_family("openai/gpt-4o") == "openai"
    assert model_family("openai/anthropic/claude-3") == "anthropic"
    assert model_family("openai/our-own") is None
