"""Studies whose truth is what several people said: planted judges, references, persons, and LeWiDi's data."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.cli import main
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
from metaeval.kinds.reading import read_study
from metaeval.trust.analyses import write_figures
from tests.conftest import ROOT

VALUES = (1, 2, 3)
PEOPLE = ("ann", "ben", "cat", "dan")


def _data(aspects: int = 1, n: int = 60) -> ExplanationSet:
    """Return units whose people do not agree, by odds of the unit, with a judge that knows the odds."""
    rng = np.random.default_rng(3)
    keys = pd.DataFrame({"item_id": [f"i{i:02}" for i in range(n)], "generator": "g"})
    ratings, scores = [], []
    for aspect in [f"a{k}" for k in range(aspects)]:
        odds = rng.dirichlet([0.7] * 3, n)
        for at, row in enumerate(keys.to_dict("records")):
            said = rng.choice(VALUES, len(PEOPLE), p=odds[at])
            for who, value in zip(PEOPLE, said, strict=True):
                ratings.append(
                    {**row, "rater": who, "aspect": aspect, "rating": float(value), "team": who[0] < "c"}
                )
            shares = dict(zip(("p(1)", "p(2)", "p(3)"), odds[at], strict=True))
            scores.append({**row, "evaluator": "knows", "aspect": aspect, "score": np.nan, **shares})
            scores.append({**row, "evaluator": "ann says", "aspect": aspect, "score": float(said[0])})
            scores.append({**row, "evaluator": "between", "aspect": aspect, "score": 1.5})
            scores.append({**row, "evaluator": "noise", "aspect": aspect, "score": float(rng.choice(VALUES))})
    return me.from_frames(
        keys.assign(explanation="a text"),
        pd.DataFrame(ratings).assign(team=lambda f: f["team"].map({True: "ab", False: "cd"})),
        aspects={f"a{k}": "It is good." for k in range(aspects)},
        scale=(1, 3),
        scores=pd.DataFrame(scores),
    )


def _run(data: ExplanationSet, out: Path, evaluators: Any = ("Recorded('*')",), **more: Any) -> me.Run:
    study = {
        "dataset": data,
        "truth": "People()",
        "evaluators": list(evaluators),
        "bootstrap": {"resamples": 500},
    }
    return me.run({**study, **more}, out)


def test_the_judge_that_knows_the_odds_is_nearest_and_nearer_than_both_references(tmp_path: Path) -> None:
    run = _run(_data(), tmp_path / "run", groups=["team"])
    [said] = [line for line in run.leaderboard.answer["lines"] if "nearer" in line]
    assert said.startswith("Of 4 tools, knows has the lowest Wasserstein distance")
    assert "knows is nearer to people than a person left out" in said
    assert ", and than one distribution for all units (" in said
    board = pd.read_csv(tmp_path / "run" / "board.csv").set_index(["evaluator", "measure"])
    assert board.loc[("between", "coverage"), "estimate"] != board.loc[("between", "coverage"), "estimate"]
    assert board.loc[("between", "coverage"), "n_missing"] == 60  # 1.5 is no value of the scale
    assert board["n_units"].eq(60).all()  # and costs the others no unit


def test_the_numbers_are_those_of_a_loop_over_units(tmp_path: Path) -> None:
    data = _data(aspects=2)
    _run(data, tmp_path / "run")
    board = pd.read_csv(tmp_path / "run" / "board.csv").set_index(["evaluator", "aspect", "measure"])[
        "estimate"
    ]
    references = pd.read_csv(tmp_path / "run" / "references.csv").set_index(
        ["evaluator", "aspect", "measure"]
    )
    persons = pd.read_csv(tmp_path / "run" / "persons.csv").set_index(["evaluator", "aspect", "rater"])
    scores = data.scores
    assert scores is not None
    judged = scores[scores["evaluator"] == "knows"].set_index(["aspect", "item_id"])[["p(1)", "p(2)", "p(3)"]]
    of_all, of_others, of_people, wrong = [], [], [], []
    for (aspect, item), group in data.ratings.groupby(["aspect", "item_id"]):
        q = judged.loc[(aspect, item)].to_numpy(float)
        said = group.set_index("rater")["rating"]

        def far(one: Any, given: Any) -> float:
            people = np.array([(given == v).mean() for v in VALUES])
            return float(np.abs(np.asarray(one, float) - people).sum())

        of_all.append((aspect, far(q, said)))
        rest = {who: said.drop(who) for who in said.index}
        of_others.append((aspect, np.mean([far(q, rest[w]) for w in rest])))
        of_people.append((aspect, np.mean([far([said[w] == v for v in VALUES], rest[w]) for w in rest])))
        wrong.append((aspect, VALUES[int(q.argmax())] != said["ben"]))
    for found, rows in (
        (lambda a: board["knows", a, "Manhattan distance"], of_all),
        (lambda a: _row(references, "knows", a)["judge"], of_others),
        (lambda a: _row(references, "knows", a)["reference"], of_people),
        (lambda a: persons.loc[("knows", a, "ben"), "error"], wrong),
    ):
        frame = pd.DataFrame(rows, columns=["aspect", "value"]).astype({"value": float})
        means = frame.groupby("aspect")["value"].mean()
        for aspect in ("a0", "a1"):
            assert found(aspect) == pytest.approx(means[aspect])  # type: ignore[no-untyped-call]
        assert found("average") == pytest.approx(means.mean())  # type: ignore[no-untyped-call]


def _row(references: pd.DataFrame, evaluator: str, aspect: str) -> Any:
    rows = references.loc[(evaluator, aspect, "Manhattan distance")]
    return rows[rows["against"] == "a person left out"].iloc[0]


def test_persons_whose_ratings_a_judge_has_are_without_errors(tmp_path: Path) -> None:
    _run(_data(), tmp_path / "run", groups=["team"])
    persons = pd.read_csv(tmp_path / "run" / "persons.csv").set_index(["evaluator", "rater"])
    assert persons.loc[("ann says", "ann"), "error"] == 0
    assert persons.loc[("ann says", "ben"), "error"] > 0.2
    both = persons.loc[[("ann says", "ann"), ("ann says", "ben")], "error"].mean()
    assert persons.loc[("ann says", "team = ab"), "error"] == pytest.approx(both)
    assert {"(everyone)", *PEOPLE, "team = ab", "team = cd"} == {name for _, name in persons.index}


def test_a_finished_run_is_read_again_without_its_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _run(_data(), tmp_path / "run")
    assert main(["details", str(tmp_path / "run")]) == 0
    assert "Whose ratings does it reproduce?" in capsys.readouterr().out
    assert main(["compare", str(tmp_path / "run")]) == 0
    assert "knows" in capsys.readouterr().out
    with pytest.raises(MetaevalError, match="a study of `kind: people` has no figures"):
        write_figures(tmp_path / "run", names=["ranking"])


def test_draws_are_how_often_each_value_came_and_probabilities_may_have_a_name_each(tmp_path: Path) -> None:
    data = _data(n=12)
    assert data.scores is not None
    three = [data.scores[data.scores["evaluator"] == e] for e in ("noise", "ann says")]
    knows = data.scores[data.scores["evaluator"] == "knows"]
    knows = knows.assign(**{f"p({v})": pd.to_numeric(knows[f"p({v})"]) for v in VALUES})
    each = [knows.assign(evaluator=f"k {v}", score=knows[f"p({v})"]) for v in VALUES]
    data = replace(
        data, scores=pd.concat([*three, *each])[["item_id", "generator", "evaluator", "aspect", "score"]]
    )
    draws = "Draws(Recorded('noise'), Recorded('ann says'), Recorded('ann says'))"
    run = _run(data, tmp_path / "run", [draws, "Probabilities('k {value}')"])
    frame = run.scores.frame.set_index("evaluator")
    ann, noise = (one["score"].to_numpy() for one in (three[1], three[0]))
    for value in VALUES:
        wanted = (2 * (ann == value) + (noise == value)) / 3
        np.testing.assert_allclose(frame.loc[draws, f"p({value})"], wanted)
        np.testing.assert_allclose(
            frame.loc["Probabilities('k {value}')", f"p({value})"], knows[f"p({value})"]
        )


@pytest.mark.parametrize(
    ("study", "sentence"),
    [
        (
            {"truth": "People(['ann', 'eve'])"},
            "nobody is called 'eve'; people are 'ann', 'ben', 'cat', 'dan'",
        ),
        ({"truth": "People(['ann'])"}, "takes ratings of several people"),
        ({"truth": "People(sets=True)"}, "sets=True takes aspects rated 0 or 1, the options of one question"),
        ({"groups": ["shoe"]}, "the ratings have no column 'shoe'"),
        (
            {"kind": "people", "truth": "Annotator('ann')"},
            "the truth of a study of `kind: people` is People()",
        ),
        ({"order_by": {"aspect": "a9"}}, "the data set has no aspect 'a9'"),
        (
            {"evaluators": ["Probabilities('nobody {value}')"]},
            "has no scores called nobody 1, nobody 2, nobody 3",
        ),
        ({"evaluators": ["Probabilities('knows')"]}, "write {value} where the names have the value"),
    ],
)
def test_what_does_not_fit_is_one_sentence(study: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(MetaevalError) as error:
        _run(_data(n=12), tmp_path / "run", **{"evaluators": ["Recorded('knows')"], **study})
    assert sentence in str(error.value)
    assert not (tmp_path / "run").exists()


def test_probabilities_that_are_none_are_refused(tmp_path: Path) -> None:
    data = _data(n=12)
    assert data.scores is not None
    wrong = replace(data, scores=data.scores.assign(**{"p(1)": "0.9", "p(2)": "0.2"}))
    with pytest.raises(
        MetaevalError, match=r"probabilities must be 0 or more and sum up to 1, and a row has p\(1\)"
    ):
        _run(wrong, tmp_path / "run", ["Recorded('knows')"])


M, W, X, J, S, C = (
    "Manhattan distance",
    "Wasserstein distance",
    "cross-entropy",
    "Jensen-Shannon divergence",
    "MSE of the share",
    "coverage",
)
LEWIDI: dict[
    str, tuple[tuple[str, ...], dict[str, dict[str, float]], dict[str, tuple[float, float]], float]
] = {
    "paraphrase": (
        ("Paraphrase_train", "Paraphrase_dev"),
        {
            "SameForAll": {M: 1.315798, W: 2.876429, X: 2.183157, J: 0.483054, S: 0.028709, C: 0.473333},
            "hard": {M: 1.84, W: 4.211667, X: 19.065405, J: 0.869338, S: 0.117197, C: 0.257778},
        },
        {M: (1.84, 1.468889), W: (4.211667, 2.715185), J: (0.879259, 0.65461)},
        0.92,
    ),
    "csc": (
        ("CSC_dev", "CSC_annotators_meta"),
        {
            "SameForAll": {M: 0.968656, W: 1.123593, X: 1.644392, J: 0.310647, S: 0.040921, C: 0.738636},
            "hard": {M: 1.434422, W: 1.684777, X: 14.862958, J: 0.606941, S: 0.150552, C: 0.649148},
        },
        {M: (1.434422, 1.374716), W: (1.684777, 1.384138), J: (0.621121, 0.587341)},
        0.715631,
    ),
    "varierrnli": (
        ("VariErrNLI_train", "VariErrNLI_dev"),
        {
            "SameForAll": {M: 0.560872, W: 0.280436, X: 0.60636, J: 0.139073, S: 0.111235},
            "hard": {M: 0.998478, W: 0.499239, X: 10.345862, J: 0.421533, S: 0.401805, C: 0.429224},
        },
        {M: (0.999234, 0.54304), W: (0.499617, 0.27152), J: (0.435661, 0.210031)},
        0.499179,
    ),
}
"""Data set → its files, values of two evaluators, of `hard` and a person left out, and the errors of `hard`.

