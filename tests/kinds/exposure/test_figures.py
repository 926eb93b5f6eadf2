"""Weighted agreement is that on all items alike, unweighted agreement that on what is popular."""

from __future__ import annotations

from benchmarks.exposure_bias import bias
from metaeval.kinds.exposure.figures import exposure_bias
from metaeval.reports.drawing import draw


def test_exposure_biases_unweighted_agreement_and_not_the_weighted_one() -> None:
    found = bias(3)
    error = (found["estimate"] - found["truth"]).groupby([found["evaluator"], found["weighting"]]).mean()
    assert error["better on popular items", "unweighted"] > 0.06
    assert error["better on the tail", "unweighted"] < -0.06
    assert abs(error["as good on all items", "unweighted"]) < 0.01
    assert error.xs("weighted", level=1).abs().max() < 0.012
    figure = exposure_bias(found)
    assert figure.sheet.name == "exposure_bias"
    assert [column.name for column in figure.sheet.columns][-1] == "truth"
    svg = draw(figure, "svg").decode()
    for text in (*found["evaluator"], "weighted", "unweighted"):
        assert text in svg
