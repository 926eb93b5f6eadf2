"""Sheets of the biases of pairwise judges: what was measured of their verdicts, aspect by aspect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metaeval.engine.sheet import Column, Sheet
from metaeval.trust.bias.tables import cells, column_of, prompt_of, sheet_of
from metaeval.trust.bias.verdicts.between import PROMPT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metaeval.trust.bias.biases import Biases


def position_sheet(found: Biases) -> Sheet | None:
    """Return what the order of a pair does to verdicts; None without verdicts."""
    effects = {(e.judge, e.aspect): e for e in found.pairwise}
    rows = []
    for p in found.position:
        effect = effects.get((p.judge, p.aspect))
        rows.append(
            {
                "judge": p.judge,
                "aspect": p.aspect,
                "n_pairs": p.n_pairs,
                **cells("flips", p.flips, 0),
                **cells("first", p.first, 0),
                **cells("ties", p.ties, 0),
                **cells("length", effect.length if effect else None, 0),
                **cells("family", effect.family if effect else None, 0),
                "n_left_out": p.n_left_out,
            }
        )
    columns = (
        Column("judge", "Judge"),
        Column("aspect", "Aspect"),
        Column("n_pairs", "Pairs", "count"),
        column_of("flips", "Flips", "share"),
        column_of("first", "Shown first wins", "share"),
        column_of("ties", "Ties", "share"),
        column_of("length", "Twice the length"),
        column_of("family", "Own family"),
        Column("n_left_out", "Left out", "count"),
    )
    notes = (
        (
            "A flip is a pair on which the two orders differ. Shown first wins: of decided verdicts, by the "
            "text shown first; 50 % without a bias. Ties: of all verdicts."
        ),
        "Only pairs with an answer in both orders count; others are left out.",
        (
            "Twice the length, own family: what it adds to a text's share of a win (0 to 1), the mean over "
            "both orders, given the difference of the truth (regression through the origin of differences)."
        ),
    )
    return sheet_of("position", "Position: what the order of a pair does", rows, columns, notes)


def verdicts_between_sheet(found: Biases, signatures: Mapping[str, Mapping[str, Any]]) -> Sheet | None:
    """Return how far verdicts are apart in other words, or when asked again; None if there are none."""
    rows = []
    for b in found.verdicts_between:
        prompts = " / ".join(prompt_of(signatures.get(j, {})) for j in b.judges)
        rows.append(
            {
                "judge": b.judges[0],
                "other": b.judges[1],
                "differ_in": f"prompt: {prompts}" if b.differ_in == PROMPT else b.differ_in,
                "aspect": b.aspect,
                **cells("identical", b.identical, 0),
                **cells("shift", b.shift, 0),
                "n_pairs": b.n_pairs,
            }
        )
    columns = (
        Column("judge", "Judge"),
        Column("other", "Other"),
        Column("differ_in", "They differ in"),
        Column("aspect", "Aspect"),
        column_of("identical", "Same verdicts", "share"),
        column_of("shift", "Second − first"),
        Column("n_pairs", "Pairs", "count"),
    )
    notes = (
        (
            "Pairwise evaluators whose signatures differ in the prompt or the replicate alone, on the pairs "
            "that both answered in both orders. Same verdicts: order by order. Second − first: of the share "
            "of verdicts for the text shown first, a tie half a one."
        ),
    )
    title = "Verdicts in other words, and when asked again"
    return sheet_of("verdicts_between", title, rows, columns, notes)