By a script of numpy and scipy that shares no code with the package. `hard` says of record i the value 3 i
modulo the number of values.
"""


@pytest.mark.parametrize("name", LEWIDI)
def test_lewidi_is_read_and_has_the_numbers_of_a_script_beside(
    name: str, real_data: Path, tmp_path: Path
) -> None:
    files, values, left_out, errors = LEWIDI[name]
    sources = [str(real_data / "lewidi" / f"{file}.json.gz") for file in files]
    assert main(["-q", "init", *sources, "--yes", "--out", str(tmp_path / name)]) == 0
    data = me.load(tmp_path / name / "data")
    with gzip.open(sources[0]) as file:
        first = next(iter(json.load(file).values()))
    assert data.explanations["explanation"].iloc[0] == [*first["text"].values()][-1]
    hard = [
        data.explanations[list(data.keys)].assign(
            evaluator="hard", aspect=a, score=np.take(steps, 3 * np.arange(len(data)) % len(steps))
        )
        for a in data.aspects
        if (steps := data.scale.of(a).steps)
    ]
    study = read_study(ROOT / "studies" / f"lewidi-{name}.yaml")
    content = study.model_dump(exclude_unset=True) | {
        "dataset": replace(data, scores=pd.concat(hard)),
        "evaluators": {"hard": "Recorded('hard')", "SameForAll": "SameForAll()"},
        "bootstrap": {"resamples": 100},
    }
    me.run(content, tmp_path / "run")
    aspect = "average" if len(data.aspects) > 1 else next(iter(data.aspects))
    board = pd.read_csv(tmp_path / "run" / "board.csv").set_index(["evaluator", "aspect", "measure"])[
        "estimate"
    ]
    for evaluator, of in values.items():
        for measure, value in of.items():
            assert board[evaluator, aspect, measure] == pytest.approx(value, abs=1e-6)
    references = pd.read_csv(tmp_path / "run" / "references.csv")
    references = references[references["against"] == "a person left out"]
    for measure, pair in left_out.items():
        row = references.set_index(["evaluator", "aspect", "measure"]).loc[("hard", aspect, measure)]
        assert tuple(row[["judge", "reference"]]) == pytest.approx(pair, abs=1e-6)
    persons = pd.read_csv(tmp_path / "run" / "persons.csv").set_index(["evaluator", "aspect", "rater"])
    assert persons.loc[("hard", aspect, "(everyone)"), "error"] == pytest.approx(errors, abs=1e-6)


def test_lewidi_keeps_sets_explanations_and_what_is_known_of_people(tmp_path: Path) -> None:
    record = {
        "annotation task": "natural language inference",
        "text": {"context": "It rains.", "statement": "It is wet."},
        "annotators": "Ann1,Ann2,Ann2",
        "annotations": {"Ann1": "neutral", "Ann2": "entailment,neutral"},
        "soft_label": {label: {"0": 0.5, "1": 0.5} for label in ("contradiction", "entailment", "neutral")},
        "other_info": {"explanations": ["who knows", "rain is wet", "there are roofs"]},
    }
    (tmp_path / "v.json").write_text(json.dumps({"7": record, "8": record}), encoding="utf-8")
    known = {"Ann1": {"Gender": "Female"}, "Ann2": {"Gender": "nan"}}
    (tmp_path / "meta.json").write_text(json.dumps(known), encoding="utf-8")
    files = [str(tmp_path / "v.json"), str(tmp_path / "meta.json")]
    assert main(["-q", "init", *files, "--yes", "--out", str(tmp_path / "out")]) == 0
    assert 'truth: "People(sets=True)"' in (tmp_path / "out" / "study.yaml").read_text(encoding="utf-8")
    ratings = me.load(tmp_path / "out" / "data").ratings
    of = ratings[ratings["item_id"] == "7"].set_index(["rater", "aspect"])
    assert of.loc["Ann2", "rating"].to_dict() == {"contradiction": 0, "entailment": 1, "neutral": 1}
    assert of.loc[("Ann2", "entailment"), "why"] == "rain is wet"
    assert of.loc[("Ann2", "neutral"), "why"] == "there are roofs"
    assert of.loc[("Ann1", "neutral"), "Gender"] == "Female"
    assert of.loc[("Ann2", "neutral"), "Gender"] == ""
    record["annotations"] = ["neutral"]
    (tmp_path / "v.json").write_text(json.dumps({"7": record}), encoding="utf-8")
    assert main(["init", files[0], "--yes", "--out", str(tmp_path / "new")]) == 2
    assert not (tmp_path / "new").exists()
