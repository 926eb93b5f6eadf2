"""A heat map of evaluator × evaluator, with the truth as its last row."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import altair as alt
import numpy as np
import pandas as pd

from metaeval.base.records import AVERAGE
from metaeval.engine.charts import ROWS, SHORTENED, on_shade, scale_of, shaded, times_hundred, tooltip
from metaeval.engine.figure import BLUE, HUNDRED, VERMILION, largest
from metaeval.engine.sheet import Column, columns, value_text
from metaeval.stats.coefficients.grouped import correlation_matrix
from metaeval.stats.resampling.weights import one_thread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metaeval.engine.alignment.aligned import Aligned
    from metaeval.engine.figure import Figure
    from metaeval.kinds.explanations.figures.scores import Material
    from metaeval.stats.coefficients.tables import Floats, Ints

MOST_ROWS = 20_000
"""Rows at most; with more, only the first coefficient or aspect is shown."""

_MOST_WITH_NUMBERS = 24
_SIGNS = ("score alike", "score the other way round")
_ON_TOP = alt.Legend(orient="top", columns=1)
_COLUMNS = (
    *columns("text", first="Evaluator", second="and evaluator", aspect="Aspect", coefficient="Coefficient"),
    Column("r", "Correlation", "hundred"),
    Column("n_units", "Units", "count"),
)


def likeness(material: Material) -> Figure | None:
    """Draw the correlations between the scores of all evaluators, and with the truth."""
    study, aligned, first = material.scored.study, material.scored.matched.aligned, material.first
    aligned = replace(aligned, evaluators=[material.labels[name] for name in aligned.evaluators])
    aspects = list(study.aspects or ())
    aspects += [AVERAGE] if len(aspects) > 1 else []
    # The values to show first lead; sorting keeps the others in their order.
    aspects.sort(key=lambda aspect: aspect != first["aspect"])
    coefficients = sorted(study.coefficients, key=lambda name: name != first["coefficient"])
    truth_name = f"truth: {study.truth}"
    frame = pairs_of(aligned, aspects, coefficients, truth_name)
    if frame is None:
        return None
    n = frame["second"].nunique()
    numbered = n <= _MOST_WITH_NUMBERS
    step, row, size, angle = (34, 26, 11, -45) if numbered else (11, 11, 9, -90)
    labels = alt.Axis(
        title=None, labelOverlap=False, labelExpr=SHORTENED, ticks=False, domain=False, labelFontSize=size
    )
    slanted = alt.Axis(**labels.to_dict(), labelAngle=angle, labelLimit=260)
    cells = ROWS.mark_rect().encode(
        color=alt.Color("sign:N", title=None, scale=scale_of(_SIGNS, (VERMILION, BLUE)), legend=_ON_TOP),
        opacity=shaded("strength"),
        tooltip=tooltip(first="evaluator", second="and", r_100=(HUNDRED, ".2f"), n_units=("units", ",")),
    )
    numbers = ROWS.mark_text(fontSize=10).encode(
        text=alt.Text("r_100:Q", format=".0f"), color=on_shade("datum.strength")
    )
    chart = (
        alt.layer(cells, *([numbers.transform_filter("isValid(datum.r_100)")] if numbered else []))
        .encode(
            x=alt.X("first:N", sort=alt.EncodingSortField("first_place", "min"), axis=slanted),
            y=alt.Y("second:N", sort=alt.EncodingSortField("second_place", "min"), axis=labels),
        )
        .properties(
            width=alt.Step(step),
            height=alt.Step(row),
            description=f"Heat map of the correlations between {n} evaluators and the truth, the last row; "
            "those that score alike stand together.",
        )
        .transform_calculate(
            **times_hundred("r"), strength="abs(datum.r)", sign=f"datum.r < 0 ? '{_SIGNS[1]}' : '{_SIGNS[0]}'"
        )
    )
    shown = {*frame["first"], *frame["second"]}
    unscored = [name for name in aligned.evaluators if name not in shown]
    left_out = frame["coefficient"].nunique() < len(coefficients) or frame["aspect"].nunique() < len(
        [a for a in aspects if a in (*aligned.aspects, AVERAGE)]
    )
    notes = (
        (
            "Correlations over all units that both scored; nothing is filled in for missing scores. The more "
            "colour, the stronger."
        ),
        (
            "Evaluators that score alike stand together (average linkage of 1 − r); "
            f"the last row is the {truth_name}."
        ),
        f"Without any score, and left out: {', '.join(unscored)}." if unscored else "",
        "`metaeval figures` draws the other aspects and coefficients." if left_out else "",
    )
    return material.figure(
        "likeness",
        "Which evaluators score alike",
        frame,
        _COLUMNS,
        notes,
        chart,
        ("aspect", "coefficient"),
        caption_width=max(520, n * step + 260),
        finding=_most_alike,
    )


def _most_alike(rows: pd.DataFrame) -> str:
    pairs = rows[(rows["second_place"] < rows["second_place"].max()) & rows["r"].notna()]
    if pairs.empty:
        return ""
    pair = largest(pairs, "r")
    return f"{pair['first']} and {pair['second']} score most alike, {value_text(pair['r'], 'hundred')}"


@one_thread()
def pairs_of(
    data: Aligned, aspects: Sequence[str], coefficients: Sequence[str], truth_name: str = "truth"
) -> pd.DataFrame | None:
    """Correlate the scores of every two evaluators over all units that both scored, and with the truth.

    Missing scores are not filled. Evaluators are ordered by hierarchical clustering (average linkage of 1 −
    r), so that similar ones are neighbours; the truth is last. Aspects and coefficients come with the most
    important first; the aspect ``average`` is the mean over all of them.

    There is a row per pair, aspect and coefficient: ``first`` and ``second`` (evaluators) with their
    ``first_place`` and ``second_place`` in the order, ``r`` and ``n_units``. Where all aspects and
    coefficients take more than `MOST_ROWS` rows, only the first coefficient, and then the first aspect, are
    there. None is returned for fewer than two evaluators with scores.
    """
    aspects = [a for a in aspects if a in (*data.aspects, AVERAGE)]  # one that the truth lacks has no values
    scored = [e for e in range(len(data.evaluators)) if not np.isnan(data.scores[e]).all()]
    if len(scored) < 2 or not aspects:
        return None
    names = [*(data.evaluators[e] for e in scored), truth_name]
    values = np.concatenate([data.scores[scored], data.truth[None]])
    fitting = max(1, MOST_ROWS // (len(names) * (len(names) - 1) // 2))
    if len(coefficients) * len(aspects) > fitting:
        coefficients = coefficients[:1]
    if len(aspects) > fitting:
        aspects = aspects[:1]
    parts = []
    for coefficient in coefficients:
        needed = data.aspects if AVERAGE in aspects else aspects
        matrices = {a: correlation_matrix(values[:, data.aspects.index(a)], coefficient) for a in needed}
        if AVERAGE in aspects:
            r, n = zip(*matrices.values(), strict=True)
            matrices[AVERAGE] = np.mean(r, axis=0), np.sum(n, axis=0)
        parts += [_rows(*matrices[a], names).assign(aspect=a, coefficient=coefficient) for a in aspects]
    return pd.concat(parts, ignore_index=True)


def _rows(r: Floats, n: Ints, names: Sequence[str]) -> pd.DataFrame:
    order = np.array([*_clustered(r), len(names) - 1])
    second, first = np.tril_indices(len(names), k=-1)  # the places of each pair, the later one second
    one, two, ordered = order[first], order[second], np.array(names, dtype=object)
    columns = {"first": ordered[one], "second": ordered[two]}
    places = {"first_place": first + 1, "second_place": second + 1}
    return pd.DataFrame({**columns, **places, "r": r[one, two], "n_units": n[one, two]})


def _clustered(r: Floats) -> list[int]:
    """Order all rows but the last, the truth: similar ones together, those nearer to the truth later."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    distance = 1 - np.where(np.isnan(r), 0.0, r)[:-1, :-1]
    np.fill_diagonal(distance, 0.0)
    near = squareform(np.clip((distance + distance.T) / 2, 0.0, 2.0), checks=False)
    order = [int(leaf) for leaf in leaves_list(linkage(near, "average", optimal_ordering=True))]
    with_truth = np.nan_to_num(r[-1, order])
    middle = len(order) // 2
    return order if with_truth[:middle].sum() <= with_truth[-middle:].sum() else order[::-1]
