"""What columns are called, in forms and in other languages than English."""

from __future__ import annotations

import pytest

from metaeval.kinds.explanations.data.tables.names import aspect_name, role_of, the_user


@pytest.mark.parametrize(
    ("column", "role"),
    [
        ("Teilnehmer-ID", "user_id"),
        ("Your participant ID", "user_id"),
        ("What is your Prolific ID?", "user_id"),
        ("PROLIFIC_PID", "user_id"),
        ("System (hidden)", "generator"),
        ("Explanation Type", "generator"),
        ("Erklärung", "explanation"),
        ("推荐理由", "explanation"),
        ("meta.user.id", "user_id"),
        ("Q{n}_film", "item_id"),
        ("text_{n}", "explanation"),
        ("Which system?", "generator"),
        ("评价者", "rater"),
        ("made.gold_review", "reference"),
        ("Bewertung des Nutzers", "reference"),
        *((word, "user_id") for word in ("Usuario", "ID utente", "Utilisateur", "Gebruiker", "Utilizador")),
        *((word, "item_id") for word in ("Alojamiento", "Vin proposé", "Ricetta", "Livro", "Boek")),
        *((word, "generator") for word in ("Sistema", "Système", "Modelo", "Systeem", "Verfahren")),
        *((word, "rater") for word in ("Evaluador", "Évaluatrice", "Valutatore", "Beoordelaar", "Avaliador")),
        *((word, "aspect") for word in ("Criterio", "Critère", "Aspetto", "Kriterium", "Dimensão")),
        *((word, "explanation") for word in ("Texto de la explicación", "Spiegazione", "Uitleg", "Texte")),
        *((word, "reference") for word in ("Reseña", "Recensione", "Référence")),
    ],
)
def test_headers_of_forms_and_of_other_languages(column, role) -> None:
    assert role_of(column, ["one", "two"], numeric=False, taken={}) == role


def test_names_of_aspects_are_short_and_the_user_is_found() -> None:
    assert aspect_name("I trust this recommendation.") == "trust"
    assert aspect_name("How much do you agree? [It is easy to understand]") == "clarity"
    assert aspect_name("trust[SQ001]") == "trust"
    assert aspect_name("Q{n}_fun") == aspect_name("fun ({n})") == aspect_name("fun_{n}") == "fun"
    assert aspect_name("Do you agree? [I trust text {n}]") == "I trust text"
    assert aspect_name("How clear is it to you? [Text {n}]") == "clarity"
    assert aspect_name("Film {n} - I trust this recommendation.") == "trust"
    assert aspect_name("ease of use") == "ease of use"
    assert aspect_name("How helpful was the text? [1 = not at all, 5 = very]") == "usefulness"
    assert aspect_name("Clear (1-5)") == "Clear"
    assert aspect_name("Stimmen Sie zu? [Ich vertraue der Empfehlung.]") == "trust"
    assert aspect_name("Do you enjoy films like these? - The text is convincing.") == "persuasiveness"
    assert aspect_name("Would you see it again, my dear friend?") == "Would you see it"
    assert the_user(["anna", "participant"]) == "participant"
    assert not the_user(["anna", "ben"])
    for word in ("client", "cliente", "utente", "Nutzer", "utilisateur", "usuario", "gebruiker", "moi", "yo"):
        assert the_user(["anna", word]) == word
